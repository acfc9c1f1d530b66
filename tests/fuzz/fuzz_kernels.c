// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of kernels' times. As measured (gemm, attention, elementwise): refused with a place, or each row has a time above zero
// and sizes, or says why not. Behind a byte 'U' a user's kernel_table: refused with a place, or times that can be played.
#include "models/scenario.h"
#include "tests/fuzz/fuzz.h"
#include "validate/kernel_rows.h"
#include <math.h>

enum { TEXT_MAX = 1 << 16 };

typedef struct holder {
    kernel_time_array times;
} holder;
static const bind_row holder_binds[] = { BIND_LIST(holder, times, "kernel_times", kernel_time_binds),
                                         BIND_END };

static bool read_own(arena *a, csv_reader *csv, sim_error *error)
{
    document doc;
    holder h = { 0 };
    if (!csv_document(csv, &doc, error)) return false;
    doc_pair pair = { .key = "kernel_times", .key_place = doc.root->place, .value = doc.root };
    const doc_node root = { .kind = DOC_MAPPING, .place = doc.root->place, .pairs = &pair, .count = 1 };
    if (!bind_read(bind_reader_create(a, NULL, NULL), holder_binds, &root, "", &h, error)) return false;
    for (uint32_t i = 0; i < h.times.count; i++)
        SIM_ASSERT(h.times.items[i].time_s > 0.0 && isfinite(h.times.items[i].time_s) &&
                   h.times.items[i].m > 0);
    return true;
}

static bool read_measured(arena *a, csv_reader *csv, sim_error *error)
{
    measured_kernel_array rows = { 0 };
    if (!kernel_rows_take(a, csv, &rows, error)) return false;
    for (uint32_t i = 0; i < rows.count; i++) {
        const measured_kernel *row = &rows.items[i];
        SIM_ASSERT(row->line > 1 && row->source && row->what && row->gpu);
        if (row->unknown) {
            SIM_ASSERT(*row->unknown);
        } else {
            SIM_ASSERT(row->time_s > 0.0 && isfinite(row->time_s));
            SIM_ASSERT(row->table == MEASURED_ELEMENTWISE ? row->bytes > 0.0
                                                          : measured_kernel_flop(row) > 0.0);
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_MAX) return 0;
    arena *a = arena_create("fuzz");
    sim_error error = { 0 };
    SIM_ASSERT(a);
    const bool own = size > 0 && data[0] == 'U';
    csv_reader *csv = csv_open_text(a, "kernels", (const char *)data + own, size - own, &error);
    if (!csv || !(own ? read_own : read_measured)(a, csv, &error)) {
        fuzz_check_error(&error);
        SIM_ASSERT(*error.file && error.line > 0);
    }
    arena_destroy(a);
    return 0;
}
