// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/traffic_run.h"
#include "models/cluster_degraded.h"
#include "models/run_output.h"
#include "models/traffic/flow_file.h"
#include "sim/os.h"
#include <inttypes.h>
#include <setjmp.h>

const char *const traffic_ends_words[] = { "nics", "gpus", NULL };

typedef struct traffic_context {
    const traffic_run_options *options;
    traffic_run_result *result;
    sim_error *error;
    arena *arena;
    const scenario *scenario;
    traffic_settings settings;
    sim *sim;
    network *network;
    traffic *traffic;
    tables *tables;
    trace *trace; // NULL: no database
    part_bases parts;
    uint64_t *sampled_bytes;         // per link, until the latest sample
    link_troubles *sampled_troubles; // likewise
    sim_time sampled_ps, changed_ps; // the latest sample; when links changed
    name_id class_id;
    double start_wall_s, start_cpu_s;
    bool has_started, cancelled, failed;
    jmp_buf escape;
} traffic_context;

// ---- Before the clock starts: nothing has been written yet ----

static bool name_hosts(traffic_context *c)
{
    const topology *fabric = c->result->fabric;
    const bool nics = c->options->ends == TRAFFIC_NICS;
    const uint32_t count = nics ? topology_nic_count(fabric) : topology_gpu_count(fabric);
    if (!count) {
        sim_fail(c->error, SIM_EXIT_INPUT, bind_place_of(c->scenario->reader, &c->scenario->cluster.node),
                 "the cluster has no %s for flows to go between", nics ? "NICs" : "GPUs");
        return sim_hint(c->error, "--between %s", traffic_ends_words[nics ? TRAFFIC_GPUS : TRAFFIC_NICS]);
    }
    vertex_id *hosts = arena_array(c->arena, vertex_id, count);
    for (uint32_t i = 0; i < count; i++)
        hosts[i] = nics ? topology_nic_vertex(fabric, i) : topology_gpu_vertex(fabric, i);
    c->settings.hosts = hosts;
    c->settings.host_count = c->result->hosts = count;
    return true;
}

static bool find_flows(traffic_context *c)
{
    const traffic_run_options *o = c->options;
    const uint32_t hosts = c->settings.host_count;
    if (o->flows_path) {
        const flow_file_limits limits = { .hosts = hosts, .flows = TRAFFIC_LIST_MAX };
        if (!flow_file_read(c->arena, o->flows_path, &limits, &c->settings.flows, c->error)) return false;
        c->result->what = arena_format(c->arena, "flows of %s", o->flows_path);
        return true;
    }
    if (!pattern_check(&o->pattern, hosts, c->error)) return false;
    if (pattern_is_loop(o->pattern.kind))
        c->settings.loop = o->pattern;
    else
        pattern_draw(c->arena, &o->pattern, hosts, &c->settings.flows);
    c->result->what = pattern_describe(c->arena, &o->pattern);
    return true;
}

static bool find_link_changes(traffic_context *c)
{
    link_change_array *changes = &c->settings.changes;
    for (int kind = 0; kind < LINK_CHANGE_KINDS; kind++) {
        const text_list *texts = &c->options->link_changes[kind];
        const char *option = arena_format(c->arena, "--%s", link_change_words[kind]);
        for (uint32_t i = 0; i < texts->count; i++) {
            const sim_place place = sim_place_of_option(option, texts->items[i]);
            if (!link_change_parse(c->arena, c->result->fabric, (link_change_kind)kind, texts->items[i],
                                   &place, changes, c->error))
                return false;
        }
    }
    if (changes->count && c->scenario->network.engine != ENGINE_FLUID)
        return sim_fail(c->error, SIM_EXIT_INPUT,
                        bind_place_of(c->scenario->reader, &c->scenario->network.engine),
                        "on the %s network no link can change",
                        network_engine_words[c->scenario->network.engine]) ||
               sim_hint(c->error, "engine: fluid");
    return link_change_order(c->result->fabric, changes, c->error);
}

