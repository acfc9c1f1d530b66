// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel show schedule: the order of passes in a pipeline, drawn to scale. It needs no scenario.
#include "models/training/schedule.h"
#include "sim/words.h"
#include "tools/show.h"
#include <inttypes.h>

enum {
    COLUMNS = 110,  // of a line
    LABEL = 11,     // "stage 1023 "
    FORWARD = 1,    // units that a forward of a chunk takes in the drawing
    BACKWARD = 2,   // a backward has two products for each of a forward
    TIME_MARKS = 10 // a number above every so many units
};

static bool read_count(const char *name, const char *text, uint32_t *count, sim_error *error)
{
    uint64_t value;
    if (!text) return true;
    const sim_place place = sim_place_of_option(name, text);
    if (!units_parse_count(text, &value, &place, error)) return false;
    if (value > UINT32_MAX) {
        char most[WORDS_GROUPED_SIZE];
        sim_fail(error, SIM_EXIT_INPUT, &place, "no schedule is so large");
        return sim_hint(error, "all stages together do at most %s passes",
                        words_grouped(most, SCHEDULE_PASSES_MAX));
    }
    *count = (uint32_t)value;
    return true;
}

static bool read_def(const schedule_options *o, schedule_def *d, sim_error *error)
{
    *d = (schedule_def){ .kind = (schedule_kind)o->kind, .stages = 4, .micro_batches = 8 };
    d->chunks = d->kind == SCHEDULE_INTERLEAVED_1F1B ? 2 : 1;
    return read_count("--stages", o->stages, &d->stages, error) &&
           read_count("--micro-batches", o->micro_batches, &d->micro_batches, error) &&
           read_count("--virtual-stages", o->virtual_stages, &d->chunks, error) &&
           schedule_check_sizes(d, NULL, error);
}

// ---- the drawing

static uint32_t digits(uint32_t number)
{
    uint32_t count = 1;
    for (; number >= 10; number /= 10)
        count++;
    return count;
}

typedef struct drawing {
    arena *a;
    const schedule *s;
    const schedule_times *times;
    uint32_t unit;     // characters of a unit of time
    uint32_t per_line; // units
} drawing;

// A unit has room for a number and a blank, which parts passes; a backward of two units for its mark as well.
static drawing plan_drawing(arena *a, const schedule *s, const schedule_times *times)
{
    const uint32_t most = s->def.micro_batches > s->def.chunks ? s->def.micro_batches : s->def.chunks;
    const uint32_t width = digits(most - 1), room = COLUMNS - LABEL;
    const uint32_t unit = width + 1;
    uint32_t per_line = room / unit;
    per_line -= per_line % TIME_MARKS;
    SIM_ASSERT(per_line > 0); // SCHEDULE_PASSES_MAX keeps numbers short
    if (times->total * unit <= room) per_line = room / unit;
    return (drawing){ .a = a, .s = s, .times = times, .unit = unit, .per_line = per_line };
}

// Writes text into a row of blanks, as far as the row goes.
static void put(char *row, uint64_t at, uint64_t size, const char *text)
{
    for (; *text && at < size; text++)
        row[at++] = *text;
}

// All of a stage from the first unit to the last: passes, or with chunks the chunk of each pass below its beginning.
static char *draw_stage(const drawing *d, uint32_t stage, bool chunks)
{
    const uint64_t size = d->times->total * d->unit;
    char *row = arena_array(d->a, char, size + 1);
    memset(row, ' ', size);
    for (uint64_t t = 0; t < d->times->total && !chunks; t++)
        row[t * d->unit] = '.';
    for (uint32_t i = 0; i < d->s->pass_count; i++) {
        const schedule_pass pass = schedule_pass_at(d->s, stage, i);
        const bool back = pass.direction == PASS_BACKWARD;
        const uint64_t start = d->times->starts[(size_t)stage * d->s->pass_count + i];
        const uint64_t at = start * d->unit;
        char text[32];
        memset(row + at, ' ', (size_t)d->unit * (back ? BACKWARD : FORWARD));
        if (chunks)
            snprintf(text, sizeof(text), "%u", pass.chunk);
        else
            snprintf(text, sizeof(text), "%s%u", back ? "b" : "", pass.micro_batch);
        put(row, at, size, text);
    }
    return row;
}

static void print_row(const char *label, const char *row, uint64_t from, uint64_t size)
{
    while (size && row[from + size - 1] == ' ')
        size--;
    printf("%-*s%.*s\n", LABEL, label, (int)size, row + from);
}

static char *draw_time(const drawing *d)
{
    const uint64_t size = d->times->total * d->unit;
    char *row = arena_array(d->a, char, size + 1), text[32];
    memset(row, ' ', size);
    for (uint64_t t = 0; t < d->times->total; t += TIME_MARKS) {
        snprintf(text, sizeof(text), "%" PRIu64, t);
        if (t * d->unit + strlen(text) <= size) put(row, t * d->unit, size, text);
    }
    return row;
}

static void print_drawing(const drawing *d)
{
    const uint32_t stages = d->s->def.stages;
    const char *const time = draw_time(d);
    const char **rows = arena_array(d->a, const char *, 2 * (size_t)stages);
    for (uint32_t i = 0; i < 2 * stages; i++)
        rows[i] = i % 2 && d->s->def.chunks == 1 ? NULL : draw_stage(d, i / 2, i % 2);
    for (uint64_t from = 0; from < d->times->total; from += d->per_line) {
        const uint64_t left = d->times->total - from;
        const uint64_t at = from * d->unit, size = d->unit * (left < d->per_line ? left : d->per_line);
        printf("\n");
        print_row("time", time, at, size);
        for (uint32_t i = 0; i < 2 * stages; i++)
            if (rows[i])
                print_row(i % 2 ? "  chunk" : arena_format(d->a, "stage %u", i / 2), rows[i], at, size);
    }
}

