// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/windtunnel.h"
#include "models/run.h"
#include "sim/os.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

struct windtunnel {
    arena *arena; // paths and settings
    const char *scenario_path, *catalogue_path;
    text_list sets;
    bool has_result;
    run_result result; // of the latest run
};

typedef struct caller_progress {
    windtunnel_progress *progress;
    void *owner;
} caller_progress;

static bool give_error(const sim_error *from, windtunnel_error *to)
{
    char *text = NULL;
    size_t length = 0;
    if (!to) return false;
    to->exit_code = from->exit_code;
    FILE *out = os_open_memory(&text, &length);
    if (out) {
        sim_error_print(from, out);
        if (fclose(out) != 0) length = 0;
    }
    snprintf(to->text, sizeof(to->text), "%s", text && length ? text : from->message);
    free(text);
    return false;
}

static run_options options_of(const windtunnel *w)
{
    return (run_options){
        .scenario_path = w->scenario_path,
        .sets = w->sets.items,
        .set_count = w->sets.count,
        .catalogue_path = w->catalogue_path,
        .hints = { .force = "remove it first, or write to another file" },
    };
}

// Reads the scenario with its settings, to see whether they can be understood.
static bool try_load(const windtunnel *w, windtunnel_error *error)
{
    const run_options options = options_of(w);
    sim_error failure = { 0 };
    return run_try(&options, &failure) || give_error(&failure, error);
}

static bool give_out_of_memory(windtunnel_error *error)
{
    sim_error failure = { 0 };
    sim_fail(&failure, SIM_EXIT_INPUT, NULL, "out of memory");
    return give_error(&failure, error);
}

// NULL: memory has ended.
static windtunnel *make(arena *a, const char *scenario_path, const char *catalogue_path)
{
    jmp_buf escape;
    if (setjmp(escape)) return NULL;
    arena_set_escape(a, &escape);
    windtunnel *w = arena_new(a, windtunnel);
    w->arena = a;
    w->scenario_path = arena_text(a, scenario_path);
    w->catalogue_path = catalogue_path ? arena_text(a, catalogue_path) : NULL;
    arena_set_escape(a, NULL);
    return w;
}

// False: memory has ended, and nothing has changed.
static bool add_set(windtunnel *w, const char *assignment)
{
    jmp_buf escape;
    if (setjmp(escape)) {
        arena_set_escape(w->arena, NULL);
        return false;
    }
    arena_set_escape(w->arena, &escape);
    const char *text = arena_text(w->arena, assignment);
    *array_push(&w->sets, w->arena) = text;
    arena_set_escape(w->arena, NULL);
    return true;
}

windtunnel *windtunnel_load(const char *scenario_path, const char *catalogue_path, windtunnel_error *error)
{
    if (error) *error = (windtunnel_error){ 0 };
    arena *a = arena_create("windtunnel");
    windtunnel *w = a ? make(a, scenario_path, catalogue_path) : NULL;
    if (w && try_load(w, error)) return w;
    if (!w) give_out_of_memory(error);
    arena_destroy(a);
    return NULL;
}

bool windtunnel_set(windtunnel *w, const char *assignment, windtunnel_error *error)
{
    if (error) *error = (windtunnel_error){ 0 };
    if (!add_set(w, assignment)) return give_out_of_memory(error);
    if (try_load(w, error)) return true;
    w->sets.count--;
    return false;
}

bool windtunnel_check(const windtunnel *w, windtunnel_error *error)
{
    const run_options options = options_of(w);
    run_result result;
    sim_error failure = { 0 };
    if (error) *error = (windtunnel_error){ 0 };
    const bool good = run_check(&options, true, &result, &failure);
    run_free(&result);
    return good || give_error(&failure, error);
}

static bool on_progress(void *owner, const run_progress *progress)
{
    const caller_progress *caller = owner;
    return caller->progress(caller->owner, progress->steps_done, progress->steps);
}

bool windtunnel_run(windtunnel *w, const char *output, windtunnel_progress *progress, void *owner,
                    windtunnel_error *error)
{
    caller_progress caller = { .progress = progress, .owner = owner };
    run_options options = options_of(w);
    sim_error failure = { 0 };
    if (error) *error = (windtunnel_error){ 0 };
    options.output_path = output;
    if (progress) {
        options.progress = on_progress;
        options.owner = &caller;
    }
    if (w->has_result) run_free(&w->result);
    w->has_result = true;
    return run_execute(&options, &w->result, &failure) || give_error(&failure, error);
}

bool windtunnel_is_done(const windtunnel *w)
{
    return w->has_result && w->result.state == RUN_DONE;
}

// Why there is no such number.
static const char *missing_reason(const windtunnel *w)
{
    if (!w->has_result) return "nothing has been run";
    return w->result.summary.count ? "there is no such metric" : "the run was refused or failed";
}

bool windtunnel_value(const windtunnel *w, const char *metric, double *value, const char **unit,
                      const char **reason)
{
    const summary_value *found = w->has_result ? summary_find(&w->result.summary, metric) : NULL;
    if (unit) *unit = found ? found->unit : NULL;
    if (reason) *reason = found ? found->reason : missing_reason(w);
    if (!found || !found->known) return false;
    *value = found->value;
    return true;
}

const char *windtunnel_metric(const windtunnel *w, uint32_t index)
{
    return w->has_result && index < w->result.summary.count ? w->result.summary.items[index].metric : NULL;
}

uint64_t windtunnel_digest(const windtunnel *w)
{
    return windtunnel_is_done(w) ? w->result.digest : 0;
}

void windtunnel_free(windtunnel *w)
{
    if (!w) return;
    if (w->has_result) run_free(&w->result);
    arena_destroy(w->arena);
}

const char *windtunnel_version(void)
{
    return WINDTUNNEL_VERSION;
}
