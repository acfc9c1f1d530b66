// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "models/summary.h"
#include "tests/support/loaded.h"

// Per token: products 2 x (24,576 + 36,864), attention 2 x 16,384 over the full square, logits 12,800 FLOP forward; three
// times that with the backward pass: 505,344, and 456,192 with the causal half. Parameters 61,696 + 6,400 + 6,464 = 74,560.
#define TINY                                                                                                 \
    "cluster: { node: a100-4x }\n"                                                                           \
    "model: { name: wee, layers: 2, hidden: 64, heads: 4, kv_heads: 2, ffn: 96, vocabulary: 100,\n"          \
    "  max_sequence: 64, activation: swiglu, norm: rmsnorm, position: rope }\n"                              \
    "plan: { gpus: 3, recompute: full }\n"                                                                   \
    "training: { global_batch: 12, micro_batch: 2 }\n"

typedef struct bench {
    loaded l;
    world *w;
    summary_array out;
} bench;

static void create_with(bench *b, const scratch_folder *folder, const char *set)
{
    memset(b, 0, sizeof *b);
    assert_true(loaded_read(&b->l, folder, TINY, &set, set != NULL) &&
                scenario_check(&b->l.s, true, &b->l.error));
    assert_true(world_create(b->l.a, &b->l.s, &(world_options){ .queue = QUEUE_BUCKET }, &b->w, &b->l.error));
}

static void create(bench *b, const scratch_folder *folder)
{
    create_with(b, folder, NULL);
}

static void destroy(bench *b)
{
    world_destroy(b->w);
    arena_destroy(b->l.a);
}

static void assert_value(const bench *b, const char *metric, double want, const char *unit)
{
    const summary_value *v = summary_find(&b->out, metric);
    if (!v) fail_msg("no metric %s", metric);
    assert_true(v->known);
    assert_null(v->reason);
    assert_non_null(v->explanation);
    assert_string_equal(v->unit, unit);
    if (fabs(v->value - want) > 1e-9 * fabs(want))
        fail_msg("%s: got %.17g, want %.17g", metric, v->value, want);
}

static summary_input totals(const bench *b, unsigned __int128 blame_ps[BLAME_CAUSES])
{
    summary_input in = { .world = b->w, .blame_ps = blame_ps, .gpu_time_ps = 24000000000 };
    stats_add(&in.step_s, 0.003);
    stats_add(&in.step_s, 0.005);
    blame_ps[BLAME_FORWARD] = 6000000000;
    blame_ps[BLAME_BACKWARD] = 9000000000;
    blame_ps[BLAME_RECOMPUTE] = 3000000000;
    blame_ps[BLAME_OPTIMIZER] = 600000000;
    blame_ps[BLAME_LAUNCH] = 2400000000;
    blame_ps[BLAME_PEER] = 1000000000;
    blame_ps[BLAME_EXPOSED_DP] = 2000000000;
    return in;
}

// Two steps of 3 and 5 ms; 12 x 64 = 768 tokens each on 3 GPUs of 312 TFLOP/s: 192,000 tokens/s, 64,000 per GPU.
static void numbers_by_hand(void **state)
{
    bench b;
    create(&b, *state);
    unsigned __int128 blame_ps[BLAME_CAUSES] = { 0 };
    summary_input in = totals(&b, blame_ps);
    in.healthy_known = true;
    in.healthy_step_s = 0.0025;
    summary_build(b.l.a, &in, &b.out);
    assert_value(&b, "step_time", 0.004, "s");
    assert_value(&b, "step_time_least", 0.003, "s");
    assert_value(&b, "step_time_greatest", 0.005, "s");
    assert_value(&b, "step_time_healthy", 0.0025, "s");
    assert_value(&b, "tokens_per_s", 192000, "tokens/s");
    assert_value(&b, "tokens_per_s_per_gpu", 64000, "tokens/s");
    assert_value(&b, "model_flops", 505344.0 * 64000, "FLOP/s");
    assert_value(&b, "mfu", 1.0366030769230769e-4, "1"); // 505,344 x 64,000 / 312e12
    assert_value(&b, "model_flops_causal", 456192.0 * 64000, "FLOP/s");
    assert_value(&b, "mfu_causal", 9.357784615384615e-5, "1");
    assert_value(&b, "mfu_6n", 9.176615384615385e-5, "1"); // 6 x 74,560 x 64,000 / 312e12
    assert_value(&b, "compute_share", 18.6 / 24, "1");
    assert_value(&b, "recompute_share", 3.0 / 24, "1");
    assert_value(&b, "launch_share", 2.4 / 24, "1");
    assert_value(&b, "exposed_communication_share", 2.0 / 24, "1");
    assert_value(&b, "bubble_share", 0.0, "1");
    assert_value(&b, "pp_wait_share", 0.0, "1");
    assert_value(&b, "peer_share", 1.0 / 24, "1");
    assert_value(&b, "exposed_tp_share", 0.0, "1");
    assert_value(&b, "exposed_dp_share", 2.0 / 24, "1");
    assert_value(&b, "step_without_bubble", 0.004, "s");
    assert_value(&b, "step_without_exposed_tp", 0.004, "s");
    assert_value(&b, "step_without_exposed_dp", 0.004 * 22 / 24, "s");
    assert_value(&b, "memory_need", (double)world_fullest(&b.w->memory)->total_bytes, "B");
    assert_value(&b, "memory_share", (double)world_fullest(&b.w->memory)->total_bytes / 85899345920.0, "1");
    destroy(&b);
}

