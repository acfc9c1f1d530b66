// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/traffic/pattern.h"
#include "tests/support/text.h"

// ---- the draws, against values worked out by other programs

struct permutation_case {
    const char *name;
    uint32_t hosts;
    uint32_t first[4];
    uint64_t sum; // of i p[i]
};
static const struct permutation_case permutations[] = {
    { "2 hosts", 2, { 1, 0 }, 0 },
    { "64 hosts", 64, { 33, 47, 11, 37 }, 64777 },
    { "128 hosts", 128, { 33, 28, 70, 1 }, 512920 },
    { "256 hosts", 256, { 40, 141, 126, 76 }, 4200304 },
    { "1,024 hosts", 1024, { 995, 135, 365, 601 }, 268005841 },
    { "4,096 hosts", 4096, { 3778, 3643, 3145, 2159 }, UINT64_C(17229250236) },
};

static void permutation_is_as_elsewhere(void **state)
{
    const struct permutation_case *c = *state;
    arena *a = arena_create("test");
    uint32_t *to = arena_array(a, uint32_t, c->hosts);
    bool *taken = arena_array(a, bool, c->hosts);
    pattern_stream s = { .state = 42 };
    pattern_permute(&s, c->hosts, to);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < c->hosts; i++) {
        if (i < 4) assert_int_equal(to[i], c->first[i]);
        assert_true(to[i] < c->hosts && to[i] != i && !taken[to[i]]);
        taken[to[i]] = true;
        sum += (uint64_t)i * to[i];
    }
    assert_true(sum == c->sum);
    arena_destroy(a);
}

static void stream_is_splitmix64(void **state)
{
    (void)state;
    pattern_stream s = { .state = 42 }, wrapped = { .state = UINT64_MAX };
    assert_true(pattern_next(&s) == UINT64_C(13679457532755275413));
    assert_true(pattern_next(&s) == UINT64_C(2949826092126892291));
    assert_true(pattern_next(&s) == UINT64_C(5139283748462763858));
    assert_true(pattern_next(&wrapped) == UINT64_C(16490336266968443936));
    assert_true(pattern_next(&wrapped) == UINT64_C(16834447057089888969));
}

// ---- lists

struct list_case {
    const char *name;
    pattern_def def;
    uint32_t hosts;
    uint32_t count;
    uint64_t bytes; // of all
    struct {
        uint32_t index, from, to;
        uint64_t bytes;
    } some[3];
};
#define B100 UINT64_C(100000000)
static const struct list_case lists[] = {
    { "perm", { PATTERN_PERM, B100, 1, 42 }, 64, 64, 64 * B100, { { 0, 0, 33, B100 }, { 5, 5, 54, B100 } } },
    { "permrand, 64 hosts",
      { PATTERN_PERMRAND, B100, 1, 42 },
      64,
      64,
      UINT64_C(6526956441),
      { { 0, 0, 33, 67523875 }, { 1, 1, 47, 79486484 }, { 63, 63, 19, 114353951 } } },
    { "permrand, 1,024 hosts",
      { PATTERN_PERMRAND, B100, 1, 42 },
      1024,
      1024,
      UINT64_C(103551033188),
      { { 0, 0, 995, 122590422 }, { 1, 1, 135, 115530059 }, { 1023, 1023, 955, 84431492 } } },
    { "permk",
      { PATTERN_PERMK, B100, 8, 42 },
      64,
      512,
      UINT64_C(50440724139),
      { { 0, 0, 33, 92620170 }, { 64, 0, 25, 58322327 }, { 511, 63, 0, 70278038 } } },
    { "a2a",
      { PATTERN_A2A, 1337, 1, 7 },
      5,
      20,
      20 * 1337,
      { { 0, 0, 1, 1337 }, { 7, 1, 4, 1337 }, { 19, 4, 3, 1337 } } },
    { "a2arand",
      { PATTERN_A2ARAND, 1337, 1, 7 },
      5,
      20,
      27073,
      { { 0, 0, 1, 1301 }, { 1, 0, 2, 1910 }, { 19, 4, 3, 738 } } },
    { "incast", { PATTERN_INCAST, 971, 1, 42 }, 6, 5, 5 * 971, { { 0, 1, 0, 971 }, { 4, 5, 0, 971 } } },
};

