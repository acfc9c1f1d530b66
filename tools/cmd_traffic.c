// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel traffic: plays flows on the fabric of a scenario and says when they end.
#include "models/traffic/flow_file.h"
#include "sim/os.h"
#include "tools/answer.h"
#include "tools/command.h"
#include "tools/progress.h"
#include <inttypes.h>

typedef struct traffic_command_options {
    play_options play;
    const char *flows, *size, *rounds, *seed;
    text_list down, degrade, up;
    int pattern; // pattern_kind, or PATTERN_KINDS: not given
    int ends;    // traffic_ends
} traffic_command_options;

static const option options[] = {
    OPTION_TEXT(traffic_command_options, flows, 0, "flows", "FILE", "the flows, as CSV: " FLOW_FILE_HEADER),
    OPTION_WORD(traffic_command_options, pattern, 0, "pattern", NULL, pattern_words,
                "or flows drawn by a rule"),
    OPTION_TEXT(traffic_command_options, size, 0, "size", "BYTES",
                "of a flow, or about that; of a ring's buffer [100 MB]"),
    OPTION_TEXT(traffic_command_options, rounds, 0, "rounds", "K",
                "permk: permutations at once; churn: flows of a host in a row [1]"),
    OPTION_TEXT(traffic_command_options, seed, 0, "seed", "N", "of the draws [42]"),
    OPTION_WORD(traffic_command_options, ends, 0, "between", NULL, traffic_ends_words,
                "what the hosts are that flows name by number [nics]"),
    OPTION_LIST(traffic_command_options, down, 0, "down", "LINK@TIME",
                "a link goes down: --down 'leaf 0 > spine 3 @ 1 ms'; <> for both directions"),
    OPTION_LIST(traffic_command_options, degrade, 0, "degrade", "LINK@TIME=SHARE",
                "it keeps a share of its rate: --degrade 'leaf 0 > spine 3 @ 1 ms = 25 %'"),
    OPTION_LIST(traffic_command_options, up, 0, "up", "LINK@TIME", "it returns"),
    PLAY_OPTIONS(traffic_command_options, play),
    OPTION_END,
};

// ---- for people

static const struct metric_label {
    const char *metric, *label;
} labels[] = {
    { "completion_first", "first completion" },
    { "completion_mean", "mean completion" },
    { "completion_last", "last completion" },
    { "duration_least", "shortest flow" },
    { "duration_mean", "mean flow" },
    { "duration_greatest", "longest flow" },
    { "throughput", "throughput" },
};

// Where all flows start at 0, their own time is their completion: it is told once.
static bool is_told(const traffic_results *r, size_t label)
{
    const bool same = r->duration_sum_ps == r->completion_sum_ps;
    return !same || strncmp(labels[label].metric, "duration_", strlen("duration_")) != 0;
}

static void print_metrics(arena *a, const summary_array *summary, const traffic_results *r)
{
    static const table_column columns[] = { { NULL, false }, { NULL, true }, { NULL, false } };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (size_t i = 0; i < ARRAY_COUNT(labels); i++) {
        const summary_value *v = summary_find(summary, labels[i].metric);
        if (!v || !is_told(r, i)) continue; // no throughput where no time has passed
        table_cell(&t, "%s", labels[i].label);
        table_cell(&t, "%s", answer_value(a, v));
        if (v->known)
            table_cell(&t, "%s", v->explanation);
        else
            table_cell(&t, "(%s)", v->reason);
    }
    table_print(&t, "", stdout);
}

static void print_links(arena *a, const traffic_run_result *r)
{
    static const table_column columns[] = { { NULL, false }, { NULL, true }, { NULL, true } };
    if (!r->hottest_count) return;
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < r->hottest_count; i++) {
        table_cell(&t, "%s", r->hottest[i].name);
        table_cell(&t, "%s", output_number(a, UNIT_BYTES, (double)r->hottest[i].bytes));
        table_cell(&t, "%s", output_percent(a, r->hottest[i].busy_ratio));
    }
    printf("\nbusiest links\n");
    table_print(&t, "  ", stdout);
}

