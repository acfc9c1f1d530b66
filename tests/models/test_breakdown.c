// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "models/breakdown.h"
#include "tests/support/loaded.h"
#include "tests/support/near.h"

// Sixteen stages of one layer on as many GPUs.
#define DEEP                                                                                                 \
    "cluster: { node: dgx-h100, nodes: 2, fabric: { topology: single-switch, switch: qm9700 },\n"            \
    "  degraded: [{ gpu: node 1 gpu 3, clock: 0.75 }, { gpu: gpu 2, memory: 0.5 },\n"                        \
    "    { nic: node 1 nic 0, rate: 0.5 }] }\n"                                                              \
    "model: { name: wee, layers: 16, hidden: 64, heads: 4, kv_heads: 2, ffn: 96, vocabulary: 100,\n"         \
    "  max_sequence: 64, activation: swiglu, norm: rmsnorm, position: rope }\n"                              \
    "plan: { pipeline: 16, gpus: 16 }\n"                                                                     \
    "training: { global_batch: 16, micro_batch: 1 }\n"

enum { STAGES = 16, STAGE_PS = 1000000 }; // of GPU time of a stage

typedef struct bench {
    loaded l;
    world *w;
    summary_input in;
    unsigned __int128 of_stage[STAGES * BLAME_CAUSES], peer[STAGES], bubble[STAGES], by_link[8];
    uint64_t *link_bytes;
} bench;

static void create(bench *b, const scratch_folder *folder)
{
    memset(b, 0, sizeof *b);
    assert_true(loaded_read(&b->l, folder, DEEP, NULL, 0) && scenario_check(&b->l.s, true, &b->l.error));
    assert_true(world_create(b->l.a, &b->l.s, &(world_options){ 0 }, &b->w, &b->l.error));
    b->link_bytes = arena_array(b->l.a, uint64_t, topology_link_count(b->w->fabric));
    b->in = (summary_input){ .world = b->w,
                             .played_ps = 2000000000000,
                             .blame_of_stage = b->of_stage,
                             .gpu_time_ps = (unsigned __int128)STAGES * STAGE_PS,
                             .peer_by_lane = b->peer,
                             .bubble_by_lane = b->bubble,
                             .caused_by_link = b->by_link,
                             .link_bytes = b->link_bytes };
}

static void destroy(bench *b)
{
    world_destroy(b->w);
    arena_destroy(b->l.a);
}

// The stage idles for so many millionths of its time; the rest it computes.
static void set_bubble(bench *b, uint32_t stage, uint32_t millionths)
{
    b->of_stage[stage * BLAME_CAUSES + BLAME_BUBBLE] = millionths;
    b->of_stage[stage * BLAME_CAUSES + BLAME_FORWARD] = STAGE_PS - millionths;
}

// 0 and 1 are 500 millionths apart and are joined; their mean and 2 are 1,150 apart, although 1 and 2 are 900 apart;
// 4 and 5 are 1,001 apart.
static void stages_that_are_alike_are_joined(void **state)
{
    static bench b;
    static const uint32_t bubbles[STAGES] = {
        100000, 100500, 101400, 150000, 160000, 161001, 180000, 180000,
        180000, 180000, 180000, 180000, 180000, 180000, 180000, 180000
    };
    static const struct {
        uint32_t first, last;
        double bubble;
    } want[] = { { 0, 1, 0.10025 }, { 2, 2, 0.1014 },   { 3, 3, 0.15 },
                 { 4, 4, 0.16 },    { 5, 5, 0.161001 }, { 6, 15, 0.18 } };
    blame_class_array classes = { 0 };
    create(&b, *state);
    for (uint32_t s = 0; s < STAGES; s++)
        set_bubble(&b, s, bubbles[s]);
    breakdown_classes(b.l.a, &b.in, &classes);
    assert_int_equal(classes.count, ARRAY_COUNT(want));
    for (uint32_t i = 0; i < classes.count; i++) {
        assert_int_equal(classes.items[i].first, want[i].first);
        assert_int_equal(classes.items[i].last, want[i].last);
        assert_near(classes.items[i].shares[BLAME_BUBBLE], want[i].bubble, 1e-12);
        assert_near(classes.items[i].shares[BLAME_FORWARD], 1 - want[i].bubble, 1e-12);
    }
    destroy(&b);
}

// All differ by more than a thousandth: two by two by 2 to 9 thousandths, these pairs by 40 and more. So the pairs are joined.
static void at_most_eight_classes_are_told(void **state)
{
    static bench b;
    blame_class_array classes = { 0 };
    create(&b, *state);
    for (uint32_t s = 0; s < STAGES; s++)
        set_bubble(&b, s, 50000 * (s / 2) + s % 2 * 1000 * (2 + s / 2));
    breakdown_classes(b.l.a, &b.in, &classes);
    assert_int_equal(classes.count, BREAKDOWN_CLASSES_MAX);
    for (uint32_t i = 0; i < classes.count; i++) {
        assert_int_equal(classes.items[i].first, 2 * i);
        assert_int_equal(classes.items[i].last, 2 * i + 1);
        assert_near(classes.items[i].shares[BLAME_BUBBLE], 0.05 * i + 0.0005 * (2 + i), 1e-12);
    }
    destroy(&b);
}

