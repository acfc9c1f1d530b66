// SPDX-License-Identifier: GPL-3.0-or-later
// A scenario as text: read, walked, bound to a table with every kind of row, written and read again. What stands behind a
// zero byte, which YAML cannot hold, is given to --set first.
#include "sim/array.h"
#include "sim/bind.h"
#include "sim/check.h"
#include "sim/os.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>

typedef struct part {
    const char *name;
    double rate_Bps;
    bind_points curve;
} part;
typedef struct item {
    uint32_t count;
    part part;
} item;
ARRAY_OF(item, item_array);
typedef struct group {
    bool given;
    uint32_t steps;
    double share;
} group;
typedef struct scenario {
    group group;
    bool flag;
    uint32_t count;
    uint64_t large, memory_bytes;
    double ratio, wait_s, speed_flops, power_W, clock_Hz, cable_m;
    sim_time delay_ps;
    const char *text, *path;
    int shape;
    item_array items;
    bind_points curve;
    part part;
} scenario;

static const char *const shapes[] = { "ring", "tree", "none", NULL };
static const bind_row part_binds[] = {
    BIND_TEXT(part, name, "name", BIND_REQUIRED),
    BIND_RATE(part, rate_Bps, "rate", BIND_DEFAULT(1e9, "1 GB/s"), BIND_ABOVE(0)),
    BIND_POINTS(part, curve, "curve", UNIT_BYTES, UNIT_NONE),
    BIND_END,
};
static const bind_row item_binds[] = {
    BIND_U32(item, count, "count", BIND_REQUIRED),
    BIND_PART(item, part, "part", "parts", part_binds),
    BIND_END,
};
static const bind_row group_binds[] = {
    BIND_U32(group, steps, "steps", BIND_DEFAULT(3, "3"), BIND_AT_LEAST(1), BIND_AT_MOST(1e6)),
    BIND_NUMBER(group, share, "share", BIND_AT_LEAST(0), BIND_AT_MOST(1)),
    BIND_END,
};
static const bind_row binds[] = {
    BIND_STRUCT(scenario, group, "group", group_binds, BIND_SET_FLAG(scenario, group.given)),
    BIND_BOOL(scenario, flag, "flag", BIND_DEFAULT(1, "true")),
    BIND_U32(scenario, count, "count"),
    BIND_U64(scenario, large, "large", BIND_DEFAULT(5, "5")),
    BIND_BYTES(scenario, memory_bytes, "memory"),
    BIND_NUMBER(scenario, ratio, "ratio"),
    BIND_SECONDS(scenario, wait_s, "wait"),
    BIND_FLOPS(scenario, speed_flops, "speed"),
    BIND_POWER(scenario, power_W, "power"),
    BIND_FREQUENCY(scenario, clock_Hz, "clock"),
    BIND_LENGTH(scenario, cable_m, "cable"),
    BIND_TIME(scenario, delay_ps, "delay"),
    BIND_TEXT(scenario, text, "text"),
    BIND_PATH(scenario, path, "path"),
    BIND_ENUM(scenario, shape, "shape", shapes, BIND_DEFAULT(2, "none")),
    BIND_LIST(scenario, items, "items", item_binds),
    BIND_POINTS(scenario, curve, "curve", UNIT_TIME, UNIT_RATE),
    BIND_PART(scenario, part, "part", "parts", part_binds),
    BIND_LATER("storage", "not modelled in this version"),
    BIND_END,
};

typedef struct measure {
    uint32_t nodes, height;
} measure;

// Counts what the nodes say of themselves.
static measure walk(const doc_node *node, uint32_t depth)
{
    measure all = { 1, 1 };
    SIM_ASSERT(depth <= DOCUMENT_DEPTH_MAX && node->place.file);
    SIM_ASSERT(node->kind == DOC_SCALAR ? node->scalar && node->count == 0 : !node->scalar);
    for (uint32_t i = 0; i < node->count; i++) {
        SIM_ASSERT(node->kind == DOC_SEQUENCE || node->pairs[i].key_place.line);
        measure below = walk(node->kind == DOC_SEQUENCE ? node->items[i] : node->pairs[i].value, depth + 1);
        all.nodes += below.nodes;
        if (all.height < below.height + 1) all.height = below.height + 1;
    }
    SIM_ASSERT(all.nodes == node->unrolled && all.height == node->height);
    return all;
}

static char *write_scenario(const bind_reader *r, const scenario *s, size_t *length)
{
    char *text = NULL;
    FILE *out = os_open_memory(&text, length);
    SIM_ASSERT(out);
    bind_write(r, binds, s, 0, out);
    SIM_ASSERT(fclose(out) == 0);
    return text;
}

// What is written reads back and is then written the same.
static void check_round_trip(arena *a, const bind_reader *r, const scenario *s)
{
    sim_error error = { 0 };
    document doc;
    scenario again;
    size_t length = 0, again_length = 0;
    char *text = write_scenario(r, s, &length);
    bind_reader *reader = bind_reader_create(a, NULL, NULL);
    bool fine = document_parse(a, "fuzz", text, length, NULL, &doc, &error) &&
                bind_read(reader, binds, doc.root, "", &again, &error);
    if (!fine) sim_error_print(&error, stderr);
    SIM_ASSERT(fine);
    char *again_text = write_scenario(reader, &again, &again_length);
    SIM_ASSERT(again_length == length && memcmp(again_text, text, length) == 0);
    free(text);
    free(again_text);
}

static void try_bind(arena *a, const document *doc)
{
    sim_error error = { 0 };
    scenario s;
    bind_reader *r = bind_reader_create(a, NULL, NULL);
    if (bind_read(r, binds, doc->root, "", &s, &error))
        check_round_trip(a, r, &s);
    else
        fuzz_check_error(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t length = zero ? (size_t)(zero - data) : size;
    arena *a = arena_create("fuzz");
    sim_error error = { 0 };
    document doc;
    SIM_ASSERT(a);
    if (document_parse(a, "fuzz", (const char *)data, length, NULL, &doc, &error)) {
        walk(doc.root, 1);
        const char *argument = zero ? arena_text_n(a, (const char *)zero + 1, size - length - 1) : NULL;
        if (argument && !document_set(a, &doc, argument, &error)) fuzz_check_error(&error);
        if (argument) walk(doc.root, 1);
        try_bind(a, &doc);
    } else {
        fuzz_check_error(&error);
    }
    arena_destroy(a);
    return 0;
}