static const char *describe(arena *a, const traffic_run_result *r, const traffic_command_options *o)
{
    const uint32_t nodes = topology_node_count(r->fabric);
    return arena_format(a, "%s, between %s %s of %s node%s", output_printable(a, r->what),
                        output_count(a, r->hosts), o->ends == TRAFFIC_NICS ? "NICs" : "GPUs",
                        output_count(a, nodes), nodes == 1 ? "" : "s");
}

static const char *describe_engine(arena *a, const traffic_run_result *r)
{
    const fluid_counters *f = &r->fluid;
    if (!r->has_fluid) return "ideal: each flow as if it were alone";
    const uint64_t full = f->solver.full_solves;
    return arena_format(a,
                        "fluid: %s settle%s, %s of them solved all anew; %s rate%s changed, %s flow%s took "
                        "another path",
                        output_count(a, f->settles), f->settles == 1 ? "" : "s", output_count(a, full),
                        output_count(a, f->rate_changes), f->rate_changes == 1 ? "" : "s",
                        output_count(a, f->reroutes), f->reroutes == 1 ? "" : "s");
}

static void print_summary(arena *a, const traffic_command_options *o, const traffic_run_result *r)
{
    const run_result *run = &r->run;
    printf("%s\n", describe(a, r, o));
    if (run->state == RUN_CANCELLED) printf("\ncancelled: what follows is of the flows that had finished\n");
    printf("\n%s of %s flow%s finished, %s\n", output_count(a, r->flows.finished),
           output_count(a, r->flows.flows), r->flows.flows == 1 ? "" : "s",
           output_number(a, UNIT_BYTES, (double)r->flows.bytes));
    print_metrics(a, &run->summary, &r->flows);
    print_links(a, r);
    printf("\nnetwork     %s\n", describe_engine(a, r));
    answer_alerts(a, &run->alerts, stdout);
    for (uint32_t i = 0; i < r->warnings.count; i++)
        printf("warning     %s\n", output_printable(a, r->warnings.items[i]));
    answer_assumptions(a, &run->assumptions, o->play.verbose, stdout);
    printf("played      %s events in %s of CPU time, %s of memory at most\n",
           output_count(a, run->counters.events), output_number(a, UNIT_TIME, run->cpu_s),
           output_bytes(a, (double)os_peak_memory_bytes()));
    if (run->state == RUN_DONE) printf("digest      %016" PRIx64 "\n", run->digest);
    if (o->play.output)
        printf("database    %s, %s rows\n", o->play.output, output_count(a, run->counters.trace_rows));
}

// ---- for machines

static void print_times(json_writer *j, const char *key, const traffic_run_result *run, sim_time least_ps,
                        unsigned __int128 sum_ps, sim_time greatest_ps)
{
    const traffic_results *r = &run->flows;
    if (!r->finished) {
        json_null(j, key);
        return;
    }
    json_object(j, key);
    if (run->ends_are_shared) {
        json_null(j, "min");
        json_null(j, "mean");
    } else {
        json_number(j, "min", units_s_from_ps(least_ps));
        json_number(j, "mean", traffic_mean_s(sum_ps, r->finished));
    }
    json_number(j, "max", units_s_from_ps(greatest_ps));
    json_close(j);
}

static void print_json_traffic(json_writer *j, const traffic_run_options *wanted, const traffic_run_result *r)
{
    const pattern_def *p = &wanted->pattern;
    json_object(j, "traffic");
    json_text(j, "flows", wanted->flows_path);
    json_text(j, "pattern", wanted->flows_path ? NULL : pattern_words[p->kind]);
    if (!wanted->flows_path) {
        json_count(j, "size_bytes", p->bytes);
        json_count(j, "rounds", p->rounds);
        json_count(j, "seed", p->seed);
    }
    json_text(j, "between", traffic_ends_words[wanted->ends]);
    json_count(j, "hosts", r->hosts);
    json_close(j);
}

static void print_json_links(json_writer *j, const traffic_run_result *r)
{
    json_array(j, "busiest_links");
    for (uint32_t i = 0; i < r->hottest_count; i++) {
        json_object(j, NULL);
        json_text(j, "link", r->hottest[i].name);
        json_count(j, "bytes", r->hottest[i].bytes);
        json_number(j, "busy_ratio", r->hottest[i].busy_ratio);
        json_close(j);
    }
    json_close(j);
}

