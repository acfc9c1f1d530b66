// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/database.h"

#include "models/run.h"
#include "tests/support/random.h"
#include "tests/support/text.h"
#include <inttypes.h>

// Three replicas of a model of a few thousand parameters on a node of four GPUs.
#define HEAD                                                                                                 \
    "cluster: { node: a100-4x }\n"                                                                           \
    "model: { name: wee, layers: 2, hidden: 64, heads: 4, kv_heads: 2, ffn: 96, vocabulary: 100,\n"          \
    "  max_sequence: 64, activation: swiglu, norm: rmsnorm, position: rope }\n"
#define TINY                                                                                                 \
    HEAD "plan: { gpus: 3, sharding: zero-1, bucket: 100 kB }\n"                                             \
         "training: { global_batch: 6 }\n"                                                                   \
         "run: { steps: 2, trace: transfers }\n"

typedef struct bench {
    char catalogue[4200];
    run_options options;
    run_result result;
    sim_error error;
} bench;

static void prepare(bench *b, const scratch_folder *place, const char *text)
{
    memset(b, 0, sizeof *b);
    snprintf(b->catalogue, sizeof b->catalogue, "%s/models/catalogue", place->before);
    if (text) scratch_write("s.yaml", text);
    b->options = (run_options){ .scenario_path = "s.yaml", .catalogue_path = b->catalogue };
}

static bool execute(bench *b)
{
    sim_error_clear(&b->error);
    return run_execute(&b->options, &b->result, &b->error);
}

static uint64_t digest_of(bench *b)
{
    if (!execute(b)) sim_error_print(&b->error, stderr);
    assert_int_equal(b->result.state, RUN_DONE);
    const uint64_t digest = b->result.digest;
    run_free(&b->result);
    return digest;
}

static uint64_t count_of(const char *path, const char *table)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return strtoull(query(path, sql), NULL, 10);
}

// ---- What the database holds

static void every_table_is_there_and_what_is_modelled_is_filled(void **state)
{
    static const char *const filled[] = { "run",        "run_env", "name",       "part",
                                          "rank",       "lane",    "kernel",     "span",
                                          "step",       "blame",   "transfer",   "link_sample",
                                          "gpu_sample", "summary", "collective", "dictionary" };
    static const char *const empty[] = { "queue_sample", "storage_op", "checkpoint", "condition",
                                         "job_event",    "job_loss",   "fault" };
    bench b;
    prepare(&b, *state, TINY);
    b.options.output_path = "run.db";
    b.options.arguments = "run s.yaml -o run.db";
    assert_true(execute(&b));
    for (size_t i = 0; i < ARRAY_COUNT(filled); i++)
        if (!count_of("run.db", filled[i])) fail_msg("table %s is empty", filled[i]);
    for (size_t i = 0; i < ARRAY_COUNT(empty); i++)
        assert_int_equal(count_of("run.db", empty[i]), 0);
    assert_int_equal(ARRAY_COUNT(filled) + ARRAY_COUNT(empty), TABLES);

    char want[64];
    snprintf(want, sizeof want, "done|NULL|%016" PRIx64 "|1", b.result.digest);
    assert_string_equal(query("run.db", "SELECT state, error, digest, seed FROM run"), want);
    assert_string_equal(query("run.db",
                              "SELECT scenario, model, plan, nodes, gpus, ranks, lanes, steps, fold, "
                              "engine, trace_level FROM run"),
                        "s.yaml|wee|tensor 1, pipeline 1, data 3|1|4|3|3|2|none|fluid|transfers");
    assert_string_equal(query("run.db", "SELECT scenario_text FROM run"), TINY);
    assert_string_equal(query("run.db", "SELECT arguments, wall_s > 0, events > 0 FROM run_env"),
                        "run s.yaml -o run.db|1|1");
    run_free(&b.result);
}

