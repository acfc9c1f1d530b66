// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/healthy.h"
#include "models/network/fluid_network.h"
#include "models/run_output.h"
#include "models/world_clock.h"
#include "sim/os.h"
#include <inttypes.h>
#include <setjmp.h>
#include <string.h>

const char *const run_state_words[] = { "running", "done", "failed", "cancelled", NULL };

typedef struct run_context {
    const run_options *options;
    run_result *result;
    sim_error *error;
    catalogue catalogue;
    scenario *scenario;
    world *world;
    healthy_twin healthy; // of a job with degraded parts
    recorder *recorder;
    tables *tables;
    trace *trace; // NULL: no database
    double start_wall_s, start_cpu_s;
    bool has_started; // the clock
    bool clock_is_full, cancelled, failed;
    jmp_buf escape;
} run_context;

typedef bool run_act(run_context *c, bool job_wanted); // what one call of this interface does

// ---- Before the clock starts: nothing has been written yet ----

static bool find_catalogue(run_context *c)
{
    return catalogue_find(c->result->arena, c->options->catalogue_path, &c->catalogue, c->error);
}

static bool try_scenario(run_context *c, bool job_wanted)
{
    (void)job_wanted; // nothing is wanted yet
    const run_options *o = c->options;
    return find_catalogue(c) &&
           scenario_try(c->result->arena, &c->catalogue, o->scenario_path, o->sets, o->set_count, c->error);
}

static bool read_scenario(run_context *c, bool job_wanted)
{
    const run_options *o = c->options;
    arena *a = c->result->arena;
    if (!find_catalogue(c)) return false;
    c->scenario = arena_new(a, scenario);
    if (!scenario_load(a, &c->catalogue, o->scenario_path, o->sets, o->set_count, c->scenario, c->error))
        return false;
    if (!scenario_check(c->scenario, job_wanted, c->error)) return false;
    c->result->scenario = c->scenario;
    return true;
}

static bool build_world(run_context *c)
{
    arena *a = c->result->arena;
    const trace_level level = c->options->output_path ? (trace_level)c->scenario->run.trace : TRACE_SUMMARY;
    c->result->has_memory = true; // the table by part, whether it fits or not
    if (c->options->ignore_memory)
        c->result->memory = world_memory(a, c->scenario);
    else if (!world_check_memory(a, c->scenario, &c->result->memory, c->error))
        return false;
    c->recorder = recorder_create(a);
    const world_options options = {
        .queue = c->options->queue,
        .reverse_phases = c->options->reverse_phases,
        .play_tensor = c->options->play_tensor,
        .listener = recorder_listener(c->recorder, level),
        .ignore_memory = c->options->ignore_memory,
    };
    if (!world_create(a, c->scenario, &options, &c->world, c->error)) return false;
    c->result->world = c->world;
    return true;
}

static const char *describe_plan(run_context *c)
{
    const plan_def *p = &c->scenario->plan;
    return arena_format(c->result->arena, "tensor %u, pipeline %u, data %u", p->tensor, p->pipeline, p->data);
}

static void write_run(run_context *c, const char *resolved)
{
    const scenario *s = c->scenario;
    row_run row = run_output_row(s, "step", resolved);
    row.fold = c->world->folded ? "node" : "none"; // what was done, not what was asked for
    row.model = s->model.name;
    row.plan = describe_plan(c);
    row.nodes = s->cluster.nodes;
    row.gpus = scenario_gpus(s);
    row.jobs = 1;
    row.ranks = s->plan.gpus;
    row.lanes = c->world->lanes.count;
    row.steps = s->run.steps;
    tables_write_run(c->tables, &row);
    recorder_write_env(c->tables, c->options->arguments);
}

// The last thing that can be refused is the output; from here on a database exists.
static bool open_output(run_context *c)
{
    arena *a = c->result->arena;
    if (c->options->output_path) {
        const char *resolved;
        const trace_estimate estimate = recorder_estimate(c->world);
        c->trace = run_output_open(a, c->options, c->scenario, &estimate, &resolved, c->error);
        if (!c->trace) return false;
        c->tables = tables_create(a, c->trace);
        write_run(c, resolved);
    } else {
        c->tables = tables_create(a, NULL);
    }
    recorder_describe(c->recorder, c->world, c->tables);
    return true;
}

// ---- While the clock runs ----

// False: the run is to stop.
static bool tell_progress(run_context *c)
{
    if (c->trace) trace_commit_if_due(c->trace);
    if (c->trace && !trace_ok(c->trace)) {
        c->failed = true;
        return false;
    }
    if (!c->options->progress) return true;
    const run_progress progress = {
        .steps_done = step_player_steps_done(c->world->player),
        .steps = c->scenario->run.steps,
        .events = sim_counters_of(c->world->sim).handled,
        .wall_s = os_wall_s() - c->start_wall_s,
    };
    if (c->options->progress(c->options->owner, &progress)) return true;
    c->cancelled = true;
    return false;
}