static void print_json_solver(json_writer *j, const traffic_run_result *r)
{
    const fluid_counters *f = &r->fluid;
    if (!r->has_fluid) {
        json_null(j, "solver");
        return;
    }
    json_object(j, "solver");
    json_count(j, "settles", f->settles);
    json_count(j, "full_solves", f->solver.full_solves);
    json_count(j, "rate_changes", f->rate_changes);
    json_count(j, "reroutes", f->reroutes);
    json_count(j, "links_dirtied", f->solver.links_dirtied);
    json_count(j, "flows_touched", f->solver.flows_touched);
    json_count(j, "flows_changed", f->solver.flows_changed);
    json_count(j, "incidences", f->solver.incidences);
    json_close(j);
}

static void print_json(arena *a, const traffic_command_options *o, const traffic_run_options *wanted,
                       const traffic_run_result *r, const sim_error *error)
{
    const run_result *run = &r->run;
    const traffic_results *f = &r->flows;
    json_writer j = json_make(stdout);
    json_object(&j, NULL);
    json_text(&j, "scenario", run->scenario->file);
    print_json_traffic(&j, wanted, r);
    json_text(&j, "engine", network_engine_words[run->scenario->network.engine]);
    json_text(&j, "state", run_state_words[run->state]);
    json_text(&j, "digest", run->state == RUN_DONE ? arena_format(a, "%016" PRIx64, run->digest) : NULL);
    if (sim_failed(error)) json_error(&j, error);
    json_count(&j, "n", f->flows);
    json_count(&j, "finished", f->finished);
    json_count(&j, "bytes", f->bytes);
    print_times(&j, "fct_s", r, f->completion_first_ps, f->completion_sum_ps, f->completion_last_ps);
    print_times(&j, "duration_s", r, f->duration_least_ps, f->duration_sum_ps, f->duration_greatest_ps);
    answer_summary_json(&j, &run->summary);
    print_json_links(&j, r);
    answer_assumptions_json(&j, &run->assumptions);
    json_array(&j, "warnings");
    for (uint32_t i = 0; i < r->warnings.count; i++)
        json_text(&j, NULL, r->warnings.items[i]);
    json_close(&j);
    answer_alerts_json(&j, a, &run->alerts);
    json_object(&j, "counters");
    json_count(&j, "events", run->counters.events);
    json_count(&j, "transfers", run->counters.transfers);
    json_count(&j, "trace_rows", run->counters.trace_rows);
    json_count(&j, "pending_high_water", run->counters.pending_high_water);
    json_close(&j);
    print_json_solver(&j, r);
    json_object(&j, "run_env"); // what the same run may answer differently elsewhere
    json_text(&j, "output", o->play.output);
    json_number(&j, "wall_s", run->wall_s);
    json_number(&j, "cpu_s", run->cpu_s);
    json_count(&j, "arena_bytes", run->counters.arena_bytes);
    json_count(&j, "peak_memory_bytes", os_peak_memory_bytes());
    json_close(&j);
    json_close(&j);
}

// ---- the command

static bool check_choice(const traffic_command_options *o, sim_error *error)
{
    const bool drawn = o->pattern != PATTERN_KINDS;
    if (o->flows && drawn)
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "--flows and --pattern exclude each other");
    if (!o->flows && !drawn)
        return sim_fail(error, SIM_EXIT_INPUT, NULL,
                        "there is no traffic: neither --flows nor --pattern is given") ||
               sim_hint(error, "--pattern perm --size '100 MB'");
    const char *lost = o->size ? "size" : o->rounds ? "rounds" : o->seed ? "seed" : NULL;
    if (o->flows && lost)
        return sim_fail(error, SIM_EXIT_INPUT, NULL,
                        "--%s goes with --pattern: the flows of a file are complete", lost);
    return command_check_output(&o->play, error);
}

