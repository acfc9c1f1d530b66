// SPDX-License-Identifier: GPL-3.0-or-later
// The memory of a GPU by part: without a pipeline with all digits and shares, else a column for each run of equal stages.
#include "tools/answer.h"
#include <string.h>

enum {
    TABLE_WIDTH = 110, // of a pipeline's table, at most
    PART_WIDTH = 21,   // "communication buffers"
    BYTES_WIDTH = 9    // "74.51 GiB"
};

typedef struct equal_stages { // neighbours that need the same
    uint32_t first, count;
    const char *title; // of the column; NULL: there was no room for it
} equal_stages;
ARRAY_OF(equal_stages, equal_stages_array);

static void one_row(table *t, arena *a, const char *name, uint64_t bytes, double capacity)
{
    table_cell(t, "%s", name);
    table_cell(t, "%s", output_count(a, bytes));
    table_cell(t, "%s", output_bytes(a, (double)bytes));
    table_cell(t, "%s", output_percent(a, (double)bytes / capacity));
}

// Parts that are told only where there is something of them.
static bool of_coding(uint32_t part)
{
    return part == MEMORY_FEEDBACK || part == MEMORY_CODED;
}

static void print_one(arena *a, const gpu_def *gpu, const memory_need *need, FILE *out)
{
    static const table_column columns[] = {
        { "memory of a GPU", false }, { "bytes", true }, { "", true }, { "share", true }
    };
    const double capacity = (double)gpu->memory_bytes;
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t part = 0; part < MEMORY_PARTS; part++)
        if (need->bytes[part] > 0 || !of_coding(part))
            one_row(&t, a, memory_part_words[part], need->bytes[part], capacity);
    one_row(&t, a, "total", need->total_bytes, capacity);
    one_row(&t, a, arena_format(a, "%s has", gpu->name), gpu->memory_bytes, capacity);
    table_print(&t, "", out);
}

// ---- pipelines

static equal_stages_array join_stages(arena *a, const stage_memory *m)
{
    equal_stages_array runs = { 0 };
    for (uint32_t stage = 0; stage < m->stages; stage++) {
        const memory_need *need = &m->of_stage[stage];
        if (stage && memcmp(need, need - 1, sizeof(*need)) == 0)
            runs.items[runs.count - 1].count++;
        else
            *array_push(&runs, a) = (equal_stages){ .first = stage, .count = 1 };
    }
    return runs;
}

static uint64_t total_of(const stage_memory *m, const equal_stages *run)
{
    return m->of_stage[run->first].total_bytes;
}

// "stages 1-2"; behind the fullest a star.
static const char *title_of(arena *a, const stage_memory *m, const equal_stages *run)
{
    const uint32_t last = run->first + run->count - 1;
    const char *mark = run->first == m->fullest ? " *" : "";
    if (run->count == 1) return arena_format(a, "stage %u%s", run->first, mark);
    return arena_format(a, "stages %u-%u%s", run->first, last, mark);
}

// The fullest get a column, as far as there is room; of several that need the same the first. Returns how many.
static uint32_t choose_columns(arena *a, const stage_memory *m, equal_stages_array *runs)
{
    size_t room = TABLE_WIDTH - PART_WIDTH;
    for (uint32_t chosen = 0; chosen < runs->count; chosen++) {
        equal_stages *most = NULL;
        for (uint32_t i = 0; i < runs->count; i++)
            if (!runs->items[i].title && (!most || total_of(m, &runs->items[i]) > total_of(m, most)))
                most = &runs->items[i];
        const char *title = title_of(a, m, most);
        const size_t length = strlen(title), width = 2 + (length > BYTES_WIDTH ? length : BYTES_WIDTH);
        if (width > room) return chosen;
        room -= width;
        most->title = title;
    }
    return runs->count;
}

static void stage_row(table *t, arena *a, const char *name, const uint64_t *bytes, uint32_t count)
{
    table_cell(t, "%s", name);
    for (uint32_t i = 0; i < count; i++)
        table_cell(t, "%s", output_bytes(a, (double)bytes[i]));
}