struct claim {
    const char *name, *sql, *want;
};
// 3 lanes and 2 steps of 2 micro-batches. The model has 2 x 30,848 + 64 + 8,192 + 8,192 = 78,144 parameters (100 words
// padded to 128): four buckets of 25,000 elements and less, so that a lane has forward, backward, forward, the last backward
// pass in three pieces, optimizer, four reductions, the norm and four gathers.
static const struct claim claims[] = {
    { "a row per rank, on its GPU",
      "SELECT r.rank, r.lane_id, r.tensor, r.data, r.pipeline, p.name FROM rank r "
      "JOIN part p ON p.part_id = r.gpu_part_id ORDER BY r.rank",
      "0|0|0|0|0|node 0 gpu 0\n1|1|0|1|0|node 0 gpu 1\n2|2|0|2|0|node 0 gpu 2" },
    { "lanes say what they need", "SELECT min(multiplicity), max(layers), min(memory_bytes) FROM lane",
      "1|2|85899345920" },
    { "steps follow one another",
      "SELECT a.end_ps = b.start_ps, a.start_ps, a.tokens, a.sequences FROM step a JOIN step b "
      "ON b.step = a.step + 1",
      "1|0|384|6" },
    { "a row for each span", "SELECT count(*) FROM span", "96" },
    { "spans of one lane, in order",
      "SELECT group_concat(text, ', ') FROM (SELECT n.text || coalesce(' ' || s.micro_batch, '') AS text "
      "FROM span s "
      "JOIN name n ON n.name_id = s.kind_id WHERE step = 1 AND lane_id = 2 AND collective_id IS NULL ORDER "
      "BY start_ps)",
      "forward 0, backward 0, forward 1, backward 1, backward 1, backward 1, optimizer" },
    { "compute spans of a lane do not overlap",
      "SELECT count(*) FROM span a JOIN span b ON a.lane_id = b.lane_id AND a.span_id < b.span_id AND "
      "a.collective_id IS NULL AND b.collective_id IS NULL AND a.start_ps < b.end_ps AND b.start_ps < "
      "a.end_ps",
      "0" },
    { "blame adds up to the step, for each lane and for all",
      "SELECT count(*) FROM (SELECT s.step, b.lane_id, sum(b.time_ps) AS spent, (s.end_ps - s.start_ps) * "
      "CASE WHEN b.lane_id IS NULL THEN 3 ELSE 1 END AS wanted FROM blame b JOIN step s ON s.step = b.step "
      "GROUP BY s.step, b.lane_id HAVING spent = wanted)",
      "8" },
    { "no time is unexplained",
      "SELECT count(*) FROM blame b JOIN name n ON n.name_id = b.cause_id WHERE n.text = 'other'", "0" },
    { "collectives by purpose",
      "SELECT n.text, count(*), sum(bytes) FROM collective c JOIN name n ON n.name_id = c.purpose_id GROUP "
      "BY 1 "
      "ORDER BY 1",
      "gradient norm all-reduce|2|8\ngradient reduce-scatter|8|625152\nparameter all-gather|8|312576" },
    { "collectives have a ring of three in a group \"dp\"",
      "SELECT DISTINCT c.ranks, c.multiplicity, g.text, a.text FROM collective c JOIN name g ON g.name_id = "
      "c.group_kind_id JOIN name a ON a.name_id = c.algorithm_id",
      "3|1|dp|ring" },
    { "a collective ends after its last arrival and moves what its transfers move",
      "SELECT count(*) FROM collective c WHERE end_ps > last_arrival_ps AND last_arrival_ps >= "
      "first_arrival_ps AND "
      "payload_bytes = (SELECT sum(bytes) FROM transfer t WHERE t.collective_id = c.collective_id)",
      "18" },
    { "every span of a collective ends with it",
      "SELECT count(*) FROM span s JOIN collective c ON c.collective_id = s.collective_id AND c.end_ps = "
      "s.end_ps AND "
      "c.step = s.step AND s.start_ps BETWEEN c.first_arrival_ps AND c.last_arrival_ps",
      "54" },
    { "links carry what is transferred: a mesh has a link for each edge of its two rings",
      "SELECT count(DISTINCT link_part_id), sum(wire_bytes) >= (SELECT sum(bytes) FROM transfer) FROM "
      "link_sample",
      "6|1" },
    { "no link carries more than it can",
      "SELECT max(busy_ratio) <= 1 AND min(busy_ratio) > 0 FROM link_sample", "1" },
    { "a GPU is as busy as its compute says",
      "SELECT max(abs(g.busy_ratio - (SELECT sum(b.share_ratio) FROM blame b WHERE b.lane_id = g.lane_id AND "
      "b.step = s.step AND NOT b.idle))) < 1e-12 FROM gpu_sample g JOIN step s ON s.start_ps = g.start_ps",
      "1" },
    { "the optimizer's kernel runs once on each rank",
      "SELECT calls_per_step FROM kernel WHERE name = 'optimizer.adam'", "3" },
    { "a layer's kernel runs for each rank, micro-batch and layer",
      "SELECT calls_per_step FROM kernel WHERE name = 'attention.core'", "12" },
    { "what is not known is said to be so",
      "SELECT count(*) FROM summary WHERE (value IS NULL) = (reason IS NOT NULL)", "32" },
};

