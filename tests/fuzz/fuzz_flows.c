// SPDX-License-Identifier: GPL-3.0-or-later
// A file of flows: the first byte says how many hosts there are, less one; what follows is the file.
#include "models/traffic/flow_file.h"
#include "sim/os.h"
#include "tests/fuzz/fuzz.h"
#include <inttypes.h>
#include <stdlib.h>

static void check_error(const sim_error *error)
{
    fuzz_check_error(error);
    SIM_ASSERT(error->file[0]);
    SIM_ASSERT((error->line == 0) == (error->column == 0));
}

static void check_flows(const traffic_flow_array *flows, const flow_file_limits *limits)
{
    uint64_t bytes = 0;
    SIM_ASSERT(flows->count > 0 && flows->count <= limits->flows);
    for (uint32_t i = 0; i < flows->count; i++) {
        const traffic_flow *f = &flows->items[i];
        SIM_ASSERT(f->from < limits->hosts && f->to < limits->hosts && f->from != f->to);
        SIM_ASSERT(f->start_ps >= (i ? flows->items[i - 1].start_ps : 0) &&
                   f->start_ps <= TRAFFIC_START_MAX_PS);
        SIM_ASSERT(f->start_ps % PS_PER_NS == 0 && f->bytes <= TRAFFIC_BYTES_MAX - bytes);
        bytes += f->bytes;
    }
}

// What was read is written plainly and reads back the same.
static void check_round_trip(arena *a, const traffic_flow_array *flows, const flow_file_limits *limits)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = os_open_memory(&text, &length);
    SIM_ASSERT(out);
    fprintf(out, "%s\n", FLOW_FILE_HEADER);
    for (uint32_t i = 0; i < flows->count; i++) {
        const traffic_flow *f = &flows->items[i];
        fprintf(out, "%" PRId64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 "\n", f->start_ps / PS_PER_NS, f->from,
                f->to, f->bytes);
    }
    SIM_ASSERT(fclose(out) == 0);
    sim_error error = { 0 };
    traffic_flow_array again = { 0 };
    SIM_ASSERT(flow_file_parse(a, "again", text, length, limits, &again, &error));
    SIM_ASSERT(again.count == flows->count);
    for (uint32_t i = 0; i < flows->count; i++)
        SIM_ASSERT(again.items[i].start_ps == flows->items[i].start_ps &&
                   again.items[i].from == flows->items[i].from && again.items[i].to == flows->items[i].to &&
                   again.items[i].bytes == flows->items[i].bytes);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const flow_file_limits limits = { .hosts = (uint32_t)data[0] + 1, .flows = 50 };
    // A copy of exactly this size, so that reading behind the end is seen.
    char *text = malloc(size > 1 ? size - 1 : 1);
    SIM_ASSERT(text);
    memcpy(text, data + 1, size - 1);
    arena *a = arena_create("fuzz");
    SIM_ASSERT(a);
    sim_error error = { 0 };
    traffic_flow_array flows = { 0 };
    if (flow_file_parse(a, "fuzz", text, size - 1, &limits, &flows, &error)) {
        check_flows(&flows, &limits);
        check_round_trip(a, &flows, &limits);
    } else {
        check_error(&error);
    }
    arena_destroy(a);
    free(text);
    return 0;
}