// The rest of a bundle whose members differ counts as if it fitted to the bundles it meets.
static void warn_of_bundles(traffic_context *c)
{
    const topology *fabric = c->result->fabric;
    const link_change_array *changes = &c->settings.changes;
    if (topology_policy(fabric)->routing != ROUTING_ADAPTIVE) return;
    for (uint32_t i = 0; i < changes->count; i++)
        if (changes->items[i].ratio < 1.0 &&
            topology_bundle_of_link(fabric, changes->items[i].link) != NO_ID) {
            *array_push(&c->result->warnings,
                        c->arena) = "adaptive routing over links that are down or degraded: what is left of "
                                    "the links up and down counts "
                                    "as if it always matched, so flows may end early";
            return;
        }
}

static bool check_clock(traffic_context *c)
{
    const double longest_s = traffic_longest_s(c->arena, c->result->fabric, &c->settings);
    if (longest_s <= units_s_from_ps(SIM_TIME_MAX)) return true;
    char longest[32];
    units_format(UNIT_TIME, longest_s, longest, sizeof(longest));
    return sim_fail(c->error, SIM_EXIT_INPUT, NULL,
                    "the flows may take up to %s, more than the 106 days that the clock can hold", longest) ||
           sim_hint(c->error, "fewer or smaller flows, or faster links");
}

static void on_done(void *owner, const traffic_done *done)
{
    traffic_context *c = owner;
    const vertex_id from = c->settings.hosts[done->from], to = c->settings.hosts[done->to];
    const path_facts path = topology_path_facts(c->result->fabric, from, to);
    const sim_time alone_ps = path.delay_ps + units_wire_time_ps(done->bytes, path.rate_mBps);
    tables_write_transfer(c->tables, &(row_transfer){ .transfer_id = done->flow,
                                                      .source_part_id = c->parts.first_vertex + from,
                                                      .destination_part_id = c->parts.first_vertex + to,
                                                      .class_id = c->class_id,
                                                      .bytes = done->bytes,
                                                      .multiplicity = 1,
                                                      .start_ps = done->start_ps,
                                                      .end_ps = done->end_ps,
                                                      .alone_ps = known_int(alone_ps),
                                                      .links = known_int(path.links) });
}

// What each link has carried since the sample before; those that carried nothing have none. It ends where links change, so
// that every sample is of one state of the fabric.
static void sample_links(traffic_context *c, sim_time now_ps)
{
    const sim_time start_ps = c->sampled_ps;
    if (now_ps == start_ps || !tables_wants(c->tables, TABLE_LINK_SAMPLE)) return;
    for (link_id l = 0; l < topology_link_count(c->result->fabric); l++) {
        const uint64_t bytes = network_link_bytes(c->network, l), before = c->sampled_bytes[l];
        c->sampled_bytes[l] = bytes;
        if (bytes == before) continue;
        const double rate_Bps = (double)topology_link_at(c->result->fabric, l)->rate_mBps / 1000.0;
        const double busy_ratio = (double)(bytes - before) / rate_Bps / units_s_from_ps(now_ps - start_ps);
        row_link_sample row = { .link_part_id = c->parts.first_link + l,
                                .start_ps = start_ps,
                                .end_ps = now_ps,
                                .wire_bytes = bytes - before,
                                .busy_ratio = busy_ratio };
        recorder_add_troubles(c->network, l, &c->sampled_troubles[l], &row);
        tables_write_link_sample(c->tables, &row);
    }
    c->sampled_ps = now_ps;
}

static void on_changes(void *owner)
{
    traffic_context *c = owner;
    c->changed_ps = sim_now(c->sim);
    sample_links(c, c->changed_ps);
}

// When the last flow ended, or the last link changed; routing may still have followed later.
static sim_time end_of_flows(const traffic_context *c)
{
    const sim_time last_ps = traffic_results_of(c->traffic)->completion_last_ps;
    if (c->cancelled) return sim_now(c->sim);
    return last_ps > c->changed_ps ? last_ps : c->changed_ps;
}