static void claim_holds(void **state)
{
    const struct claim *c = *state;
    assert_string_equal(query("run.db", c->sql), c->want);
}

// All claims on one database.
static void the_tables_agree(void **state)
{
    bench b;
    prepare(&b, *state, TINY);
    b.options.output_path = "run.db";
    assert_true(execute(&b));
    run_free(&b.result);
    for (size_t i = 0; i < ARRAY_COUNT(claims); i++) {
        void *claim = (void *)&claims[i];
        print_message("           %s\n", claims[i].name);
        claim_holds(&claim);
    }
}

// No row is written beyond the estimate, and the estimate is not twice what is written.
static void the_estimate_bounds_the_rows(void **state)
{
    static const char *const levels[] = { "summary", "steps", "spans", "transfers" };
    for (size_t i = 0; i < 2 * ARRAY_COUNT(levels); i++) {
        bench b;
        char level[64];
        prepare(&b, *state, TINY);
        snprintf(level, sizeof level, "run.trace=%s", levels[i / 2]);
        const char *const sets[] = { level, i % 2 ? "network.grain=messages" : "network.grain=streams" };
        b.options.sets = sets;
        b.options.set_count = ARRAY_COUNT(sets);
        b.options.output_path = "run.db";
        b.options.force = true;
        assert_true(execute(&b));
        const trace_estimate estimate = recorder_estimate(b.result.world);
        // beside the entities there are run, run_env, names, the dictionary and the summary
        const uint64_t other = 2 + count_of("run.db", "name") + count_of("run.db", "dictionary") +
                               count_of("run.db", "summary");
        uint64_t rows = 0;
        for (int table = 0; table < TABLES; table++)
            rows += count_of("run.db", tables_all[table].name);
        const uint64_t wanted = estimate.rows[i / 2];
        if (rows - other > wanted || wanted > 2 * (rows - other))
            fail_msg("%s: %" PRIu64 " rows, %" PRIu64 " estimated", level, rows - other, wanted);
        run_free(&b.result);
    }
}

// ---- The same result

