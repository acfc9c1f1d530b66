// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/training/stages.h"
#include "sim/array.h"
#include "tests/support/text.h"

enum { CHUNKS_MAX = 8 };

// ---- tables, in the order of the model

struct split_case {
    const char *name;
    stages_def def;
    uint32_t layers[CHUNKS_MAX]; // of each virtual stage
};
static const uint32_t bare_ends[] = { 0, 5, 2, 0 }, four[] = { 1, 2, 3, 1 };
static const struct split_case splits[] = {
    { "all on one stage", { 7, 1, 1, SPLIT_EVEN, NULL, 0, 0, 0, 0 }, { 7 } },
    { "even", { 21, 3, 1, SPLIT_EVEN, NULL, 0, 0, 0, 0 }, { 7, 7, 7 } },
    { "even, in chunks", { 24, 2, 3, SPLIT_EVEN, NULL, 0, 0, 0, 0 }, { 4, 4, 4, 4, 4, 4 } },
    { "uneven: the first 17 mod 3 have one more", { 17, 3, 1, SPLIT_UNEVEN, NULL, 0, 0, 0, 0 }, { 6, 6, 5 } },
    { "uneven, in chunks", { 9, 2, 2, SPLIT_UNEVEN, NULL, 0, 0, 0, 0 }, { 3, 2, 2, 2 } },
    { "uneven where even would do", { 8, 2, 2, SPLIT_UNEVEN, NULL, 0, 0, 0, 0 }, { 2, 2, 2, 2 } },
    { "ends: (13 + 2) / 3, one less at both ends", { 13, 3, 1, SPLIT_ENDS, NULL, 0, 0, 0, 0 }, { 4, 5, 4 } },
    { "ends without a layer, as Llama 3 405B",
      { 4, 3, 2, SPLIT_ENDS, NULL, 0, 0, 0, 0 },
      { 0, 1, 1, 1, 1, 0 } },
    { "ends on one stage", { 7, 1, 1, SPLIT_ENDS, NULL, 0, 0, 0, 0 }, { 7 } },
    { "a list", { 7, 4, 1, SPLIT_LIST, four, 4, 0, 0, 0 }, { 1, 2, 3, 1 } },
    { "a list in chunks, with bare ends", { 7, 2, 2, SPLIT_LIST, bare_ends, 4, 0, 0, 0 }, { 0, 5, 2, 0 } },
};

static void table_matches(void **state)
{
    const struct split_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    assert_true(stages_check(&c->def, NULL, &error));
    const stage_table t = stages_build(a, &c->def);
    assert_int_equal(t.stages, c->def.stages);
    assert_int_equal(t.chunks, c->def.chunks);
    uint32_t first = 0, of_stage[CHUNKS_MAX] = { 0 };
    const uint32_t count = c->def.stages * c->def.chunks;
    for (uint32_t i = 0; i < count; i++) { // chunk c of stage s is the virtual stage c p + s
        const stage_chunk *got = stage_chunk_at(&t, i % c->def.stages, i / c->def.stages);
        assert_int_equal(got->layers, c->layers[i]);
        assert_int_equal(got->has_embedding, i == 0);
        assert_int_equal(got->has_head, i == count - 1);
        first += c->layers[i];
        of_stage[i % c->def.stages] += c->layers[i];
    }
    assert_int_equal(first, c->def.layers);
    for (uint32_t s = 0; s < c->def.stages; s++)
        assert_int_equal(stage_layers(&t, s), of_stage[s]);
    arena_destroy(a);
}

// ---- refusals

