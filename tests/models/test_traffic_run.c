// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/database.h"

#include "models/traffic_run.h"
#include "tests/support/random.h"
#include "tests/support/text.h"
#include <inttypes.h>

// Two nodes of eight GPUs and eight NICs on one switch: 16 hosts either way.
#define CLUSTER                                                                                              \
    "cluster: { node: dgx-a100, nodes: 2, fabric: { topology: single-switch, switch: qm8790 } }\n"           \
    "run: { trace: transfers }\n"

typedef struct bench {
    char catalogue[4200];
    traffic_run_options options;
    traffic_run_result result;
    sim_error error;
} bench;

static void prepare(bench *b, const scratch_folder *place, const char *text)
{
    memset(b, 0, sizeof *b);
    snprintf(b->catalogue, sizeof b->catalogue, "%s/models/catalogue", place->before);
    scratch_write("s.yaml", text);
    b->options.run = (run_options){ .scenario_path = "s.yaml", .catalogue_path = b->catalogue };
    b->options.pattern = (pattern_def){ PATTERN_PERM, 9173641, 1, 42 };
}

static bool execute(bench *b)
{
    sim_error_clear(&b->error);
    return traffic_run_execute(&b->options, &b->result, &b->error);
}

static double value_of(const bench *b, const char *metric)
{
    const summary_value *v = summary_find(&b->result.run.summary, metric);
    assert_non_null(v);
    assert_true(v->known);
    return v->value;
}

static void summary_tells_of_all_flows(void **state)
{
    bench b;
    prepare(&b, *state, CLUSTER);
    assert_true(execute(&b));
    const traffic_run_result *r = &b.result;
    assert_int_equal(r->run.state, RUN_DONE);
    assert_int_equal(r->hosts, 16);
    assert_string_equal(r->what, "perm, 9.174 MB each, seed 42");
    assert_true(r->flows.finished == 16 && r->flows.bytes == 16 * 9173641);
    assert_true(value_of(&b, "flows") == 16.0 && value_of(&b, "finished") == 16.0);
    assert_true(value_of(&b, "moved_bytes") == 16.0 * 9173641.0);
    const double last_s = value_of(&b, "completion_last");
    assert_true(last_s == units_s_from_ps(r->flows.completion_last_ps) && last_s > 0.0);
    assert_true(value_of(&b, "completion_mean") == traffic_mean_s(r->flows.completion_sum_ps, 16));
    assert_near(value_of(&b, "throughput"), 16.0 * 9173641.0 / last_s, 1e-12);
    assert_int_equal(r->hottest_count, HOT_LINKS_MAX);
    assert_string_equal(r->hottest[0].name, "node 0 nic 0 > leaf 0"); // all are as busy: the first ones
    assert_true(r->hottest[0].bytes == 9173641);
    assert_true(r->run.counters.transfers == 16 && r->run.counters.trace_rows == 0);
    assert_true(r->run.digest != 0);
    traffic_run_free(&b.result);
}

static void database_holds_flows_and_links(void **state)
{
    bench b;
    prepare(&b, *state, CLUSTER "network: { engine: ideal }\n");
    b.options.ends = TRAFFIC_GPUS;
    b.options.run.output_path = "run.db";
    b.options.run.arguments = "traffic s.yaml";
    assert_true(execute(&b));
    assert_string_equal(
        query("run.db", "SELECT kind, state, engine, model, nodes, gpus, jobs, steps FROM run"),
        "traffic|done|ideal|NULL|2|16|0|0");
    assert_string_equal(
        query("run.db", "SELECT arguments, events = (SELECT count(*) + 1 FROM transfer) FROM run_env"),
        "traffic s.yaml|1");
    assert_string_equal(query("run.db", "SELECT count(*), sum(bytes), min(start_ps), max(multiplicity), "
                                        "count(job_id) FROM transfer"),
                        "16|146778256|0|1|0");
    // On the ideal network each flow takes as long as if it were alone.
    assert_string_equal(query("run.db", "SELECT count(*) FROM transfer WHERE alone_ps = end_ps - start_ps"),
                        "16");
    assert_string_equal(query("run.db", "SELECT DISTINCT s.kind, d.kind, n.text FROM transfer t\n"
                                        "JOIN part s ON s.part_id = t.source_part_id\n"
                                        "JOIN part d ON d.part_id = t.destination_part_id\n"
                                        "JOIN name n ON n.name_id = t.class_id"),
                        "gpu|gpu|perm");
    // What crossed the links: each flow once on each link of its path.
    assert_string_equal(query("run.db", "SELECT (SELECT sum(wire_bytes) FROM link_sample) =\n"
                                        "(SELECT sum(bytes * links) FROM transfer)"),
                        "1");
    assert_string_equal(query("run.db", "SELECT value FROM summary WHERE metric = 'finished'"), "16.0");
    assert_string_equal(query("run.db", "SELECT explanation FROM summary WHERE metric = 'flows'"),
                        "perm, 9.174 MB each, seed 42, between 16 gpus");
    traffic_run_free(&b.result);
}

