// SPDX-License-Identifier: GPL-3.0-or-later
// Max-min shares: algebra by hand; random batches against a textbook solver that shares no code with the one under test
// (MAXMIN_BATCHES=1000000 in the environment for a long run); laws of names, orders and monotony.
#include "tests/support/near.h"

#include "models/network/maxmin_internal.h"
#include "sim/array.h"
#include "tests/support/random.h"
#include <inttypes.h>
#include <stdlib.h>

enum { LINKS = 64, FLOWS = 128, HOPS = 16, BATCHES_IN_CTEST = 10000, BATCHES_PER_NETWORK = 12 };

// ---- the textbook: progressive filling over plain arrays, round by round

typedef struct book_flow {
    bool alive;
    uint32_t hops, weight;
    uint64_t cap;
    uint32_t path[HOPS], factors[HOPS];
    uint32_t id;    // in the solver under test
    uint64_t level; // by the book
    bool frozen;
} book_flow;

typedef struct book {
    uint32_t link_count, flow_count;
    uint64_t capacity[LINKS], closing[LINKS];
    book_flow flows[FLOWS];
} book;

static uint64_t book_cap_level(const book_flow *flow)
{
    return flow->cap == MAXMIN_NONE ? MAXMIN_NONE : flow->cap / flow->weight;
}

typedef struct book_link {
    uint64_t remaining, open, share;
} book_link;

static void book_freeze(book_flow *flow, uint64_t level, book_link *links)
{
    flow->frozen = true;
    flow->level = level;
    for (uint32_t h = 0; h < flow->hops; h++) {
        uint64_t load = (uint64_t)flow->factors[h] * flow->weight;
        links[flow->path[h]].remaining -= load * level;
        links[flow->path[h]].open -= load;
    }
}

static void book_solve(book *b)
{
    book_link links[LINKS];
    for (uint32_t l = 0; l < b->link_count; l++) {
        b->closing[l] = MAXMIN_NONE;
        links[l] = (book_link){ .remaining = b->capacity[l] };
    }
    for (uint32_t f = 0; f < b->flow_count; f++) {
        b->flows[f].frozen = !b->flows[f].alive;
        for (uint32_t h = 0; b->flows[f].alive && h < b->flows[f].hops; h++)
            links[b->flows[f].path[h]].open += (uint64_t)b->flows[f].factors[h] * b->flows[f].weight;
    }
    for (;;) {
        uint64_t least = MAXMIN_NONE;
        for (uint32_t l = 0; l < b->link_count; l++) {
            links[l].share = links[l].open ? links[l].remaining / links[l].open : MAXMIN_NONE;
            if (links[l].share < least) least = links[l].share;
        }
        for (uint32_t f = 0; f < b->flow_count; f++)
            if (!b->flows[f].frozen && book_cap_level(&b->flows[f]) < least)
                least = book_cap_level(&b->flows[f]);
        if (least == MAXMIN_NONE) return;
        for (uint32_t l = 0; l < b->link_count; l++)
            if (links[l].share == least) b->closing[l] = least;
        for (uint32_t f = 0; f < b->flow_count; f++) {
            book_flow *flow = &b->flows[f];
            bool freezes = !flow->frozen && book_cap_level(flow) == least;
            for (uint32_t h = 0; !flow->frozen && h < flow->hops; h++)
                freezes |= links[flow->path[h]].share == least;
            if (freezes) book_freeze(flow, least, links);
        }
    }
}

static void book_arrive(maxmin *m, book_flow *flow)
{
    maxmin_demand demand = { flow->path, flow->factors, flow->hops, flow->weight, flow->cap };
    flow->id = maxmin_arrive(m, &demand);
    flow->alive = true;
}

// Both agree on every level, rate and closing level.
static void assert_by_the_book(maxmin *m, book *b)
{
    book_solve(b);
    for (uint32_t f = 0; f < b->flow_count; f++) {
        const book_flow *flow = &b->flows[f];
        if (!flow->alive) continue;
        assert_int_equal(maxmin_level(m, flow->id), flow->level);
        assert_int_equal(maxmin_rate(m, flow->id), flow->level * flow->weight);
    }
    for (uint32_t l = 0; l < b->link_count; l++)
        assert_int_equal(maxmin_closing_level(m, l), b->closing[l]);
}

// ---- by hand

typedef struct hand_flow {
    uint32_t hops, path[4], factors[4], weight; // weight 0: 1; factor 0: 1
    uint64_t cap;                               // 0: none
    uint64_t want_rate;
} hand_flow;

typedef struct hand_case {
    const char *name;
    uint32_t links, flows;
    uint64_t capacity[4], want_closing[4];
    hand_flow flow[6];
} hand_case;

