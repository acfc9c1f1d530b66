// SPDX-License-Identifier: GPL-3.0-or-later
// Does the job fit into the memory of its GPUs, and if not, what is the least change with which it would?
#include "models/world.h"
#include <string.h>

typedef enum remedy {
    REMEDY_ZERO_1,
    REMEDY_SELECTIVE,
    REMEDY_FULL,
    REMEDY_MICRO_BATCH,
    REMEDY_GRADIENTS,
    REMEDIES
} remedy;

static const char *const remedy_words[REMEDIES] = { "plan.sharding: zero-1", "plan.recompute: selective",
                                                    "plan.recompute: full", "training.micro_batch: 1",
                                                    "training.gradient_dtype: bf16" };

// Changes settings by a remedy; false when they are so already.
static bool apply(remedy r, memory_settings *m)
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
        m->kernels.micro_batch = 1;
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

// One change that suffices; else those that do so together, each worth something.
static bool hint_remedy(const scenario *s, sim_error *error)
{
    const memory_settings now = scenario_memory_settings(s);
    const uint64_t capacity = s->cluster.node.gpu.memory_bytes;
    memory_settings all = now;
    uint64_t need_bytes = memory_need_of(&s->model, &now).total_bytes;
    char list[256] = "", total[32];
    for (remedy r = 0; r < REMEDIES; r++) {
        memory_settings one = now;
        if (!apply(r, &one)) continue;
        const uint64_t one_bytes = memory_need_of(&s->model, &one).total_bytes;
        if (one_bytes <= capacity)
            return sim_hint(error, "it fits with %s (%s)", remedy_words[r],
                            units_format_binary_bytes((double)one_bytes, total, sizeof(total)));
    }
    for (remedy r = 0; r < REMEDIES; r++) {
        memory_settings more = all;
        if (r == REMEDY_SELECTIVE || !apply(r, &more)) continue;
        const uint64_t more_bytes = memory_need_of(&s->model, &more).total_bytes;
        if (more_bytes >= need_bytes) continue;
        const size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", remedy_words[r]);
        all = more;
        need_bytes = more_bytes;
        if (need_bytes <= capacity) break;
    }
    units_format_binary_bytes((double)need_bytes, total, sizeof(total));
    if (need_bytes <= capacity) return sim_hint(error, "it fits with %s (%s)", list, total);
    static const char needed[] = "a smaller model, shorter sequences or GPUs with more memory are needed";
    return *list ? sim_hint(error, "%s lead to %s, still too much: %s", list, total, needed)
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
