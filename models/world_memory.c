// SPDX-License-Identifier: GPL-3.0-or-later
// Does the job fit into the memory of its GPUs, and if not, what is the least change with which it would?
#include "models/world.h"
#include <inttypes.h>
#include <string.h>

typedef enum remedy {
    REMEDY_ZERO_1,
    REMEDY_SELECTIVE,
    REMEDY_FULL,
    REMEDY_MICRO_BATCH,
    REMEDY_GRADIENTS,
    REMEDIES
} remedy;

// What may be changed, in the order in which changes are tried, and what fits.
typedef struct search {
    const scenario *scenario;
    uint64_t capacity_bytes;
    bool taken[REMEDIES];
    memory_settings settings; // with those that are taken
} search;

static uint64_t need_bytes(const search *h, const memory_settings *m)
{
    return memory_need_of(&h->scenario->model, m).total_bytes;
}

// The largest that the replica's batch is a multiple of and that fits, else 1; below: what is there now.
static uint64_t largest_micro_batch(const search *h, memory_settings m, uint64_t below)
{
    const uint64_t batch = h->scenario->training.global_batch / m.data;
    for (uint64_t size = below - 1; size > 1; size--) {
        m.kernels.micro_batch = size;
        if (batch % size == 0 && need_bytes(h, &m) <= h->capacity_bytes) return size;
    }
    return 1;
}

// Changes settings by a remedy; false when they are so already.
static bool apply(const search *h, remedy r, memory_settings *m)
{
    const double bf16_bytes = dtype_bytes(DTYPE_BF16);
    switch (r) {
    case REMEDY_ZERO_1:
        if (m->sharding != SHARDING_NONE || m->data == 1) return false;
        m->sharding = SHARDING_ZERO_1;
        return true;
    case REMEDY_SELECTIVE:
        if (m->recompute != RECOMPUTE_NONE) return false;
        m->recompute = RECOMPUTE_SELECTIVE;
        return true;
    case REMEDY_FULL:
        if (m->recompute == RECOMPUTE_FULL) return false;
        m->recompute = RECOMPUTE_FULL;
        return true;
    case REMEDY_MICRO_BATCH:
        if (m->kernels.micro_batch == 1) return false;
        m->kernels.micro_batch = largest_micro_batch(h, *m, m->kernels.micro_batch);
        return true;
    case REMEDY_GRADIENTS:
        if (m->gradient_bytes <= bf16_bytes) return false;
        m->gradient_bytes = bf16_bytes;
        return true;
    case REMEDIES: break;
    }
    SIM_ASSERT(false);
    return false;
}

// "plan.sharding: zero-1, training.micro_batch: 4"
static const char *describe(const search *h, char *buffer, size_t size)
{
    static const char *const words[REMEDIES] = { "plan.sharding: zero-1", "plan.recompute: selective",
                                                 "plan.recompute: full", NULL,
                                                 "training.gradient_dtype: bf16" };
    buffer[0] = 0;
    for (remedy r = 0; r < REMEDIES; r++) {
        const size_t used = strlen(buffer);
        const char *comma = used ? ", " : "";
        if (!h->taken[r]) continue;
        if (r == REMEDY_MICRO_BATCH)
            snprintf(buffer + used, size - used, "%straining.micro_batch: %" PRIu64, comma,
                     h->settings.kernels.micro_batch);
        else
            snprintf(buffer + used, size - used, "%s%s", comma, words[r]);
    }
    return buffer;
}

// One change that suffices.
static bool take_one(search *h)
{
    for (remedy r = 0; r < REMEDIES; r++) {
        memory_settings one = scenario_memory_settings(h->scenario);
        if (!apply(h, r, &one) || need_bytes(h, &one) > h->capacity_bytes) continue;
        h->settings = one;
        h->taken[r] = true;
        return true;
    }
    return false;
}

// Changes, each worth something, until they suffice together; then a micro-batch no smaller than it must be.
static bool take_several(search *h)
{
    const uint64_t micro_batch = h->settings.kernels.micro_batch;
    for (remedy r = 0; r < REMEDIES && need_bytes(h, &h->settings) > h->capacity_bytes; r++) {
        memory_settings more = h->settings;
        if (r == REMEDY_SELECTIVE || !apply(h, r, &more)) continue;
        if (need_bytes(h, &more) >= need_bytes(h, &h->settings)) continue;
        h->settings = more;
        h->taken[r] = true;
    }
    if (need_bytes(h, &h->settings) > h->capacity_bytes) return false;
    if (h->taken[REMEDY_MICRO_BATCH])
        h->settings.kernels.micro_batch = largest_micro_batch(h, h->settings, micro_batch);
    return true;
}

static bool hint_remedy(const scenario *s, sim_error *error)
{
    search h = { .scenario = s,
                 .capacity_bytes = s->cluster.node.gpu.memory_bytes,
                 .settings = scenario_memory_settings(s) };
    static const char needed[] = "a smaller model, shorter sequences or GPUs with more memory are needed";
    char list[256], total[32];
    const bool fits = take_one(&h) || take_several(&h);
    describe(&h, list, sizeof(list));
    units_format_binary_bytes((double)need_bytes(&h, &h.settings), total, sizeof(total));
    if (fits) return sim_hint(error, "it fits with %s (%s)", list, total);
    return *list ? sim_hint(error, "with %s it is %s, still too much: %s", list, total, needed)
                 : sim_hint(error, "%s", needed);
}

bool world_check_memory(const scenario *s, memory_need *need, sim_error *error)
{
    const memory_settings settings = scenario_memory_settings(s);
    const uint64_t capacity = s->cluster.node.gpu.memory_bytes;
    *need = memory_need_of(&s->model, &settings);
    if (need->total_bytes <= capacity) return true;
    char total[32], have[32];
    units_format_binary_bytes((double)need->total_bytes, total, sizeof(total));
    units_format_binary_bytes((double)capacity, have, sizeof(have));
    sim_fail(error, SIM_EXIT_NO, bind_place_of(s->reader, &s->plan),
             "the job does not fit: a GPU needs %s, %s has %s", total, s->cluster.node.gpu.name, have);
    return hint_remedy(s, error);
}