// 0.01 / 0.99 of 2,239 packets again, all but the last one, at the one lossy link, which the view and the alert name.
static void losses_are_told(void **state)
{
    bench b;
    prepare(
        &b, *state,
        "cluster:\n  node: { base: dgx-a100, nic: connectx-7-roce }\n  nodes: 2\n"
        "  fabric: { topology: single-switch, switch: sn4700, transport: roce, recovery: selective-repeat }\n"
        "  degraded: [{ link: leaf 0 > node 1 nic 0, loss: 0.01 }]\nnetwork: { engine: fluid }\n");
    b.options.pattern = (pattern_def){ PATTERN_PERM, 9174321, 1, 42 };
    b.options.run.output_path = "run.db";
    if (!execute(&b)) fail_msg("%s", b.error.message);
    assert_int_equal(b.result.run.alerts.count, 1);
    assert_string_equal(b.result.run.alerts.items[0].link, "leaf 0 > node 1 nic 0");
    assert_near(b.result.run.alerts.items[0].ratio, 92636.0 / (9174321 + 92636), 1e-9);
    assert_string_equal(
        query("run.db",
              "SELECT link, retransmitted_bytes, retransmitted_packets,\n"
              "timeouts = (SELECT value FROM summary WHERE metric = 'timeouts'),\n"
              "retransmitted_bytes = (SELECT value FROM summary WHERE metric = 'retransmitted_bytes')\n"
              "FROM retransmitting_links"),
        "leaf 0 > node 1 nic 0|92636|23|1|1");
    assert_string_equal(query("run.db", "SELECT count(*) FROM link_sample WHERE timeouts IS NOT NULL"), "1");
    traffic_run_free(&b.result);
}

// Each sample is of one state of the fabric; a fault lasts until its link changes again.
static void faults_and_samples_tell_of_changes(void **state)
{
    bench b;
    prepare(&b, *state, CLUSTER "network: { engine: fluid }\n");
    const char *down[] = { "node 0 nic 3 > leaf 0 @ 100 us" },
               *degrade[] = { "leaf 0 <> node 1 nic 0 @ 1 us = 50 %" },
               *up[] = { "node 0 nic 3 > leaf 0 @ 250 us" };
    b.options.pattern = (pattern_def){ PATTERN_INCAST, 1000000, 1, 42 };
    b.options.link_changes[LINK_GOES_DOWN] = (text_list){ down, 1, 1 };
    b.options.link_changes[LINK_DEGRADES] = (text_list){ degrade, 1, 1 };
    b.options.link_changes[LINK_RETURNS] = (text_list){ up, 1, 1 };
    b.options.run.output_path = "run.db";
    if (!execute(&b)) fail_msg("%s", b.error.message);
    assert_true(b.result.has_fluid && b.result.fluid.settles > 0);
    assert_string_equal(query("run.db", "SELECT f.kind, p.name, magnitude_ratio, start_ps, end_ps\n"
                                        "FROM fault f JOIN part p USING (part_id) ORDER BY fault_id"),
                        "link degraded|node 1 nic 0 > leaf 0|0.5|1000000|NULL\n"
                        "link degraded|leaf 0 > node 1 nic 0|0.5|1000000|NULL\n"
                        "link down|node 0 nic 3 > leaf 0|NULL|100000000|250000000");
    // All to one: the receiver's link is full from the first to the last; the dead link carries nothing meanwhile.
    assert_string_equal(query("run.db", "SELECT DISTINCT start_ps FROM link_sample ORDER BY 1"),
                        "0\n1000000\n100000000\n250000000");
    assert_string_equal(query("run.db",
                              "SELECT start_ps, round(busy_ratio, 2) FROM link_sample\n"
                              "JOIN part ON part_id = link_part_id WHERE name = 'leaf 0 > node 0 nic 0'"),
                        "0|1.0\n1000000|1.0\n100000000|1.0\n250000000|1.0");
    assert_string_equal(query("run.db",
                              "SELECT count(*) FROM link_sample JOIN part ON part_id = link_part_id\n"
                              "WHERE name = 'node 0 nic 3 > leaf 0' AND start_ps = 100000000"),
                        "0");
    // Nothing is lost or counted twice where links change: 15 flows over two links each.
    assert_string_equal(query("run.db", "SELECT sum(wire_bytes) FROM link_sample"), "30000000");
    traffic_run_free(&b.result);
}