struct refusal_case {
    const char *name;
    stages_def def;
    const char *want;
};
static const uint32_t three[] = { 11, 10, 12 }, hole[] = { 4, 0, 28, 0 }, much[] = { 40, 3 };
static const uint32_t most[] = { UINT32_MAX, UINT32_MAX };
static const struct refusal_case refusals[] = {
    { "even: p does not divide",
      { 32, 5, 1, SPLIT_EVEN, NULL, 0, 0, 0, 0 },
      "windtunnel: error: 32 layers cannot be split evenly over 5 stages\n"
      "  hint: the nearest is 4 stages, or the split uneven\n" },
    { "even: p v does not divide, v does",
      { 36, 5, 3, SPLIT_EVEN, NULL, 0, 0, 0, 0 }, // 12 chunks of 3: 4 or 6 stages, the lesser
      "windtunnel: error: 36 layers cannot be split evenly over 5 stages of 3 chunks\n"
      "  hint: the nearest is 4 stages, or the split uneven\n" },
    { "even: v does not divide",
      { 32, 4, 3, SPLIT_EVEN, NULL, 0, 0, 0, 0 },
      "windtunnel: error: 32 layers cannot be split evenly over 4 stages of 3 chunks\n"
      "  hint: the nearest is the split uneven\n" },
    { "even: nothing but one stage divides",
      { 7, 2, 1, SPLIT_EVEN, NULL, 0, 0, 0, 0 },
      "windtunnel: error: 7 layers cannot be split evenly over 2 stages\n"
      "  hint: the nearest is the split uneven\n" },
    { "even: nothing near but one stage, of more chunks than layers can fill",
      { 2, 3, 2, SPLIT_EVEN, NULL, 0, 0, 0, 0 },
      "windtunnel: error: 2 layers cannot be split evenly over 3 stages of 2 chunks\n"
      "  hint: the nearest is 2 stages of 1 chunk\n" },
    { "even: more stages than layers",
      { 32, 33, 1, SPLIT_EVEN, NULL, 0, 0, 0, 0 },
      "windtunnel: error: 32 layers cannot be split evenly over 33 stages\n"
      "  hint: the nearest is 32 stages\n" },
    { "even: too many chunks, p divides",
      { 32, 8, 7, SPLIT_EVEN, NULL, 0, 0, 0, 0 }, // 4 layers per stage
      "windtunnel: error: 32 layers cannot be split evenly over 8 stages of 7 chunks\n"
      "  hint: the nearest is 4 chunks\n" },
    { "even: too many chunks, p does not divide either",
      { 32, 7, 5, SPLIT_EVEN, NULL, 0, 0, 0, 0 },
      "windtunnel: error: 32 layers cannot be split evenly over 7 stages of 5 chunks\n"
      "  hint: the nearest is 8 stages of 1 chunk\n" },
    { "even: p v is beyond 32 bits",
      { 32, UINT32_MAX, 2, SPLIT_EVEN, NULL, 0, 0, 0, 0 },
      "windtunnel: error: 32 layers cannot be split evenly over 4294967295 stages of 2 chunks\n"
      "  hint: the nearest is 16 stages\n" },
    { "uneven: more stages than layers",
      { 32, 33, 1, SPLIT_UNEVEN, NULL, 0, 0, 0, 0 },
      "windtunnel: error: 32 layers cannot be spread over 33 stages\n"
      "  hint: the nearest is 32 stages\n" },
    { "uneven: more virtual stages than layers",
      { 32, 11, 3, SPLIT_UNEVEN, NULL, 0, 0, 0, 0 },
      "windtunnel: error: 32 layers cannot be spread over 11 stages of 3 chunks\n"
      "  hint: the nearest is 10 stages\n" },
    { "uneven: more chunks than layers",
      { 32, 2, 33, SPLIT_UNEVEN, NULL, 0, 0, 0, 0 },
      "windtunnel: error: 32 layers cannot be spread over 2 stages of 33 chunks\n"
      "  hint: the nearest is 32 chunks on 1 stage\n" },
    { "ends",
      { 126, 15, 1, SPLIT_ENDS, NULL, 0, 0, 0, 0 }, // 128
      "windtunnel: error: 126 layers and both ends cannot be split evenly over 15 stages\n"
      "  hint: the nearest is 16 stages, or the split uneven\n" },
    { "a list of another length",
      { 33, 2, 2, SPLIT_LIST, three, 3, 0, 0, 0 },
      "windtunnel: error: the list of layers has 3 numbers for 2 stages of 2 chunks\n"
      "  hint: the nearest has 4 numbers\n" },
    { "a list for one stage",
      { 33, 1, 1, SPLIT_LIST, three, 3, 0, 0, 0 },
      "windtunnel: error: the list of layers has 3 numbers for 1 stage of 1 chunk\n"
      "  hint: the nearest has 1 number\n" },
    { "one layer",
      { 1, 1, 2, SPLIT_UNEVEN, NULL, 0, 0, 0, 0 },
      "windtunnel: error: 1 layer cannot be spread over 1 stage of 2 chunks\n"
      "  hint: the nearest is 1 chunk on 1 stage\n" },
    { "a list with a hole",
      { 32, 4, 1, SPLIT_LIST, hole, 4, 0, 0, 0 },
      "windtunnel: error: layers[1] is 0, and only the first and the last number, which have "
      "an end "
      "of the model, may be\n"
      "  hint: the nearest has 1 there\n" },
    // 6 / 3 = 2 virtual stages for the stages
    { "interleaved: other stages",
      { 6, 4, 3, SPLIT_EVEN, NULL, 0, 2, 2, 0 },
      "windtunnel: error: 6 layers cannot be split evenly over 4 stages of 3 chunks\n"
      "  hint: the nearest is 2 stages\n" },
    // 6 / 6 = 1 stage, which is too few; 6 / 2 = 3 chunks on the stages there are
    { "interleaved: other chunks",
      { 6, 2, 6, SPLIT_EVEN, NULL, 0, 2, 2, 0 },
      "windtunnel: error: 6 layers cannot be split evenly over 2 stages of 6 chunks\n"
      "  hint: the nearest is 3 chunks\n" },
    // 7 layers: neither 8 nor 5 divides them, and without the ends 2 x 2 does not either
    { "interleaved: nothing divides",
      { 7, 5, 8, SPLIT_EVEN, NULL, 0, 2, 2, 0 },
      "windtunnel: error: 7 layers cannot be split evenly over 5 stages of 8 chunks\n"
      "  hint: the nearest is 2 stages of 2 chunks with the split uneven\n" },
    // 12 and 8 have the divisors 1, 2, 4 in common
    { "even: stages that share out the ranks",
      { 12, 5, 1, SPLIT_EVEN, NULL, 0, 1, 1, 8 },
      "windtunnel: error: 12 layers cannot be split evenly over 5 stages\n"
      "  hint: the nearest is 4 stages, or the split uneven\n" },
    { "uneven: stages that share out the ranks",
      { 7, 8, 1, SPLIT_UNEVEN, NULL, 0, 1, 1, 16 },
      "windtunnel: error: 7 layers cannot be spread over 8 stages\n"
      "  hint: the nearest is 4 stages\n" },
    { "interleaved: too few layers",
      { 3, 2, 2, SPLIT_EVEN, NULL, 0, 2, 2, 0 },
      "windtunnel: error: 3 layers cannot be split evenly over 2 stages of 2 chunks\n"
      "  hint: this schedule takes at least 2 stages of 2 chunks; 1f1b takes 1 of 1\n" },
    { "interleaved: more chunks than layers",
      { 9, 3, 5, SPLIT_UNEVEN, NULL, 0, 2, 2, 0 },
      "windtunnel: error: 9 layers cannot be spread over 3 stages of 5 chunks\n"
      "  hint: the nearest is 4 chunks on 2 stages\n" },
    { "a list of other layers",
      { 32, 3, 1, SPLIT_LIST, three, 3, 0, 0, 0 },
      "windtunnel: error: the list of layers has 33, but the model has 32\n"
      "  hint: the nearest has 11 in the last place\n" },
    { "a list of too many layers",
      { 32, 2, 1, SPLIT_LIST, much, 2, 0, 0, 0 },
      "windtunnel: error: the list of layers has 43, but the model has 32\n"
      "  hint: the nearest is the split uneven\n" },
    { "a list whose sum is beyond 32 bits",
      { 32, 2, 1, SPLIT_LIST, most, 2, 0, 0, 0 },
      "windtunnel: error: the list of layers has 8589934590, but the model has 32\n"
      "  hint: the nearest is the split uneven\n" },
};

