// SPDX-License-Identifier: GPL-3.0-or-later
// tools/collective_sizes.h: the sizes of a sweep as nccl-tests has them: read ("8", "1K", "8G"), followed by factor or
// increment, and cut to whole shares.
#pragma once
#include "models/collective/plan.h"
#include "sim/array.h"
#include "sim/error.h"

typedef struct element_type {
    const char *name; // as nccl-tests has it
    uint32_t bytes;
} element_type;
extern const char *const element_type_words[]; // their names; ends with NULL
const element_type *element_type_at(int index);

typedef struct sweep_texts { // as given; NULL: not given
    const char *begin, *end, *factor, *increment;
} sweep_texts;

typedef struct sweep {
    uint64_t begin, end; // bytes
    uint64_t factor;     // 0: increment
    uint64_t increment;  // bytes
} sweep;

// A number with K, M or G behind it, 1,024-fold each.
bool sweep_parse_size(const char *option, const char *text, uint64_t *bytes, sim_error *error);
bool sweep_read(const sweep_texts *texts, const element_type *type, sweep *out, sim_error *error);

typedef struct sweep_size {
    uint64_t asked_bytes;
    uint64_t bytes; // that are played: the size column
    uint64_t count; // elements: of a rank's share where the kind has shares, else of the buffer
} sweep_size;
ARRAY_OF(sweep_size, sweep_size_array);

// Kinds with shares play multiples of the ranks, each share cut to 16 bytes, as nccl-tests does; sizes of which nothing is
// left are left out and counted. Refuses a sweep of more than SWEEP_SIZES_MAX sizes, or of none.
enum { SWEEP_SIZES_MAX = 10000 };
bool sweep_has_shares(collective_kind kind);
bool sweep_list(arena *a, const sweep *s, const element_type *type, collective_kind kind, uint32_t ranks,
                sweep_size_array *out, uint32_t *left_out, sim_error *error);
