// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/network/fluid_network.h"
#include "models/network/topology_build.h"
#include "models/traffic/traffic.h"
#include "tests/support/text.h"

#define CABLE_RATE_MBPS UINT64_C(48300000000000)

// Bare hosts of two NICs on one switch: a path takes 281.3 ns.
static const topology *hosts_of_two(arena *a, uint32_t hosts)
{
    const node_wiring host = { .nics = 2 };
    const single_switch_def def = { .rate_mBps = CABLE_RATE_MBPS,
                                    .cable_delay_ps = 25300,
                                    .switch_delay_ps = 230700 };
    topology *t = topology_create(a);
    sim_error error = { 0 };
    topology_set_policy(t, &(fabric_policy){ .queue_pairs = 1, .reroute_ps = SIM_TIME_MAX }); // never
    for (uint32_t i = 0; i < hosts; i++)
        topology_add_node(t, &host);
    const bool built = topology_add_single_switch(t, &def, NULL, &error);
    topology_seal(t);
    SIM_ASSERT(built && topology_check(t, NULL, &error));
    return t;
}

static bool parse(arena *a, const topology *t, link_change_kind kind, const char *text,
                  link_change_array *out, sim_error *error)
{
    const sim_place place = sim_place_of_option("--link", text);
    return link_change_parse(a, t, kind, text, &place, out, error);
}

// ---- what is read

struct good_case {
    const char *text;
    link_change_kind kind;
    sim_time time_ps;
    double ratio;
    const char *links[2];
};
static const struct good_case good[] = {
    { "leaf 0 > node 2 nic 1 @ 1.5 ms", LINK_GOES_DOWN, 1500000000, 0.0, { "leaf 0 > node 2 nic 1" } },
    { "node 2 nic 1>leaf 0@7 ps", LINK_RETURNS, 7, 1.0, { "node 2 nic 1 > leaf 0" } },
    { "  leaf 0   >  node 2 nic 1  @  0 s  =  25 % ", LINK_DEGRADES, 0, 0.25, { "leaf 0 > node 2 nic 1" } },
    { "leaf 0 > node 2 nic 1 @ 1 us = 0", LINK_DEGRADES, 1000000, 0.0, { "leaf 0 > node 2 nic 1" } },
    { "node 0 nic 0 <> leaf 0 @ 1 us = 0.375",
      LINK_DEGRADES,
      1000000,
      0.375,
      { "node 0 nic 0 > leaf 0", "leaf 0 > node 0 nic 0" } },
};

static void changes_are_read(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const topology *t = hosts_of_two(a, 3);
    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        const struct good_case *c = &good[i];
        sim_error error = { 0 };
        link_change_array changes = { 0 };
        if (!parse(a, t, c->kind, c->text, &changes, &error)) fail_msg("%s: %s", c->text, error.message);
        assert_int_equal(changes.count, c->links[1] ? 2 : 1);
        for (uint32_t k = 0; k < changes.count; k++) {
            char name[192];
            assert_string_equal(topology_link_name(t, changes.items[k].link, name, sizeof(name)),
                                c->links[k]);
            assert_true(changes.items[k].time_ps == c->time_ps && changes.items[k].ratio == c->ratio);
        }
    }
    arena_destroy(a);
}

// ---- what is refused