static bool build(traffic_context *c)
{
    const run_options *o = &c->options->run;
    c->result->fabric = world_build_fabric(c->arena, c->scenario, c->error);
    if (!c->result->fabric || !name_hosts(c) || !find_flows(c) || !find_link_changes(c) || !check_clock(c))
        return false;
    warn_of_bundles(c);
    if (c->options->ends == TRAFFIC_GPUS)
        cluster_warnings(&c->scenario->cluster, c->arena, &c->result->warnings);
    c->sampled_bytes = arena_array(c->arena, uint64_t, topology_link_count(c->result->fabric));
    c->sampled_troubles = arena_array(c->arena, link_troubles, topology_link_count(c->result->fabric));
    c->settings.on_changes = on_changes;
    c->settings.owner = c;
    if (o->output_path && c->scenario->run.trace >= (int)tables_all[TABLE_TRANSFER].level)
        c->settings.on_done = on_done;
    c->sim = sim_create(c->arena, &(sim_options){ .queue = o->queue, .reverse_phases = o->reverse_phases });
    c->network = world_build_network(c->arena, c->scenario, c->sim, c->result->fabric);
    c->traffic = traffic_create(c->arena, c->sim, c->network, &c->settings);
    return true;
}

static trace_estimate estimate_rows(const traffic_context *c)
{
    const topology *fabric = c->result->fabric;
    const uint64_t links = topology_link_count(fabric);
    trace_estimate e = { 0 };
    e.rows[TRACE_SUMMARY] = (uint64_t)topology_node_count(fabric) + topology_vertex_count(fabric) + links;
    const uint64_t changes = c->settings.changes.count;
    e.rows[TRACE_STEPS] = e.rows[TRACE_SPANS] = e.rows[TRACE_SUMMARY] + links * (changes + 1) + changes;
    e.rows[TRACE_TRANSFERS] = e.rows[TRACE_PACKETS] = e.rows[TRACE_SPANS] +
                                                      traffic_results_of(c->traffic)->flows;
    return e;
}

static void write_run(traffic_context *c, const char *resolved)
{
    row_run row = run_output_row(c->scenario, "traffic", resolved);
    row.fold = "none";
    row.nodes = topology_node_count(c->result->fabric);
    row.gpus = topology_gpu_count(c->result->fabric);
    tables_write_run(c->tables, &row);
    recorder_write_env(c->tables, c->options->run.arguments);
}

// A change that leaves a link less than its rate is a fault until the link changes again.
static void write_faults(traffic_context *c)
{
    const link_change_array *changes = &c->settings.changes;
    uint32_t id = 0;
    for (uint32_t i = 0; i < changes->count; i++) {
        const link_change *change = &changes->items[i];
        uint32_t next = i + 1;
        if (change->ratio == 1.0) continue;
        while (next < changes->count && changes->items[next].link != change->link)
            next++;
        row_fault row = { .fault_id = id++,
                          .kind = change->ratio > 0.0 ? "link degraded" : "link down",
                          .origin = "injected",
                          .part_id = known_int(c->parts.first_link + change->link),
                          .start_ps = known_int(change->time_ps) };
        if (change->ratio > 0.0) row.magnitude_ratio = known_real(change->ratio);
        if (next < changes->count) row.end_ps = known_int(changes->items[next].time_ps);
        tables_write_fault(c->tables, &row);
    }
}

// The last thing that can be refused is the output; from here on a database exists.
static bool open_output(traffic_context *c)
{
    const run_options *o = &c->options->run;
    if (!o->output_path) {
        c->tables = tables_create(c->arena, NULL);
        return true;
    }
    const char *resolved, *flows = c->options->flows_path;
    if (flows && os_is_same_file(o->output_path, flows))
        return sim_fail(c->error, SIM_EXIT_INPUT, NULL, "the output \"%s\" is the file of flows itself",
                        o->output_path);
    const trace_estimate estimate = estimate_rows(c);
    c->trace = run_output_open(c->arena, o, c->scenario, &estimate, &resolved, c->error);
    if (!c->trace) return false;
    c->tables = tables_create(c->arena, c->trace);
    write_run(c, resolved);
    const cluster_def *cluster = &c->scenario->cluster;
    const topology *fabric = c->result->fabric;
    c->parts = recorder_write_parts(c->tables, fabric, cluster,
                                    degraded_gpus(c->arena, &cluster->degraded, fabric));
    c->class_id = tables_name(c->tables, flows ? "flow" : pattern_words[c->options->pattern.kind]);
    write_faults(c);
    return true;
}