static const hand_case hand_cases[] = {
    { .name = "a lone flow takes its link",
      .links = 1,
      .flows = 1,
      .capacity = { 1000003 },
      .want_closing = { 1000003 },
      .flow = { { .hops = 1, .path = { 0 }, .want_rate = 1000003 } } },
    { .name = "weights: 1000 over 1 + 2 + 4 is 142 per unit, 6 are left over",
      .links = 1,
      .flows = 3,
      .capacity = { 1000 },
      .want_closing = { 142 },
      .flow = { { .hops = 1, .path = { 0 }, .weight = 1, .want_rate = 142 },
                { .hops = 1, .path = { 0 }, .weight = 2, .want_rate = 284 },
                { .hops = 1, .path = { 0 }, .weight = 4, .want_rate = 568 } } },
    { .name = "a cap leaves its rest to the others: (1000 - 100) / 2",
      .links = 1,
      .flows = 3,
      .capacity = { 1000 },
      .want_closing = { 450 },
      .flow = { { .hops = 1, .path = { 0 }, .cap = 100, .want_rate = 100 },
                { .hops = 1, .path = { 0 }, .want_rate = 450 },
                { .hops = 1, .path = { 0 }, .want_rate = 450 } } },
    { .name = "a cap of 100 at weight 3 is level 33, rate 99; the other gets 901",
      .links = 1,
      .flows = 2,
      .capacity = { 1000 },
      .want_closing = { 901 },
      .flow = { { .hops = 1, .path = { 0 }, .weight = 3, .cap = 100, .want_rate = 99 },
                { .hops = 1, .path = { 0 }, .want_rate = 901 } } },
    { .name = "a cap above the share changes nothing",
      .links = 1,
      .flows = 2,
      .capacity = { 1000 },
      .want_closing = { 500 },
      .flow = { { .hops = 1, .path = { 0 }, .cap = 501, .want_rate = 500 },
                { .hops = 1, .path = { 0 }, .want_rate = 500 } } },
    { .name = "all capped: the link never closes",
      .links = 1,
      .flows = 2,
      .capacity = { 1000 },
      .want_closing = { MAXMIN_NONE },
      .flow = { { .hops = 1, .path = { 0 }, .cap = 300, .want_rate = 300 },
                { .hops = 1, .path = { 0 }, .cap = 417, .want_rate = 417 } } },
    { .name = "a factor of 2 takes twice its rate: 900 / 3",
      .links = 1,
      .flows = 2,
      .capacity = { 900 },
      .want_closing = { 300 },
      .flow = { { .hops = 1, .path = { 0 }, .factors = { 2 }, .want_rate = 300 },
                { .hops = 1, .path = { 0 }, .want_rate = 300 } } },
    { .name = "parking lot: 150 on the first link; then 500 - 150 and 1100 - 150",
      .links = 3,
      .flows = 4,
      .capacity = { 300, 500, 1100 },
      .want_closing = { 150, 350, 950 },
      .flow = { { .hops = 3, .path = { 0, 1, 2 }, .want_rate = 150 },
                { .hops = 1, .path = { 0 }, .want_rate = 150 },
                { .hops = 1, .path = { 1 }, .want_rate = 350 },
                { .hops = 1, .path = { 2 }, .want_rate = 950 } } },
    { .name = "a triangle: three links of 101 close in one round at 50",
      .links = 3,
      .flows = 3,
      .capacity = { 101, 101, 101 },
      .want_closing = { 50, 50, 50 },
      .flow = { { .hops = 2, .path = { 0, 1 }, .want_rate = 50 },
                { .hops = 2, .path = { 1, 2 }, .want_rate = 50 },
                { .hops = 2, .path = { 2, 0 }, .want_rate = 50 } } },
    { .name = "a link that is down stops its flow, which leaves the rest to the other",
      .links = 2,
      .flows = 2,
      .capacity = { 0, 77 },
      .want_closing = { 0, 77 },
      .flow = { { .hops = 2, .path = { 0, 1 }, .want_rate = 0 },
                { .hops = 1, .path = { 1 }, .want_rate = 77 } } },
    { .name = "less than one unit each: level 0",
      .links = 1,
      .flows = 3,
      .capacity = { 2 },
      .want_closing = { 0 },
      .flow = { { .hops = 1, .path = { 0 }, .want_rate = 0 },
                { .hops = 1, .path = { 0 }, .want_rate = 0 },
                { .hops = 1, .path = { 0 }, .want_rate = 0 } } },
    { .name = "only a cap: 100 at weight 7 is level 14",
      .links = 1,
      .flows = 1,
      .capacity = { 5 },
      .want_closing = { MAXMIN_NONE },
      .flow = { { .hops = 0, .weight = 7, .cap = 100, .want_rate = 98 } } },
    // Link 1: 600 / (2*2 + 3) = 85. Link 0: 1000 - 170 = 830 over 1 + 4; the cap of 90 comes first; 740 / 4 = 185.
    { .name = "weights, a cap and factors together",
      .links = 2,
      .flows = 4,
      .capacity = { 1000, 600 },
      .want_closing = { 185, 85 },
      .flow = { { .hops = 2, .path = { 0, 1 }, .factors = { 1, 2 }, .weight = 2, .want_rate = 170 },
                { .hops = 1, .path = { 0 }, .cap = 90, .want_rate = 90 },
                { .hops = 1, .path = { 1 }, .factors = { 3 }, .want_rate = 85 },
                { .hops = 1, .path = { 0 }, .weight = 4, .want_rate = 740 } } },
    // Link 1 first: 400 / 4 = 100. Link 0: 1500 - 200 = 1300 over 2 at 650, though the cap of 400 takes one: 900.
    { .name = "two bottlenecks and a cap in a chain",
      .links = 3,
      .flows = 6,
      .capacity = { 1500, 400, 5000 },
      .want_closing = { 900, 100, MAXMIN_NONE },
      .flow = { { .hops = 3, .path = { 0, 1, 2 }, .want_rate = 100 },
                { .hops = 2, .path = { 1, 0 }, .want_rate = 100 },
                { .hops = 1, .path = { 1 }, .want_rate = 100 },
                { .hops = 1, .path = { 1 }, .want_rate = 100 },
                { .hops = 2, .path = { 2, 0 }, .want_rate = 900 },
                { .hops = 1, .path = { 0 }, .cap = 400, .want_rate = 400 } } },
};

static uint32_t hand_arrive(maxmin *m, const hand_flow *flow)
{
    uint32_t factors[4];
    for (int h = 0; h < 4; h++)
        factors[h] = flow->factors[h] ? flow->factors[h] : 1;
    maxmin_demand demand = { flow->path, factors, flow->hops, flow->weight ? flow->weight : 1,
                             flow->cap ? flow->cap : MAXMIN_NONE };
    return maxmin_arrive(m, &demand);
}

static maxmin *hand_create(arena *a, const hand_case *c, maxmin_policy policy)
{
    maxmin_options options = { .path_usual = 4, .policy = policy, .check_every = 1 };
    maxmin *m = maxmin_create(a, &options);
    for (uint32_t l = 0; l < c->links; l++)
        assert_int_equal(maxmin_add_link(m, c->capacity[l]), l);
    return m;
}

// The flows in one batch, one after another, and in the reverse order: incremental and all anew.
static void hand_case_holds(void **state)
{
    const hand_case *c = *state;
    for (int way = 0; way < 6; way++) {
        arena *a = arena_create("test");
        maxmin *m = hand_create(a, c, way % 2 ? MAXMIN_FULL : MAXMIN_INCREMENTAL);
        uint32_t ids[6], count;
        for (uint32_t i = 0; i < c->flows; i++) {
            uint32_t f = way / 2 == 2 ? c->flows - 1 - i : i;
            ids[f] = hand_arrive(m, &c->flow[f]);
            if (way / 2 > 0) maxmin_resolve(m, &count);
        }
        maxmin_resolve(m, &count);
        for (uint32_t f = 0; f < c->flows; f++)
            assert_int_equal(maxmin_rate(m, ids[f]), c->flow[f].want_rate);
        for (uint32_t l = 0; l < c->links; l++)
            assert_int_equal(maxmin_closing_level(m, l), c->want_closing[l]);
        maxmin_verify(m);
        arena_destroy(a);
    }
}