static void refusal_matches(void **state)
{
    const struct refusal_case *c = *state;
    sim_error error = { 0 };
    assert_false(stages_check(&c->def, NULL, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error, c->want);
}

// ---- laws

// Whatever lets itself be split has all its layers, and no two virtual stages differ by more than what the ends take.
static void layers_are_kept(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    for (uint32_t layers = 1; layers <= 20; layers++)
        for (uint32_t i = 0; i < 3 * 12 * 4; i++) {
            const stages_def def = { .layers = layers,
                                     .stages = 1 + i / 3 % 12,
                                     .chunks = 1 + i / 36,
                                     .split = (layer_split)(i % 3) };
            sim_error error = { 0 };
            if (!stages_check(&def, NULL, &error)) continue;
            const stage_table t = stages_build(a, &def);
            uint32_t sum = 0, least = UINT32_MAX, greatest = 0;
            for (uint32_t j = 0; j < def.stages * def.chunks; j++) {
                const uint32_t here = t.items[j].layers;
                sum += here;
                if (here < least) least = here;
                if (here > greatest) greatest = here;
            }
            assert_int_equal(sum, layers);
            assert_true(greatest - least <= (def.split == SPLIT_EVEN ? 0u : 1u));
        }
    arena_destroy(a);
}

int main(void)
{
    static const struct CMUnitTest laws[] = { cmocka_unit_test(layers_are_kept) };
    struct CMUnitTest tests[ARRAY_COUNT(splits) + ARRAY_COUNT(refusals) + ARRAY_COUNT(laws)];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_COUNT(splits); i++)
        tests[count++] = (struct CMUnitTest){ splits[i].name, table_matches, NULL, NULL, (void *)&splits[i] };
    for (size_t i = 0; i < ARRAY_COUNT(refusals); i++)
        tests[count++] = (struct CMUnitTest){ refusals[i].name, refusal_matches, NULL, NULL,
                                              (void *)&refusals[i] };
    memcpy(tests + count, laws, sizeof laws);
    return cmocka_run_group_tests_name("stages", tests, NULL, NULL);
}