static void print_columns(arena *a, const gpu_def *gpu, const stage_memory *m, const equal_stages_array *runs,
                          uint32_t count, FILE *out)
{
    table_column *columns = arena_array(a, table_column, 1 + count);
    const memory_need **needs = arena_array(a, const memory_need *, count);
    uint64_t *bytes = arena_array(a, uint64_t, count);
    uint32_t n = 0;
    columns[0] = (table_column){ "memory of a GPU", false };
    for (uint32_t i = 0; i < runs->count; i++) {
        if (!runs->items[i].title) continue;
        needs[n++] = &m->of_stage[runs->items[i].first];
        columns[n] = (table_column){ runs->items[i].title, true };
    }
    table t = table_make(a, columns, 1 + count);
    for (uint32_t part = 0; part < MEMORY_PARTS; part++) {
        bool any = !of_coding(part);
        for (uint32_t i = 0; i < count; i++) {
            bytes[i] = needs[i]->bytes[part];
            any = any || bytes[i] > 0;
        }
        if (any) stage_row(&t, a, memory_part_words[part], bytes, count);
    }
    for (uint32_t i = 0; i < count; i++)
        bytes[i] = needs[i]->total_bytes;
    stage_row(&t, a, "total", bytes, count);
    table_cell(&t, "share");
    for (uint32_t i = 0; i < count; i++)
        table_cell(&t, "%s", output_percent(a, (double)bytes[i] / (double)gpu->memory_bytes));
    table_print(&t, "", out);
}

static void print_stages(arena *a, const gpu_def *gpu, const stage_memory *m, FILE *out)
{
    equal_stages_array runs = join_stages(a, m);
    const uint32_t count = choose_columns(a, m, &runs);
    uint32_t left_out = 0;
    print_columns(a, gpu, m, &runs, count, out);
    fprintf(out, "* the fullest; %s has %s\n", output_printable(a, gpu->name),
            output_bytes(a, (double)gpu->memory_bytes));
    for (uint32_t i = 0; i < runs.count; i++)
        if (!runs.items[i].title) left_out += runs.items[i].count;
    if (left_out == 1)
        fprintf(out, "1 stage that needs less is left out; --json has all\n");
    else if (left_out)
        fprintf(out, "%u stages that need less are left out; --json has all\n", left_out);
}

void answer_memory(arena *a, const scenario *s, const stage_memory *m, FILE *out)
{
    const gpu_def *gpu = &s->cluster.node.gpu;
    if (m->stages == 1)
        print_one(a, gpu, world_fullest(m), out);
    else
        print_stages(a, gpu, m, out);
}

// ---- for machines

static void json_need(json_writer *j, const memory_need *need, uint64_t capacity)
{
    json_object(j, "parts_bytes");
    for (uint32_t part = 0; part < MEMORY_PARTS; part++) {
        if (need->bytes[part] == 0 && of_coding(part)) continue;
        char key[64]; // keys without spaces are easier to ask for
        snprintf(key, sizeof(key), "%s", memory_part_words[part]);
        for (char *c = key; *c; c++)
            if (*c == ' ') *c = '_';
        json_count(j, key, need->bytes[part]);
    }
    json_close(j);
    json_count(j, "total_bytes", need->total_bytes);
    json_count(j, "capacity_bytes", capacity);
    json_number(j, "share", (double)need->total_bytes / (double)capacity);
    json_bool(j, "fits", need->total_bytes <= capacity);
}

// The fullest stage is the answer; those of a pipeline follow.
void answer_memory_json(json_writer *j, const scenario *s, const stage_memory *m)
{
    const uint64_t capacity = s->cluster.node.gpu.memory_bytes;
    json_object(j, "memory");
    json_need(j, world_fullest(m), capacity);
    if (m->stages > 1) {
        json_count(j, "stage", m->fullest);
        json_array(j, "stages");
        for (uint32_t stage = 0; stage < m->stages; stage++) {
            json_object(j, NULL);
            json_need(j, &m->of_stage[stage], capacity);
            json_close(j);
        }
        json_close(j);
    }
    json_close(j);
}