// A link goes down, comes back weaker, and the flows beside it feel it: 300 and 500 with a flow over both.
//     both up: 150, 150, 350.  Link 0 down: 0, 0, 500.  At 90: 45, 45, 455.  At 600: 250, 350, 250.
static void a_link_goes_down_and_returns(void **state)
{
    (void)state;
    static const hand_case c = { .links = 2,
                                 .flows = 3,
                                 .capacity = { 300, 500 },
                                 .flow = { { .hops = 2, .path = { 0, 1 } },
                                           { .hops = 1, .path = { 0 } },
                                           { .hops = 1, .path = { 1 } } } };
    static const struct {
        uint64_t capacity, rates[3];
        uint32_t changed;
    } steps[] = { { 300, { 150, 150, 350 }, 3 }, { 0, { 0, 0, 500 }, 3 },       { 90, { 45, 45, 455 }, 3 },
                  { 90, { 45, 45, 455 }, 0 },    { 600, { 250, 350, 250 }, 3 }, { 650, { 250, 400, 250 }, 1 },
                  { 300, { 150, 150, 350 }, 3 } };
    arena *a = arena_create("test");
    maxmin *m = hand_create(a, &c, MAXMIN_INCREMENTAL);
    uint32_t ids[3], count;
    for (uint32_t f = 0; f < 3; f++)
        ids[f] = hand_arrive(m, &c.flow[f]);
    for (size_t i = 0; i < ARRAY_COUNT(steps); i++) {
        maxmin_set_capacity(m, 0, steps[i].capacity);
        const maxmin_change *changes = maxmin_resolve(m, &count);
        assert_int_equal(count, steps[i].changed);
        for (uint32_t k = 0; k < count; k++)
            assert_int_equal(changes[k].rate, maxmin_rate(m, changes[k].flow));
        for (uint32_t f = 0; f < 3; f++)
            assert_int_equal(maxmin_rate(m, ids[f]), steps[i].rates[f]);
        assert_int_equal(maxmin_capacity(m, 0), steps[i].capacity);
        assert_int_equal(maxmin_load(m, 0), steps[i].rates[0] + steps[i].rates[1]);
    }
    assert_int_equal(maxmin_counters_of(m).checks, ARRAY_COUNT(steps));
    arena_destroy(a);
}

// 180,000 flows of 400 Gb/s (5e13 mB/s) on one link of 9e18 mB/s, just below 2^63: each has its whole NIC. Then the link falls
// to one NIC's rate: 5e13 / 180000 = 277777777. Then all but 3 leave, and the lists give their room back.
static void sums_stay_below_the_limit(void **state)
{
    (void)state;
    enum { MANY = 180000, LEFT = 3 };
    const uint64_t nic = UINT64_C(50000000000000);
    arena *a = arena_create("test");
    maxmin *m = maxmin_create(a, &(maxmin_options){ .links = MANY + 1, .path_usual = 2, .check_every = 1 });
    uint32_t trunk = maxmin_add_link(m, MANY * nic), count;
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t path[2] = { trunk, maxmin_add_link(m, nic) };
        maxmin_demand demand = { .links = path, .hops = 2, .weight = 1, .cap = MAXMIN_NONE };
        assert_int_equal(maxmin_arrive(m, &demand), i);
    }
    maxmin_resolve(m, &count);
    assert_int_equal(count, MANY);
    assert_int_equal(maxmin_load(m, trunk), MANY * nic);
    assert_int_equal(maxmin_rate(m, MANY / 2), nic);
    maxmin_set_capacity(m, trunk, nic);
    maxmin_resolve(m, &count);
    assert_int_equal(count, MANY);
    assert_int_equal(maxmin_rate(m, MANY / 2), 277777777);
    for (uint32_t i = LEFT; i < MANY; i++)
        maxmin_depart(m, i);
    maxmin_resolve(m, &count);
    assert_int_equal(count, LEFT);
    assert_int_equal(maxmin_flows_on(m, trunk), LEFT);
    assert_int_equal(maxmin_flow_count(m), LEFT);
    assert_int_equal(maxmin_rate(m, 1), nic / LEFT);
    maxmin_verify(m);
    arena_destroy(a);
}

// ---- random networks

static uint64_t seed_of(uint64_t salt)
{
    return UINT64_C(0x2545F4914F6CDD1D) ^ salt;
}

static void random_flow(book_flow *flow, const book *b, uint32_t path_max, uint64_t *random)
{
    uint32_t most = path_max < b->link_count ? path_max : b->link_count;
    flow->weight = test_random_below(random, 3) ? 1 : 1 + test_random_below(random, 5);
    flow->cap = test_random_below(random, 4) ? MAXMIN_NONE : test_random_below(random, 400);
    flow->hops = 1 + test_random_below(random, most);
    if (flow->cap != MAXMIN_NONE && !test_random_below(random, 16)) flow->hops = 0;
    for (uint32_t h = 0; h < flow->hops; h++) {
        bool fresh = false;
        while (!fresh) {
            fresh = true;
            flow->path[h] = test_random_below(random, b->link_count);
            for (uint32_t j = 0; j < h; j++)
                fresh &= flow->path[j] != flow->path[h];
        }
        flow->factors[h] = test_random_below(random, 4) ? 1 : 1 + test_random_below(random, 3);
    }
}

static uint64_t random_capacity(uint64_t usual, uint64_t *random)
{
    switch (test_random_below(random, 8)) {
    case 0: return test_random_below(random, (uint32_t)usual);
    case 1: return test_random_below(random, 3) ? usual : 0;
    default: return usual;
    }
}

static void random_book(book *b, uint64_t usual, uint64_t *random)
{
    *b = (book){ .link_count = 1 + test_random_below(random, LINKS),
                 .flow_count = 1 + test_random_below(random, FLOWS) };
    for (uint32_t l = 0; l < b->link_count; l++)
        b->capacity[l] = random_capacity(usual, random);
}

