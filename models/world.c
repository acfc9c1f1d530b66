// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/world.h"
#include "models/cluster_degraded.h"
#include "models/cluster_fabric.h"
#include "models/network/fluid_network.h"
#include "models/network/routing.h"
#include "sim/array.h"
#include "sim/words.h"
#include <math.h>

// Each operation of a lane takes about 100 bytes.
#define WORLD_OPERATIONS_MAX 50000000

// Each message of a plan takes about 80 bytes: itself (40), who waits for it (17), its state while it is played (9), and what
// is needed once to find that out (12). All together 2 GB.
#define WORLD_MESSAGES_MAX 25000000

topology *world_build_fabric(arena *a, const scenario *s, sim_error *error)
{
    return fabric_build(a, &s->cluster, s->run.seed, s->reader, error);
}

network *world_build_network(arena *a, const scenario *s, sim *engine, const topology *fabric)
{
    if (s->network.engine == ENGINE_IDEAL) return network_create_ideal(a, engine, fabric);
    SIM_ASSERT(s->network.engine == ENGINE_FLUID); // scenario_check() refuses the others
    const int transport = s->cluster.fabric.transport - 1;
    return network_create_fluid(a, engine, fabric,
                                &(fluid_options){
                                    .flows = topology_gpu_count(fabric) + topology_nic_count(fabric),
                                    .resends = transport == TRANSPORT_ROCE || transport == TRANSPORT_TCP,
                                    .completion_window = s->network.completion_window,
                                    .bottleneck_count = s->network.bottleneck_count,
                                });
}

bool world_build_costs(arena *a, const scenario *s, const roofline *gpu, double clock_ratio,
                       double memory_ratio, pass_costs *out, sim_error *error)
{
    const stages_def layers = scenario_stages(s);
    const stage_table table = stages_build(a, &layers);
    const pass_settings settings = {
        .memory = scenario_memory_settings(s, &table, 0),
        .micro_batches = scenario_micro_batches(s),
        .clock_ratio = clock_ratio,
        .memory_ratio = memory_ratio,
        .where = bind_place_of(s->reader, &s->cluster.node),
    };
    return pass_build(a, &s->model, gpu, &settings, out, error);
}

// GPUs in the same state of health share their costs; a job has few states.
static bool build_costs_of_lanes(world *w, sim_error *error)
{
    const lane_table *table = &w->lanes;
    w->costs_of_lane = arena_array(w->arena, const pass_costs *, table->count);
    w->costs = arena_array(w->arena, pass_costs, table->count);
    for (lane_id l = 0; l < table->count; l++) {
        const lane_def *lane = &table->lanes[l];
        uint32_t i = 0;
        while (i < w->cost_count && (w->costs[i].clock_ratio != lane->clock_ratio ||
                                     w->costs[i].memory_ratio != lane->memory_ratio))
            i++;
        if (i == w->cost_count && !world_build_costs(w->arena, w->scenario, w->gpu, lane->clock_ratio,
                                                     lane->memory_ratio, &w->costs[w->cost_count++], error))
            return false;
        w->costs_of_lane[l] = &w->costs[i];
    }
    return true;
}

uint64_t world_ranks_with(const world *w, const pass_costs *costs)
{
    uint64_t ranks = 0;
    for (lane_id l = 0; l < w->lanes.count; l++)
        if (w->costs_of_lane[l] == costs) ranks += w->lanes.lanes[l].multiplicity;
    return ranks;
}

static void build_lanes(world *w)
{
    const scenario *s = w->scenario;
    const placement_def placement = scenario_placement(s, w->arena);
    double *clock = arena_array(w->arena, double, s->plan.gpus),
           *memory = arena_array(w->arena, double, s->plan.gpus);
    w->gpus = degraded_gpus(w->arena, &s->cluster.degraded, w->fabric);
    w->gpu_of_rank = placement_build(w->arena, &placement);
    for (rank_id r = 0; r < s->plan.gpus; r++) {
        clock[r] = w->gpus.clock_ratio[w->gpu_of_rank[r]];
        memory[r] = w->gpus.memory_ratio[w->gpu_of_rank[r]];
    }
    w->health = (gpu_health){ .clock_ratio = clock, .memory_ratio = memory };
    lanes_build(w->arena, scenario_sizes(s), s->run.fold == FOLD_NODE, w->health, &w->lanes);
    w->vertex_of_lane = arena_array(w->arena, vertex_id, w->lanes.count);
    for (lane_id l = 0; l < w->lanes.count; l++)
        w->vertex_of_lane[l] = topology_gpu_vertex(w->fabric, w->gpu_of_rank[w->lanes.lanes[l].first_rank]);
}

