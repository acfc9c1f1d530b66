// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/world.h"
#include "models/cluster_degraded.h"
#include "models/cluster_fabric.h"
#include "models/collective/tuner.h"
#include "models/network/fluid_network.h"
#include "models/world_beside.h"
#include "models/world_clock.h"
#include "models/world_shares.h"
#include "sim/words.h"

// Each operation of a lane takes up to 24 bytes, those of its message or data call: 1.2 GB. Its row of the program serves all
// lanes of the stage, and idle time has a limit of its own (models/training/blame.c).
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

// ---- ranks and lanes

static void place_ranks(world *w)
{
    const scenario *s = w->scenario;
    const uint32_t ranks = s->plan.gpus;
    const placement_def placement = scenario_placement(s, w->arena);
    double *clock = arena_array(w->arena, double, ranks), *memory = arena_array(w->arena, double, ranks);
    w->gpus = degraded_gpus(w->arena, &s->cluster.degraded, w->fabric);
    w->gpu_of_rank = placement_build(w->arena, &placement);
    w->vertex_of_rank = arena_array(w->arena, vertex_id, ranks);
    for (rank_id r = 0; r < ranks; r++) {
        clock[r] = w->gpus.clock_ratio[w->gpu_of_rank[r]];
        memory[r] = w->gpus.memory_ratio[w->gpu_of_rank[r]];
        w->vertex_of_rank[r] = topology_gpu_vertex(w->fabric, w->gpu_of_rank[r]);
    }
    w->health = (gpu_health){ .clock_ratio = clock, .memory_ratio = memory };
}

static fold_question fold_question_of(const world *w, parallel_sizes sizes)
{
    return (fold_question){ .fabric = w->fabric,
                            .sizes = sizes,
                            .gpu_of_rank = w->gpu_of_rank,
                            .health = w->health,
                            .messages = w->scenario->network.grain == GRAIN_MESSAGES,
                            .data_to_all = scenario_gradient_coding(w->scenario).kind == CODING_QUANTIZE,
                            .counts_together = w->scenario->network.bottleneck_count };
}

static bool are_multiples(const tensor_call *calls, uint32_t count, uint64_t multiple)
{
    for (uint32_t i = 0; i < count; i++)
        if (calls[i].bytes % multiple != 0) return false;
    return true;
}

// Whether all ranks of each tensor-parallel group send and receive alike in it: along rings, through the switch, or to all.
static bool is_even(const world *w, const tensor_call *call, const layout_list *layouts)
{
    for (uint32_t i = 0; i < layouts->count; i++) {
        const collective_choice choice = tuner_choose(
            &w->scenario->network.collectives, &layouts->items[i], call->kind, call->bytes,
            scenario_forced_algorithm(w->scenario), scenario_forced_protocol(w->scenario));
        if (choice.algorithm != ALGORITHM_RING && choice.algorithm != ALGORITHM_NVLS &&
            choice.algorithm != ALGORITHM_PAIRWISE)
            return false;
    }
    return true;
}

static bool are_even(const world *w, const tensor_call *calls, uint32_t count, const layout_list *layouts)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_even(w, &calls[i], layouts)) return false;
    return true;
}

// Otherwise folding is not exact, where other traffic crosses the links of a group.
static bool calls_are_even(const world *w)
{
    const layout_list *layouts = world_find_shares(w).tensor.layouts;
    for (uint32_t i = 0; i < w->costs.chunk_count; i++) {
        const chunk_costs *costs = &w->costs.chunks[i]->costs;
        if (!are_even(w, costs->tensor_calls, costs->tensor_call_count, layouts)) return false;
    }
    for (uint32_t stage = 0; stage < w->stages.stages; stage++) {
        const tensor_call_array *calls = &w->programs[stage].tensor_calls;
        if (!are_even(w, calls->items, calls->count, layouts)) return false;
    }
    return true;
}

// Of all tensor-parallel collectives, or folding is not exact (fold_tensor_multiple()).
static bool calls_are_multiples(const world *w, uint64_t multiple)
{
    for (uint32_t i = 0; i < w->costs.chunk_count; i++) {
        const chunk_costs *costs = &w->costs.chunks[i]->costs;
        if (!are_multiples(costs->tensor_calls, costs->tensor_call_count, multiple)) return false;
    }
    for (uint32_t stage = 0; stage < w->stages.stages; stage++) {
        const tensor_call_array *calls = &w->programs[stage].tensor_calls;
        if (!are_multiples(calls->items, calls->count, multiple)) return false;
    }
    return true;
}

static bool build_lanes(world *w, bool folded, sim_error *error)
{
    w->folded = folded;
    gpu_taken beside[BESIDE_GROUPS];
    lanes_build(w->arena, scenario_sizes(w->scenario), folded, w->health, &w->lanes);
    world_beside(w, beside);
    return world_build_costs(w->arena, w->scenario, w->gpu, &w->stages, &w->lanes, beside, &w->costs, error);
}

// ---- programs

static program_settings program_settings_of(const world *w)
{
    const scenario *s = w->scenario;
    const kernel_settings kernels = scenario_kernel_settings(s);
    return (program_settings){
        .schedule = &w->schedule,
        .stages = &w->stages,
        .data = s->plan.data,
        .tensor = s->plan.tensor,
        .sharding = s->plan.sharding,
        .sequence_parallel = s->plan.sequence_parallel,
        .scatter_gather = s->plan.scatter_gather,
        .overlap_gradients = s->plan.overlap_gradients,
        .overlap_parameters = s->plan.overlap_parameters,
        .overlap_pipeline = s->plan.overlap_pipeline,
        .owners_broadcast = s->plan.owners_broadcast,
        .tied_table = s->model.tied_embeddings,
        .coding = scenario_gradient_coding(s),
        .gradient_bytes = dtype_bytes((dtype)s->training.gradient_dtype),
        .parameter_bytes = dtype_bytes((dtype)s->training.precision),
        .activation_bytes = (uint64_t)(dtype_bytes(kernels.precision) * (double)kernels.micro_batch *
                                       (double)kernels.sequence_length * (double)s->model.hidden),
        .table_elements = kernels_table_elements(&s->model, s->plan.tensor),
    };
}