// Of 16,000,000 ps of GPU time a thousandth is 16,000. Degraded parts come first, whatever they caused from 1,600 on, and their
// bubbles count. The fourth is left out.
static void degraded_parts_are_culprits_first(void **state)
{
    static bench b;
    static const struct {
        const char *part, *detail;
        bool degraded;
        double share;
    } want[] = { { "node 1 gpu 3", "rank 11, clock 0.75", true, 0.0125 },
                 { "node 1 nic 0 > leaf 0", "rate 0.50", true, 0.0001 },
                 { "node 0 gpu 5", "rank 5", false, 0.02 } };
    culprit_array culprits = { 0 };
    uint32_t links;
    create(&b, *state);
    const link_id *slow = topology_degraded_links(b.w->fabric, &links);
    for (uint32_t i = 0; i < links; i++) {
        char name[128];
        topology_link_name(b.w->fabric, slow[i], name, sizeof name);
        if (strcmp(name, "node 1 nic 0 > leaf 0") == 0) b.by_link[i] = 1600;
        if (strcmp(name, "leaf 0 > node 1 nic 0") == 0) b.by_link[i] = 1599; // too little
    }
    b.peer[2] = 1000; // degraded too, but it caused too little
    b.peer[11] = 150000;
    b.bubble[11] = 50000;
    b.peer[5] = 320000;
    b.peer[6] = 319999;
    b.bubble[7] = 8000000; // a healthy pipeline's bubble
    breakdown_culprits(b.l.a, &b.in, &culprits);
    assert_int_equal(culprits.count, ARRAY_COUNT(want));
    for (uint32_t i = 0; i < culprits.count; i++) {
        assert_string_equal(culprits.items[i].part, want[i].part);
        assert_string_equal(culprits.items[i].detail, want[i].detail);
        assert_int_equal(culprits.items[i].degraded, want[i].degraded);
        assert_near(culprits.items[i].share, want[i].share, 1e-12);
    }
    destroy(&b);
}

// Of two seconds. Links of one class that are used alike are told once, by the hottest of them.
static void the_hottest_links_differ(void **state)
{
    static bench b;
    busy_link_array links = { 0 };
    create(&b, *state);
    const topology *t = b.w->fabric;
    link_id nvlinks[4] = { 0 };
    uint32_t found = 0;
    for (link_id l = 0; l < topology_link_count(t) && found < 4; l++)
        if (topology_link_at(t, l)->class == LINK_NVLINK) nvlinks[found++] = l;
    const double capacity = 2 * (double)topology_link_at(t, nvlinks[0])->rate_mBps / 1000;
    static const double busy[] = { 0.4999, 0.2, 0.5, 0.0004 };
    for (uint32_t i = 0; i < 4; i++)
        b.link_bytes[nvlinks[i]] = (uint64_t)(busy[i] * capacity);
    breakdown_links(b.l.a, &b.in, &links);
    assert_int_equal(links.count, 2);
    assert_int_equal(links.items[0].link, nvlinks[2]);
    assert_near(links.items[0].busy_share, 0.5, 1e-9);
    assert_int_equal(links.items[0].bytes, (uint64_t)(0.5 * capacity));
    assert_string_equal(links.items[0].class, "nvlink");
    assert_int_equal(links.items[1].link, nvlinks[1]);

    memset(b.link_bytes, 0,
           topology_link_count(t) * sizeof *b.link_bytes); // alone, also one that is hardly used
    b.link_bytes[nvlinks[3]] = 4096;
    array_clear(&links);
    breakdown_links(b.l.a, &b.in, &links);
    assert_int_equal(links.count, 1);
    assert_int_equal(links.items[0].link, nvlinks[3]);
    destroy(&b);
}

// Before the first step has ended there is nothing to tell.
static void nothing_played_has_no_lists(void **state)
{
    static bench b;
    blame_class_array classes = { 0 };
    culprit_array culprits = { 0 };
    busy_link_array links = { 0 };
    create(&b, *state);
    b.in.gpu_time_ps = 0;
    b.in.played_ps = 0;
    breakdown_classes(b.l.a, &b.in, &classes);
    breakdown_culprits(b.l.a, &b.in, &culprits);
    breakdown_links(b.l.a, &b.in, &links);
    assert_int_equal(classes.count + culprits.count + links.count, 0);
    destroy(&b);
}

int main(void)
{
#define IN_SCRATCH(test_) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(stages_that_are_alike_are_joined),  IN_SCRATCH(at_most_eight_classes_are_told),
        IN_SCRATCH(degraded_parts_are_culprits_first), IN_SCRATCH(the_hottest_links_differ),
        IN_SCRATCH(nothing_played_has_no_lists),
    };
    return cmocka_run_group_tests_name("breakdown", tests, NULL, NULL);
}