static void watching_does_not_show(void **state)
{
    static const char *const sets[] = { "run.trace=summary", "run.trace=steps", "run.trace=spans",
                                        "run.trace=transfers", "run.fold=none" };
    bench b;
    prepare(&b, *state, TINY);
    const uint64_t want = digest_of(&b);
    b.options.set_count = 1;
    b.options.force = true;
    b.options.output_path = "run.db";
    for (size_t i = 0; i < ARRAY_COUNT(sets); i++) {
        b.options.sets = &sets[i];
        assert_true(digest_of(&b) == want);
    }
    b.options.output_path = NULL;
    for (int kind = QUEUE_BUCKET; kind <= QUEUE_HEAP; kind++)
        for (int reverse = 0; reverse < 2; reverse++) {
            b.options.queue = (queue_kind)kind;
            b.options.reverse_phases = reverse;
            assert_true(digest_of(&b) == want);
        }
    const char *const other[] = { "training.global_batch=9" };
    b.options.sets = other;
    assert_true(digest_of(&b) != want);
}

static void the_resolved_scenario_gives_the_same_digest(void **state)
{
    static const char *const sets[] = { "plan.sharding=none", "plan.overlap_gradients=false",
                                        "run.seed=991" };
    bench b;
    prepare(&b, *state, TINY);
    b.options.sets = sets;
    b.options.set_count = ARRAY_COUNT(sets);
    b.options.output_path = "run.db";
    const uint64_t want = digest_of(&b);
    prepare(&b, *state, query("run.db", "SELECT resolved FROM run"));
    b.options.output_path = "again.db";
    assert_true(digest_of(&b) == want);
    assert_string_equal(query("again.db", "SELECT seed, length(resolved) > 1000 FROM run"), "991|1");
}

// What a step needs is used again by the next.
static void memory_does_not_grow_with_steps(void **state)
{
    static const char *const sets[] = { "run.steps=3", "run.steps=70" };
    uint64_t used_bytes[2];
    for (size_t i = 0; i < 2; i++) {
        bench b;
        prepare(&b, *state, TINY);
        b.options.sets = &sets[i];
        b.options.set_count = 1;
        b.options.output_path = "run.db";
        assert_true(execute(&b));
        used_bytes[i] = b.result.counters.arena_bytes;
        run_free(&b.result);
        assert_true(os_remove("run.db")); // to ask for what is there takes memory
    }
    assert_true(used_bytes[1] < used_bytes[0] + 4 * 67); // less than an int a step; "70" is longer than "3"
}

// ---- Runs that do not end, or do not begin

typedef struct stopper {
    uint32_t after_steps, asked;
} stopper;

static bool stop_after(void *owner, const run_progress *progress)
{
    stopper *s = owner;
    s->asked++;
    assert_int_equal(progress->steps, 2);
    assert_true(progress->events > 0 && progress->wall_s >= 0);
    return progress->steps_done < s->after_steps;
}

static void progress_can_stop_the_run(void **state)
{
    bench b;
    stopper s = { .after_steps = 1 };
    prepare(&b, *state, TINY);
    b.options.output_path = "run.db";
    b.options.progress = stop_after;
    b.options.owner = &s;
    assert_true(execute(&b));
    assert_int_equal(b.result.state, RUN_CANCELLED);
    assert_int_equal(b.result.steps_done, 1);
    assert_int_equal(s.asked, 1);
    assert_int_equal(b.error.exit_code, 0);
    assert_non_null(summary_find(&b.result.summary, "step_time"));
    run_free(&b.result);
    assert_string_equal(query("run.db", "SELECT state, error, digest FROM run"), "cancelled|NULL|NULL");
    assert_int_equal(count_of("run.db", "step"), 1);
    assert_int_equal(count_of("run.db", "summary"), 32);

    s = (stopper){ .after_steps = 2 }; // says stop when there is nothing left to stop
    b.options.force = true;
    assert_true(execute(&b));
    assert_int_equal(b.result.state, RUN_DONE);
    assert_int_equal(s.asked, 2);
    run_free(&b.result);
}

static bool stop_at_once(void *owner, const run_progress *progress)
{
    (void)owner;
    assert_int_equal(progress->steps_done, 0);
    return false;
}

