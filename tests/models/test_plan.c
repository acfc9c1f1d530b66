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
    assert_string_equal(collective_kind_words[COLLECTIVE_BROADCAST], "broadcast");
    assert_string_equal(collective_kind_words[COLLECTIVE_ALL_TO_ALL], "all-to-all");
    assert_string_equal(collective_kind_words[COLLECTIVE_REDUCE], "reduce");
    assert_string_equal(collective_kind_words[COLLECTIVE_BARRIER], "barrier");
    assert_string_equal(collective_kind_words[COLLECTIVE_ALL_TO_ALL_UNEQUAL], "all-to-all-unequal");
    assert_null(collective_kind_words[COLLECTIVE_KINDS]);
    static const char *const algorithms[ALGORITHMS] = {
        [ALGORITHM_RING] = "ring",
        [ALGORITHM_NVLS] = "nvls",
        [ALGORITHM_SEND_RECV] = "send-recv",
        [ALGORITHM_PAIRWISE] = "pairwise",
        [ALGORITHM_TREE] = "tree",
        [ALGORITHM_NVLS_TREE] = "nvls-tree",
        [ALGORITHM_COLLNET_DIRECT] = "collnet-direct",
        [ALGORITHM_COLLNET_CHAIN] = "collnet-chain",
        [ALGORITHM_PAT] = "pat",
        [ALGORITHM_RECURSIVE] = "recursive",
        [ALGORITHM_HIERARCHICAL] = "hierarchical",
    };
    for (collective_algorithm i = 0; i < ALGORITHMS; i++)
        assert_string_equal(collective_algorithm_words[i], algorithms[i]);
    assert_null(collective_algorithm_words[ALGORITHMS]);
    assert_string_equal(collective_grain_words[GRAIN_STREAMS], "streams");
    assert_string_equal(collective_grain_words[GRAIN_MESSAGES], "messages");
    assert_null(collective_grain_words[2]);
}

// ---- the proof must find what is wrong: a good plan of five ranks on one ring, spoilt in one place ----

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

static void ring_out_of_range(plan *p)
{
    p->messages[7].ring = 1;
}
static void waits_for_its_own_step(plan *p)
{
    p->messages[7].after_received = 6; // to the sender, but in step 1 as well
}
static void out_of_order(plan *p) // of the last step, for whose messages none waits
{
    plan_message last = p->messages[p->message_count - 1];
    p->messages[p->message_count - 1] = p->messages[p->message_count - 2];
    p->messages[p->message_count - 2] = last;
}

// ---- and one on two rings, 0 1 2 3 4 and 0 1 2 4 3, which share the edges 0 > 1 and 1 > 2 ----

// Messages 10 and 11 are those of step 1 from rank 0, on ring 0 and ring 1.
static void chain_of_the_other_ring(plan *p)
{
    p->messages[10].after_own = 1;
    p->messages[11].after_own = 0;
}
static void rings_exchanged(plan *p)
{
    p->messages[10].ring = 1;
    p->messages[11].ring = 0;
}
static void chunks_exchanged(plan *p)
{
    uint32_t chunk = p->messages[10].chunk;
    p->messages[10].chunk = p->messages[11].chunk;
    p->messages[11].chunk = chunk;
}
static void edge_of_too_many_rings(plan *p)
{
    p->edges[2].rings++;
}
static void edge_of_too_few_rings(plan *p)
{
    p->edges[0].rings = 1;
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
    { "ring out of range", ring_out_of_range, false },
    { "waits for its own step", waits_for_its_own_step, false },
    { "out of order", out_of_order, false },
};
static const struct spoilt_case spoilt_rings[] = {
    { "two rings: right", right, true },
    { "two rings: chain of the other", chain_of_the_other_ring, false },
    { "two rings: exchanged", rings_exchanged, false },
    { "two rings: chunks exchanged", chunks_exchanged, false },
    { "two rings: edge of too many", edge_of_too_many_rings, false },
    { "two rings: edge of too few", edge_of_too_few_rings, false },
};

