// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/database.h"

#include "models/tables.h"
#include "sim/array.h"
#include <signal.h>
#include <sys/resource.h>

// Every table that there is, in the order of tables.h.
static const char *const listed[] = { "run",         "run_env",      "name",       "part",       "rank",
                                      "lane",        "kernel",       "span",       "collective", "transfer",
                                      "link_sample", "queue_sample", "gpu_sample", "storage_op", "step",
                                      "blame",       "checkpoint",   "condition",  "job_event",  "job_loss",
                                      "fault",       "summary",      "dictionary" };

typedef struct opened {
    arena *a;
    trace *trace;
    tables *t;
} opened;

static opened open_at(trace_level level)
{
    opened o = { .a = arena_create("tables test") };
    trace_options options = tables_options("run.db", false, level);
    sim_error error = { 0 };
    o.trace = trace_open(o.a, &options, &error);
    if (!o.trace) fail_msg("%s", error.message);
    o.t = tables_create(o.a, o.trace);
    return o;
}

static void close_well(opened *o)
{
    sim_error error = { 0 };
    if (!trace_close(o->trace, &error)) fail_msg("%s", error.message);
    arena_destroy(o->a);
}

static const row_run the_run = { .run_id = 1,
                                 .state = "running",
                                 .kind = "step",
                                 .version = "0.1.0",
                                 .scenario = "s.yaml",
                                 .scenario_text = "windtunnel: 1\n",
                                 .resolved = "windtunnel: 1\nrun: {}\n",
                                 .seed = 7,
                                 .trace_level = "spans",
                                 .engine = "ideal",
                                 .fold = "node",
                                 .model = "llama3-8b",
                                 .plan = "d8 zero-1",
                                 .nodes = 1,
                                 .gpus = 8,
                                 .jobs = 1,
                                 .ranks = 8,
                                 .lanes = 3,
                                 .steps = 2 };

static void every_table_exists(void **state)
{
    (void)state;
    assert_int_equal(TABLES, ARRAY_COUNT(listed));
    opened o = open_at(TRACE_SUMMARY);
    close_well(&o);
    for (size_t i = 0; i < ARRAY_COUNT(listed); i++) {
        char sql[200];
        assert_string_equal(tables_all[i].name, listed[i]);
        snprintf(sql, sizeof sql, "SELECT strict FROM pragma_table_list('%s')", listed[i]);
        assert_string_equal(query("run.db", sql), "1");
    }
    assert_string_equal(query("run.db", "SELECT count(*) FROM sqlite_schema WHERE type = 'table'"), "23");
    assert_string_equal(query("run.db", "PRAGMA application_id"), "1465142860");
    assert_string_equal(query("run.db", "PRAGMA user_version"), "1000");
}

// What a column's name says of its unit: the name's last part against the dictionary, for all columns.
static const struct suffix_case {
    const char *like, *unit;
} suffixes[] = {
    { "%\\_ps", "ps" },
    { "%\\_us", "us" },
    { "%\\_ms", "ms" },
    { "%\\_s", "s" },
    { "%\\_h", "h" },
    { "%bytes", "B" },
    { "%\\_Bps", "B/s" },
    { "%\\_GBps", "GB/s" },
    { "%flop", "FLOP" },
    { "%\\_ratio", "1" },
    { "%\\_id", "id" },
    { "%\\_W", "W" },
    { "%\\_J", "J" },
    { "%\\_Hz", "Hz" },
    { "%\\_C", "C" },
    { "%packets", "1" },
    { "state", "text" },
    { "run_state", "text" },
    { "%\\_TFLOPps", "TFLOP/s" },
};