// Before the first step has ended there is nothing to say but that.
static void a_run_may_stop_before_its_first_step_ends(void **state)
{
    static const char *const sets[] = {
        "training.global_batch=1800"
    }; // 600 micro-batches, 3,600 events and more
    bench b;
    prepare(&b, *state, TINY);
    b.options.sets = sets;
    b.options.set_count = 1;
    b.options.output_path = "run.db";
    b.options.progress = stop_at_once;
    assert_true(execute(&b));
    assert_int_equal(b.result.state, RUN_CANCELLED);
    assert_int_equal(b.result.steps_done, 0);
    assert_int_equal(b.result.blame.count, 0);
    const summary_value *step = summary_find(&b.result.summary, "step_time");
    assert_false(step->known);
    assert_string_equal(step->reason, "no step was finished");
    run_free(&b.result);
    assert_string_equal(query("run.db", "SELECT metric, value, reason FROM summary"),
                        "step_time|NULL|no step was finished");
}

struct refusal {
    const char *name, *text, *set, *output;
    int exit_code;
    const char *want;
};
static const struct refusal refusals[] = {
    { "memory that does not suffice", TINY, "training.micro_batch=1000000,training.global_batch=3000000",
      "run.db", SIM_EXIT_NO,
      "s.yaml:4:1: error: the job does not fit: a GPU needs 298.7 GiB, a100-sxm-80gb has 80.00 GiB\n"
      "    4 | plan: { gpus: 3, sharding: zero-1, bucket: 100 kB }\n"
      "      | ^\n"
      "  hint: it fits with training.micro_batch: 250000 (76.16 GiB)\n" },
    { "messages that no memory holds",
      "cluster: { node: dgx-a100, nodes: 160, fabric: { topology: single-switch, switch: { base: qm8790, "
      "ports: "
      "1280 } } }\n"
      "model: { name: wee, layers: 2, hidden: 64, heads: 4, kv_heads: 2, ffn: 96, vocabulary: 100,\n"
      "  max_sequence: 64, activation: swiglu, norm: rmsnorm, position: rope }\n"
      "training: { global_batch: 1280 }\n"
      "network: { grain: messages, algorithm: ring }\n",
      NULL, "run.db", SIM_EXIT_INPUT,
      // one bucket: 2 x 1279 steps of 1280 messages on each of 8 rings
      "s.yaml:5:12: error: the collectives of a step have 26,193,920 messages; at most 25 million, which "
      "take 2 "
      "GB of memory, are played one by one\n"
      "    5 | network: { grain: messages, algorithm: ring }\n"
      "      |            ^\n"
      "  hint: grain: streams\n" },
    { "a scenario that is not there", NULL, NULL, NULL, SIM_EXIT_INPUT,
      "windtunnel: error: cannot read \"s.yaml\": No such file or directory\n" },
    { "a fabric alone", "cluster: { node: a100-4x }\n", NULL, "run.db", SIM_EXIT_INPUT,
      "s.yaml:1:1: error: the scenario has no \"model:\", so there is nothing to train\n"
      "    1 | cluster: { node: a100-4x }\n"
      "      | ^\n"
      "  hint: model: llama3-8b\n" },
    { "an output that is the scenario", TINY, NULL, "s.yaml", SIM_EXIT_INPUT,
      "windtunnel: error: the output \"s.yaml\" is the scenario itself\n" },
    { "an output in no folder", TINY, NULL, "none/run.db", SIM_EXIT_INPUT,
      "windtunnel: error: cannot create \"none/run.db\": No such file or directory\n" },
    { "more steps than the clock holds", TINY, "run.steps=1000000000,training.global_batch=600", "run.db",
      SIM_EXIT_INPUT,
      "--set:1:5: error: 1000000000 steps of at least 69.76 ms are more than the 53 days that the clock of a "
      "step simulation may run\n"
      "    1 | run.steps=1000000000\n"
      "      |     ^\n"
      "  hint: steps: 66104283\n" },
    { "rates that no clock holds", TINY,
      "cluster.node={ base: a100-4x, scale_up: { kind: pcie, rate: 0.001 B/s } }", "run.db", SIM_EXIT_INPUT,
      "s.yaml:6:8: error: a step of up to 22130 d is more than the 53 days that the clock of a step "
      "simulation may run\n"
      "    6 | run: { steps: 2, trace: transfers }\n"
      "      |        ^\n"
      "  hint: rates, latencies or sizes are out of range\n" },
    { "a rate of nothing", TINY, "cluster.node={ base: a100-4x, scale_up: { kind: pcie, rate: 0.0001 B/s } }",
      "run.db", SIM_EXIT_INPUT,
      "--set:1:9: error: the rate of the link node 0 gpu 0 > node 0 cpu 0 is zero\n"
      "    1 | cluster.node={ base: a100-4x, scale_up: { kind: pcie, rate: 0.0001 B/s } }\n"
      "      |         ^\n" },
    { "a kernel that never ends", TINY, "cluster.node.gpu.memory_rate=9 B/s", "run.db", SIM_EXIT_INPUT,
      "--set:1:9: error: kernel \"embedding.gather\" would take longer than 1000 s on a100-sxm-80gb\n"
      "    1 | cluster.node.gpu.memory_rate=9 B/s\n"
      "      |         ^\n"
      "  hint: the GPU's peaks, rates and efficiencies, or the micro-batch, are out of range\n" },
    { "a trace too large", TINY, "run.steps=10000000", "run.db", SIM_EXIT_INPUT,
      "windtunnel: error: the trace at level transfers would have 1,750,000,074 rows (about 175.0 GB); at "
      "most 20,000,000 rows or 2 GB are written unasked\n"
      "  hint: run.trace: summary writes 74 rows\n" },
    { "a step too large",
      "cluster: { node: a100-4x, nodes: 200, fabric: { topology: single-switch, switch: { name: huge, ports: "
      "800, "
      "port_rate: 200 Gb/s, delay: 200 ns } } }\n"
      "model: { name: wee, layers: 2, hidden: 64, heads: 4, kv_heads: 2, ffn: 96, vocabulary: 100,\n"
      "  max_sequence: 64, activation: swiglu, norm: rmsnorm, position: rope }\n"
      "training: { global_batch: 80000000 }\n",
      NULL, "run.db", SIM_EXIT_INPUT,
      "s.yaml:4:13: error: 800 lanes with 160,002,400 operations together are more than the 50 million "
      "operations of a step that are played\n"
      "    4 | training: { global_batch: 80000000 }\n"
      "      |             ^\n"
      "  hint: a smaller global_batch, or a larger training.micro_batch or plan.bucket\n" },
};