static void list_is_as_drawn_elsewhere(void **state)
{
    const struct list_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    traffic_flow_array flows = { 0 };
    uint64_t bytes = 0;
    assert_true(pattern_check(&c->def, c->hosts, &error));
    assert_true(pattern_flow_count(&c->def, c->hosts) == c->count);
    pattern_draw(a, &c->def, c->hosts, &flows);
    assert_int_equal(flows.count, c->count);
    for (uint32_t i = 0; i < flows.count; i++) {
        const traffic_flow *f = &flows.items[i];
        assert_true(f->start_ps == 0 && f->from < c->hosts && f->to < c->hosts && f->from != f->to);
        bytes += f->bytes;
    }
    assert_true(bytes == c->bytes);
    for (size_t i = 0; i < ARRAY_COUNT(c->some) && c->some[i].from != c->some[i].to; i++) {
        const traffic_flow *f = &flows.items[c->some[i].index];
        assert_int_equal(f->from, c->some[i].from);
        assert_int_equal(f->to, c->some[i].to);
        assert_true(f->bytes == c->some[i].bytes);
    }
    arena_destroy(a);
}

// ---- loops

static void churn_draws_host_by_host(void **state)
{
    (void)state;
    static const struct {
        uint32_t host, to[3];
        uint64_t bytes[3];
    } want[] = {
        { 0, { 50, 12, 10 }, { 66776563, 51479880, 95198413 } },
        { 17, { 1, 10, 51 }, { 148327266, 136063498, 83875299 } },
        { 63, { 48, 47, 1 }, { 86346578, 64117099, 84831708 } },
    };
    const pattern_def p = { PATTERN_CHURN, B100, 20, 42 };
    assert_true(pattern_flow_count(&p, 64) == 1280);
    for (size_t i = 0; i < ARRAY_COUNT(want); i++) {
        pattern_stream s = pattern_churn_stream(&p, want[i].host);
        for (int k = 0; k < 3; k++) {
            const traffic_flow f = pattern_churn_next(&p, &s, 64, want[i].host);
            assert_int_equal(f.from, want[i].host);
            assert_int_equal(f.to, want[i].to[k]);
            assert_true(f.bytes == want[i].bytes[k]);
        }
    }
}

static void ring_counts_its_sends(void **state)
{
    (void)state;
    const pattern_def p = { PATTERN_RING, UINT64_C(1) << 30, 1, 42 }, odd = { PATTERN_RING, 1000003, 1, 42 };
    assert_true(pattern_flow_count(&p, 64) == 8064);
    assert_true(pattern_flow_count(&p, 256) == 130560);
    assert_true(pattern_flow_count(&p, 1024) == 2095104);
    assert_true(pattern_ring_steps(1024) == 2046);
    assert_true(pattern_ring_chunk_bytes(&p, 1024) == 1048576);
    assert_true(pattern_ring_chunk_bytes(&odd, 7) == 142857); // 142857.57..
}

// ---- what cannot be played