static maxmin *book_create(arena *a, const book *b, const maxmin_options *options)
{
    maxmin *m = maxmin_create(a, options);
    for (uint32_t l = 0; l < b->link_count; l++)
        maxmin_add_link(m, b->capacity[l]);
    return m;
}

// A batch of some departures, arrivals (also both of one flow, which may reuse its id) and capacities.
static void random_batch(maxmin *m, book *b, uint32_t path_max, uint64_t usual, uint64_t *random)
{
    uint32_t changes = 1 + test_random_below(random, test_random_below(random, 3) ? 2 : 12);
    for (uint32_t i = 0; i < changes; i++) {
        uint32_t what = test_random_below(random, 4);
        if (what == 3) {
            uint32_t l = test_random_below(random, b->link_count);
            b->capacity[l] = random_capacity(usual, random);
            maxmin_set_capacity(m, l, b->capacity[l]);
            continue;
        }
        book_flow *flow = &b->flows[test_random_below(random, b->flow_count)];
        if (flow->alive) maxmin_depart(m, flow->id);
        bool leaves = flow->alive && what == 2;
        flow->alive = false;
        if (leaves) continue;
        random_flow(flow, b, path_max, random);
        book_arrive(m, flow);
    }
}

// The changes are those flows, each once, whose rate is new.
static void assert_changes(const maxmin *m, const book *before, const book *b, const maxmin_change *changes,
                           uint32_t count)
{
    static const uint64_t absent = MAXMIN_NONE;
    uint32_t want = 0;
    for (uint32_t f = 0; f < b->flow_count; f++) {
        const book_flow *flow = &b->flows[f], *old = &before->flows[f];
        if (!flow->alive) continue;
        uint64_t got = absent;
        for (uint32_t k = 0; k < count; k++)
            if (changes[k].flow == flow->id) {
                assert_int_equal(got, absent);
                got = changes[k].rate;
            }
        // A flow replaced by another is an arrival, though it may look the same.
        bool same = old->alive && memcmp(old->path, flow->path, sizeof old->path) == 0 &&
                    old->hops == flow->hops && old->weight == flow->weight && old->cap == flow->cap &&
                    old->id == flow->id;
        bool expected = !same || old->level != flow->level;
        if (expected) assert_int_equal(got, maxmin_rate(m, flow->id));
        want += got != absent;
    }
    assert_int_equal(count, want);
}

static void random_network(uint64_t *random, uint64_t batches, maxmin_counters *total)
{
    static const uint32_t path_most[] = { 1, 2, 3, 6, 6, 8, HOPS }, path_usuals[] = { 2, 3, 4, 8, 8, HOPS };
    static const uint64_t usuals[] = { 1000, 1000000, 4000000000 };
    uint32_t path_max = path_most[test_random_below(random, ARRAY_COUNT(path_most))];
    uint32_t path_usual = path_usuals[test_random_below(random, ARRAY_COUNT(path_usuals))];
    uint64_t usual = usuals[test_random_below(random, ARRAY_COUNT(usuals))];
    book b;
    random_book(&b, usual, random);
    maxmin_options options = { .path_usual = path_usual, .policy = MAXMIN_INCREMENTAL };
    if (!test_random_below(random, 4))
        options = (maxmin_options){ .path_usual = path_usual,
                                    .dense_floor = 1 + test_random_below(random, 100) };
    arena *a = arena_create("test");
    maxmin *m = book_create(a, &b, &options);
    for (uint32_t f = 0; f < b.flow_count; f++) {
        if (!test_random_below(random, 4)) continue;
        random_flow(&b.flows[f], &b, path_max, random);
        book_arrive(m, &b.flows[f]);
    }
    uint32_t count;
    maxmin_resolve(m, &count);
    assert_by_the_book(m, &b);
    for (uint64_t i = 0; i < batches; i++) {
        book before = b;
        random_batch(m, &b, path_max, usual, random);
        const maxmin_change *changes = maxmin_resolve(m, &count);
        assert_by_the_book(m, &b);
        assert_changes(m, &before, &b, changes, count);
    }
    maxmin_verify(m);
    maxmin_counters c = maxmin_counters_of(m);
    total->batches += c.batches;
    total->full_solves += c.full_solves;
    total->flows_touched += c.flows_touched;
    total->stale_pops += c.stale_pops;
    arena_destroy(a);
}

static void incremental_is_from_scratch(void **state)
{
    (void)state;
    const char *wanted = getenv("MAXMIN_BATCHES");
    uint64_t batches = wanted ? strtoull(wanted, NULL, 10) : BATCHES_IN_CTEST;
    uint64_t random = seed_of(batches);
    maxmin_counters total = { 0 };
    for (uint64_t played = 0; played < batches; played += BATCHES_PER_NETWORK)
        random_network(&random, BATCHES_PER_NETWORK, &total);
    print_message("%" PRIu64 " batches, %" PRIu64 " solved all anew, %" PRIu64 " flows touched\n",
                  total.batches, total.full_solves, total.flows_touched);
    assert_true(total.full_solves > total.batches / 100 && total.full_solves < total.batches / 2);
    assert_true(total.stale_pops > 0 && total.flows_touched > total.batches);
}

// ---- laws