// ---- numbers

typedef struct bubble {
    uint64_t ideal;                       // units in which a stage works
    double of_ideal_ratio, of_step_ratio; // what is idle, of either
} bubble;

static bubble bubble_of(const schedule *s, const schedule_times *times)
{
    const uint64_t ideal = (uint64_t)(s->pass_count / 2) * (FORWARD + BACKWARD);
    const double idle = (double)(times->total - ideal);
    return (bubble){ ideal, idle / (double)ideal, idle / (double)times->total };
}

static void print_numbers(arena *a, const schedule *s, const schedule_times *times)
{
    static const table_column whole[] = { { "stage", true }, { "micro-batches in flight, at most", true } };
    static const table_column parts[] = { { "stage", true },
                                          { "forwards in flight, at most", true },
                                          { "as micro-batches of the whole stage", true } };
    const schedule_def *d = &s->def;
    const bubble b = bubble_of(s, times);
    const uint64_t passes = (uint64_t)d->micro_batches * d->chunks;
    printf("\nbubble: %s of the ideal time, (p - 1) / (m v) = %u / %s\n", output_percent(a, b.of_ideal_ratio),
           d->stages - 1, output_count(a, passes));
    printf("        %s of the step, (p - 1) / (m v + p - 1) = %u / %s\n", output_percent(a, b.of_step_ratio),
           d->stages - 1, output_count(a, passes + d->stages - 1));
    printf("step:   %s units, of which each stage works %s\n\n", output_count(a, times->total),
           output_count(a, b.ideal));
    table t = d->chunks > 1 ? table_make(a, parts, ARRAY_COUNT(parts))
                            : table_make(a, whole, ARRAY_COUNT(whole));
    for (uint32_t stage = 0; stage < d->stages; stage++) {
        const uint32_t peak = schedule_peak_in_flight(s, stage);
        table_cell(&t, "%u", stage);
        table_cell(&t, "%s", output_count(a, peak));
        if (d->chunks > 1) table_cell(&t, "%.4g", (double)peak / d->chunks);
    }
    table_print(&t, "", stdout);
}

static void print_json(const schedule *s, const schedule_times *times)
{
    const bubble b = bubble_of(s, times);
    json_writer j = json_make(stdout);
    json_object(&j, NULL);
    json_text(&j, "schedule", schedule_kind_words[s->def.kind]);
    json_count(&j, "stages", s->def.stages);
    json_count(&j, "micro_batches", s->def.micro_batches);
    json_count(&j, "virtual_stages", s->def.chunks);
    json_count(&j, "forward_units", FORWARD);
    json_count(&j, "backward_units", BACKWARD);
    json_count(&j, "step_units", times->total);
    json_count(&j, "ideal_units", b.ideal);
    json_number(&j, "bubble_of_ideal_ratio", b.of_ideal_ratio);
    json_number(&j, "bubble_of_step_ratio", b.of_step_ratio);
    json_array(&j, "orders");
    for (uint32_t stage = 0; stage < s->def.stages; stage++) {
        json_object(&j, NULL);
        json_count(&j, "stage", stage);
        json_count(&j, "peak_forwards_in_flight", schedule_peak_in_flight(s, stage));
        json_array(&j, "passes");
        for (uint32_t i = 0; i < s->pass_count; i++) {
            const schedule_pass pass = schedule_pass_at(s, stage, i);
            json_object(&j, NULL);
            json_text(&j, "direction", pass_direction_words[pass.direction]);
            json_count(&j, "micro_batch", pass.micro_batch);
            json_count(&j, "chunk", pass.chunk);
            json_count(&j, "start_units", times->starts[(size_t)stage * s->pass_count + i]);
            json_close(&j);
        }
        json_close(&j);
        json_close(&j);
    }
    json_close(&j);
    json_close(&j);
}

bool show_schedule(const show_request *q, sim_error *error)
{
    arena *a = q->arena;
    schedule_def def;
    if (!read_def(q->schedule, &def, error)) return false;
    const schedule s = schedule_build(a, &def);
    if (!schedule_check(&s, a, error)) return false;
    const schedule_times times = schedule_evaluate(a, &s, FORWARD, BACKWARD);
    if (q->options->json) {
        print_json(&s, &times);
        return true;
    }
    const drawing d = plan_drawing(a, &s, &times);
    const bool chunks = def.chunks > 1;
    printf("%s: %s stage%s, %s micro-batch%s", schedule_kind_words[def.kind], output_count(a, def.stages),
           def.stages == 1 ? "" : "s", output_count(a, def.micro_batches),
           def.micro_batches == 1 ? "" : "es");
    if (chunks) printf(", %s virtual stages in each stage", output_count(a, def.chunks));
    printf("\n3 is the forward of micro-batch 3, b3 its backward, which takes twice as long; a dot is idle "
           "time%s\n",
           chunks ? ";\nchunk says through which virtual stage of the stage it goes" : "");
    print_drawing(&d);
    print_numbers(a, &s, &times);
    return true;
}
