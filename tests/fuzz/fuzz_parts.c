// SPDX-License-Identifier: GPL-3.0-or-later
// A matrix of unequal parts: the first byte says how many ranks there are, less one; what follows is the file.
#include "models/collective/parts_file.h"
#include "sim/array.h"
#include "tests/fuzz/fuzz.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// At any size the largest row holds just that, no other more, and who sends nothing sends nothing.
static void check_scaled(arena *a, const parts_weights *w, uint64_t elements)
{
    enum { ELEMENT_BYTES = 4 };
    uint64_t *parts = arena_array(a, uint64_t, (size_t)w->ranks * w->ranks), largest = 0, sent = 0;
    const uint64_t told = parts_scale(w, elements, ELEMENT_BYTES, parts);
    for (uint32_t from = 0; from < w->ranks; from++) {
        uint64_t row = 0;
        for (uint32_t to = 0; to < w->ranks; to++) {
            const size_t at = (size_t)from * w->ranks + to;
            SIM_ASSERT(w->weights[at] > 0 || parts[at] == 0);
            SIM_ASSERT(parts[at] % ELEMENT_BYTES == 0);
            row += parts[at];
            sent += from == to ? 0 : parts[at];
        }
        largest = row > largest ? row : largest;
    }
    SIM_ASSERT(largest == elements * ELEMENT_BYTES && told == sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t sizes[] = { 0, 1, 1000003, UINT64_C(1) << 40 };
    if (size == 0) return 0;
    const uint32_t ranks = data[0] % 16 + 1;
    // A copy of exactly this size, so that reading behind the end is seen.
    char *text = malloc(size > 1 ? size - 1 : 1);
    SIM_ASSERT(text);
    memcpy(text, data + 1, size - 1);
    arena *a = arena_create("fuzz");
    sim_error error = { 0 };
    parts_weights w;
    SIM_ASSERT(a);
    if (parts_file_parse(a, "fuzz", text, size - 1, ranks, &w, &error)) {
        for (uint32_t i = 0; i < ranks * ranks; i++)
            SIM_ASSERT(w.weights[i] >= 0 && isfinite(w.weights[i]));
        SIM_ASSERT(w.row_max_per_mean >= 1 - 1e-9 && w.column_max_per_mean >= 1 - 1e-9);
        for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
            check_scaled(a, &w, sizes[i]);
    } else {
        fuzz_check_error(&error);
        SIM_ASSERT(*error.file && (error.line == 0) == (error.column == 0));
    }
    arena_destroy(a);
    free(text);
    return 0;
}