static const uint32_t ring_orders[] = { 0, 1, 2, 3, 4, 0, 1, 2, 4, 3 };

static void check_spoilt(const struct spoilt_case *c, uint32_t rings)
{
    arena *a = arena_create("test");
    plan p;
    plan_ring(a,
              &(plan_request){ .kind = COLLECTIVE_ALL_REDUCE,
                               .rings = &(ring_set){ .ranks = 5, .count = rings, .orders = ring_orders },
                               .bytes = 12340,
                               .grain = GRAIN_MESSAGES },
              &p);
    c->spoil(&p);
    assert_int_equal(plan_is_valid(a, &p), c->valid);
    arena_destroy(a);
}

static void proof_finds_the_mistake(void **state)
{
    check_spoilt(*state, 1);
}

static void proof_finds_the_mistake_of_rings(void **state)
{
    check_spoilt(*state, 2);
}

// 31 bytes in 10 chunks: 4 3 3 3 3 3 3 3 3 3. Rank 2's share are chunks 4 and 5, which are all that lies between those of
// rank 1 and rank 3.
static void two_rings_by_hand(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    plan p;
    plan_ring(a,
              &(plan_request){ .kind = COLLECTIVE_ALL_GATHER,
                               .rings = &(ring_set){ .ranks = 5, .count = 2, .orders = ring_orders },
                               .bytes = 31,
                               .grain = GRAIN_MESSAGES },
              &p);
    // 16 and 15 bytes go round; a hop carries all of its ring but the share of its receiver
    static const plan_edge edges[] = { { 0, 1, 2, 0, 13 + 12 }, { 1, 2, 2, 0, 13 + 12 }, { 2, 3, 1, 0, 13 },
                                       { 2, 4, 1, 0, 12 },      { 3, 4, 1, 0, 13 },      { 3, 0, 1, 0, 12 },
                                       { 4, 0, 1, 0, 12 },      { 4, 3, 1, 0, 12 } };
    assert_int_equal(p.edge_count, ARRAY_COUNT(edges));
    for (size_t e = 0; e < ARRAY_COUNT(edges); e++) {
        assert_int_equal(p.edges[e].from, edges[e].from);
        assert_int_equal(p.edges[e].to, edges[e].to);
        assert_int_equal(p.edges[e].rings, edges[e].rings);
        assert_int_equal(p.edges[e].bytes, edges[e].bytes);
    }
    // step 1, edge 2 > 4 of ring 1: passes on rank 1's chunk, which came with message 3
    const plan_message *m = &p.messages[10 + 5];
    assert_int_equal(m->from, 2);
    assert_int_equal(m->to, 4);
    assert_int_equal(m->edge, 3);
    assert_int_equal(m->step, 1);
    assert_int_equal(m->ring, 1);
    assert_int_equal(m->chunk, 1 * 2 + 1);
    assert_int_equal(m->bytes, 3);
    assert_int_equal(m->after_own, 5);
    assert_int_equal(m->after_received, 3);
    assert_false(m->reduces);
    arena_destroy(a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(chunks) + ARRAY_COUNT(spoilt) + ARRAY_COUNT(spoilt_rings) + 2];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(chunks); i++)
        tests[n++] = (struct CMUnitTest){ chunks[i].name, chunk_is_its_share, NULL, NULL,
                                          (void *)&chunks[i] };
    for (size_t i = 0; i < ARRAY_COUNT(spoilt); i++)
        tests[n++] = (struct CMUnitTest){ spoilt[i].name, proof_finds_the_mistake, NULL, NULL,
                                          (void *)&spoilt[i] };
    for (size_t i = 0; i < ARRAY_COUNT(spoilt_rings); i++)
        tests[n++] = (struct CMUnitTest){ spoilt_rings[i].name, proof_finds_the_mistake_of_rings, NULL, NULL,
                                          (void *)&spoilt_rings[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(two_rings_by_hand);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(words_name_every_kind);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