static void flows_that_never_finish(void **state)
{
    bench b;
    prepare(&b, *state, CLUSTER "network: { engine: fluid }\n");
    const char *down[] = { "node 1 nic 7 > leaf 0 @ 100 us" };
    b.options.pattern = (pattern_def){ PATTERN_INCAST, 1000000, 1, 42 };
    b.options.link_changes[LINK_GOES_DOWN] = (text_list){ down, 1, 1 };
    b.options.run.output_path = "run.db";
    assert_false(execute(&b));
    assert_int_equal(b.error.exit_code, SIM_EXIT_NO);
    assert_error_prints(
        &b.error,
        "windtunnel: error: 1 of 15 flows never finishes: from node 1 nic 7 to node 0 nic 0 nothing "
        "moves any more\n  hint: link node 1 nic 7 > leaf 0 is down\n");
    assert_int_equal(b.result.run.state, RUN_FAILED);
    assert_true(b.result.flows.finished == 14 && value_of(&b, "finished") == 14.0);
    assert_string_equal(
        query("run.db", "SELECT state, digest, error FROM run"),
        "failed|NULL|1 of 15 flows never finishes: from node 1 nic 7 to node 0 nic 0 nothing moves any more");
    traffic_run_free(&b.result);
}

// The scenario written out with every default plays the same.
static void resolved_scenario_gives_the_same_digest(void **state)
{
    bench b;
    prepare(&b, *state, CLUSTER);
    b.options.pattern = (pattern_def){ PATTERN_CHURN, 9173641, 3, 42 };
    b.options.run.output_path = "run.db";
    assert_true(execute(&b));
    const uint64_t digest = b.result.run.digest;
    traffic_run_free(&b.result);
    scratch_write("again.yaml", query("run.db", "SELECT resolved FROM run"));
    b.options.run.scenario_path = "again.yaml";
    b.options.run.output_path = NULL;
    assert_true(execute(&b));
    assert_true(b.result.run.digest == digest);
    traffic_run_free(&b.result);
}

static bool stop_at_once(void *owner, const traffic_progress *progress)
{
    uint64_t *asked = owner;
    assert_true(progress->flows == UINT64_C(16) * 1000000 && progress->finished < progress->flows);
    return ++*asked < 3;
}

static void a_cancelled_run_keeps_what_it_has(void **state)
{
    bench b;
    uint64_t asked = 0;
    prepare(&b, *state, CLUSTER);
    b.options.pattern = (pattern_def){ PATTERN_CHURN, 9173641, 1000000, 42 };
    b.options.progress = stop_at_once;
    b.options.owner = &asked;
    b.options.run.output_path = "run.db";
    static const char *const sets[] = { "run.trace=summary" };
    b.options.run.sets = sets;
    b.options.run.set_count = 1;
    assert_true(execute(&b));
    assert_int_equal(b.result.run.state, RUN_CANCELLED);
    assert_true(asked == 3 && b.result.run.digest == 0);
    assert_true(b.result.flows.finished > 0 && b.result.flows.finished < b.result.flows.flows);
    assert_true(value_of(&b, "finished") == (double)b.result.flows.finished);
    assert_string_equal(query("run.db", "SELECT state, digest FROM run"), "cancelled|NULL");
    traffic_run_free(&b.result);
}

// Cancelled before anything has ended: unknown with a reason, never 0.
static bool never(void *owner, const traffic_progress *progress)
{
    (void)owner, (void)progress;
    return false;
}