// ---- While the clock runs ----

// True: the run is to stop.
static bool poll(void *owner)
{
    traffic_context *c = owner;
    if (c->trace) trace_commit_if_due(c->trace);
    c->failed = c->trace && !trace_ok(c->trace);
    if (c->failed) return true;
    if (!c->options->progress) return false;
    const traffic_results *r = traffic_results_of(c->traffic);
    const traffic_progress progress = { .finished = r->finished,
                                        .flows = r->flows,
                                        .events = sim_counters_of(c->sim).handled,
                                        .wall_s = os_wall_s() - c->start_wall_s };
    c->cancelled = !c->options->progress(c->options->owner, &progress);
    return c->cancelled;
}

static bool fail_stuck(traffic_context *c)
{
    const traffic_results *r = &c->result->flows;
    const topology *fabric = c->result->fabric;
    const network_stuck_report stuck = network_stuck(c->network);
    char from[192], to[192], link[192];
    SIM_ASSERT(stuck.transfers > 0); // what still moves would still happen
    const uint64_t left = r->flows - r->finished;
    sim_fail(c->error, SIM_EXIT_NO, NULL,
             "%" PRIu64 " of %" PRIu64 " flow%s never finish%s: from %s to %s nothing moves any more", left,
             r->flows, r->flows == 1 ? "" : "s", left == 1 ? "es" : "",
             topology_vertex_name(fabric, stuck.from, from, sizeof(from)),
             topology_vertex_name(fabric, stuck.to, to, sizeof(to)));
    if (stuck.down == NO_ID && topology_loses(fabric))
        return sim_hint(c->error,
                        "what is lost on the way, or timeouts, would take longer than the 106 days that "
                        "the clock can hold");
    if (stuck.down == NO_ID) return sim_hint(c->error, "too many flows share the links between");
    return sim_hint(c->error, "link %s is down", topology_link_name(fabric, stuck.down, link, sizeof(link)));
}

static bool judge(traffic_context *c, sim_outcome outcome)
{
    const traffic_results *r = &c->result->flows;
    if (c->failed) return trace_error_of(c->trace, c->error);
    if (c->cancelled && r->finished < r->flows) {
        c->result->run.state = RUN_CANCELLED;
        return true;
    }
    if (outcome == SIM_LIVELOCK)
        return sim_fail(c->error, SIM_EXIT_BUG, NULL, "livelock: more than %d rounds at %" PRId64 " ps",
                        SIM_ROUNDS_MAX, sim_now(c->sim));
    if (r->finished < r->flows) return fail_stuck(c);
    // Bytes sent = bytes received, and nothing left over. Our bug if not.
    const network_counters n = network_counters_of(c->network);
    SIM_ASSERT(n.bytes_sent == n.bytes_received && n.bytes_received == r->bytes);
    SIM_ASSERT(n.started == r->flows && n.delivered == r->flows);
    network_verify(c->network);
    c->result->run.state = RUN_DONE;
    return true;
}

static bool play(traffic_context *c)
{
    sim_set_poll(c->sim, poll, c);
    traffic_start(c->traffic);
    c->has_started = true;
    const sim_outcome outcome = sim_run(c->sim, SIM_TIME_MAX);
    c->result->flows = *traffic_results_of(c->traffic);
    return judge(c, outcome);
}

// ---- At the end ----