static void the_dictionary_explains_every_column(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SUMMARY);
    close_well(&o);
    assert_string_equal(query("run.db",
                              "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c "
                              "LEFT JOIN dictionary d ON d.table_name = s.name AND d.column_name = c.name "
                              "WHERE s.type IN ('table', 'view') AND d.explanation IS NULL"),
                        "");
    assert_string_equal(query("run.db",
                              "SELECT s.name FROM sqlite_schema s LEFT JOIN dictionary d ON d.table_name = "
                              "s.name AND d.column_name IS NULL WHERE s.type IN ('table', 'view') AND "
                              "d.explanation IS NULL"),
                        "");
    // Nothing explained twice, and nothing that is not there.
    assert_string_equal(query("run.db",
                              "SELECT table_name, column_name, count(*) FROM dictionary GROUP BY 1, 2 "
                              "HAVING count(*) > 1"),
                        "");
    assert_string_equal(
        query("run.db", "SELECT (SELECT count(*) FROM dictionary) - (SELECT count(*) FROM sqlite_schema s, "
                        "pragma_table_info(s.name) WHERE s.type IN ('table', 'view')) - (SELECT count(*) "
                        "FROM sqlite_schema WHERE type IN ('table', 'view'))"),
        "0");
    // Sentences, and units wherever a column is meant.
    assert_string_equal(
        query("run.db", "SELECT table_name, column_name FROM dictionary WHERE length(explanation) < 8 OR "
                        "explanation NOT LIKE '%.' OR (unit IS NULL) <> (column_name IS NULL)"),
        "");
    for (size_t i = 0; i < ARRAY_COUNT(suffixes); i++) {
        char sql[300];
        snprintf(sql, sizeof sql,
                 "SELECT table_name, column_name, unit FROM dictionary WHERE column_name LIKE '%s' ESCAPE "
                 "'\\' AND "
                 "unit <> '%s'",
                 suffixes[i].like, suffixes[i].unit);
        assert_string_equal(query("run.db", sql), "");
        snprintf(sql, sizeof sql,
                 "SELECT count(*) > 0 FROM dictionary WHERE column_name LIKE '%s' ESCAPE '\\'",
                 suffixes[i].like);
        assert_string_equal(query("run.db", sql), "1");
    }
    // A column that may be NULL says what that means.
    assert_string_equal(query("run.db",
                              "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c, "
                              "dictionary d WHERE s.type = 'table' AND NOT c.\"notnull\" AND NOT c.pk AND "
                              "d.table_name = s.name AND d.column_name = c.name AND "
                              "d.explanation NOT LIKE '%NULL: %'"),
                        "");
}

static void one_row_through_every_writer(void **state)
{
    (void)state;
    opened o = open_at(TRACE_PACKETS);
    tables *t = o.t;
    tables_write_run(t, &the_run);
    tables_write_run_env(t, &(row_run_env){ .run_id = 1,
                                            .host = "h",
                                            .date_utc = "2026-11-30T15:06:32Z",
                                            .compiler = "c",
                                            .sqlite_version = "3",
                                            .arguments = "run s.yaml",
                                            .cores = 2 });
    name_id text = tables_name(t, "text");
    tables_write_part(
        t, &(row_part){ .part_id = 11, .kind = "gpu", .name = "node 0 gpu 0", .health_ratio = 1.0 });
    tables_write_rank(t, &(row_rank){ .rank_id = 12 });
    tables_write_lane(t, &(row_lane){ .lane_id = 13, .multiplicity = 1 });
    tables_write_kernel(
        t,
        &(row_kernel){
            .kernel_id = 14, .name = "k", .class = "matmul", .dtype = "bf16", .gpu = "g", .bound = "hbm" });
    tables_write_span(t, &(row_span){ .span_id = 15, .stream_id = text, .kind_id = text });
    tables_write_collective(t, &(row_collective){ .collective_id = 16 });
    tables_write_transfer(t, &(row_transfer){ .transfer_id = 17 });
    tables_write_link_sample(t, &(row_link_sample){ .link_part_id = 18, .end_ps = 1 });
    tables_write_queue_sample(t, &(row_queue_sample){ .link_part_id = 19, .end_ps = 1 });
    tables_write_gpu_sample(t, &(row_gpu_sample){ .lane_id = 20, .end_ps = 1 });
    tables_write_storage_op(t, &(row_storage_op){ .storage_op_id = 21 });
    tables_write_step(t, &(row_step){ .job_id = 22 });
    tables_write_blame(t, &(row_blame){ .job_id = 23 });
    tables_write_checkpoint(
        t, &(row_checkpoint){
               .checkpoint_id = 24, .kind = "memory", .outcome = "lost", .start_us = known_int(0) });
    tables_write_condition(
        t, &(row_condition){ .condition_id = 25, .condition = "c", .explanation = "e", .reason = "r" });
    tables_write_job_event(t,
                           &(row_job_event){ .job_event_id = 26, .kind = "repair", .job_state = "waiting" });
    tables_write_job_loss(t, &(row_job_loss){ .job_id = 27, .cause = "restart" });
    tables_write_fault(
        t, &(row_fault){ .fault_id = 28, .kind = "node", .origin = "drawn", .start_ps = known_int(0) });
    tables_write_summary(t, &(row_summary){ .summary_id = 29,
                                            .metric = "step time",
                                            .unit = "s",
                                            .reason = "not modelled",
                                            .explanation = "e" });
    close_well(&o);
    static const char *const first_columns[] = { "1",  "1",  "1",  "11", "12", "13", "14", "15",
                                                 "16", "17", "18", "19", "20", "21", "22", "23",
                                                 "24", "25", "26", "27", "28", "29" };
    for (size_t i = 0; i < ARRAY_COUNT(first_columns); i++) {
        char sql[100];
        snprintf(sql, sizeof sql, "SELECT %s FROM %s", tables_all[i].columns[0].name, tables_all[i].name);
        assert_string_equal(query("run.db", sql), first_columns[i]);
    }
    // Zeroed memory is NULL where a value may be missing: power, which is not modelled yet.
    assert_string_equal(query("run.db", "SELECT power_W, energy_J, throttle, busy_ratio FROM gpu_sample"),
                        "NULL|NULL|NULL|0.0");
    // The views read what is not done, and what refers to nothing.
    for (uint32_t i = 0; i < tables_view_count; i++) {
        char sql[100];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE run_state <> 'incomplete'",
                 tables_views[i].name);
        assert_string_equal(query("run.db", sql), "0");
    }
}