struct bad_case {
    const char *name, *text;
    link_change_kind kind;
    const char *want;
};
static const struct bad_case bad[] = {
    { "no time", "leaf 0 > node 2 nic 1", LINK_GOES_DOWN,
      "--link:1:22: error: the time is missing\n"
      "    1 | leaf 0 > node 2 nic 1\n"
      "      |                      ^\n"
      "  hint: \"leaf 0 > spine 3 @ 1 ms\"\n" },
    { "no link", "leaf 0 @ 1 ms", LINK_GOES_DOWN,
      "--link:1:1: error: a link is missing\n"
      "    1 | leaf 0 @ 1 ms\n"
      "      | ^\n"
      "  hint: \"leaf 0 > spine 3 @ 1 ms\", or <> for both directions of the cable\n" },
    { "no such part", "leaf 0 > node 7 nic 1 @ 1 ms", LINK_GOES_DOWN,
      "--link:1:10: error: there is no \"node 7 nic 1\" in the fabric\n"
      "    1 | leaf 0 > node 7 nic 1 @ 1 ms\n"
      "      |          ^\n"
      "  hint: write \"gpu 3\", \"node 2 nic 1\", \"leaf 0\" or a host's number, counted from 0: 3 nodes, 6 "
      "x nic, 1 x leaf\n" },
    { "no name at all", "> leaf 0 @ 1 ms", LINK_GOES_DOWN,
      "--link:1:1: error: there is no \"\" in the fabric\n"
      "    1 | > leaf 0 @ 1 ms\n"
      "      | ^\n"
      "  hint: write \"gpu 3\", \"node 2 nic 1\", \"leaf 0\" or a host's number, counted from 0: 3 nodes, 6 "
      "x nic, 1 x leaf\n" },
    { "no such link", "node 0 nic 0 > node 0 nic 1 @ 1 ms", LINK_GOES_DOWN,
      "--link:1:1: error: there is no link from node 0 nic 0 to node 0 nic 1\n"
      "    1 | node 0 nic 0 > node 0 nic 1 @ 1 ms\n"
      "      | ^\n"
      "  hint: from node 0 nic 0 links lead to leaf 0\n" },
    { "no unit", "leaf 0 > node 2 nic 1 @ 1", LINK_GOES_DOWN,
      "--link:1:25: error: a time needs a unit, such as \"1.3 us\"\n"
      "    1 | leaf 0 > node 2 nic 1 @ 1\n"
      "      |                         ^\n" },
    { "before the start", "leaf 0 > node 2 nic 1 @ -1 ms", LINK_GOES_DOWN,
      "--link:1:25: error: the time is negative\n"
      "    1 | leaf 0 > node 2 nic 1 @ -1 ms\n"
      "      |                         ^\n" },
    { "later than the clock", "leaf 0 > node 2 nic 1 @ 54 d", LINK_GOES_DOWN,
      "--link:1:25: error: the time is later than the 53 days after which nothing may start\n"
      "    1 | leaf 0 > node 2 nic 1 @ 54 d\n"
      "      |                         ^\n" },
    { "a ratio of what is down", "leaf 0 > node 2 nic 1 @ 1 ms = 1", LINK_GOES_DOWN,
      "--link:1:30: error: --down takes no ratio\n"
      "    1 | leaf 0 > node 2 nic 1 @ 1 ms = 1\n"
      "      |                              ^\n"
      "  hint: --degrade \"leaf 0 > spine 3 @ 1 ms = 25 %\"\n" },
    { "a ratio of what returns", "leaf 0 > node 2 nic 1 @ 1 ms = 1", LINK_RETURNS,
      "--link:1:30: error: --up takes no ratio\n"
      "    1 | leaf 0 > node 2 nic 1 @ 1 ms = 1\n"
      "      |                              ^\n"
      "  hint: --degrade \"leaf 0 > spine 3 @ 1 ms = 25 %\"\n" },
    { "no ratio", "leaf 0 > node 2 nic 1 @ 1 ms", LINK_DEGRADES,
      "--link:1:1: error: what is left of the rate is missing\n"
      "    1 | leaf 0 > node 2 nic 1 @ 1 ms\n"
      "      | ^\n"
      "  hint: \"leaf 0 > spine 3 @ 1 ms = 25 %\"\n" },
    { "more than all", "leaf 0 > node 2 nic 1 @ 1 ms = 101 %", LINK_DEGRADES,
      "--link:1:32: error: what is left of the rate lies between 0 and 1\n"
      "    1 | leaf 0 > node 2 nic 1 @ 1 ms = 101 %\n"
      "      |                                ^\n" },
    { "no number", "leaf 0 > node 2 nic 1 @ 1 ms = half", LINK_DEGRADES,
      "--link:1:32: error: \"half\" is not a number\n"
      "    1 | leaf 0 > node 2 nic 1 @ 1 ms = half\n"
      "      |                                ^\n"
      "  hint: a number is written like \"12\"\n" },
};

static void refusal_is_told(void **state)
{
    const struct bad_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    link_change_array changes = { 0 };
    assert_false(parse(a, hosts_of_two(a, 3), c->kind, c->text, &changes, &error));
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&error, c->want);
    arena_destroy(a);
}

static void many_neighbours_are_cut_short(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    link_change_array changes = { 0 };
    assert_false(parse(a, hosts_of_two(a, 7), LINK_GOES_DOWN, "leaf 0 > leaf 0 @ 1 ms", &changes, &error));
    assert_string_equal(
        error.hint,
        "from leaf 0 links lead to node 0 nic 0, node 0 nic 1, node 1 nic 0, node 1 nic 1, node 2 "
        "nic 0, node 2 nic 1, node 3 nic 0, node 3 nic 1, node 4 nic 0, node 4 nic 1, node 5 nic 0, "
        "node 5 nic 1, ...");
    arena_destroy(a);
}

static void changes_are_ordered(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    const topology *t = hosts_of_two(a, 3);
    sim_error error = { 0 };
    link_change_array changes = { 0 };
    assert_true(link_change_order(t, &changes, &error));
    assert_true(parse(a, t, LINK_RETURNS, "leaf 0 <> node 2 nic 1 @ 3 us", &changes, &error));
    assert_true(parse(a, t, LINK_GOES_DOWN, "leaf 0 <> node 0 nic 1 @ 1 us", &changes, &error));
    assert_true(link_change_order(t, &changes, &error));
    for (uint32_t i = 1; i < changes.count; i++) {
        const link_change *before = &changes.items[i - 1], *now = &changes.items[i];
        assert_true(before->time_ps < now->time_ps ||
                    (before->time_ps == now->time_ps && before->link < now->link));
    }
    assert_int_equal(changes.items[0].time_ps, 1000000);
    assert_true(parse(a, t, LINK_DEGRADES, "leaf 0 > node 0 nic 1 @ 1000 ns = 50 %", &changes, &error));
    assert_false(link_change_order(t, &changes, &error));
    assert_error_prints(&error, "windtunnel: error: link leaf 0 > node 0 nic 1 changes twice at 1.000 us\n");
    arena_destroy(a);
}