struct refusal_case {
    const char *name;
    pattern_def def;
    uint32_t hosts;
    const char *want;
};
static const struct refusal_case refusals[] = {
    { "one host",
      { PATTERN_PERM, B100, 1, 42 },
      1,
      "windtunnel: error: perm needs at least two hosts, but the fabric has 1\n" },
    { "no rounds", { PATTERN_PERMK, B100, 0, 42 }, 64, "windtunnel: error: --rounds must be at least 1\n" },
    { "rounds of what has none",
      { PATTERN_RING, B100, 2, 42 },
      64,
      "windtunnel: error: ring has no rounds\n  hint: --rounds goes with --pattern permk and churn\n" },
    { "no bytes", { PATTERN_A2A, 0, 1, 42 }, 64, "windtunnel: error: --size must be above zero\n" },
    { "a chunk of nothing",
      { PATTERN_RING, 63, 1, 42 },
      64,
      "windtunnel: error: a ring of 64 hosts cuts the buffer into as many chunks, and 63 B leave none a "
      "byte\n"
      "  hint: --size '64 B' or more\n" },
    { "too many pairs",
      { PATTERN_A2A, 1000, 1, 42 },
      4096,
      "windtunnel: error: a2a among 4096 hosts is 16773120 flows, more than the 10000000 that are held in "
      "memory at "
      "once\n  hint: a smaller fabric, or another --pattern\n" },
    { "too many rounds",
      { PATTERN_PERMK, 1000, UINT64_MAX, 42 },
      4096,
      "windtunnel: error: permk among 4096 hosts is 7.55578637259143e+22 flows, more than the 10000000 "
      "that are "
      "held in memory at once\n  hint: --rounds 2441\n" },
    { "too long a loop",
      { PATTERN_CHURN, 1000, 1000000, 42 },
      1024,
      "windtunnel: error: churn among 1024 hosts is 1024000000 flows, more than the 1000000000 that are "
      "played one "
      "after another\n  hint: --rounds 976562\n" },
    { "too many bytes",
      { PATTERN_PERM, UINT64_C(144115188075855872), 1, 42 }, // 2^57 from 64 hosts
      64,
      "windtunnel: error: the flows of perm would move more than the 9223372036854775807 bytes that can be "
      "counted\n"
      "  hint: a smaller --size\n" },
    { "too many bytes by chance", // 1.5 x 2^62 from each of two
      { PATTERN_PERMRAND, UINT64_C(4611686018427387904), 1, 42 },
      2,
      "windtunnel: error: the flows of permrand would move more than the 9223372036854775807 bytes that can "
      "be "
      "counted\n  hint: a smaller --size\n" },
};

static void refusal_is_told(void **state)
{
    const struct refusal_case *c = *state;
    sim_error error = { 0 };
    assert_false(pattern_check(&c->def, c->hosts, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error, c->want);
}

static void the_largest_are_played(void **state)
{
    (void)state;
    sim_error error = { 0 };
    const pattern_def most_bytes = { PATTERN_PERM, TRAFFIC_BYTES_MAX / 64, 1, 42 };
    const pattern_def most_rounds = { PATTERN_PERMK, 1, 2441, 42 };
    const pattern_def ring = { PATTERN_RING, 16384, 1, 42 }; // 536,854,528 sends
    assert_true(pattern_check(&most_bytes, 64, &error));
    assert_true(pattern_check(&most_rounds, 4096, &error));
    assert_true(pattern_check(&ring, 16384, &error));
}

static void words_and_descriptions(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    assert_string_equal(pattern_words[PATTERN_RING], "ring");
    assert_string_equal(pattern_words[PATTERN_A2ARAND], "a2arand");
    assert_string_equal(pattern_words[PATTERN_INCAST], "incast");
    assert_null(pattern_words[PATTERN_KINDS]);
    assert_string_equal(pattern_describe(a, &(pattern_def){ PATTERN_PERMK, B100, 8, 43 }),
                        "permk of 8 rounds, about 100.0 MB each, seed 43");
    assert_string_equal(pattern_describe(a, &(pattern_def){ PATTERN_CHURN, B100, 1, 43 }),
                        "churn of 1 round, about 100.0 MB each, seed 43");
    assert_string_equal(pattern_describe(a, &(pattern_def){ PATTERN_RING, 1073741824, 1, 43 }),
                        "ring, 1.074 GB in all");
    assert_string_equal(pattern_describe(a, &(pattern_def){ PATTERN_PERM, 7000, 1, 43 }),
                        "perm, 7.000 kB each, seed 43");
    arena_destroy(a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(permutations) + ARRAY_COUNT(lists) + ARRAY_COUNT(refusals) + 5];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(permutations); i++)
        tests[n++] = (struct CMUnitTest){ permutations[i].name, permutation_is_as_elsewhere, NULL, NULL,
                                          (void *)&permutations[i] };
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++)
        tests[n++] = (struct CMUnitTest){ lists[i].name, list_is_as_drawn_elsewhere, NULL, NULL,
                                          (void *)&lists[i] };
    for (size_t i = 0; i < ARRAY_COUNT(refusals); i++)
        tests[n++] = (struct CMUnitTest){ refusals[i].name, refusal_is_told, NULL, NULL,
                                          (void *)&refusals[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(stream_is_splitmix64);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(churn_draws_host_by_host);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(ring_counts_its_sends);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_largest_are_played);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(words_and_descriptions);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