// The same changes under other names of links, in other orders within each batch, and hence with other ids of flows: the
// levels are the same.
static void names_and_orders_do_not_matter(void **state)
{
    (void)state;
    uint64_t random = seed_of(2);
    for (int network = 0; network < 60; network++) {
        static book b, renamed;
        uint32_t name[LINKS];
        random_book(&b, 100000, &random);
        renamed = b;
        for (uint32_t l = 0; l < b.link_count; l++) { // Fisher, Yates
            uint32_t j = test_random_below(&random, l + 1);
            name[l] = name[j];
            name[j] = l;
        }
        for (uint32_t l = 0; l < b.link_count; l++)
            renamed.capacity[name[l]] = b.capacity[l];
        arena *a = arena_create("test");
        maxmin *one = book_create(a, &b, &(maxmin_options){ .path_usual = 6, .policy = MAXMIN_INCREMENTAL });
        maxmin *two = book_create(a, &renamed, &(maxmin_options){ .path_usual = 8 });
        for (int batch = 0; batch < 8; batch++) {
            uint32_t count;
            // Even flows change in even batches, odd ones in odd batches: departures and arrivals in opposite orders.
            for (uint32_t i = 0; i < b.flow_count; i++) {
                book_flow *flow = &b.flows[i];
                if ((int)i % 2 != batch % 2 || test_random_below(&random, 3)) continue;
                if (flow->alive) maxmin_depart(one, flow->id);
                random_flow(flow, &b, 6, &random);
                book_arrive(one, flow);
                flow->frozen = true; // here: waits for the other one
            }
            uint32_t l = test_random_below(&random, b.link_count);
            b.capacity[l] = random_capacity(100000, &random);
            maxmin_set_capacity(one, l, b.capacity[l]);
            maxmin_set_capacity(two, name[l], b.capacity[l]);
            for (uint32_t i = b.flow_count; i-- > 0;) {
                book_flow *flow = &renamed.flows[i];
                if (!b.flows[i].frozen) continue;
                uint32_t id = flow->id;
                bool alive = flow->alive;
                *flow = b.flows[i];
                for (uint32_t h = 0; h < flow->hops; h++)
                    flow->path[h] = name[flow->path[h]];
                book_arrive(two, flow);
                if (alive) maxmin_depart(two, id);
                b.flows[i].frozen = false;
            }
            maxmin_resolve(one, &count);
            maxmin_resolve(two, &count);
            for (uint32_t i = 0; i < b.flow_count; i++)
                if (b.flows[i].alive)
                    assert_int_equal(maxmin_level(one, b.flows[i].id),
                                     maxmin_level(two, renamed.flows[i].id));
            for (l = 0; l < b.link_count; l++)
                assert_int_equal(maxmin_closing_level(one, l), maxmin_closing_level(two, name[l]));
        }
        maxmin_verify(one);
        maxmin_verify(two);
        arena_destroy(a);
    }
}

static uint64_t least_level(const maxmin *m, const book *b)
{
    uint64_t least = MAXMIN_NONE;
    for (uint32_t f = 0; f < b->flow_count; f++)
        if (b->flows[f].alive && maxmin_level(m, b->flows[f].id) < least)
            least = maxmin_level(m, b->flows[f].id);
    return least;
}

// The least level is that of the first round, the least of floor(C_l / W_l) and of the cap levels: no capacity that rises can
// lower it, whatever the weights, caps and factors. So with equal weights the least rate does not fall either; with unequal
// ones it may (the next test).
static void a_higher_capacity_never_lowers_the_least_level(void **state)
{
    (void)state;
    uint64_t random = seed_of(3);
    uint32_t rises = 0;
    for (int network = 0; network < 60; network++) {
        static book b;
        uint32_t count;
        random_book(&b, 1000, &random);
        arena *a = arena_create("test");
        maxmin *m = book_create(a, &b, &(maxmin_options){ .path_usual = 6 });
        for (uint32_t f = 0; f < b.flow_count; f++) {
            random_flow(&b.flows[f], &b, 6, &random);
            if (network % 2 && b.flows[f].hops > 0) b.flows[f].cap = MAXMIN_NONE;
            book_arrive(m, &b.flows[f]);
        }
        maxmin_resolve(m, &count);
        for (int i = 0; i < 40; i++) {
            uint64_t before = least_level(m, &b);
            uint32_t l = test_random_below(&random, b.link_count);
            for (uint32_t k = 0; i % 2 && k < b.link_count; k++) // the link that closes first, or one of them
                if (maxmin_closing_level(m, k) == before) l = k;
            maxmin_set_capacity(m, l, maxmin_capacity(m, l) + 1 + test_random_below(&random, 500));
            maxmin_resolve(m, &count);
            assert_true(least_level(m, &b) >= before);
            rises += least_level(m, &b) > before;
        }
        arena_destroy(a);
    }
    assert_true(rises > 100); // else the law was not put to the test
}

// Link 0: flows of weight 10 and 10; link 1: one of them and a flow of weight 1. With 20 on link 0: level 1, rates 10 and 10,
// and 22 - 10 = 12 for the light one. With 200 link 1 is the bottleneck: 22 / 11 = 2, rates 20 and 2.
static void with_unequal_weights_the_least_rate_may_fall(void **state)
{
    (void)state;
    static const hand_case c = { .links = 2,
                                 .flows = 3,
                                 .capacity = { 20, 22 },
                                 .flow = { { .hops = 1, .path = { 0 }, .weight = 10 },
                                           { .hops = 2, .path = { 0, 1 }, .weight = 10 },
                                           { .hops = 1, .path = { 1 } } } };
    static const uint64_t want[2][3] = { { 10, 10, 12 }, { 180, 20, 2 } };
    arena *a = arena_create("test");
    maxmin *m = hand_create(a, &c, MAXMIN_INCREMENTAL);
    uint32_t ids[3], count;
    for (uint32_t f = 0; f < 3; f++)
        ids[f] = hand_arrive(m, &c.flow[f]);
    for (int step = 0; step < 2; step++) {
        maxmin_resolve(m, &count);
        for (uint32_t f = 0; f < 3; f++)
            assert_int_equal(maxmin_rate(m, ids[f]), want[step][f]);
        maxmin_set_capacity(m, 0, 200);
    }
    arena_destroy(a);
}

// ---- the parts

