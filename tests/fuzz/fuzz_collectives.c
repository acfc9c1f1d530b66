// SPDX-License-Identifier: GPL-3.0-or-later
// A table of measured collectives: refused with a place, or runs with ranks on nodes that are alike, each with sizes.
#include "tests/fuzz/fuzz.h"
#include "validate/collective_rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16 };

static void check_run(const collective_rows *rows, uint32_t index)
{
    const measured_run *run = &rows->runs.items[index];
    SIM_ASSERT(run->ranks >= 2 && run->per_node >= 1 && run->nodes * run->per_node == run->ranks);
    SIM_ASSERT(run->place.file && run->place.line > 1 && run->place.column > 0);
    for (int c = 0; c < RUN_COLUMNS; c++)
        SIM_ASSERT(run->fields[c]);
    SIM_ASSERT(*run->fields[RUN_ID] && *run->fields[RUN_COLLECTIVE] && *run->fields[RUN_GPU]);
    SIM_ASSERT(strtoul(run->fields[RUN_NODES], NULL, 10) == run->nodes);
    for (uint32_t other = 0; other < index; other++)
        SIM_ASSERT(strcmp(rows->runs.items[other].fields[RUN_ID], run->fields[RUN_ID]) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_MAX) return 0;
    arena *a = arena_create("fuzz");
    sim_error error = { 0 };
    collective_rows rows;
    SIM_ASSERT(a);
    csv_reader *csv = csv_open_text(a, "collectives", (const char *)data, size, &error);
    if (csv && collective_rows_take(a, csv, &rows, &error)) {
        SIM_ASSERT(rows.runs.count <= rows.sizes.count);
        for (uint32_t i = 0; i < rows.runs.count && i < 100; i++)
            check_run(&rows, i);
        for (uint32_t i = 0; i < rows.sizes.count; i++) {
            const measured_size *one = &rows.sizes.items[i];
            SIM_ASSERT(one->run < rows.runs.count);
            SIM_ASSERT(isnan(one->time_s) || (one->time_s > 0.0 && isfinite(one->time_s)));
        }
    } else {
        fuzz_check_error(&error);
        SIM_ASSERT(*error.file && error.line > 0);
    }
    arena_destroy(a);
    return 0;
}