// ---- what they do to flows

typedef struct stage {
    arena *a;
    sim *s;
    network *n;
    traffic *t;
    uint32_t changes_told;
} stage;

static void told(void *owner)
{
    stage *b = owner;
    b->changes_told++;
}

// One flow of 9173641 B from NIC 0 to NIC 2, under the changes of the texts; it takes 190211756 ps alone.
static void play(stage *b, const char *const texts[LINK_CHANGE_KINDS])
{
    b->a = arena_create("test");
    b->s = sim_create(b->a, NULL);
    const topology *t = hosts_of_two(b->a, 3);
    b->n = network_create_fluid(b->a, b->s, t, &(fluid_options){ 0 });
    vertex_id hosts[6];
    for (uint32_t i = 0; i < 6; i++)
        hosts[i] = topology_nic_vertex(t, i);
    traffic_flow flow = { 0, 9173641, 0, 2 };
    traffic_settings settings = { .hosts = hosts, .host_count = 6, .on_changes = told, .owner = b };
    settings.flows = (traffic_flow_array){ .items = &flow, .count = 1, .capacity = 1 };
    sim_error error = { 0 };
    for (int kind = 0; kind < LINK_CHANGE_KINDS; kind++)
        if (texts[kind])
            assert_true(parse(b->a, t, (link_change_kind)kind, texts[kind], &settings.changes, &error));
    assert_true(link_change_order(t, &settings.changes, &error));
    b->changes_told = 0;
    b->t = traffic_create(b->a, b->s, b->n, &settings);
    const double bound_s = settings.changes.count ? traffic_longest_s(b->a, t, &settings) : INFINITY;
    traffic_start(b->t);
    sim_run(b->s, SIM_TIME_MAX);
    network_verify(b->n);
    assert_true(units_s_from_ps(traffic_results_of(b->t)->completion_last_ps) <= bound_s);
}

static void end(stage *b)
{
    sim_destroy(b->s);
    arena_destroy(b->a);
}

static void flows_feel_their_links(void **state)
{
    (void)state;
    static const struct {
        const char *texts[LINK_CHANGE_KINDS]; // down, degrade, up
        sim_time want_ps;
        uint32_t changes;
    } cases[] = {
        { { NULL, NULL, NULL }, 190211756, 0 },
        // It stands still for 150 us.
        { { "node 0 nic 0 > leaf 0 @ 100 us", NULL, "node 0 nic 0 > leaf 0 @ 250 us" }, 340211756, 2 },
        // From 100 us on at a quarter of the rate: 100000000 + ceil(4 x 89930455.49) + 281300.
        { { NULL, "leaf 0 > node 1 nic 0 @ 100 us = 25 %", NULL }, 460003122, 1 },
        // The other direction, another link, and what happens when all is over.
        { { "leaf 0 > node 0 nic 0 @ 100 us", "node 2 nic 1 > leaf 0 @ 50 us = 1 %",
            "leaf 0 > node 0 nic 0 @ 1 s" },
          190211756,
          2 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        stage b;
        play(&b, cases[i].texts);
        const traffic_results *r = traffic_results_of(b.t);
        assert_int_equal(r->finished, 1);
        assert_int_equal(r->completion_last_ps, cases[i].want_ps);
        assert_int_equal(b.changes_told, cases[i].changes);
        assert_int_equal(sim_now(b.s), cases[i].want_ps); // it stops with the last flow
        end(&b);
    }
}

static void a_dead_link_holds_its_flow(void **state)
{
    (void)state;
    stage b;
    static const char *const texts[LINK_CHANGE_KINDS] = { "leaf 0 > node 1 nic 0 @ 100 us", NULL, NULL };
    play(&b, texts);
    const traffic_results *r = traffic_results_of(b.t);
    assert_true(r->started == 1 && r->finished == 0);
    assert_int_equal(network_stuck(b.n).transfers, 1);
    end(&b);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(bad) + 5];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        tests[n++] = (struct CMUnitTest){ bad[i].name, refusal_is_told, NULL, NULL, (void *)&bad[i] };
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(changes_are_read);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(many_neighbours_are_cut_short);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(changes_are_ordered);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(flows_feel_their_links);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_dead_link_holds_its_flow);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("link_change", tests, NULL, NULL);
}