static bool poll(void *owner)
{
    return !tell_progress(owner);
}

static bool after_step(void *owner)
{
    run_context *c = owner;
    if (sim_now(c->world->sim) > WORLD_CLOCK_PS && !step_player_is_finished(c->world->player)) {
        c->clock_is_full = true;
        return false;
    }
    return tell_progress(owner);
}

// Bytes sent = bytes received, and nothing left over. Our bug if not.
static void check_conservation(const run_context *c)
{
    const network_counters n = network_counters_of(c->world->network);
    SIM_ASSERT(n.bytes_sent == n.bytes_received);
    SIM_ASSERT(n.started == n.delivered + n.cancelled);
    SIM_ASSERT(collectives_open_count(step_player_collectives(c->world->player)) == 0);
    network_verify(c->world->network);
}

// Known only when the step has been played: the bound on its length is too far above it to be refused by before.
static bool fail_too_long(run_context *c)
{
    const scenario *s = c->scenario;
    char step[32];
    units_format(UNIT_TIME, units_s_from_ps(recorder_too_long_step_ps(c->recorder)), step, sizeof(step));
    sim_fail(c->error, SIM_EXIT_INPUT, bind_place_of(s->reader, &s->run.trace),
             "a step of %s on %u GPUs is more GPU time than the 106 days that a row of the trace can tell",
             step, s->plan.gpus);
    return sim_hint(c->error, "trace: summary, or a run without an output");
}

static bool fail_clock_is_full(run_context *c)
{
    const scenario *s = c->scenario;
    const uint32_t done = step_player_steps_done(c->world->player);
    sim_fail(c->error, SIM_EXIT_INPUT, bind_place_of(s->reader, &s->run.steps),
             "the clock of a step simulation has run for 53 days after %u of %u steps", done, s->run.steps);
    return sim_hint(c->error, "steps: %u", done);
}

static bool play(run_context *c)
{
    world *w = c->world;
    char waiting[256];
    sim_set_poll(w->sim, poll, c);
    recorder_on_step(c->recorder, after_step, c);
    c->has_started = true;
    step_player_start(w->player);
    const sim_outcome outcome = sim_run(w->sim, SIM_TIME_MAX);
    c->result->steps_done = step_player_steps_done(w->player);
    if (c->clock_is_full) return fail_clock_is_full(c);
    if (recorder_too_long_step_ps(c->recorder) > 0) return fail_too_long(c);
    if (c->failed) return trace_error_of(c->trace, c->error);
    if (c->cancelled && c->result->steps_done < c->scenario->run.steps) {
        c->result->state = RUN_CANCELLED;
        return true;
    }
    if (outcome == SIM_LIVELOCK)
        return sim_fail(c->error, SIM_EXIT_BUG, NULL, "livelock: \"%s\" goes on and on at %" PRId64 " ps",
                        sim_kind_name(w->sim, sim_current(w->sim)->kind), sim_now(w->sim));
    if (!step_player_is_finished(w->player)) {
        sim_fail(c->error, SIM_EXIT_NO, NULL, "deadlock: nothing moves any more, and %s",
                 step_player_describe_wait(w->player, waiting, sizeof(waiting)));
        return topology_loses(w->fabric) &&
               sim_hint(c->error,
                        "what is lost on the way, or timeouts, may take longer than the 53 days that the "
                        "clock of a step simulation may run");
    }
    check_conservation(c);
    c->result->state = RUN_DONE;
    return true;
}

// ---- At the end ----

// What the degraded parts cost, once the run is done: not worth the time of one that was cancelled.
static void play_healthy(run_context *c, summary_input *totals)
{
    const world_options options = { .queue = c->options->queue,
                                    .reverse_phases = c->options->reverse_phases };
    totals->healthy_reason = "no part is degraded";
    if (c->scenario->cluster.degraded.count == 0) return;
    totals->healthy_reason = "cancelled";
    if (c->result->state != RUN_DONE) return;
    healthy_play(c->result->arena, c->scenario, &options, poll, c, &c->healthy);
    totals->healthy_step_s = units_s_from_ps(c->healthy.step_ps);
    totals->healthy_known = c->healthy.done;
    healthy_destroy(&c->healthy);
}

static void summarise(run_context *c)
{
    run_result *r = c->result;
    summary_input totals = recorder_totals(c->recorder);
    play_healthy(c, &totals);
    const double steps = (double)totals.step_s.count;
    summary_build(r->arena, &totals, &r->summary);
    breakdown_classes(r->arena, &totals, &r->classes);
    breakdown_culprits(r->arena, &totals, &r->culprits);
    breakdown_links(r->arena, &totals, &r->links);
    link_alerts_find(r->arena, c->world->network, &r->alerts);
    summary_usual_costs(r->arena, c->scenario, &r->assumptions);
    summary_assumptions(r->arena, c->scenario, &r->assumptions);
    for (int cause = 0; cause < BLAME_CAUSES; cause++) {
        if (!totals.blame_ps[cause]) continue;
        const double share = (double)totals.blame_ps[cause] / (double)totals.gpu_time_ps;
        *array_push(&r->blame, r->arena) = (blame_share){
            .cause = blame_cause_words[cause],
            .idle = !blame_is_compute((blame_cause)cause),
            .share = share,
            .time_s = (double)totals.blame_ps[cause] * 1e-12 / steps / c->scenario->plan.gpus,
        };
    }
    if (r->state == RUN_DONE) {
        summary_digest(&r->summary, c->world->sim);
        r->digest = sim_digest(c->world->sim);
    }
    recorder_write_summary(c->tables, known_int(0), &r->summary);
}

