// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/in_flight.h"
#include "sim/array.h"

static int setup(void **state)
{
    *state = arena_create("test");
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    arena_destroy(*state);
    return 0;
}

static memory_in_flight of(arena *a, const schedule_def *def, const stages_def *layers, uint32_t stage,
                           bool overlap)
{
    const schedule s = schedule_build(a, def);
    const stage_table t = stages_build(a, layers);
    return in_flight_of(&s, &t, stage, overlap);
}

struct by_hand {
    const char *name;
    schedule_def def;
    uint32_t layers;
    layer_split split;
    const uint32_t *list;
    uint32_t stage;
    memory_in_flight want; // layers, embeddings, heads, messages
    uint32_t in_turn;      // messages without overlap
};
static const uint32_t rising[] = { 1, 2, 3, 5 }, front_heavy[] = { 5, 1, 1, 1 };

// The orders are those of test_schedule.c. Of messages without overlap: a stage hands over what the pass made and asks for what
// the next one needs. The last stage of gpipe, whose first backward needs nothing, does one or the other. Between steady pairs
// of an interleaved schedule two of each.
static const struct by_hand cases[] = {
    { "gpipe keeps all", { SCHEDULE_GPIPE, 3, 4, 1 }, 12, SPLIT_EVEN, NULL, 1, { 16, 0, 0, 4 }, 2 },
    { "gpipe, the first stage", { SCHEDULE_GPIPE, 3, 4, 1 }, 12, SPLIT_EVEN, NULL, 0, { 16, 4, 0, 2 }, 2 },
    { "gpipe, the last stage", { SCHEDULE_GPIPE, 3, 4, 1 }, 12, SPLIT_EVEN, NULL, 2, { 16, 0, 4, 2 }, 1 },
    { "1f1b, the first stage", { SCHEDULE_1F1B, 4, 7, 1 }, 24, SPLIT_EVEN, NULL, 0, { 24, 4, 0, 2 }, 2 },
    { "1f1b, a middle stage", { SCHEDULE_1F1B, 4, 7, 1 }, 24, SPLIT_EVEN, NULL, 1, { 18, 0, 0, 4 }, 2 },
    { "1f1b, the last stage", { SCHEDULE_1F1B, 4, 7, 1 }, 24, SPLIT_EVEN, NULL, 3, { 6, 0, 1, 2 }, 2 },
    { "1f1b, uneven: 7 7 6 6", { SCHEDULE_1F1B, 4, 7, 1 }, 26, SPLIT_UNEVEN, NULL, 1, { 21, 0, 0, 4 }, 2 },
    { "1f1b, ends: 5 6 6 5", { SCHEDULE_1F1B, 4, 7, 1 }, 22, SPLIT_ENDS, NULL, 0, { 20, 4, 0, 2 }, 2 },
    { "fewer micro-batches than stages",
      { SCHEDULE_1F1B, 5, 2, 1 },
      10,
      SPLIT_EVEN,
      NULL,
      0,
      { 4, 2, 0, 2 },
      2 },
    { "one stage", { SCHEDULE_1F1B, 1, 3, 1 }, 7, SPLIT_EVEN, NULL, 0, { 7, 1, 1, 0 }, 0 },
    // 0.0 1.0 0.1 1.1 2.0 b0.1 3.0 b1.1 2.1 b0.0 3.1 ..., chunks of 1 and 3 layers: 1 2 5 8 9 6 7 4 7 6 9 ...; before
    // b0.0 four have gone through chunk 0
    { "interleaved, the first stage",
      { SCHEDULE_INTERLEAVED_1F1B, 2, 4, 2 },
      11,
      SPLIT_LIST,
      rising,
      0,
      { 9, 4, 0, 4 },
      4 },
    // 0.0 1.0 0.1 b0.1 1.1 b1.1 2.0 ..., chunks of 2 and 5: 2 4 9 4 9 4 6 ...
    { "interleaved, the last stage",
      { SCHEDULE_INTERLEAVED_1F1B, 2, 4, 2 },
      11,
      SPLIT_LIST,
      rising,
      1,
      { 9, 0, 1, 4 },
      4 },
    // chunks of 5 and 1: 5 10 11 12 17 16 21 20 21 16 17: not where the most passes are in flight for the first time
    { "the moment with most layers",
      { SCHEDULE_INTERLEAVED_1F1B, 2, 4, 2 },
      8,
      SPLIT_LIST,
      front_heavy,
      0,
      { 21, 4, 0, 4 },
      4 },
    // Llama 3 405B: chunk 0 of stage 0 is the embedding alone; 16 micro-batches in each of the seven others, while 15
    // go through it a second time, and a sixteenth after the first backward
    { "a chunk without layers",
      { SCHEDULE_INTERLEAVED_1F1B, 16, 32, 8 },
      126,
      SPLIT_ENDS,
      NULL,
      0,
      { 112, 32, 0, 4 },
      4 },
};

static void stages_keep_what_is_counted_by_hand(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const struct by_hand *c = &cases[i];
        const stages_def layers = { .layers = c->layers,
                                    .stages = c->def.stages,
                                    .chunks = c->def.chunks,
                                    .split = c->split,
                                    .list = c->list,
                                    .list_count = c->list ? c->def.stages * c->def.chunks : 0 };
        const memory_in_flight got = of(*state, &c->def, &layers, c->stage, true);
        print_message("%s\n", c->name);
        assert_int_equal(got.layers, c->want.layers);
        assert_int_equal(got.embeddings, c->want.embeddings);
        assert_int_equal(got.heads, c->want.heads);
        assert_int_equal(got.messages, c->want.messages);
        const uint32_t in_turn = of(*state, &c->def, &layers, c->stage, false).messages;
        assert_int_equal(in_turn, c->in_turn);
    }
}

// Korthikanti et al. 2022, section 4.2.3: the first stage of 1F1B keeps as many layers as the model has, whatever p is;
// interleaved 1 + (p - 1) / (p v) times as many.
static void the_first_stage_keeps_what_is_published(void **state)
{
    for (uint32_t p = 2; p <= 8; p++)
        for (uint32_t v = 1; v <= 4; v++) {
            const uint32_t each = 3, model = p * v * each;
            const schedule_kind kind = v == 1 ? SCHEDULE_1F1B : SCHEDULE_INTERLEAVED_1F1B;
            const memory_in_flight got = of(*state, &(schedule_def){ kind, p, 3 * p, v },
                                            &(stages_def){ .layers = model, .stages = p, .chunks = v }, 0,
                                            true);
            assert_int_equal(got.layers, v == 1 ? model : model + (p - 1) * each);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stages_keep_what_is_counted_by_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_stage_keeps_what_is_published, setup, teardown),
    };
    return cmocka_run_group_tests_name("in_flight", tests, NULL, NULL);
}