// A check refuses what a run refuses, but for its output.
static void refusal_prints(void **state)
{
    const struct refusal *c = *state;
    void *place = NULL;
    bench b;
    char sets_text[256];
    const char *sets[4];
    assert_int_equal(scratch_enter(&place), 0);
    prepare(&b, place, c->text);
    b.options.sets = sets;
    snprintf(sets_text, sizeof sets_text, "%s", c->set ? c->set : "");
    for (char *at = sets_text; c->set && at; b.options.set_count++) {
        sets[b.options.set_count] = at;
        char *comma = strchr(at, '{') ? NULL : strchr(at, ',');
        if (comma) *comma++ = 0;
        at = comma;
    }
    b.options.output_path = c->output;
    assert_false(execute(&b));
    assert_int_equal(b.error.exit_code, c->exit_code);
    assert_error_prints(&b.error, c->want);
    assert_int_equal(b.result.state, RUN_FAILED);
    assert_int_equal(b.result.has_memory, c->exit_code == SIM_EXIT_NO || b.result.scenario != NULL);
    run_free(&b.result);
    sim_error_clear(&b.error);
    const bool of_output = strstr(c->want, "the output") || strstr(c->want, "cannot create") ||
                           strstr(c->want, "the trace");
    assert_int_equal(run_check(&b.options, true, &b.result, &b.error), of_output);
    if (!of_output) assert_error_prints(&b.error, c->want);
    run_free(&b.result);
    assert_int_equal(scratch_count(""), c->text ? 1 : 0); // no file remains
    assert_int_equal(scratch_leave(&place), 0);
}