static void add(traffic_context *c, const char *metric, unit_kind kind, const char *unit, double value,
                const char *explanation)
{
    // The bottleneck count knows the end of the last of equal flows, and lets the others end with it.
    static const char *const of_all[] = { "completion_first", "completion_mean", "duration_least",
                                          "duration_mean" };
    bool shared = false;
    for (size_t i = 0; i < ARRAY_COUNT(of_all) && c->result->ends_are_shared; i++)
        shared |= strcmp(metric, of_all[i]) == 0;
    const bool finished = c->result->flows.finished > 0, known = finished && !shared;
    *array_push(&c->result->run.summary,
                c->arena) = (summary_value){ .metric = metric,
                                             .kind = kind,
                                             .unit = unit,
                                             .known = known,
                                             .value = known ? value : 0.0,
                                             .reason = known       ? NULL
                                                       : !finished ? "no flow has finished"
                                                                   : "of the bottleneck count only the last "
                                                                     "end is exact",
                                             .explanation = explanation };
}

// Of the catalogue's assumed values those of the network alone: the flows never meet a GPU's kernels.
static void list_assumptions(traffic_context *c)
{
    static const char *const paths[] = { "cluster.fabric.", "cluster.node.nic.", "cluster.node.nic_pcie_rate",
                                         "cluster.node.scale_up." };
    const size_t path_count = c->options->ends == TRAFFIC_NICS ? 2 : ARRAY_COUNT(paths);
    assumption_array all = { 0 };
    summary_assumptions(c->arena, c->scenario, &all);
    for (uint32_t i = 0; i < all.count; i++)
        for (size_t k = 0; k < path_count; k++)
            if (strncmp(all.items[i].path, paths[k], strlen(paths[k])) == 0)
                *array_push(&c->result->run.assumptions, c->arena) = all.items[i];
}

static void summarise(traffic_context *c)
{
    const traffic_results *r = &c->result->flows;
    c->result->ends_are_shared = network_engine_of(c->network) == ENGINE_FLUID &&
                                 fluid_counters_of(c->network).phases > 0;
    const double last_s = units_s_from_ps(r->completion_last_ps);
    const char *what = arena_format(c->arena, "%s, between %" PRIu32 " %s", c->result->what, c->result->hosts,
                                    traffic_ends_words[c->options->ends]);
    add(c, "flows", UNIT_NONE, "1", (double)r->flows, what);
    add(c, "finished", UNIT_NONE, "1", (double)r->finished, "flows whose last byte was delivered");
    add(c, "moved_bytes", UNIT_BYTES, "B", (double)r->bytes, "of the flows that have finished");
    add(c, "completion_first", UNIT_TIME, "s", units_s_from_ps(r->completion_first_ps),
        "when the first flow ended, on the clock");
    add(c, "completion_mean", UNIT_TIME, "s", traffic_mean_s(r->completion_sum_ps, r->finished),
        "mean over the flows of when they ended");
    add(c, "completion_last", UNIT_TIME, "s", last_s, "when the last flow ended");
    add(c, "duration_least", UNIT_TIME, "s", units_s_from_ps(r->duration_least_ps),
        "the shortest time from a flow's start to its end");
    add(c, "duration_mean", UNIT_TIME, "s", traffic_mean_s(r->duration_sum_ps, r->finished),
        "mean time from a flow's start to its end");
    add(c, "duration_greatest", UNIT_TIME, "s", units_s_from_ps(r->duration_greatest_ps),
        "the longest time from a flow's start to its end");
    if (last_s > 0.0)
        add(c, "throughput", UNIT_RATE, "B/s", (double)r->bytes / last_s,
            "bytes of all flows by the time the last one ended");
    if (topology_loses(c->result->fabric)) {
        const network_counters n = network_counters_of(c->network);
        add(c, "retransmitted_bytes", UNIT_BYTES, "B", (double)n.retransmitted_bytes,
            "what connections sent again, beside the bytes of the flows");
        add(c, "timeouts", UNIT_NONE, "1", (double)n.timeouts,
            "times that a flow waited until its lost end was sent again");
    }
    list_assumptions(c);
    recorder_write_summary(c->tables, (trace_opt_int){ 0 }, &c->result->run.summary);
    summary_digest(&c->result->run.summary, c->sim);
    if (c->result->run.state == RUN_DONE) c->result->run.digest = sim_digest(c->sim);
}