// FLOP really executed are those of the kernels, as often as they are called in the two micro-batches of each of three ranks,
// without the optimizer.
static void executed_flop_are_the_kernels(void **state)
{
    bench b;
    create(&b, *state);
    unsigned __int128 blame_ps[BLAME_CAUSES] = { 0 };
    const summary_input in = totals(&b, blame_ps);
    summary_build(b.l.a, &in, &b.out);
    double flop = 0.0;
    const chunk_costs *costs = &b.w->costs.chunks[0]->costs;
    for (uint32_t i = 0; i < costs->kernel_count; i++)
        flop += costs->kernels[i].shape.flop * (double)costs->kernels[i].calls;
    assert_near(summary_executed_flop(b.w), 3 * 2 * flop, 1e-12);
    assert_value(&b, "hardware_flops", 2 * flop / 0.004, "FLOP/s");
    assert_value(&b, "hfu", 2 * flop / 0.004 / 312e12, "1");
    destroy(&b);
}

// Two stages, two replicas with 12 / (2 x 2) = 3 micro-batches: 1 / 3 of the ideal time, 1 / 4 of the step. The hottest link
// has carried 7/16 of what it can in the 8 ms of both steps, another one a third of these bytes.
static void a_pipeline_has_an_ideal_bubble(void **state)
{
    bench b;
    create_with(&b, *state, "plan={ pipeline: 2, data: 2, gpus: 4, recompute: full }");
    unsigned __int128 blame_ps[BLAME_CAUSES] = { 0 };
    uint64_t *link_bytes = arena_array(b.l.a, uint64_t, topology_link_count(b.w->fabric));
    summary_input in = totals(&b, blame_ps);
    in.played_ps = 8000000000;
    in.link_bytes = link_bytes;
    blame_ps[BLAME_PEER] = 0;
    blame_ps[BLAME_BUBBLE] = 600000000;
    blame_ps[BLAME_PP_WAIT] = 300000000;
    blame_ps[BLAME_EXPOSED_TP] = 100000000;
    const double rate_Bps = (double)topology_link_at(b.w->fabric, 2)->rate_mBps / 1000;
    link_bytes[2] = (uint64_t)(rate_Bps * 0.008 * 7 / 16);
    link_bytes[5] = link_bytes[2] / 3;
    summary_build(b.l.a, &in, &b.out);
    assert_value(&b, "bubble_share", 0.6 / 24, "1");
    assert_value(&b, "pp_wait_share", 0.3 / 24, "1");
    assert_value(&b, "exposed_tp_share", 0.1 / 24, "1");
    assert_value(&b, "exposed_communication_share", 2.1 / 24, "1");
    assert_value(&b, "bubble_ideal_of_ideal", 1.0 / 3, "1");
    assert_value(&b, "bubble_ideal_of_step", 1.0 / 4, "1");
    assert_value(&b, "step_without_bubble", 0.004 * 23.4 / 24, "s");
    assert_value(&b, "step_without_exposed_tp", 0.004 * 23.9 / 24, "s");
    assert_value(&b, "hottest_link_busy_share", 0.4375, "1");
    assert_true(summary_find(&b.out, "hottest_link_busy_share")->is_fact);
    assert_false(summary_find(&b.out, "bubble_share")->is_fact);
    destroy(&b);
}