#define LONG_STEPS(steps_)                                                                                   \
    "cluster.node={ base: dgx-a100, scale_up: { kind: pcie, rate: 0.3425 B/s, costs: pcie } }",              \
        "plan.gpus=8", "plan.sharding=none", "training.global_batch=8", "network.algorithm=ring",            \
        "network.protocol=simple", "run.steps=" steps_

// 26 days, which is below the 53 that the clock runs also by the bound, and 211 days of the time of 8 GPUs: more than 106.
static void a_step_that_no_row_can_tell_stops_the_run(void **state)
{
    bench b;
    static const char *const sets[] = { LONG_STEPS("1") };
    prepare(&b, *state, TINY);
    b.options.sets = sets;
    b.options.set_count = ARRAY_COUNT(sets);
    assert_true(execute(&b)); // without a trace nothing is to be told
    run_free(&b.result);
    b.options.output_path = "run.db";
    assert_false(execute(&b));
    assert_int_equal(b.result.state, RUN_FAILED);
    assert_error_prints(
        &b.error,
        "s.yaml:6:18: error: a step of 26.41 d on 8 GPUs is more GPU time than the 106 days that a row of "
        "the trace can tell\n"
        "    6 | run: { steps: 2, trace: transfers }\n"
        "      |                  ^\n"
        "  hint: trace: summary, or a run without an output\n");
    run_free(&b.result);
}

// The third step begins on day 53, in the first half of what the clock holds, the fourth would not.
static void no_step_begins_late(void **state)
{
    bench b;
    static const char *const sets[] = { LONG_STEPS("4") };
    prepare(&b, *state, TINY);
    b.options.sets = sets;
    b.options.set_count = ARRAY_COUNT(sets);
    assert_false(execute(&b));
    assert_int_equal(b.result.state, RUN_FAILED);
    assert_int_equal(b.result.steps_done, 3);
    assert_error_prints(
        &b.error, "--set:1:5: error: the clock of a step simulation has run for 53 days after 3 of 4 steps\n"
                  "    1 | run.steps=4\n"
                  "      |     ^\n"
                  "  hint: steps: 3\n");
    run_free(&b.result);
}

static void loading_alone_reads_and_checks(void **state)
{
    bench b;
    prepare(&b, *state, "cluster: { node: a100-4x }\n");
    assert_true(run_load(&b.options, false, &b.result, &b.error));
    assert_int_equal(b.result.scenario->cluster.node.gpus, 4);
    assert_null(b.result.world);
    run_free(&b.result);
    assert_false(run_load(&b.options, true, &b.result, &b.error));
    assert_null(b.result.scenario);
    run_free(&b.result);
}

// ---- Memory that ends

// The n-th allocation of the run's arena fails: "out of memory", whatever was going on, and nothing is lost or left.
static bool survives(bench *b, uint64_t allocation)
{
    b->options.fail_allocation = allocation;
    const bool good = execute(b);
    if (!good) {
        assert_int_equal(b->error.exit_code, SIM_EXIT_INPUT);
        assert_string_equal(b->error.message, "out of memory");
        assert_int_equal(b->result.state, RUN_FAILED);
    }
    run_free(&b->result);
    if (good || !b->options.output_path) return good;
    if (os_exists(b->options.output_path)) { // the clock had started
        assert_string_equal(query(b->options.output_path, "SELECT state, error FROM run"),
                            "failed|out of memory");
        assert_true(os_remove(b->options.output_path));
    }
    assert_int_equal(scratch_count(""), 1);
    return good;
}