static bool read_pattern(const traffic_command_options *o, pattern_def *p, sim_error *error)
{
    *p = (pattern_def){ .kind = (pattern_kind)o->pattern, .bytes = 100000000, .rounds = 1, .seed = 42 };
    if (o->size) {
        const sim_place place = sim_place_of_option("--size", o->size);
        if (!units_parse_bytes(o->size, &p->bytes, &place, error)) return false;
    }
    if (o->rounds) {
        const sim_place place = sim_place_of_option("--rounds", o->rounds);
        if (!units_parse_count(o->rounds, &p->rounds, &place, error)) return false;
    }
    if (o->seed) {
        const sim_place place = sim_place_of_option("--seed", o->seed);
        if (!units_parse_count(o->seed, &p->seed, &place, error)) return false;
    }
    return true;
}

static int answer(const command_call *call, const traffic_command_options *o,
                  const traffic_run_options *wanted, bool good, const traffic_run_result *r,
                  const sim_error *error)
{
    // Where some flows never finish, the others still tell something.
    const bool told = good || error->exit_code == SIM_EXIT_NO;
    if (told && o->play.scenario.json)
        print_json(call->arena, o, wanted, r, error);
    else if (told && !o->play.quiet)
        print_summary(call->arena, o, r);
    if (!good) return command_fail(call->arena, error, o->play.scenario.json && !told, NULL);
    return r->run.state == RUN_CANCELLED ? SIM_EXIT_INTERRUPTED : SIM_EXIT_OK;
}

static int run(const command_call *call)
{
    traffic_command_options o = { .pattern = PATTERN_KINDS };
    traffic_run_options wanted = { 0 };
    text_list words;
    int exit_code;
    if (!command_parse(call, &o, &o.play.scenario.json, &words, &exit_code)) return exit_code;
    sim_error error = { 0 };
    const char *path = command_one_word(call, &words, "the scenario", &error);
    if (!path || !check_choice(&o, &error) || (!o.flows && !read_pattern(&o, &wanted.pattern, &error)))
        return command_fail(call->arena, &error, o.play.scenario.json, NULL);

    progress shown = progress_make(!o.play.quiet);
    wanted.run = command_play_options(call, &o.play, path);
    wanted.flows_path = o.flows;
    wanted.ends = o.ends;
    wanted.link_changes[LINK_GOES_DOWN] = o.down;
    wanted.link_changes[LINK_DEGRADES] = o.degrade;
    wanted.link_changes[LINK_RETURNS] = o.up;
    wanted.progress = progress_show_flows;
    wanted.owner = &shown;

    traffic_run_result r;
    os_catch_signals();
    const bool good = traffic_run_execute(&wanted, &r, &error);
    progress_clear(&shown);
    exit_code = answer(call, &o, &wanted, good, &r, &error);
    traffic_run_free(&r);
    return exit_code;
}

const command command_traffic = {
    .name = "traffic",
    .usage = "SCENARIO (--flows FILE | --pattern NAME) [options]",
    .purpose = "Plays flows on the fabric of a scenario and says when they end",
    .explanation =
        "The scenario needs no more than \"cluster:\"; a job in it is not played. Flows go between hosts, "
        "numbered\n"
        "from 0 node by node. Times are on the clock, from 0; a flow's own time runs from its start.\n"
        "patterns: ring (an all-reduce, send by send), perm (a permutation), permrand (with random sizes),\n"
        "permk (K of them at once), a2a (all to all), a2arand (with random sizes), churn (each host keeps "
        "one\n"
        "flow in the air, K in a row), incast (all to host 0)\n"
        "Ctrl-C ends the run in good order. Exit code 1: some flows can never finish.\n",
    .examples =
        "  windtunnel traffic scenarios/fabrics/F64.yaml --pattern perm --size 100MB --seed 42\n"
        "  windtunnel traffic scenarios/fabrics/F64.yaml --pattern churn --rounds 20 --json\n"
        "  windtunnel traffic scenarios/fabrics/F64.yaml --pattern perm --down 'leaf 0 <> spine 3 @ 1 ms'\n"
        "  windtunnel traffic scenarios/fabrics/F64.yaml --flows flows.csv -o flows.db \\\n"
        "    --set run.trace=transfers\n",
    .options = options,
    .run = run,
};