static bool check_operations(const world *w, sim_error *error)
{
    const scenario *s = w->scenario;
    uint64_t operations = 0;
    for (uint32_t stage = 0; stage < w->stages.stages; stage++)
        operations += w->programs[stage].ops.count + w->programs[stage].data_calls.count;
    operations *= w->lanes.count / w->stages.stages;
    if (operations <= WORLD_OPERATIONS_MAX) return true;
    char count[WORDS_GROUPED_SIZE];
    sim_fail(error, SIM_EXIT_INPUT, bind_place_of(s->reader, &s->training.global_batch),
             "%u lanes with %s operations together are more than the %d million operations of a step that "
             "are played",
             w->lanes.count, words_grouped(count, operations), WORLD_OPERATIONS_MAX / 1000000);
    return sim_hint(error, "a smaller global_batch, or a larger training.micro_batch or plan.bucket");
}

// What a program depends on is the same in all states of health, so one of each stage serves all its lanes.
static void build_programs(world *w)
{
    const program_settings settings = program_settings_of(w);
    w->programs = arena_array(w->arena, program, w->stages.stages);
    for (uint32_t i = 0; i < w->costs.stage_count; i++) {
        const costed_stage *stage = w->costs.stages[i];
        program *out = &w->programs[stage->stage];
        if (out->ops.count == 0) program_build(w->arena, stage->stage, stage->costs.chunks, &settings, out);
    }
}

static bool build_work(world *w, const world_options *options, sim_error *error)
{
    const scenario *s = w->scenario;
    const parallel_sizes sizes = scenario_sizes(s);
    const step_listener *listener = &options->listener;
    const fold_question question = fold_question_of(w, sizes);
    const bool wanted = s->run.fold == FOLD_NODE && sizes.tensor > 1;
    if (!build_lanes(w, wanted && fold_is_exact(w->arena, &question, &w->obstacle), error)) return false;
    build_programs(w);
    const uint64_t multiple = w->folded ? fold_tensor_multiple(w->arena, &question) : 1;
    if (!calls_are_multiples(w, multiple) || (multiple > 1 && !calls_are_even(w))) {
        w->obstacle = (fold_obstacle){ .kind = FOLD_TENSOR_LOADS_UNEVENLY, .rank = 0, .link = NO_ID };
        if (!build_lanes(w, false, error)) return false;
    }
    w->alone_tensor = w->folded && multiple == 1 && !options->play_tensor && !listener->on_span &&
                      !listener->on_collective && !listener->on_transfer && network_is_steady(w->network);
    return check_operations(w, error);
}

// ---- the player

static void build_player(world *w, const step_listener *listener)
{
    const scenario *s = w->scenario;
    const bool restarts = !s->plan.overlap_pipeline && s->plan.pipeline > 1;
    w->player = step_player_create(
        w->arena, w->sim, w->network,
        &(step_settings){
            .lanes = &w->lanes,
            .vertex_of_rank = w->vertex_of_rank,
            .programs = w->programs,
            .schedule = &w->schedule.def,
            .costs_of_lane = w->costs.of_lane,
            .tied_table = s->model.tied_embeddings,
            .overlap_pipeline = s->plan.overlap_pipeline,
            .alone_tensor = w->alone_tensor,
            .restart_ps = restarts ? PROGRAM_RESTART_CALLS * roofline_launch_ps(w->gpu) : 0,
            .alone_sim = w->alone,
            .library = &s->network.collectives,
            .hardware = w->hardware,
            .grain = (collective_grain)s->network.grain,
            .forced_protocol = scenario_forced_protocol(s),
            .forced_algorithm = scenario_forced_algorithm(s),
            .steps = s->run.steps,
            .tokens_per_step = s->training.global_batch * s->training.sequence_length,
            .listener = *listener,
        });
}

static bool check_messages(const world *w, sim_error *error)
{
    const uint64_t messages = step_player_plan_messages(w->player);
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
    if (options->ignore_memory)
        w->memory = world_memory(w->arena, s);
    else if (!world_check_memory(w->arena, s, &w->memory, error))
        return false;
    const stages_def layers = scenario_stages(s);
    const schedule_def order = scenario_schedule(s);
    const sim_options clock = { .queue = options->queue, .reverse_phases = options->reverse_phases };
    w->stages = stages_build(w->arena, &layers);
    w->schedule = schedule_build(w->arena, &order);
    w->fabric = world_build_fabric(w->arena, s, error);
    if (!w->fabric) return false;
    w->gpu = roofline_create(w->arena, &s->cluster.node.gpu);
    roofline_use_times(w->gpu, &s->training.kernel_times);
    w->sim = sim_create(w->arena, &clock);
    w->network = world_build_network(w->arena, s, w->sim, w->fabric);
    w->hardware = scenario_hardware(w->arena, s);
    place_ranks(w);
    if (!build_work(w, options, error) || !world_check_clock(w, error)) return false;
    if (w->alone_tensor) w->alone = sim_create(w->arena, &clock);
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
    if (!w) return;
    if (w->sim) sim_destroy(w->sim);
    if (w->alone) sim_destroy(w->alone);
}