static double step_time_of(bench *b, const char *metric)
{
    if (!execute(b)) sim_error_print(&b->error, stderr);
    const summary_value *v = summary_find(&b->result.summary, metric);
    assert_non_null(v);
    const double value = v->known ? v->value : -1.0;
    run_free(&b->result);
    return value;
}

// The twin is the same job without the list of degraded parts; it is played also where memory ends in the middle of it.
static void what_degraded_parts_cost_is_told(void **state)
{
    static const char *const sets[] = { "run.steps=1",
                                        "cluster.node.gpu.launch=0 us", // or small kernels hide behind it
                                        "cluster.degraded=[{gpu: gpu 1, clock: 0.5, memory: 0.5}]" };
    bench b;
    prepare(&b, *state, TINY);
    b.options.sets = sets;
    b.options.set_count = 2;
    const double healthy_s = step_time_of(&b, "step_time");
    assert_true(step_time_of(&b, "step_time_healthy") < 0.0); // nothing is degraded
    b.options.set_count = 3;
    assert_true(step_time_of(&b, "step_time") > healthy_s);
    assert_near(step_time_of(&b, "step_time_healthy"), healthy_s, 0);
    uint64_t last = 200;
    while (!survives(&b, last))
        last += last / 8;
    for (uint64_t n = last, failed = 0; failed < 60; n--)
        failed += !survives(&b, n);
}

// Each of the first 200 allocations, and 200 others up to the last; with a database, whose opening is the end of the
// refusals, each one from there on as well.
static void memory_may_end_at_any_time(void **state)
{
    static const char *const sets[] = { "run.steps=1", "plan.sharding=none", "run.trace=spans" };
    bench b;
    prepare(&b, *state, TINY);
    b.options.sets = sets;
    b.options.set_count = ARRAY_COUNT(sets);
    uint64_t last = 1;
    while (!survives(&b, last))
        last = last < 200 ? last + 1 : last + last / 8;
    assert_true(last > 200);
    b.options.output_path = "run.db";
    uint64_t seed = 20240607;
    for (int i = 0; i < 200; i++)
        if (survives(&b, 201 + test_random(&seed) % (last - 200))) assert_true(os_remove("run.db"));
    uint64_t n = last;
    for (uint32_t failed = 0; failed < 60; n--)
        if (survives(&b, n))
            assert_true(os_remove("run.db"));
        else
            failed++;
    assert_true(survives(&b, 0));
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(refusals) + 13];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(refusals); i++)
        tests[n++] = (struct CMUnitTest){ refusals[i].name, refusal_prints, NULL, NULL,
                                          (void *)&refusals[i] };
#define IN_SCRATCH(test_)                                                                                    \
    (struct CMUnitTest) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)
    tests[n++] = IN_SCRATCH(every_table_is_there_and_what_is_modelled_is_filled);
    tests[n++] = IN_SCRATCH(the_tables_agree);
    tests[n++] = IN_SCRATCH(the_estimate_bounds_the_rows);
    tests[n++] = IN_SCRATCH(watching_does_not_show);
    tests[n++] = IN_SCRATCH(the_resolved_scenario_gives_the_same_digest);
    tests[n++] = IN_SCRATCH(memory_does_not_grow_with_steps);
    tests[n++] = IN_SCRATCH(progress_can_stop_the_run);
    tests[n++] = IN_SCRATCH(a_run_may_stop_before_its_first_step_ends);
    tests[n++] = IN_SCRATCH(a_step_that_no_row_can_tell_stops_the_run);
    tests[n++] = IN_SCRATCH(no_step_begins_late);
    tests[n++] = IN_SCRATCH(loading_alone_reads_and_checks);
    tests[n++] = IN_SCRATCH(what_degraded_parts_cost_is_told);
    tests[n++] = IN_SCRATCH(memory_may_end_at_any_time);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
