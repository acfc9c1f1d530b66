// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/stages.h"
#include "models/training/parallel.h"
#include "sim/check.h"
#include <inttypes.h>

const char *const layer_split_words[] = { "even", "uneven", "ends", NULL };

static uint64_t virtual_stages(const stages_def *d)
{
    return (uint64_t)d->stages * d->chunks;
}

// ---- checks

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static bool refuse_count(const stages_def *d, const char *what, const sim_place *where, sim_error *error)
{
    if (d->chunks == 1)
        return sim_fail(error, SIM_EXIT_INPUT, where, "%u layer%s %s over %u stage%s", d->layers,
                        plural(d->layers), what, d->stages, plural(d->stages));
    return sim_fail(error, SIM_EXIT_INPUT, where, "%u layer%s %s over %u stage%s of %u chunks", d->layers,
                    plural(d->layers), what, d->stages, plural(d->stages), d->chunks);
}

static uint32_t least_stages(const stages_def *d)
{
    return d->least_stages ? d->least_stages : 1;
}

static uint32_t least_chunks(const stages_def *d)
{
    return d->least_chunks ? d->least_chunks : 1;
}

// There are too few layers for the least that this schedule takes.
static bool hint_other_schedule(const stages_def *d, sim_error *error)
{
    return sim_hint(error, "this schedule takes at least %u stages of %u chunks; 1f1b takes 1 of 1",
                    least_stages(d), least_chunks(d));
}

static bool check_enough(const stages_def *d, const sim_place *where, sim_error *error)
{
    if (virtual_stages(d) <= d->layers) return true;
    refuse_count(d, "cannot be spread", where, error);
    const uint32_t chunks = d->layers / least_stages(d);
    uint32_t stages = d->layers / d->chunks;
    while (stages > 0 && d->ranks % stages) // the next that shares out the ranks
        stages--;
    if (stages >= least_stages(d))
        return sim_hint(error, "the nearest is %u stage%s", stages, plural(stages));
    if (chunks < least_chunks(d)) return hint_other_schedule(d, error);
    return sim_hint(error, "the nearest is %u chunk%s on %u stage%s", chunks, plural(chunks), least_stages(d),
                    plural(least_stages(d)));
}

// The divisor of value nearest to wanted that is no less than least, the lesser at ties; 0: there is none.
static uint64_t nearest_divisor(uint64_t value, uint64_t wanted, uint64_t least)
{
    uint64_t found = 0;
    for (uint64_t divisor = least; divisor <= value; divisor++) {
        if (value % divisor) continue;
        if (divisor >= wanted) return found && wanted - found <= divisor - wanted ? found : divisor;
        found = divisor;
    }
    return found;
}

// The number of stages of so many chunks that is nearest to what was asked for; 0: there is none.
static uint64_t nearest_stages(const stages_def *d, uint64_t units, uint32_t chunks)
{
    if (units % chunks) return 0;
    return nearest_divisor(parallel_common_divisor(units / chunks, d->ranks), d->stages, least_stages(d));
}

// Units are shared out evenly: layers, and the ends of the model where they count as layers.
static bool check_divides(const stages_def *d, uint64_t units, const char *what, const sim_place *where,
                          sim_error *error)
{
    if (units % virtual_stages(d) == 0) return true;
    refuse_count(d, what, where, error);
    const bool can_be_uneven = virtual_stages(d) <= d->layers;
    const char *uneven = layer_split_words[SPLIT_UNEVEN];
    const uint64_t stages = nearest_stages(d, units, d->chunks);
    if (stages > 1)
        return sim_hint(error, "the nearest is %" PRIu64 " stages%s%s", stages,
                        can_be_uneven ? ", or the split " : "", can_be_uneven ? uneven : "");
    if (can_be_uneven) return sim_hint(error, "the nearest is the split %s", uneven);
    const uint64_t chunks = units % d->stages == 0
                                ? nearest_divisor(units / d->stages, d->chunks, least_chunks(d))
                                : 0;
    if (chunks > 0) return sim_hint(error, "the nearest is %" PRIu64 " chunk%s", chunks, plural(chunks));
    const uint32_t few = least_chunks(d);
    const uint64_t alone = nearest_stages(d, units, few);
    if (alone > 0)
        return sim_hint(error, "the nearest is %" PRIu64 " stage%s of %u chunk%s", alone, plural(alone), few,
                        plural(few));
    if ((uint64_t)few * least_stages(d) > d->layers) return hint_other_schedule(d, error);
    return sim_hint(error, "the nearest is %u stage%s of %u chunk%s with the split %s", least_stages(d),
                    plural(least_stages(d)), few, plural(few), uneven);
}