static void names_are_written_once(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SUMMARY);
    assert_int_equal(tables_name(o.t, "forward"), 1);
    assert_int_equal(tables_name(o.t, "backward"), 2);
    assert_int_equal(tables_name(o.t, "forward"), 1);
    assert_true(tables_wants(o.t, TABLE_LANE));
    assert_false(tables_wants(o.t, TABLE_SPAN));
    close_well(&o);
    assert_string_equal(query("run.db", "SELECT * FROM name"), "1|forward\n2|backward");
}

static void without_a_trace_rows_go_nowhere(void **state)
{
    (void)state;
    arena *a = arena_create("tables test");
    tables *t = tables_create(a, NULL);
    assert_false(tables_wants(t, TABLE_RUN));
    tables_write_run(t, &the_run);
    tables_write_step(t, &(row_step){ .step = 3 });
    assert_int_equal(tables_name(t, "forward"), 1);
    tables_finish_run(t, &(run_end){ .state = "done" });
    arena_destroy(a);
    assert_int_equal(scratch_count(""), 0);
}

static void a_run_ends_with_its_digest(void **state)
{
    (void)state;
    opened o = open_at(TRACE_STEPS);
    tables_write_run(o.t, &the_run);
    tables_write_run_env(o.t, &(row_run_env){ .run_id = 1,
                                              .host = "h",
                                              .date_utc = "d",
                                              .compiler = "c",
                                              .sqlite_version = "3",
                                              .arguments = "run s.yaml",
                                              .cores = 2 });
    assert_string_equal(query("run.db", "SELECT state, error, digest, model, seed FROM run"),
                        "running|NULL|NULL|llama3-8b|7"); // committed already: a kill would leave it so
    tables_finish_run(o.t, &(run_end){ .state = "done",
                                       .has_digest = true,
                                       .digest = UINT64_C(0x00ba5eba11c0ffee),
                                       .wall_s = 0.375,
                                       .cpu_s = 0.25,
                                       .peak_memory_bytes = 87654321,
                                       .events = 1234567 });
    close_well(&o);
    assert_string_equal(query("run.db", "SELECT state, error, digest FROM run"),
                        "done|NULL|00ba5eba11c0ffee");
    assert_string_equal(
        query("run.db", "SELECT wall_s, cpu_s, peak_memory_bytes, events, trace_rows FROM run_env"),
        "0.375|0.25|87654321|1234567|2");
}

static void a_failed_run_says_why(void **state)
{
    (void)state;
    opened o = open_at(TRACE_STEPS);
    tables_write_run(o.t, &the_run);
    tables_finish_run(
        o.t, &(run_end){ .state = "failed", .error = "deadlock: lane 3 waits for lane 1's \"send\"" });
    close_well(&o);
    assert_string_equal(query("run.db", "SELECT state, error, digest FROM run"),
                        "failed|deadlock: lane 3 waits for lane 1's \"send\"|NULL");
}

enum { STEPS_TO_FILL = 15, LANES_TO_FILL = 150 };