static void what_is_not_known_has_a_reason(void **state)
{
    bench b;
    create(&b, *state);
    unsigned __int128 blame_ps[BLAME_CAUSES] = { 0 };
    summary_input in = totals(&b, blame_ps);
    summary_build(b.l.a, &in, &b.out);
    static const char *const unknown[][3] = {
        { "energy_per_step", "J", "power is not modelled in this version" },
        { "cost_per_step", "USD", "prices are not modelled in this version" },
        { "bubble_ideal_of_ideal", "1", "no pipeline" },
        { "bubble_ideal_of_step", "1", "no pipeline" },
        { "hottest_link_busy_share", "1", "no link carried anything" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(unknown); i++) {
        const summary_value *v = summary_find(&b.out, unknown[i][0]);
        assert_false(v->known);
        assert_string_equal(v->unit, unknown[i][1]);
        assert_string_equal(v->reason, unknown[i][2]);
    }
    assert_null(summary_find(&b.out, "colour"));

    memset(&in.step_s, 0, sizeof in.step_s);
    array_clear(&b.out);
    summary_build(b.l.a, &in, &b.out);
    assert_int_equal(b.out.count, 1);
    assert_string_equal(b.out.items[0].metric, "step_time");
    assert_string_equal(b.out.items[0].reason, "no step was finished");
    destroy(&b);
}

static uint64_t digest_of(const summary_array *s)
{
    arena *a = arena_create("test");
    sim *engine = sim_create(a, NULL);
    summary_digest(s, engine);
    const uint64_t digest = sim_digest(engine);
    sim_destroy(engine);
    arena_destroy(a);
    return digest;
}

// Every known value counts, to the last bit; order, what is not known, and facts that are no results do not.
static void the_digest_is_of_values(void **state)
{
    (void)state;
    summary_value values[] = { { .metric = "a", .known = true, .value = 0.1 },
                               { .metric = "b", .known = true, .value = 0.3 },
                               { .metric = "c", .reason = "not modelled" } };
    const uint64_t want = digest_of(&(summary_array){ .items = values, .count = 3 });
    assert_true(digest_of(&(summary_array){ .items = values, .count = 2 }) == want);
    assert_true(digest_of(&(summary_array){ .items = values, .count = 1 }) != want);
    summary_value turned[] = { values[1], values[0] };
    assert_true(digest_of(&(summary_array){ .items = turned, .count = 2 }) == want);
    values[2] = (summary_value){ .metric = "c", .known = true, .value = 0.7, .is_fact = true };
    assert_true(digest_of(&(summary_array){ .items = values, .count = 3 }) == want);
    values[1].value = nextafter(0.3, 1.0);
    assert_true(digest_of(&(summary_array){ .items = values, .count = 3 }) != want);
    values[1].value = 0.1;
    values[0].value = 0.3; // exchanged
    assert_true(digest_of(&(summary_array){ .items = values, .count = 3 }) != want);
}

static void assumptions_are_named_with_their_source(void **state)
{
    bench b;
    create(&b, *state);
    assumption_array found = { 0 };
    summary_assumptions(b.l.a, &b.l.s, &found);
    const assumption *delay = NULL;
    for (uint32_t i = 0; i < found.count; i++) {
        assert_non_null(found.items[i].source);
        if (strcmp(found.items[i].path, "cluster.node.scale_up.delay") == 0) delay = &found.items[i];
        assert_null(strstr(found.items[i].path, "payload_ratio")); // measured
    }
    assert_non_null(delay);
    assert_string_equal(delay->value, "300 ns");
    destroy(&b);
}

// DGX H100 names its classes; a node of one's own that does not takes them by rule, and it is said. One node uses no NIC.
static void costs_by_rule_are_named(void **state)
{
    static const char own[] =
        "{ name: own, gpu: h100-sxm, gpus: 2, host_memory: 1 TB, power: 2 kW, nics: 2, nic_pcie_rate: 50 "
        "GB/s, "
        "scale_up: { kind: nvswitch, rate: 450 GB/s, payload_ratio: 0.8, delay: 300 ns }, "
        "nic: { rate: 200 Gb/s, payload_ratio: 0.96 } }";
    static const struct {
        const char *node, *rest;
        uint32_t count;
        const char *names[2];
    } rows[] = {
        { "dgx-h100", "", 0, { NULL } },
        { own, "", 1, { "nvlink4" } },
        { own,
          ", nodes: 2, fabric: { topology: single-switch, switch: qm8790 }",
          2,
          { "nvlink4", "infiniband-hdr" } },
        { own,
          ", nodes: 2, fabric: { topology: single-switch, switch: sn3700, transport: roce }",
          2,
          { "nvlink4", "roce" } },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        char text[1024];
        loaded l;
        snprintf(text, sizeof(text), "cluster: { node: %s%s }\n", rows[i].node, rows[i].rest);
        if (!loaded_read(&l, *state, text, NULL, 0)) fail_msg("%s", l.error.message);
        assumption_array found = { 0 };
        summary_usual_costs(l.a, &l.s, &found);
        assert_int_equal(found.count, rows[i].count);
        for (uint32_t k = 0; k < found.count; k++)
            assert_string_equal(found.items[k].value, rows[i].names[k]);
        arena_destroy(l.a);
    }
}

int main(void)
{
#define IN_SCRATCH(test_) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(numbers_by_hand),
        IN_SCRATCH(executed_flop_are_the_kernels),
        IN_SCRATCH(a_pipeline_has_an_ideal_bubble),
        IN_SCRATCH(what_is_not_known_has_a_reason),
        cmocka_unit_test(the_digest_is_of_values),
        IN_SCRATCH(costs_by_rule_are_named),
        IN_SCRATCH(assumptions_are_named_with_their_source),
    };
    return cmocka_run_group_tests_name("summary", tests, NULL, NULL);
}