// Keeps the busiest links, the earlier one where two are equally busy.
static void note_hot_link(traffic_context *c, link_id link, uint64_t bytes, double busy_ratio)
{
    traffic_run_result *r = c->result;
    uint32_t place = r->hottest_count;
    while (place > 0 && r->hottest[place - 1].busy_ratio < busy_ratio)
        place--;
    if (place == HOT_LINKS_MAX) return;
    if (r->hottest_count < HOT_LINKS_MAX) r->hottest_count++;
    for (uint32_t i = r->hottest_count - 1; i > place; i--)
        r->hottest[i] = r->hottest[i - 1];
    char name[192];
    r->hottest[place] = (hot_link){
        .name = arena_text(c->arena, topology_link_name(c->result->fabric, link, name, sizeof(name))),
        .bytes = bytes,
        .busy_ratio = busy_ratio,
    };
}

static void find_hot_links(traffic_context *c)
{
    const topology *fabric = c->result->fabric;
    const sim_time end_ps = end_of_flows(c);
    if (end_ps == 0) return; // no time has passed, so no link was busy for a share of it
    for (link_id l = 0; l < topology_link_count(fabric); l++) {
        const uint64_t bytes = network_link_bytes(c->network, l);
        const double rate_Bps = (double)topology_link_at(fabric, l)->rate_mBps / 1000.0;
        if (bytes) note_hot_link(c, l, bytes, (double)bytes / rate_Bps / units_s_from_ps(end_ps));
    }
}

static void count(traffic_context *c)
{
    const network_counters network_ = network_counters_of(c->network);
    const sim_counters sim_ = sim_counters_of(c->sim);
    c->result->run.counters = (run_counters){ .events = sim_.handled,
                                              .transfers = network_.delivered,
                                              .bytes_sent = network_.bytes_sent,
                                              .trace_rows = c->trace ? trace_rows_written(c->trace) : 0,
                                              .pending_high_water = sim_.pending_high_water,
                                              .arena_bytes = arena_high_water_bytes(c->arena) };
    c->result->has_fluid = network_engine_of(c->network) == ENGINE_FLUID;
    if (c->result->has_fluid) c->result->fluid = fluid_counters_of(c->network);
}

static bool execute(traffic_context *c)
{
    c->result->run.state = RUN_FAILED;
    if (!build(c) || !open_output(c)) return false;
    const bool played = play(c);
    c->result->run.wall_s = os_wall_s() - c->start_wall_s;
    c->result->run.cpu_s = os_cpu_s() - c->start_cpu_s;
    if (!c->failed) {
        sample_links(c, end_of_flows(c));
        find_hot_links(c);
        link_alerts_find(c->arena, c->network, &c->result->run.alerts);
        summarise(c);
    }
    count(c);
    return run_output_close(c->tables, &c->trace, &c->result->run, c->error) && played;
}

static bool out_of_memory(traffic_context *c)
{
    c->result->run.state = RUN_FAILED;
    sim_fail(c->error, SIM_EXIT_INPUT, NULL, "out of memory");
    run_output_end(c->tables, &c->trace, c->has_started, &c->result->run, c->error);
    return false;
}

// The functions that set the escape change no variable of their own afterwards, so none can be lost by the jump.
static bool execute_guarded(traffic_context *c)
{
    if (setjmp(c->escape)) return out_of_memory(c);
    arena_set_escape(c->arena, &c->escape);
    return execute(c);
}

bool traffic_run_execute(const traffic_run_options *options, traffic_run_result *result, sim_error *error)
{
    traffic_context c = { .options = options,
                          .result = result,
                          .error = error,
                          .start_wall_s = os_wall_s(),
                          .start_cpu_s = os_cpu_s() };
    SIM_ASSERT(!options->run.progress);
    *result = (traffic_run_result){ 0 };
    if (!run_load(&options->run, false, &result->run, error)) {
        result->run.state = RUN_FAILED;
        return false;
    }
    c.arena = result->run.arena;
    c.scenario = result->run.scenario;
    const bool good = execute_guarded(&c);
    arena_set_escape(c.arena, NULL);
    if (c.sim) sim_destroy(c.sim);
    return good;
}

void traffic_run_free(traffic_run_result *result)
{
    run_free(&result->run);
    *result = (traffic_run_result){ 0 };
}