// Bucket boundaries do not depend on a GPU's health, so one program serves all lanes.
static bool build_program(world *w, sim_error *error)
{
    const scenario *s = w->scenario;
    const program_settings settings = {
        .micro_batches = scenario_micro_batches(s),
        .data = s->plan.data,
        .sharding = s->plan.sharding,
        .overlap_gradients = s->plan.overlap_gradients,
        .gradient_bytes = dtype_bytes((dtype)s->training.gradient_dtype),
        .parameter_bytes = dtype_bytes((dtype)s->training.precision),
    };
    program_build(w->arena, &w->costs[0], &settings, &w->program);
    const uint64_t operations = (uint64_t)w->lanes.count * w->program.ops.count;
    if (operations <= WORLD_OPERATIONS_MAX) return true;
    sim_fail(
        error, SIM_EXIT_INPUT, bind_place_of(s->reader, &s->training.global_batch),
        "%u lanes with %u operations each are more than the %d million operations of a step that are played",
        w->lanes.count, w->program.ops.count, WORLD_OPERATIONS_MAX / 1000000);
    return sim_hint(error, "a smaller global_batch, or a larger training.micro_batch or plan.bucket");
}

static void build_player(world *w, const step_listener *listener)
{
    const scenario *s = w->scenario;
    w->player = step_player_create(
        w->arena, w->sim, w->network,
        &(step_settings){
            .lanes = &w->lanes,
            .vertex_of_lane = w->vertex_of_lane,
            .program = &w->program,
            .costs_of_lane = w->costs_of_lane,
            .terms = &s->network.collectives,
            .grain = (collective_grain)s->network.grain,
            .forced_protocol = scenario_forced_protocol(s),
            .forced_algorithm = scenario_forced_algorithm(s),
            .steps = s->run.steps,
            .tokens_per_step = s->training.global_batch * s->training.sequence_length,
            .listener = *listener,
        });
}

static double longest_compute_s(const world *w)
{
    double longest_s = 0.0;
    for (uint32_t c = 0; c < w->cost_count; c++) {
        double sum_s = 0.0;
        for (uint32_t i = 0; i < w->program.ops.count; i++) {
            const work *part = program_work(&w->program.ops.items[i], &w->costs[c]);
            if (part) sum_s += units_s_from_ps(part->duration_ps);
        }
        longest_s = fmax(longest_s, sum_s);
    }
    return longest_s;
}

// All collectives one after another, each with the worst of every term: the slowest protocol, the longest links, all of
// its bytes over the slowest of them. In floating point, because what the clock cannot hold overflows integers too.
static double longest_communication_s(const world *w)
{
    const collective_terms *terms = &w->scenario->network.collectives;
    double base_s = units_s_from_ps(terms->send_recv_base_ps), hop_s = 0.0, link_s = 0.0,
           slowest_Bps = INFINITY;
    double payload_ratio = 1.0, sum_s = 0.0;
    for (int p = 0; p < PROTOCOLS; p++) {
        base_s = fmax(base_s, units_s_from_ps(terms->ring[p].base_ps));
        payload_ratio = fmin(payload_ratio, terms->ring[p].payload_ratio);
        for (int class = 0; class < LINK_CLASSES; class ++)
            hop_s = fmax(hop_s, units_s_from_ps(terms->ring[p].hop_ps[class]));
    }
    base_s = fmax(base_s, units_s_from_ps(terms->nvls.base_ps));
    for (gpu_id g = 0; g < topology_gpu_count(w->fabric); g++) {
        const uint64_t rate_mBps = topology_nvls_rate_mBps(w->fabric, topology_gpu_vertex(w->fabric, g));
        if (rate_mBps > 0) slowest_Bps = fmin(slowest_Bps, (double)rate_mBps / 1000.0);
    }
    for (link_id l = 0; l < topology_link_count(w->fabric); l++) {
        const topology_link *link = topology_link_at(w->fabric, l);
        link_s = fmax(link_s, units_s_from_ps(link->delay_ps));
        slowest_Bps = fmin(slowest_Bps, (double)link->rate_mBps / 1000.0);
    }
    const double steps = 2.0 * w->lanes.sizes.data, longest_path = route_longest(w->fabric); // in links
    for (uint32_t i = 0; i < w->program.collectives.count; i++)
        sum_s += base_s + steps * (hop_s + longest_path * link_s) +
                 2.0 * (double)w->program.collectives.items[i].bytes / payload_ratio / slowest_Bps;
    return sum_s;
}

