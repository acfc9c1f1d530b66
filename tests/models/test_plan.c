// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/collective/plan.h"
#include "sim/array.h"

struct chunk_case {
    const char *name;
    uint64_t bytes;
    uint32_t chunks, chunk;
    uint64_t want;
};
static const struct chunk_case chunks[] = {
    { "the first ones get the remainder", 12345, 7, 3, 1764 }, // 12345 = 7 x 1763 + 4
    { "the others do not", 12345, 7, 4, 1763 },
    { "fewer bytes than chunks, with", 3, 5, 2, 1 },
    { "fewer bytes than chunks, without", 3, 5, 3, 0 },
    { "nothing", 0, 5, 0, 0 },
    { "exabytes", UINT64_C(9000000000000000001), 2, 0, UINT64_C(4500000000000000001) },
};

static void chunk_is_its_share(void **state)
{
    const struct chunk_case *c = *state;
    assert_true(plan_chunk_bytes(c->bytes, c->chunks, c->chunk) == c->want);
}

static void words_name_every_kind(void **state)
{
    (void)state;
    assert_string_equal(collective_kind_words[COLLECTIVE_ALL_REDUCE], "all-reduce");
    assert_string_equal(collective_kind_words[COLLECTIVE_REDUCE_SCATTER], "reduce-scatter");
    assert_string_equal(collective_kind_words[COLLECTIVE_ALL_GATHER], "all-gather");
    assert_string_equal(collective_kind_words[COLLECTIVE_SEND_RECV], "send-recv");
    assert_null(collective_kind_words[COLLECTIVE_KINDS]);
    assert_string_equal(collective_grain_words[GRAIN_STREAMS], "streams");
    assert_string_equal(collective_grain_words[GRAIN_MESSAGES], "messages");
    assert_null(collective_grain_words[2]);
}

// ---- the proof must find what is wrong: a good plan of five ranks, spoilt in one place ----

static void right(plan *p)
{
    (void)p;
}
static void sender_out_of_range(plan *p)
{
    p->messages[7].from = 5;
}
static void to_itself(plan *p)
{
    p->messages[7].to = p->messages[7].from;
}
static void chunk_out_of_range(plan *p)
{
    p->messages[7].chunk = 5;
}
static void step_out_of_range(plan *p)
{
    p->messages[7].step = p->steps;
}
static void wrong_size(plan *p)
{
    p->messages[7].bytes++;
}
static void wrong_edge(plan *p)
{
    p->messages[7].edge = 3;
}
static void edge_does_not_add_up(plan *p)
{
    p->edges[3].bytes--;
}
static void predecessor_that_is_not_there(plan *p)
{
    p->messages[7].after_received = (int32_t)p->message_count;
}
static void anothers_own_message(plan *p)
{
    p->messages[7].after_own = 1;
}
static void received_by_another(plan *p)
{
    p->messages[7].after_received = 2;
}
static void waits_for_itself(plan *p)
{
    p->messages[7].after_own = 7;
}
static void chain_with_two_followers(plan *p)
{
    p->messages[12].after_own = p->messages[7].after_own;
}
static void chain_with_two_beginnings(plan *p)
{
    p->messages[7].after_own = PLAN_NONE;
}
// Rank 1's message of step 4 follows, round the ring, from rank 2's first.
static void a_cycle(plan *p)
{
    p->messages[2].after_received = 4 * 5 + 1;
}
// The data may not be there yet when the send starts: whether it is, is luck.
static void does_not_wait_for_its_data(plan *p)
{
    for (uint32_t step = 1; step < p->steps; step++)
        p->messages[step * 5 + 2].after_received = PLAN_NONE;
}
static void forgets_to_reduce(plan *p)
{
    p->messages[7].reduces = false;
}
static void reduces_where_it_should_copy(plan *p)
{
    p->messages[5 * 5 + 2].reduces = true;
}
static void last_step_missing(plan *p)
{
    p->message_count -= 5;
    for (uint32_t e = 0; e < 5; e++)
        p->edges[e].bytes -= p->messages[p->message_count + e].bytes;
}

struct spoilt_case {
    const char *name;
    void (*spoil)(plan *p);
    bool valid;
};
static const struct spoilt_case spoilt[] = {
    { "right", right, true },
    { "sender out of range", sender_out_of_range, false },
    { "to itself", to_itself, false },
    { "chunk out of range", chunk_out_of_range, false },
    { "step out of range", step_out_of_range, false },
    { "wrong size", wrong_size, false },
    { "wrong edge", wrong_edge, false },
    { "edge does not add up", edge_does_not_add_up, false },
    { "predecessor that is not there", predecessor_that_is_not_there, false },
    { "after another's own message", anothers_own_message, false },
    { "after what another received", received_by_another, false },
    { "waits for itself", waits_for_itself, false },
    { "chain with two followers", chain_with_two_followers, false },
    { "chain with two beginnings", chain_with_two_beginnings, false },
    { "a cycle", a_cycle, false },
    { "does not wait for its data", does_not_wait_for_its_data, false },
    { "forgets to reduce", forgets_to_reduce, false },
    { "reduces where it should copy", reduces_where_it_should_copy, false },
    { "last step missing", last_step_missing, false },
};

static void proof_finds_the_mistake(void **state)
{
    const struct spoilt_case *c = *state;
    arena *a = arena_create("test");
    plan p;
    plan_ring(a, COLLECTIVE_ALL_REDUCE, 5, 12345, GRAIN_MESSAGES, &p);
    c->spoil(&p);
    assert_int_equal(plan_is_valid(a, &p), c->valid);
    arena_destroy(a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(chunks) + ARRAY_COUNT(spoilt) + 1];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(chunks); i++)
        tests[n++] = (struct CMUnitTest){ chunks[i].name, chunk_is_its_share, NULL, NULL,
                                          (void *)&chunks[i] };
    for (size_t i = 0; i < ARRAY_COUNT(spoilt); i++)
        tests[n++] = (struct CMUnitTest){ spoilt[i].name, proof_finds_the_mistake, NULL, NULL,
                                          (void *)&spoilt[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(words_name_every_kind);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