// 400 links of 1000 in a row, flow i over links i and i + 1: all inner links close at 500. A flow departs: its neighbours are
// held by their other links, nothing changes. A link falls to 800: its two flows fall to 400; the flows next to them could
// now have 600 there, but are held at 500 by their other links, which are never looked into.
static void work_stays_local(void **state)
{
    (void)state;
    enum { ROW = 400 };
    arena *a = arena_create("test");
    maxmin *m = maxmin_create(a, &(maxmin_options){ .path_usual = 2 });
    uint32_t count;
    for (uint32_t l = 0; l < ROW; l++)
        maxmin_add_link(m, 1000);
    for (uint32_t l = 0; l + 1 < ROW; l++) {
        maxmin_demand demand = {
            .links = (uint32_t[]){ l, l + 1 }, .hops = 2, .weight = 1, .cap = MAXMIN_NONE
        };
        assert_int_equal(maxmin_arrive(m, &demand), l);
    }
    maxmin_resolve(m, &count);
    assert_int_equal(count, ROW - 1);
    maxmin_counters first = maxmin_counters_of(m);
    maxmin_depart(m, 10);
    maxmin_resolve(m, &count);
    assert_int_equal(count, 0);
    maxmin_counters second = maxmin_counters_of(m);
    assert_int_equal(second.links_dirtied - first.links_dirtied, 2); // 10 and 11
    assert_int_equal(second.flows_touched - first.flows_touched, 2); // 9 and 11
    assert_int_equal(second.flows_changed - first.flows_changed, 0);
    maxmin_set_capacity(m, 20, 800);
    const maxmin_change *changes = maxmin_resolve(m, &count);
    maxmin_counters third = maxmin_counters_of(m);
    assert_int_equal(count, 2);
    assert_int_equal(changes[0].flow + changes[1].flow, 19 + 20);
    assert_int_equal(changes[0].rate, 400);
    assert_int_equal(changes[1].rate, 400);
    assert_int_equal(third.links_dirtied - second.links_dirtied, 3); // 20, then 19 and 21
    assert_int_equal(third.flows_touched - second.flows_touched, 4); // 19 and 20, then 18 and 21
    assert_int_equal(third.full_solves, 0);
    assert_int_equal(third.batches, 3);
    assert_int_equal(maxmin_closing_level(m, 19), MAXMIN_NONE);
    assert_int_equal(maxmin_closing_level(m, 18), 500);
    maxmin_verify(m);
    arena_destroy(a);
}

// Two links of 1000 with two flows each, which close at 500; one flow of each also crosses a third link. The other two depart,
// and the two that stay double. A third link of 1301 fills up on the way, at floor(1301 / 2), so it is looked into before that.
// One of 2002 has room for both and for one unit more of each, and is never looked into.
static void a_link_with_room_is_watched_only(void **state)
{
    (void)state;
    static const struct {
        uint64_t capacity, want, want_closing, want_dirtied;
    } rows[] = { { 1301, 650, 650, 3 }, { 2002, 1000, MAXMIN_NONE, 2 } };
    for (size_t r = 0; r < ARRAY_COUNT(rows); r++) {
        arena *a = arena_create("test");
        maxmin *m = maxmin_create(a, &(maxmin_options){ .path_usual = 2, .policy = MAXMIN_INCREMENTAL });
        uint32_t count, ids[4];
        maxmin_add_link(m, 1000);
        maxmin_add_link(m, 1000);
        maxmin_add_link(m, rows[r].capacity);
        for (uint32_t f = 0; f < 4; f++)
            ids[f] = maxmin_arrive(m, &(maxmin_demand){ .links = (uint32_t[]){ f % 2, 2 },
                                                        .hops = f < 2 ? 2 : 1,
                                                        .weight = 1,
                                                        .cap = MAXMIN_NONE });
        maxmin_resolve(m, &count);
        assert_int_equal(maxmin_level(m, ids[0]), 500);
        const maxmin_counters before = maxmin_counters_of(m);
        maxmin_depart(m, ids[2]);
        maxmin_depart(m, ids[3]);
        maxmin_resolve(m, &count);
        const maxmin_counters after = maxmin_counters_of(m);
        assert_int_equal(maxmin_level(m, ids[0]), rows[r].want);
        assert_int_equal(maxmin_level(m, ids[1]), rows[r].want);
        assert_int_equal(maxmin_closing_level(m, 2), rows[r].want_closing);
        assert_int_equal(after.links_dirtied - before.links_dirtied, rows[r].want_dirtied);
        maxmin_verify(m);
        arena_destroy(a);
    }
}

// Too much changes: the incremental solve gives up, before it starts or on the way, and the result is the same.
static void the_dense_regime_is_solved_all_anew(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    maxmin *m = maxmin_create(a,
                              &(maxmin_options){ .path_usual = 2, .dense_percent = 30, .dense_floor = 60 });
    uint32_t count, trunk = maxmin_add_link(m, 100000);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t path[2] = { maxmin_add_link(m, 100 * (i + 1)), trunk };
        maxmin_demand demand = { .links = path, .hops = 2, .weight = 1, .cap = MAXMIN_NONE };
        maxmin_arrive(m, &demand);
    }
    maxmin_resolve(m, &count); // 200 of 200 incidences: before it starts
    assert_int_equal(maxmin_counters_of(m).full_solves, 1);
    assert_int_equal(maxmin_counters_of(m).links_dirtied, 0);
    maxmin_set_capacity(m, 99 + 1, 20000); // above its flow's share: the trunk is not concerned
    maxmin_resolve(m, &count);
    assert_int_equal(count, 0);
    assert_int_equal(maxmin_counters_of(m).full_solves, 1);
    maxmin_set_capacity(
        m, 1, 50); // its flow's rate falls by 50, and the trunk with its 100 flows becomes dirty: on the way
    maxmin_resolve(m, &count);
    assert_int_equal(maxmin_counters_of(m).full_solves, 2);
    assert_true(maxmin_counters_of(m).links_dirtied > 0);
    assert_int_equal(maxmin_rate(m, 0), 50);
    maxmin_verify(m);
    // After the second failure in a row the next batch is not tried, after the third the next three: tries at 1, 3, 7.
    static const bool tried[] = { true, false, true, false, false, false, true, false };
    for (uint32_t i = 0; i < ARRAY_COUNT(tried); i++) {
        uint64_t before = maxmin_counters_of(m).links_dirtied;
        maxmin_set_capacity(m, 1, 60 + 5 * i);
        maxmin_resolve(m, &count);
        assert_int_equal(count, 1);
        assert_int_equal(maxmin_rate(m, 0), 60 + 5 * i);
        assert_int_equal(maxmin_counters_of(m).links_dirtied > before, tried[i]);
    }
    assert_int_equal(maxmin_counters_of(m).full_solves, 2 + ARRAY_COUNT(tried));
    maxmin_verify(m);
    arena_destroy(a);
}