static void count(run_context *c)
{
    const collectives_counters collectives_ = collectives_counters_of(
        step_player_collectives(c->world->player));
    const network_counters network_ = network_counters_of(c->world->network);
    const sim_counters sim_ = sim_counters_of(c->world->sim);
    const bool fluid = network_engine_of(c->world->network) == ENGINE_FLUID;
    const fluid_counters fluid_ = fluid ? fluid_counters_of(c->world->network) : (fluid_counters){ 0 };
    c->result->counters = (run_counters){
        .events = sim_.handled,
        .collectives = collectives_.played,
        .collectives_alone = collectives_.alone,
        .settles = fluid_.settles,
        .flows_touched = fluid_.solver.flows_touched,
        .messages = collectives_.messages,
        .plan_hits = collectives_.plan_hits,
        .transfers = network_.delivered,
        .bytes_sent = network_.bytes_sent,
        .trace_rows = c->trace ? trace_rows_written(c->trace) : 0,
        .pending_high_water = sim_.pending_high_water,
        .arena_bytes = arena_high_water_bytes(c->result->arena),
    };
}

static bool execute(run_context *c, bool job_wanted)
{
    c->result->state = RUN_FAILED;
    if (!read_scenario(c, job_wanted) || !build_world(c) || !open_output(c)) return false;
    const bool played = play(c);
    c->result->wall_s = os_wall_s() - c->start_wall_s;
    c->result->cpu_s = os_cpu_s() - c->start_cpu_s;
    if (played) summarise(c);
    count(c);
    return run_output_close(c->tables, &c->trace, c->result, c->error) && played;
}

static bool out_of_memory(run_context *c)
{
    c->result->state = RUN_FAILED;
    sim_fail(c->error, SIM_EXIT_INPUT, NULL, "out of memory");
    run_output_end(c->tables, &c->trace, c->has_started, c->result, c->error);
    if (!c->result->world) world_destroy(c->world);
    healthy_destroy(&c->healthy);
    return false;
}

static bool check(run_context *c, bool job_wanted)
{
    if (!read_scenario(c, job_wanted)) return false;
    if (c->scenario->has_model) return build_world(c);
    return world_build_fabric(c->result->arena, c->scenario, c->error) != NULL;
}

// What is done may run out of memory at any allocation. The functions that set the escape change no variable of their own
// afterwards, so none can be lost by the jump.
static bool guarded(run_context *c, run_act *act, bool job_wanted)
{
    if (setjmp(c->escape)) return out_of_memory(c);
    arena_set_escape(c->result->arena, &c->escape);
    return act(c, job_wanted);
}

static bool begin(run_context *c, const run_options *options, run_result *result, sim_error *error)
{
    memset(result, 0, sizeof(*result));
    *c = (run_context){ .options = options,
                        .result = result,
                        .error = error,
                        .start_wall_s = os_wall_s(),
                        .start_cpu_s = os_cpu_s() };
    result->arena = arena_create("run");
    if (!result->arena) return sim_fail(error, SIM_EXIT_INPUT, NULL, "out of memory");
    arena_fail_after(result->arena, options->fail_allocation);
    return true;
}

static bool do_guarded(const run_options *options, run_act *act, bool job_wanted, run_result *result,
                       sim_error *error)
{
    run_context c;
    if (!begin(&c, options, result, error)) return false;
    const bool good = guarded(&c, act, job_wanted);
    arena_set_escape(result->arena, NULL);
    return good;
}

bool run_try(const run_options *options, sim_error *error)
{
    run_result result;
    const bool good = do_guarded(options, try_scenario, false, &result, error);
    run_free(&result);
    return good;
}

bool run_load(const run_options *options, bool job_wanted, run_result *result, sim_error *error)
{
    return do_guarded(options, read_scenario, job_wanted, result, error);
}

bool run_check(const run_options *options, bool job_wanted, run_result *result, sim_error *error)
{
    return do_guarded(options, check, job_wanted, result, error);
}

bool run_execute(const run_options *options, run_result *result, sim_error *error)
{
    return do_guarded(options, execute, true, result, error);
}

void run_free(run_result *result)
{
    world_destroy((world *)result->world);
    arena_destroy(result->arena);
    memset(result, 0, sizeof(*result));
}
