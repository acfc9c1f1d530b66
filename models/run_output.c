// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/run_output.h"
#include "sim/os.h"

// With force an existing file is replaced, but never the question itself.
static bool check_output_is_not_input(const char *output, const scenario *s, sim_error *error)
{
    const text_list *included = &s->document.included;
    if (os_is_same_file(output, s->file))
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "the output \"%s\" is the scenario itself", output);
    for (uint32_t i = 0; i < included->count; i++)
        if (os_is_same_file(output, included->items[i]))
            return sim_fail(error, SIM_EXIT_INPUT, NULL,
                            "the output \"%s\" is a file that the scenario includes", output);
    return true;
}

// What else the caller's user may do, behind the hint there is.
static bool add_hint(sim_error *error, const char *more)
{
    char known[sizeof error->hint];
    if (!more) return false;
    snprintf(known, sizeof known, "%s", error->hint);
    return sim_hint(error, "%s; %s", known, more);
}

trace *run_output_open(arena *a, const run_options *o, const scenario *s, const trace_estimate *estimate,
                       const char **resolved, sim_error *error)
{
    const trace_level level = (trace_level)s->run.trace;
    trace_options options = tables_options(o->output_path, o->force, level);
    options.force_hint = o->hints.force;
    if (!check_output_is_not_input(o->output_path, s, error)) return NULL;
    if (!trace_estimate_check(estimate, level, o->trace_anyway, error)) {
        add_hint(error, o->hints.trace_anyway);
        return NULL;
    }
    *resolved = scenario_resolved(s, a, error);
    return *resolved ? trace_open(a, &options, error) : NULL;
}

row_run run_output_row(const scenario *s, const char *kind, const char *resolved)
{
    return (row_run){ .run_id = 1,
                      .state = run_state_words[RUN_RUNNING],
                      .kind = kind,
                      .version = WINDTUNNEL_VERSION,
                      .scenario = s->file,
                      .scenario_text = s->document.text,
                      .resolved = resolved,
                      .seed = s->run.seed,
                      .trace_level = trace_level_words[s->run.trace],
                      .engine = network_engine_words[s->network.engine] };
}

bool run_output_close(tables *t, trace **database, run_result *r, sim_error *error)
{
    trace *closing = *database;
    sim_error failure = { 0 };
    if (!closing) return true;
    tables_finish_run(t, &(run_end){ .state = run_state_words[r->state],
                                     .error = sim_failed(error) ? error->message : NULL,
                                     .has_digest = r->state == RUN_DONE,
                                     .digest = r->digest,
                                     .wall_s = r->wall_s,
                                     .cpu_s = r->cpu_s,
                                     .peak_memory_bytes = os_peak_memory_bytes(),
                                     .events = r->counters.events });
    *database = NULL;
    // Not even the row of the run was committed: an empty database would tell nothing.
    const bool is_empty = !trace_error_of(closing, &failure) && trace_rows_written(closing) == 0;
    if (is_empty) trace_discard(closing);
    if (!is_empty && trace_close(closing, &failure)) return true;
    r->state = RUN_FAILED;
    if (!sim_failed(error)) *error = failure;
    return false;
}

void run_output_end(tables *t, trace **database, bool has_started, run_result *r, sim_error *error)
{
    if (!*database) return;
    if (has_started) {
        run_output_close(t, database, r, error);
        return;
    }
    trace_discard(*database);
    *database = NULL;
}