// Long paths take several records of 3 links: 2 and the next one, the last one 3. They come and go, and the room is used
// again. Flow f crosses links f .. f + 9 of 40, its neighbours share 9 of them: 10 flows share link 9 and more, 1000 / 10.
static void long_paths_take_several_records(void **state)
{
    (void)state;
    enum { ROW = 40, LONG = 10, MANY = 31, RECORDS = 5 };
    arena *a = arena_create("test");
    maxmin *m = maxmin_create(a, &(maxmin_options){ .path_usual = 3, .policy = MAXMIN_INCREMENTAL });
    uint32_t count, ids[MANY];
    for (uint32_t l = 0; l < ROW; l++)
        maxmin_add_link(m, 1000);
    for (int turn = 0; turn < 20; turn++) {
        for (uint32_t f = 0; f < MANY; f++) {
            uint32_t path[LONG];
            for (uint32_t h = 0; h < LONG; h++)
                path[h] = f + (h * 7 + (uint32_t)turn) % LONG;
            maxmin_demand demand = { .links = path, .hops = LONG, .weight = 1, .cap = MAXMIN_NONE };
            ids[f] = maxmin_arrive(m, &demand);
        }
        maxmin_resolve(m, &count);
        assert_int_equal(count, MANY);
        assert_int_equal(maxmin_rate(m, ids[15]), 100);
        assert_int_equal(maxmin_flows_on(m, 9), LONG);
        for (uint32_t i = 0; i < LONG; i++) { // flows 0 to 9, each once
            uint32_t found = 0;
            for (uint32_t k = 0; k < LONG; k++)
                found += maxmin_flow_on(m, 9, k) == ids[i];
            assert_int_equal(found, 1);
        }
        maxmin_set_capacity(m, 9, 990);
        maxmin_resolve(m, &count);
        assert_int_equal(maxmin_rate(m, ids[0]), 99);
        assert_int_equal(maxmin_rate(m, ids[10]), 100); // held by link 19, with the flows 11 to 19
        maxmin_verify(m);
        maxmin_set_capacity(m, 9, 1000);
        for (uint32_t f = 0; f < MANY; f++)
            maxmin_depart(m, ids[(f * 11) % MANY]);
        maxmin_resolve(m, &count);
        assert_int_equal(maxmin_flow_count(m), 0);
    }
    assert_int_equal(m->flow_high, MANY * RECORDS);
    maxmin_verify(m);
    arena_destroy(a);
}

// A flow that arrives and departs before the resolve leaves no trace, nor does one whose id another takes up.
static void arrivals_that_do_not_stay(void **state)
{
    (void)state;
    static const hand_flow flow = { .hops = 1, .path = { 0 } }, capped = { .hops = 0, .cap = 5 };
    static const hand_case c = { .links = 1, .capacity = { 999 } };
    arena *a = arena_create("test");
    maxmin *m = hand_create(a, &c, MAXMIN_INCREMENTAL);
    uint32_t count, first = hand_arrive(m, &flow);
    maxmin_resolve(m, &count);
    assert_int_equal(count, 1);
    for (int i = 0; i < 200; i++)
        maxmin_depart(m, hand_arrive(m, &flow));
    maxmin_resolve(m, &count);
    assert_int_equal(count, 0);
    assert_int_equal(maxmin_closing_level(m, 0), 999);
    maxmin_depart(m, hand_arrive(m, &flow));
    uint32_t second = hand_arrive(m, &flow);
    const maxmin_change *changes = maxmin_resolve(m, &count);
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(changes[i].rate, 499);
    maxmin_depart(m, first);
    assert_int_equal(hand_arrive(m, &flow), first); // its record is used again
    changes = maxmin_resolve(m, &count);
    assert_int_equal(count, 1);
    assert_int_equal(changes[0].flow, first);
    uint32_t pathless = hand_arrive(m, &capped);
    changes = maxmin_resolve(m, &count);
    assert_int_equal(count, 1);
    assert_int_equal(changes[0].rate, 5);
    maxmin_depart(m, pathless);
    maxmin_resolve(m, &count);
    assert_int_equal(count, 0);
    maxmin_depart(m, first);
    maxmin_depart(m, second);
    maxmin_resolve(m, &count);
    assert_int_equal(count, 0);
    assert_int_equal(maxmin_flow_count(m), 0);
    assert_int_equal(maxmin_closing_level(m, 0), MAXMIN_NONE);
    maxmin_verify(m);
    arena_destroy(a);
}

// Marks of batches long past must not look like those of today when the count of batches starts again.
static void the_epoch_starts_again(void **state)
{
    (void)state;
    static book b;
    uint64_t random = seed_of(5);
    uint32_t count;
    random_book(&b, 1000, &random);
    arena *a = arena_create("test");
    maxmin *m = book_create(a, &b, &(maxmin_options){ .path_usual = 6, .policy = MAXMIN_INCREMENTAL });
    for (int i = 0; i < 40; i++) {
        if (i == 20) m->epoch = MAXMIN_EPOCH_END - 5;
        random_batch(m, &b, 6, 1000, &random);
        maxmin_resolve(m, &count);
        assert_by_the_book(m, &b);
    }
    assert_in_range(m->epoch, 10, 20);
    arena_destroy(a);
}

// The judge sees each kind of planted mistake.
static void the_audit_notices(void **state)
{
    (void)state;
    static const hand_case c = { .links = 2,
                                 .capacity = { 300, 500 },
                                 .flow = { { .hops = 2, .path = { 0, 1 } }, { .hops = 1, .path = { 0 } } } };
    arena *a = arena_create("test");
    maxmin *m = hand_create(a, &c, MAXMIN_INCREMENTAL);
    uint32_t count, ids[2];
    for (int f = 0; f < 2; f++)
        ids[f] = hand_arrive(m, &c.flow[f]);
    maxmin_resolve(m, &count);
    maxmin_audit_report clean = maxmin_audit(m), none = { 0 };
    assert_memory_equal(&clean, &none, sizeof none);

    maxmin_flow_at(m, ids[0])->level = 151;
    maxmin_audit_report report = maxmin_audit(m);
    assert_int_equal(report.wrong_levels, 1);
    assert_int_equal(report.overloaded_links, 1);
    assert_int_equal(report.flows_without_bottleneck, 1);
    maxmin_flow_at(m, ids[0])->level = 149;
    assert_int_equal(maxmin_audit(m).flows_without_bottleneck, 1);
    maxmin_flow_at(m, ids[0])->level = 150;

    m->links[1].closing = 350;
    assert_int_equal(maxmin_audit(m).wrong_closings, 1);
    m->links[1].closing = MAXMIN_NONE;
    m->links[0].weight++;
    assert_int_equal(maxmin_audit(m).broken_lists, 1);
    m->links[0].weight--;
    maxmin_places(m, maxmin_flow_at(m, ids[0]))[0] ^= 1;
    assert_int_equal(maxmin_audit(m).broken_lists, 1);
    maxmin_places(m, maxmin_flow_at(m, ids[0]))[0] ^= 1;
    report = maxmin_audit(m);
    assert_memory_equal(&report, &none, sizeof none);
    arena_destroy(a);
}