// Before any integer time of a collective is worked out: none of them can overflow then.
static bool check_clock(const world *w, sim_error *error)
{
    const scenario *s = w->scenario;
    const double step_s = longest_compute_s(w) + longest_communication_s(w);
    const double clock_s = units_s_from_ps(SIM_TIME_MAX) / 2.0;
    if (step_s * s->run.steps <= clock_s) return true;
    char step[32];
    units_format(UNIT_TIME, step_s, step, sizeof(step));
    sim_fail(error, SIM_EXIT_INPUT, bind_place_of(s->reader, &s->run.steps),
             "%u steps of up to %s are more than the 53 days that the clock of a step simulation may run",
             s->run.steps, step);
    if (step_s <= clock_s) return sim_hint(error, "steps: %.0f", floor(clock_s / step_s));
    return sim_hint(error, "rates, latencies or sizes are out of range");
}

// Plans are kept for the whole run, one for each kind and size.
static uint64_t planned_messages(const world *w)
{
    const program_collective *items = w->program.collectives.items;
    uint64_t messages = 0;
    for (uint32_t i = 0; i < w->program.collectives.count; i++) {
        uint32_t same = 0;
        while (items[same].kind != items[i].kind || items[same].bytes != items[i].bytes)
            same++;
        if (same < i) continue;
        const collective_request request = { .kind = items[i].kind, .bytes = items[i].bytes };
        messages += collective_message_count(step_player_collectives(w->player), &request);
    }
    return messages;
}

static bool check_messages(const world *w, sim_error *error)
{
    const uint64_t messages = planned_messages(w);
    if (messages <= WORLD_MESSAGES_MAX) return true;
    char count[WORDS_GROUPED_SIZE];
    sim_fail(error, SIM_EXIT_INPUT, bind_place_of(w->scenario->reader, &w->scenario->network.grain),
             "the collectives of a step have %s messages; at most %d million, which take 2 GB of memory, are "
             "played one by one",
             words_grouped(count, messages), WORLD_MESSAGES_MAX / 1000000);
    return sim_hint(error, "grain: streams");
}

static bool build(world *w, const world_options *options, sim_error *error)
{
    const scenario *s = w->scenario;
    if (!world_check_memory(w->arena, s, &w->memory, error)) return false;
    w->fabric = world_build_fabric(w->arena, s, error);
    if (!w->fabric) return false;
    w->gpu = roofline_create(w->arena, &s->cluster.node.gpu);
    w->sim = sim_create(w->arena,
                        &(sim_options){ .queue = options->queue, .reverse_phases = options->reverse_phases });
    w->network = world_build_network(w->arena, w->scenario, w->sim, w->fabric);
    build_lanes(w);
    if (!build_costs_of_lanes(w, error) || !build_program(w, error) || !check_clock(w, error)) return false;
    build_player(w, &options->listener);
    return check_messages(w, error);
}

bool world_create(arena *a, const scenario *s, const world_options *options, world **out, sim_error *error)
{
    world *w = *out = arena_new(a, world);
    w->arena = a;
    w->scenario = s;
    if (build(w, options, error)) return true;
    world_destroy(w);
    *out = NULL;
    return false;
}

void world_destroy(world *w)
{
    if (w && w->sim) sim_destroy(w->sim);
}