static void nothing_known_is_said_so(void **state)
{
    bench b;
    prepare(&b, *state, CLUSTER "network: { engine: ideal }\n");
    // So many flows start one after another before any ends that the run is asked in between.
    static char text[200000] = "start_ns,src,dst,bytes\n";
    size_t used = strlen(text);
    for (int i = 0; i < 3000; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%d,%d,%d,1000000000\n", i, i % 16,
                                 (i + 5) % 16);
    scratch_write("flows.csv", text);
    b.options.flows_path = "flows.csv";
    b.options.progress = never;
    assert_true(execute(&b));
    assert_int_equal(b.result.run.state, RUN_CANCELLED);
    assert_true(b.result.flows.started > 0 && b.result.flows.finished == 0);
    assert_string_equal(b.result.what, "flows of flows.csv");
    const summary_value *last = summary_find(&b.result.run.summary, "completion_last");
    assert_non_null(last);
    assert_false(last->known);
    assert_string_equal(last->reason, "no flow has finished");
    assert_int_equal(b.result.hottest_count, 0);
    traffic_run_free(&b.result);
}

// Flows that take no time leave no link busy and no rate to speak of.
static void flows_of_no_time(void **state)
{
    bench b;
    prepare(&b, *state, CLUSTER);
    static const char *const sets[] = { "cluster.fabric.cable='0 m'",
                                        "cluster.fabric.switch={base: qm8790, delay: 0 ns}" };
    scratch_write("flows.csv", "start_ns,src,dst,bytes\n0,0,1,0\n");
    b.options.flows_path = "flows.csv";
    b.options.run.sets = sets;
    b.options.run.set_count = ARRAY_COUNT(sets);
    b.options.run.output_path = "run.db";
    if (!execute(&b)) fail_msg("%s", b.error.message);
    assert_true(b.result.flows.completion_last_ps == 0);
    assert_null(summary_find(&b.result.run.summary, "throughput"));
    assert_string_equal(query("run.db", "SELECT count(*) FROM link_sample"), "0");
    traffic_run_free(&b.result);
}

// ---- memory that ends

static bool survives(bench *b, uint64_t allocation)
{
    b->options.run.fail_allocation = allocation;
    const bool good = execute(b);
    if (!good) {
        assert_int_equal(b->error.exit_code, SIM_EXIT_INPUT);
        assert_string_equal(b->error.message, "out of memory");
        assert_int_equal(b->result.run.state, RUN_FAILED);
    }
    traffic_run_free(&b->result);
    if (!b->options.run.output_path || !os_exists("run.db")) return good;
    if (!good) // the clock had started
        assert_string_equal(query("run.db", "SELECT state, error FROM run"), "failed|out of memory");
    assert_true(os_remove("run.db"));
    return good;
}

// The n-th allocation of the run's arena fails: "out of memory", whatever was going on, and nothing is lost or left.
static void memory_may_end_at_any_time(void **state)
{
    bench b;
    prepare(&b, *state, CLUSTER);
    scratch_write("flows.csv", "start_ns,src,dst,bytes\n0,0,1,7\n10,2,3,7\n");
    b.options.flows_path = "flows.csv";
    uint64_t last = 1;
    while (!survives(&b, last))
        last = last < 100 ? last + 1 : last + last / 8;
    assert_true(last > 100);
    b.options.run.output_path = "run.db";
    uint64_t n = last;
    while (survives(&b, n))
        n -= 3;
    for (uint32_t i = 0; i < 40; i++)
        survives(&b, n - i);
    uint64_t seed = 20240719;
    for (uint32_t i = 0; i < 60; i++)
        survives(&b, 1 + test_random(&seed) % last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define WITH_SCRATCH(test_) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)
        WITH_SCRATCH(summary_tells_of_all_flows),
        WITH_SCRATCH(database_holds_flows_and_links),
        WITH_SCRATCH(losses_are_told),
        WITH_SCRATCH(faults_and_samples_tell_of_changes),
        WITH_SCRATCH(flows_that_never_finish),
        WITH_SCRATCH(resolved_scenario_gives_the_same_digest),
        WITH_SCRATCH(a_cancelled_run_keeps_what_it_has),
        WITH_SCRATCH(nothing_known_is_said_so),
        WITH_SCRATCH(flows_of_no_time),
        WITH_SCRATCH(memory_may_end_at_any_time),
    };
    return cmocka_run_group_tests_name("traffic_run", tests, NULL, NULL);
}