// As a run does it, on a disk with room for so many bytes per file. False: not even an empty database found room.
static bool fill(rlim_t bytes, const char *resolved, bool *closed)
{
    opened o = { .a = arena_create("tables test") };
    trace_options options = tables_options("run.db", true, TRACE_STEPS);
    sim_error error = { 0 };
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = { .rlim_cur = bytes, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    o.trace = trace_open(o.a, &options, &error);
    if (o.trace) {
        o.t = tables_create(o.a, o.trace);
        row_run row = the_run;
        row.resolved = resolved;
        tables_write_run(o.t, &row);
        for (uint32_t step = 0; step < STEPS_TO_FILL; step++) {
            for (uint32_t lane = 0; lane < LANES_TO_FILL; lane++)
                tables_write_blame(o.t,
                                   &(row_blame){ .step = step, .lane_id = known_int(lane), .time_ps = 1 });
            tables_write_step(o.t, &(row_step){ .step = step });
        }
        tables_finish_run(o.t, &(run_end){ .state = "done", .has_digest = true });
        *closed = trace_close(o.trace, &error);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(error.exit_code, o.trace && *closed ? 0 : SIM_EXIT_INPUT);
    arena_destroy(o.a);
    return o.trace != NULL;
}

// Wherever the disk ends: in the first commit, between two, within the indexes, as the log is folded back. The limits are
// 5 KiB apart, little more than the page of SQLite, so that each is met with another number of pages that still fit.
static void whatever_fills_the_state_says_how_it_ended(void **state)
{
    (void)state;
    static char
        resolved[30001]; // as long as that of a small scenario: the row of the run takes more than one page
    memset(resolved, 'r', sizeof resolved - 1);
    signal(SIGXFSZ, SIG_IGN);
    uint32_t failed = 0, done = 0;
    for (rlim_t bytes = 100 * 1024; bytes < 800 * 1024; bytes += 5 * 1024) {
        bool closed;
        if (!fill(bytes, resolved, &closed)) continue;
        if (scratch_count("run.db") == 0) continue; // no room for the row of the run: nothing is left
        const char *said = query("run.db", "SELECT state, digest IS NOT NULL, error IS NOT NULL FROM run");
        if (strcmp(said, closed ? "done|1|0" : "failed|0|1") != 0)
            fail_msg("%u bytes: closed %d, but %s", (unsigned)bytes, closed, said);
        assert_string_equal(query("run.db", "PRAGMA integrity_check"), "ok");
        // Whole steps or nothing.
        assert_string_equal(query("run.db",
                                  "SELECT (SELECT count(*) FROM blame) = 150 * (SELECT count(*) FROM "
                                  "step)"),
                            "1");
        *(closed ? &done : &failed) += 1;
    }
    assert_in_range(failed, 20, 130);
    assert_in_range(done, 1, 120);
}

// A step of 10 s on 7 GPUs: lane 0 stands for 4 of them, lane 1 for 2, lane 2 for one that is slow.
static void write_a_step(tables *t)
{
    static const row_lane lanes[] = { { .lane_id = 0, .multiplicity = 4, .first_rank_id = 0 },
                                      { .lane_id = 1, .multiplicity = 2, .first_rank_id = 4 },
                                      { .lane_id = 2, .multiplicity = 1, .first_rank_id = 6 } };
    static const uint32_t lane_of_rank[] = { 0, 0, 0, 0, 1, 1, 2 };
    static const double computed_s[] = { 6.25, 6.5, 8.125 };
    static const char *const gpus[] = { "node 0 gpu 0", "node 0 gpu 1", "node 0 gpu 2", "node 0 gpu 3",
                                        "node 0 gpu 4", "node 0 gpu 5", "node 0 gpu 6" };
    name_id forward = tables_name(t, "forward"), exposed = tables_name(t, "exposed DP");
    name_id peer = tables_name(t, "wait for peer"), compute = tables_name(t, "compute");
    for (uint32_t i = 0; i < 7; i++) {
        tables_write_part(
            t, &(row_part){ .part_id = 100 + i, .kind = "gpu", .name = gpus[i], .health_ratio = 1.0 });
        tables_write_rank(t, &(row_rank){ .rank_id = i,
                                          .rank = i,
                                          .gpu_part_id = known_int(100 + i),
                                          .lane_id = lane_of_rank[i],
                                          .data = i });
    }
    for (uint32_t i = 0; i < 3; i++) {
        tables_write_lane(t, &lanes[i]);
        tables_write_blame(
            t, &(row_blame){ .lane_id = known_int(i),
                             .cause_id = forward,
                             .share_ratio = computed_s[i] / 10,
                             .time_ps = (int64_t)(computed_s[i] * 1e12) * lanes[i].multiplicity });
        tables_write_gpu_sample(
            t, &(row_gpu_sample){ .lane_id = i, .end_ps = 10000000000000, .busy_ratio = computed_s[i] / 10 });
        tables_write_span(t, &(row_span){ .span_id = i,
                                          .lane_id = i,
                                          .stream_id = compute,
                                          .kind_id = forward,
                                          .end_ps = (int64_t)(computed_s[i] * 1e12),
                                          .kernels = 17,
                                          .flop = 2.5e15 });
    }
    // 46.125 GPU seconds computed (4 x 6.25 + 2 x 6.5 + 8.125), 23.875 idle, 13.125 of them for the slow GPU.
    tables_write_blame(
        t, &(row_blame){ .cause_id = forward, .time_ps = 46125000000000, .share_ratio = 46.125 / 70 });
    tables_write_blame(t, &(row_blame){ .cause_id = peer,
                                        .idle = true,
                                        .culprit_part_id = known_int(106),
                                        .time_ps = 13125000000000,
                                        .share_ratio = 13.125 / 70 });
    tables_write_blame(
        t, &(row_blame){
               .cause_id = exposed, .idle = true, .time_ps = 10750000000000, .share_ratio = 10.75 / 70 });
    tables_write_step(
        t,
        &(row_step){ .start_ps = 5000000000000, .end_ps = 15000000000000, .tokens = 4096, .sequences = 2 });
}

static void views_of_a_step_worked_by_hand(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SPANS);
    tables_write_run(o.t, &the_run);
    write_a_step(o.t);
    tables_finish_run(o.t, &(run_end){ .state = "done" });
    close_well(&o);
    assert_string_equal(
        query("run.db",
              "SELECT step, round(step_ms, 6), cause, idle, round(mean_ms, 6), round(share_ratio, 9), "
              "run_state FROM step_breakdown"),
        "0|10000.0|forward|0|6589.285714|0.658928571|done\n"
        "0|10000.0|wait for peer|1|1875.0|0.1875|done\n"
        "0|10000.0|exposed DP|1|1535.714286|0.153571429|done");
    assert_string_equal(query("run.db",
                              "SELECT cause, culprit, round(idle_gpu_s, 9), round(share_of_idle_ratio, 9), "
                              "round(share_of_all_ratio, 9) FROM idle_by_cause"),
                        "wait for peer|node 0 gpu 6|13.125|0.54973822|0.1875\n"
                        "exposed DP|NULL|10.75|0.45026178|0.153571429");
    assert_string_equal(
        query("run.db", "SELECT rank, gpu, lane_id, round(busy_ratio, 9) FROM gpus_under_70_busy"),
        "0|node 0 gpu 0|0|0.625\n1|node 0 gpu 1|0|0.625\n2|node 0 gpu 2|0|0.625\n"
        "3|node 0 gpu 3|0|0.625\n4|node 0 gpu 4|1|0.65\n5|node 0 gpu 5|1|0.65");
    // The median of 6.25, 6.5 and 8.125 s is 6.5; only the last is more than 3 % above.
    assert_string_equal(query("run.db",
                              "SELECT lane_id, rank, gpu, round(compute_ms, 6), round(median_ms, 6), "
                              "round(slower_ratio, 9) FROM stragglers"),
                        "2|6|node 0 gpu 6|8125.0|6500.0|1.25");
    assert_string_equal(query("run.db",
                              "SELECT kind, stream, start_ms, round(duration_ms, 6), round(speed_TFLOPps, 6) "
                              "FROM rank_span WHERE rank = 5"),
                        "forward|compute|0.0|6500.0|384.615385");
    assert_string_equal(query("run.db", "SELECT span_id, rank, multiplicity FROM span_named"),
                        "0|0|4\n1|4|2\n2|6|1");
    assert_string_equal(query("run.db", "SELECT count(*) FROM rank_span"), "7");
}

// Two stages; a step of 10 s. Stage 0: lane 0, 4 GPUs, computes 6.25 s and idles 3.75 s; lane 1, 2 GPUs, 7 and 3 s. Stage 1:
// lane 2, 6 GPUs, 8 and 2 s. A cause whose rows name culprits is one row of the step.
static void blame_by_stage_worked_by_hand(void **state)
{
    static const row_lane lanes[] = { { .lane_id = 0, .multiplicity = 4, .stage = 0 },
                                      { .lane_id = 1, .multiplicity = 2, .first_rank_id = 4, .stage = 0 },
                                      { .lane_id = 2, .multiplicity = 6, .first_rank_id = 6, .stage = 1 } };
    static const double computed_s[] = { 6.25, 7, 8 };
    (void)state;
    opened o = open_at(TRACE_SPANS);
    tables_write_run(o.t, &the_run);
    const name_id forward = tables_name(o.t, "forward"), peer = tables_name(o.t, "wait for peer");
    for (uint32_t i = 0; i < 3; i++) {
        const double gpus = lanes[i].multiplicity;
        tables_write_lane(o.t, &lanes[i]);
        tables_write_blame(o.t, &(row_blame){ .lane_id = known_int(i),
                                              .cause_id = forward,
                                              .time_ps = (int64_t)(computed_s[i] * gpus * 1e12),
                                              .share_ratio = computed_s[i] / 10 });
        tables_write_blame(o.t, &(row_blame){ .lane_id = known_int(i),
                                              .cause_id = peer,
                                              .idle = true,
                                              .time_ps = (int64_t)((10 - computed_s[i]) * gpus * 1e12),
                                              .share_ratio = 1 - computed_s[i] / 10 });
    }
    // Of all: 87 s of 120 computed; 24 of the 33 that were idle have a culprit.
    tables_write_blame(
        o.t, &(row_blame){ .cause_id = forward, .time_ps = 87000000000000, .share_ratio = 87.0 / 120 });
    tables_write_blame(o.t, &(row_blame){ .cause_id = peer,
                                          .idle = true,
                                          .culprit_part_id = known_int(3),
                                          .time_ps = 24000000000000,
                                          .share_ratio = 24.0 / 120 });
    tables_write_blame(
        o.t,
        &(row_blame){ .cause_id = peer, .idle = true, .time_ps = 9000000000000, .share_ratio = 9.0 / 120 });
    tables_write_step(o.t, &(row_step){ .end_ps = 10000000000000, .tokens = 4096, .sequences = 2 });
    tables_finish_run(o.t, &(run_end){ .state = "done" });
    close_well(&o);
    assert_string_equal(query("run.db",
                              "SELECT step, stage, cause, idle, round(mean_ms, 6), round(share_ratio, 9), "
                              "run_state FROM blame_by_stage"),
                        "0|0|forward|0|6500.0|0.65|done\n"
                        "0|0|wait for peer|1|3500.0|0.35|done\n"
                        "0|1|forward|0|8000.0|0.8|done\n"
                        "0|1|wait for peer|1|2000.0|0.2|done");
    assert_string_equal(
        query("run.db", "SELECT cause, round(mean_ms, 6), round(share_ratio, 9) FROM step_breakdown"),
        "forward|7250.0|0.725\nwait for peer|2750.0|0.275");
}

static void views_of_the_network_worked_by_hand(void **state)
{
    (void)state;
    opened o = open_at(TRACE_TRANSFERS);
    tables_write_run(o.t, &the_run);
    for (uint32_t i = 0; i < 2; i++)
        tables_write_part(
            o.t, &(row_part){ .part_id = i, .kind = "nic", .name = i ? "b" : "a", .health_ratio = 1.0 });
    for (uint32_t i = 2; i < 4; i++)
        tables_write_part(o.t, &(row_part){ .part_id = i,
                                            .kind = "link",
                                            .name = i == 2 ? "a > b" : "b > a",
                                            .source_part_id = known_int(i - 2),
                                            .destination_part_id = known_int(3 - i),
                                            .rate_Bps = known_real(4.85e10),
                                            .health_ratio = 1.0 });
    static const row_link_sample samples[] = {
        { .link_part_id = 2,
          .start_ps = 0,
          .end_ps = 3000,
          .wire_bytes = 70000,
          .busy_ratio = 0.5,
          .retransmitted_bytes = { true, 8 } },
        { .link_part_id = 2,
          .start_ps = 3000,
          .end_ps = 4000,
          .wire_bytes = 10000,
          .busy_ratio = 0.25,
          .peak_ratio = { true, 0.875 },
          .retransmitted_bytes = { true, 0 } },
        { .link_part_id = 3,
          .start_ps = 0,
          .end_ps = 4000,
          .wire_bytes = 80000,
          .busy_ratio = 0.5,
          .retransmitted_bytes = { true, 9 } },
    };
    for (size_t i = 0; i < ARRAY_COUNT(samples); i++)
        tables_write_link_sample(o.t, &samples[i]);
    tables_write_transfer(o.t, &(row_transfer){ .transfer_id = 5,
                                                .destination_part_id = 1,
                                                .multiplicity = 1,
                                                .class_id = tables_name(o.t, "dp"),
                                                .bytes = 12345,
                                                .start_ps = 1000000,
                                                .end_ps = 1625000,
                                                .alone_ps = known_int(500000),
                                                .bottleneck_part_id = known_int(2) });
    tables_write_collective(o.t, &(row_collective){ .collective_id = 6,
                                                    .kind_id = tables_name(o.t, "all-gather"),
                                                    .ranks = 8,
                                                    .multiplicity = 4,
                                                    .bytes = 1048576,
                                                    .end_ps = 9750000,
                                                    .first_arrival_ps = 1250000,
                                                    .last_arrival_ps = 2000000,
                                                    .bus_Bps = known_real(1.5e11) });
    close_well(&o);
    assert_string_equal(
        query("run.db", "SELECT link, source, destination, wire_bytes, busy_ratio, peak_ratio, run_state "
                        "FROM hottest_links"),
        "b > a|b|a|80000|0.5|NULL|incomplete\na > b|a|b|80000|0.4375|0.875|incomplete");
    assert_string_equal(
        query("run.db",
              "SELECT link, retransmitted_bytes, round(retransmit_ratio, 9) FROM retransmitting_links"),
        "b > a|9|0.000112487"); // of 80,009; 8 of 80,008 is not above 0.01 %
    assert_string_equal(query("run.db",
                              "SELECT source, destination, class, round(start_ms, 9), round(duration_ms, 9), "
                              "round(rate_GBps, 9), slowdown_ratio, bottleneck, step FROM transfer_named"),
                        "a|b|dp|0.001|0.000625|19.752|1.25|a > b|NULL");
    assert_string_equal(
        query("run.db", "SELECT kind, purpose, round(wait_ms, 9), round(duration_ms, 9), bus_GBps, last_rank "
                        "FROM collective_named"),
        "all-gather|NULL|0.00075|0.00775|150.0|NULL");
}

static void largest_kernels_and_goodput_worked_by_hand(void **state)
{
    (void)state;
    opened o = open_at(TRACE_SUMMARY);
    static const row_kernel kernels[] = {
        { .kernel_id = 0,
          .name = "norm",
          .class = "elementwise",
          .dtype = "bf16",
          .gpu = "h100",
          .batch = 1,
          .m = 4096,
          .n = 1,
          .k = 1,
          .flop = 5e6,
          .bytes = 3e7,
          .time_ps = 12500000,
          .bound = "hbm",
          .efficiency_ratio = 0.75,
          .calls_per_step = 4000 },
        { .kernel_id = 1,
          .name = "ffn",
          .class = "matmul",
          .dtype = "bf16",
          .gpu = "h100",
          .batch = 1,
          .m = 4096,
          .n = 14336,
          .k = 8192,
          .flop = 9.62e11,
          .bytes = 4e8,
          .time_ps = 1480000000,
          .bound = "tensor-core",
          .efficiency_ratio = 0.657,
          .calls_per_step = 600 },
        { .kernel_id = 2, // the same in another stage
          .name = "ffn",
          .class = "matmul",
          .dtype = "bf16",
          .gpu = "h100",
          .batch = 1,
          .m = 4096,
          .n = 14336,
          .k = 8192,
          .flop = 9.62e11,
          .bytes = 4e8,
          .time_ps = 1480000000,
          .bound = "tensor-core",
          .efficiency_ratio = 0.657,
          .calls_per_step = 400 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(kernels); i++)
        tables_write_kernel(o.t, &kernels[i]);
    static const row_job_loss losses[] = {
        // a second replication that met no failure
        { .replication = 0,
          .cause = "training",
          .productive = true,
          .occurrences = 1,
          .time_us = 9000000000,
          .share_ratio = 0.625 },
        { .replication = 0,
          .cause = "restart",
          .occurrences = 3,
          .time_us = 5400000000,
          .share_ratio = 0.375 },
        { .replication = 1,
          .cause = "training",
          .productive = true,
          .occurrences = 1,
          .time_us = 9000000000,
          .share_ratio = 1.0 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(losses); i++)
        tables_write_job_loss(o.t, &losses[i]);
    close_well(&o);
    // 1.48 s against 0.05 s: 96.7 %; 9.62e11 FLOP / 1.48 ms = 650 TFLOP/s.
    assert_string_equal(query("run.db",
                              "SELECT name, shape, bound, round(time_us, 6), round(gpu_s_per_step, 9), "
                              "round(share_ratio, 9), round(speed_TFLOPps, 6) FROM largest_kernels"),
                        "ffn|1 x 4096 x 14336 x 8192|tensor-core|1480.0|1.48|0.967320261|650.0\n"
                        "norm|1 x 4096 x 1 x 1|hbm|12.5|0.05|0.032679739|0.4");
    assert_string_equal(
        query("run.db", "SELECT cause, productive, mean_h, mean_ratio, occurrences FROM goodput"),
        "training|1|2.5|0.8125|1.0\nrestart|0|0.75|0.1875|1.5");
}

// What trace_estimate_bytes() claims of a long run, within the third it promises.
static void the_estimate_of_bytes_holds(void **state)
{
    (void)state;
    enum { EACH = 20000 };
    opened o = open_at(TRACE_TRANSFERS);
    name_id name = tables_name(o.t, "forward");
    for (uint32_t i = 0; i < EACH; i++) {
        int64_t now = 30000000000000 + 123456789 * (int64_t)i;
        tables_write_span(o.t, &(row_span){ .span_id = 5000000 + i,
                                            .step = 200,
                                            .lane_id = i % 2048,
                                            .stream_id = name,
                                            .kind_id = name,
                                            .micro_batch = known_int(i % 300),
                                            .start_ps = now,
                                            .end_ps = now + 55555555,
                                            .launch_ps = known_int(1234),
                                            .kernels = 500,
                                            .flop = 1e12 + i,
                                            .bytes = 1e9 + i });
        tables_write_collective(o.t, &(row_collective){ .collective_id = 5000000 + i,
                                                        .step = 200,
                                                        .kind_id = name,
                                                        .purpose_id = name,
                                                        .group_kind_id = name,
                                                        .group_id = i % 2048,
                                                        .algorithm_id = name,
                                                        .protocol_id = name,
                                                        .grain_id = name,
                                                        .ranks = 128,
                                                        .multiplicity = 8,
                                                        .bytes = 400000000 + i,
                                                        .payload_bytes = 60000000000 + i,
                                                        .first_arrival_ps = now,
                                                        .last_arrival_ps = now + 1,
                                                        .end_ps = now + 2,
                                                        .last_rank_id = known_int(i % 16384),
                                                        .algorithm_Bps = known_real(1e11 + i),
                                                        .bus_Bps = known_real(2e11 + i) });
        tables_write_transfer(o.t, &(row_transfer){ .transfer_id = 5000000 + i,
                                                    .job_id = known_int(0),
                                                    .step = known_int(200),
                                                    .collective_id = known_int(5000000 + i),
                                                    .source_part_id = i % 100000,
                                                    .destination_part_id = (i * 7) % 100000,
                                                    .class_id = name,
                                                    .bytes = 400000000 + i,
                                                    .multiplicity = 8,
                                                    .start_ps = now,
                                                    .end_ps = now + 55555555,
                                                    .alone_ps = known_int(55555555),
                                                    .links = known_int(6) });
    }
    close_well(&o);
    FILE *file = fopen("run.db", "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    double bytes = (double)ftell(file);
    fclose(file);
    print_message("%.1f bytes per row\n", bytes / (3.0 * EACH));
    assert_near(bytes, (double)trace_estimate_bytes(UINT64_C(3) * EACH), 0.33);
}

#define IN_SCRATCH(test_) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(every_table_exists),
        IN_SCRATCH(the_dictionary_explains_every_column),
        IN_SCRATCH(one_row_through_every_writer),
        IN_SCRATCH(names_are_written_once),
        IN_SCRATCH(without_a_trace_rows_go_nowhere),
        IN_SCRATCH(a_run_ends_with_its_digest),
        IN_SCRATCH(a_failed_run_says_why),
        IN_SCRATCH(whatever_fills_the_state_says_how_it_ended),
        IN_SCRATCH(views_of_a_step_worked_by_hand),
        IN_SCRATCH(blame_by_stage_worked_by_hand),
        IN_SCRATCH(views_of_the_network_worked_by_hand),
        IN_SCRATCH(largest_kernels_and_goodput_worked_by_hand),
        IN_SCRATCH(the_estimate_of_bytes_holds),
    };
    return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