// The queue by itself: rising levels, ties, entries put back.
static void the_queue_sorts(void **state)
{
    (void)state;
    level_entry entries[512];
    level_queue q = { .entries = entries, .capacity = 512 };
    uint64_t random = seed_of(7);
    for (int round = 0; round < 200; round++) {
        uint32_t in = 0, out = 0;
        uint64_t last = 0;
        level_queue_clear(&q);
        for (; in < 256; in++)
            level_queue_push(&q, test_random(&random) >> (1 + test_random_below(&random, 63)), in);
        for (uint32_t e; (e = level_queue_take(&q)) != LEVEL_QUEUE_END;) {
            assert_true(q.level >= last);
            last = q.level;
            for (uint32_t next; e != LEVEL_QUEUE_END; e = next) {
                next = entries[e].next;
                assert_int_equal(entries[e].level, last);
                if (!test_random_below(&random, 4) && last < INT64_MAX - 1000)
                    level_queue_put(&q, e, last + 1 + test_random_below(&random, 1000));
                else
                    out++;
            }
            if (in < 512 && last < INT64_MAX) level_queue_push(&q, last + 1, in++);
        }
        assert_int_equal(in, out);
    }
}

// All-to-all of equal sizes on 12 hosts under 3 leaves with 2 thin spines and a weak host: played to its end with the
// shares of each instant, in whole units of time, it ends when the bottleneck count says. Host i's cables are links i
// (up) and 12 + i (down); leaf x to spine y is 24 + 2 x + y, back 30 + 2 x + y; spines are hashed.
static void the_bottleneck_count_is_exact(void **state)
{
    (void)state;
    enum { HOSTS = 12, LEAVES = 3, ALL = HOSTS * (HOSTS - 1), CABLES = 36 };
    const unsigned __int128 size = UINT64_C(123456789012345);
    uint64_t capacity[CABLES], random = seed_of(8);
    uint32_t flows[CABLES] = { 0 }, ids[ALL], started = 0, left = ALL, count;
    unsigned __int128 remaining[ALL], now = 0;
    arena *a = arena_create("test");
    maxmin *m = maxmin_create(a, &(maxmin_options){ .path_usual = 4 });
    for (uint32_t l = 0; l < CABLES; l++) {
        capacity[l] = l == 17 ? 700001 : l < 24 ? 1000003 : 1700021;
        maxmin_add_link(m, capacity[l]);
    }
    for (uint32_t from = 0; from < HOSTS; from++)
        for (uint32_t to = 0; to < HOSTS; to++) {
            uint32_t x = from / 4, z = to / 4, y = test_random_below(&random, 2);
            uint32_t path[4] = { from, HOSTS + to, 24 + 2 * x + y, 30 + 2 * z + y };
            if (from == to) continue;
            maxmin_demand demand = { .links = path, .hops = x == z ? 2 : 4, .weight = 1, .cap = MAXMIN_NONE };
            for (uint32_t h = 0; h < demand.hops; h++)
                flows[path[h]]++;
            remaining[started] = size;
            ids[started++] = maxmin_arrive(m, &demand);
        }
    maxmin_resolve(m, &count);
    while (left > 0) {
        unsigned __int128 step = (unsigned __int128)1 << 127;
        for (uint32_t f = 0; f < ALL; f++)
            if (remaining[f]) {
                unsigned __int128 end = maxmin_phase_end(remaining[f], maxmin_rate(m, ids[f]));
                if (end < step) step = end;
            }
        now += step;
        for (uint32_t f = 0; f < ALL; f++) {
            if (!remaining[f]) continue;
            unsigned __int128 moved = step * maxmin_rate(m, ids[f]);
            remaining[f] = moved < remaining[f] ? remaining[f] - moved : 0;
            if (remaining[f]) continue;
            maxmin_depart(m, ids[f]);
            left--;
        }
        maxmin_resolve(m, &count);
    }
    uint64_t share = maxmin_least_share(capacity, flows, CABLES);
    assert_true(now == maxmin_phase_end(size, share));
    assert_true(maxmin_counters_of(m).batches > 3); // else nothing ended early, and the claim was not tried
    assert_int_equal(maxmin_least_share(capacity, (uint32_t[CABLES]){ 0 }, CABLES), MAXMIN_NONE);
    arena_destroy(a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(hand_cases) + 16];
    size_t count = 0;
    for (; count < ARRAY_COUNT(hand_cases); count++)
        tests[count] = (struct CMUnitTest){ .name = hand_cases[count].name,
                                            .test_func = hand_case_holds,
                                            .initial_state = (void *)(uintptr_t)&hand_cases[count] };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(a_link_goes_down_and_returns),
        cmocka_unit_test(sums_stay_below_the_limit),
        cmocka_unit_test(incremental_is_from_scratch),
        cmocka_unit_test(names_and_orders_do_not_matter),
        cmocka_unit_test(a_higher_capacity_never_lowers_the_least_level),
        cmocka_unit_test(with_unequal_weights_the_least_rate_may_fall),
        cmocka_unit_test(work_stays_local),
        cmocka_unit_test(a_link_with_room_is_watched_only),
        cmocka_unit_test(the_dense_regime_is_solved_all_anew),
        cmocka_unit_test(long_paths_take_several_records),
        cmocka_unit_test(arrivals_that_do_not_stay),
        cmocka_unit_test(the_epoch_starts_again),
        cmocka_unit_test(the_audit_notices),
        cmocka_unit_test(the_queue_sorts),
        cmocka_unit_test(the_bottleneck_count_is_exact),
    };
    for (size_t i = 0; i < ARRAY_COUNT(others); i++)
        tests[count++] = others[i];
    return _cmocka_run_group_tests("maxmin", tests, count, NULL, NULL);
}