// Which number of the list would make its sum right: the last, if it has enough to give.
static bool hint_sum(const stages_def *d, uint64_t sum, sim_error *error)
{
    const uint64_t others = sum - d->list[d->list_count - 1];
    if (others <= d->layers)
        return sim_hint(error, "the nearest has %" PRIu64 " in the last place", d->layers - others);
    return sim_hint(error, "the nearest is the split %s", layer_split_words[SPLIT_UNEVEN]);
}

static bool check_list(const stages_def *d, const sim_place *where, sim_error *error)
{
    if (d->list_count != virtual_stages(d)) {
        sim_fail(error, SIM_EXIT_INPUT, where,
                 "the list of layers has %u number%s for %u stage%s of %u chunk%s", d->list_count,
                 plural(d->list_count), d->stages, plural(d->stages), d->chunks, plural(d->chunks));
        return sim_hint(error, "the nearest has %" PRIu64 " number%s", virtual_stages(d),
                        plural(virtual_stages(d)));
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < d->list_count; i++) {
        sum += d->list[i];
        if (d->list[i] > 0 || i == 0 || i + 1 == d->list_count) continue;
        sim_fail(error, SIM_EXIT_INPUT, where,
                 "layers[%u] is 0, and only the first and the last number, which have an end "
                 "of the model, may be",
                 i);
        return sim_hint(error, "the nearest has 1 there");
    }
    if (sum == d->layers) return true;
    sim_fail(error, SIM_EXIT_INPUT, where, "the list of layers has %" PRIu64 ", but the model has %u", sum,
             d->layers);
    return hint_sum(d, sum, error);
}

bool stages_check(const stages_def *def, const sim_place *where, sim_error *error)
{
    SIM_ASSERT(def->layers > 0 && def->stages > 0 && def->chunks > 0);
    const uint64_t both_ends = 2;
    switch (def->split) {
    case SPLIT_EVEN: return check_divides(def, def->layers, "cannot be split evenly", where, error);
    case SPLIT_UNEVEN: return check_enough(def, where, error);
    case SPLIT_ENDS:
        return check_divides(def, def->layers + both_ends, "and both ends cannot be split evenly", where,
                             error);
    case SPLIT_LIST: return check_list(def, where, error);
    }
    SIM_ASSERT(false);
    return false;
}

// ---- the table

static uint32_t layers_of(const stages_def *d, uint64_t index)
{
    const uint64_t count = virtual_stages(d);
    switch (d->split) {
    case SPLIT_EVEN: return (uint32_t)(d->layers / count);
    case SPLIT_UNEVEN: return (uint32_t)(d->layers / count + (index < d->layers % count));
    case SPLIT_ENDS:
        return (uint32_t)(((uint64_t)d->layers + 2) / count - (index == 0) - (index + 1 == count));
    case SPLIT_LIST: return d->list[index];
    }
    SIM_ASSERT(false);
    return 0;
}

stage_table stages_build(arena *a, const stages_def *def)
{
    const uint64_t count = virtual_stages(def);
    const stage_table t = { .stages = def->stages,
                            .chunks = def->chunks,
                            .items = arena_array(a, stage_chunk, count) };
    uint32_t first = 0;
    for (uint64_t index = 0; index < count; index++) {
        const uint64_t stage = index % def->stages, chunk = index / def->stages;
        const uint32_t layers = layers_of(def, index);
        t.items[stage * def->chunks + chunk] = (stage_chunk){
            .layers = layers,
            .has_embedding = index == 0,
            .has_head = index + 1 == count,
        };
        first += layers;
    }
    SIM_ASSERT(first == def->layers);
    return t;
}

const stage_chunk *stage_chunk_at(const stage_table *t, uint32_t stage, uint32_t chunk)
{
    SIM_ASSERT(stage < t->stages && chunk < t->chunks);
    return &t->items[(size_t)stage * t->chunks + chunk];
}

uint32_t stage_layers(const stage_table *t, uint32_t stage)
{
    uint32_t layers = 0;
    for (uint32_t chunk = 0; chunk < t->chunks; chunk++)
        layers += stage_chunk_at(t, stage, chunk)->layers;
    return layers;
}
