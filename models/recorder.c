// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/recorder_internal.h"
#include "sim/array.h"
#include "sim/os.h"

recorder *recorder_create(arena *a)
{
    recorder *r = arena_new(a, recorder);
    r->a = a;
    return r;
}

void recorder_on_step(recorder *r, bool (*after_step)(void *owner), void *owner)
{
    r->after_step = after_step;
    r->owner = owner;
}

// ---- What there is ----

static const char *catalogue_name(const cluster_def *c, const topology_vertex *vertex)
{
    switch (vertex->kind) {
    case VERTEX_GPU: return cluster_node_at(c, vertex->node)->gpu.name;
    case VERTEX_NIC: return cluster_node_at(c, vertex->node)->nic.name;
    case VERTEX_LEAF:
    case VERTEX_SPINE:
    case VERTEX_CORE: return cluster_switch_of_tier(c, (uint32_t)(vertex->kind - VERTEX_LEAF))->name;
    case VERTEX_NVSWITCH:
    case VERTEX_PCIE:
    case VERTEX_CPU:
    case VERTEX_KINDS: break;
    }
    return NULL;
}

part_bases recorder_write_parts(tables *t, const topology *fabric, const cluster_def *cluster,
                                gpu_health health)
{
    const uint32_t nodes = topology_node_count(fabric), vertices = topology_vertex_count(fabric);
    const part_bases bases = { .first_vertex = nodes, .first_link = nodes + vertices };
    char name[192];
    for (node_id n = 0; n < nodes; n++) {
        snprintf(name, sizeof(name), "node %u", n);
        tables_write_part(t, &(row_part){ .part_id = n,
                                          .kind = "node",
                                          .name = name,
                                          .catalogue = cluster_node_at(cluster, n)->name,
                                          .health_ratio = 1.0 });
    }
    for (vertex_id v = 0; v < vertices; v++) {
        const topology_vertex *vertex = topology_vertex_at(fabric, v);
        tables_write_part(t, &(row_part){ .part_id = bases.first_vertex + v,
                                          .kind = vertex_kind_words[vertex->kind],
                                          .name = topology_vertex_name(fabric, v, name, sizeof(name)),
                                          .catalogue = catalogue_name(cluster, vertex),
                                          .parent_part_id = tables_id(vertex->node),
                                          .health_ratio = vertex->kind == VERTEX_GPU
                                                              ? health.clock_ratio[topology_gpu_of(fabric, v)]
                                                              : 1.0 });
    }
    for (link_id l = 0; l < topology_link_count(fabric); l++) {
        const topology_link *link = topology_link_at(fabric, l);
        tables_write_part(t, &(row_part){ .part_id = bases.first_link + l,
                                          .kind = link_class_words[link->class],
                                          .name = topology_link_name(fabric, l, name, sizeof(name)),
                                          .source_part_id = known_int(bases.first_vertex + link->from),
                                          .destination_part_id = known_int(bases.first_vertex + link->to),
                                          .rate_Bps = known_real((double)link->rate_mBps / 1000.0),
                                          .delay_ps = known_int(link->delay_ps),
                                          .health_ratio = link->health_ratio });
    }
    return bases;
}

void recorder_write_env(tables *t, const char *arguments)
{
    char host[256], date[32];
    os_host_name(host, sizeof(host));
    os_date_utc(date, sizeof(date));
    tables_write_run_env(t, &(row_run_env){ .run_id = 1,
                                            .host = host,
                                            .date_utc = date,
                                            .compiler = WINDTUNNEL_COMPILER,
                                            .sqlite_version = trace_library_version(),
                                            .arguments = arguments ? arguments : "",
                                            .cores = os_cores() });
}

static void describe_ranks(recorder *r)
{
    const world *w = r->world;
    const lane_table *table = &w->lanes;
    for (rank_id rank = 0; rank < parallel_ranks(table->sizes); rank++) {
        const parallel_place place = parallel_place_of(table->sizes, rank);
        tables_write_rank(
            r->tables, &(row_rank){ .rank_id = rank,
                                    .rank = rank,
                                    .gpu_part_id = known_int(r->parts.first_vertex + w->vertex_of_rank[rank]),
                                    .lane_id = table->lane_of_rank[rank],
                                    .tensor = place.tensor,
                                    .data = place.data,
                                    .pipeline = place.pipeline });
    }
    for (lane_id l = 0; l < table->count; l++) {
        const lane_def *lane = &table->lanes[l];
        const uint32_t stage = lane->place.pipeline;
        tables_write_lane(
            r->tables, &(row_lane){ .lane_id = l,
                                    .first_rank_id = lane->first_rank,
                                    .multiplicity = lane->multiplicity,
                                    .stage = stage,
                                    .layers = known_int(stage_layers(&w->stages, stage)),
                                    .clock_ratio = lane->clock_ratio,
                                    .memory_ratio = lane->memory_ratio,
                                    .memory_need_bytes = known_int(recorder_lane_memory(w, l)),
                                    .memory_bytes = known_int(w->scenario->cluster.node.gpu.memory_bytes) });
    }
}

static void write_kernels(recorder *r, const kernel_use *uses, uint32_t count, double clock_ratio,
                          uint64_t times)
{
    for (uint32_t k = 0; k < count; k++) {
        const kernel_use *use = &uses[k];
        tables_write_kernel(r->tables, &(row_kernel){ .kernel_id = r->kernels++,
                                                      .name = use->shape.name,
                                                      .class = kernel_class_words[use->shape.class],
                                                      .dtype = dtype_words[use->shape.type],
                                                      .gpu = r->world->scenario->cluster.node.gpu.name,
                                                      .batch = use->shape.batch,
                                                      .m = use->shape.m,
                                                      .n = use->shape.n,
                                                      .k = use->shape.k,
                                                      .clock_ratio = clock_ratio,
                                                      .flop = use->shape.flop,
                                                      .bytes = use->shape.bytes,
                                                      .time_ps = use->cost.time_ps,
                                                      .bound = kernel_bound_words[use->cost.bound],
                                                      .efficiency_ratio = use->cost.efficiency,
                                                      .launches = use->shape.launches,
                                                      .calls_per_step = use->calls * times });
    }
}

static void describe_kernels(recorder *r)
{
    const world_costs *costs = &r->world->costs;
    const uint64_t micro_batches = r->world->schedule.def.micro_batches;
    for (uint32_t c = 0; c < costs->chunk_count; c++) {
        const costed_chunk *chunk = costs->chunks[c];
        write_kernels(r, chunk->costs.kernels, chunk->costs.kernel_count, chunk->costs.clock_ratio,
                      chunk->users * micro_batches);
        write_kernels(r, chunk->costs.coding_kernels, chunk->costs.coding_kernel_count,
                      chunk->costs.clock_ratio, chunk->users);
    }
    for (uint32_t o = 0; o < costs->optimizer_count; o++) {
        const costed_optimizer *optimizer = costs->optimizers[o];
        write_kernels(r, optimizer->costs.kernels, optimizer->costs.kernel_count, optimizer->clock_ratio,
                      optimizer->users);
    }
}

void recorder_describe(recorder *r, const world *w, tables *t)
{
    r->world = w;
    r->tables = t;
    uint32_t links;
    topology_degraded_links(w->fabric, &links);
    r->link_bytes = arena_array(r->a, uint64_t, topology_link_count(w->fabric));
    r->link_troubles = arena_array(r->a, link_troubles, topology_link_count(w->fabric));
    r->blame_of_stage = arena_array(r->a, unsigned __int128, (size_t)w->stages.stages *BLAME_CAUSES);
    r->peer_by_lane = arena_array(r->a, unsigned __int128, w->lanes.count);
    r->bubble_by_lane = arena_array(r->a, unsigned __int128, w->lanes.count);
    r->caused_by_link = arena_array(r->a, unsigned __int128, links);
    r->parts = recorder_write_parts(t, w->fabric, &w->scenario->cluster, w->gpus);
    describe_ranks(r);
    describe_kernels(r);
}

// ---- What happens ----

static void on_span(void *owner, const step_span *span)
{
    recorder *r = owner;
    const work *w = span->work;
    row_span row = {
        .span_id = r->spans++,
        .step = span->step,
        .lane_id = span->lane,
        .stream_id = tables_name(r->tables, op_stream_words[span->stream]),
        .kind_id = tables_name(r->tables, span->name),
        .micro_batch = tables_id(span->micro_batch),
        .chunk = tables_id(span->chunk),
        .start_ps = span->start_ps,
        .end_ps = span->end_ps,
    };
    if (w) {
        row.launch_ps = known_int(span->launch_ps);
        row.kernels = w->kernels;
        row.flop = w->flop;
        row.bytes = w->bytes;
    } else {
        row.collective_id = known_int(span->collective);
        row.bytes = (double)span->bytes;
    }
    tables_write_span(r->tables, &row);
}

static trace_opt_real rate_of(double bytes, sim_time duration_ps)
{
    if (duration_ps <= 0 || bytes <= 0.0) return (trace_opt_real){ .known = false };
    return known_real(bytes / units_s_from_ps(duration_ps));
}

// busbw of nccl-tests: algbw x 2 (n-1)/n for all-reduce, x (n-1)/n for all-gather, reduce-scatter and all-to-all, x 1
// for send/recv, broadcast and reduce.
static double bus_factor(collective_kind kind, uint32_t ranks)
{
    const double n = ranks;
    switch (kind) {
    case COLLECTIVE_ALL_REDUCE:
    case COLLECTIVE_BARRIER: return 2.0 * (n - 1.0) / n;
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALL_GATHER:
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_ALL_TO_ALL_UNEQUAL: return (n - 1.0) / n;
    case COLLECTIVE_SEND_RECV:
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_REDUCE: return 1.0;
    case COLLECTIVE_KINDS: break;
    }
    SIM_ASSERT(kind < COLLECTIVE_KINDS);
    return 0.0;
}

static void on_collective(void *owner, const step_collective *told)
{
    recorder *r = owner;
    const collective_result *c = told->result;
    const char *label = collectives_group(step_player_collectives(r->world->player), c->group)->label;
    const sim_time duration = c->end_ps - c->last_arrival_ps;
    tables_write_collective(
        r->tables,
        &(row_collective){ .collective_id = told->number,
                           .step = told->step,
                           .kind_id = tables_name(r->tables, collective_kind_words[c->kind]),
                           .purpose_id = tables_name(r->tables, told->name),
                           .group_kind_id = tables_name(r->tables, label),
                           .group_id = c->group,
                           .algorithm_id = tables_name(r->tables, collective_algorithm_words[c->algorithm]),
                           .protocol_id = tables_name(r->tables, collective_protocol_words[c->protocol]),
                           .grain_id = tables_name(r->tables, collective_grain_words[c->grain]),
                           .ranks = c->ranks,
                           .multiplicity = c->multiplicity,
                           .bytes = c->bytes,
                           .payload_bytes = c->payload_bytes,
                           .first_arrival_ps = c->first_arrival_ps,
                           .last_arrival_ps = c->last_arrival_ps,
                           .end_ps = c->end_ps,
                           .last_rank_id = known_int(r->world->lanes.lanes[told->last_lane].first_rank),
                           .algorithm_Bps = rate_of((double)c->bytes, duration),
                           .bus_Bps = rate_of((double)c->bytes * bus_factor(c->kind, c->ranks), duration) });
}

static void on_transfer(void *owner, uint32_t step, uint64_t collective, const group_def *group,
                        const collective_transfer *moved)
{
    recorder *r = owner;
    tables_write_transfer(r->tables,
                          &(row_transfer){ .transfer_id = r->transfers++,
                                           .job_id = known_int(0),
                                           .step = known_int(step),
                                           .collective_id = known_int(collective),
                                           .source_part_id = r->parts.first_vertex + moved->from,
                                           .destination_part_id = r->parts.first_vertex + moved->to,
                                           .class_id = tables_name(r->tables, group->label),
                                           .bytes = moved->bytes,
                                           .multiplicity = group->multiplicity,
                                           .start_ps = moved->start_ps,
                                           .end_ps = moved->end_ps });
}

step_listener recorder_listener(recorder *r, trace_level level)
{
    return (step_listener){
        .on_span = level >= tables_all[TABLE_SPAN].level ? on_span : NULL,
        .on_collective = level >= tables_all[TABLE_COLLECTIVE].level ? on_collective : NULL,
        .on_transfer = level >= tables_all[TABLE_TRANSFER].level ? on_transfer : NULL,
        .on_step = recorder_end_step,
        .owner = r,
    };
}

// ---- Totals ----

void recorder_write_summary(tables *t, trace_opt_int job, const summary_array *summary)
{
    for (uint32_t i = 0; i < summary->count; i++) {
        const summary_value *v = &summary->items[i];
        row_summary row = { .summary_id = i + 1,
                            .job_id = job,
                            .metric = v->metric,
                            .unit = v->unit,
                            .reason = v->reason,
                            .explanation = v->explanation };
        if (v->known) row.value = known_real(v->value);
        tables_write_summary(t, &row);
    }
}

sim_time recorder_too_long_step_ps(const recorder *r)
{
    return r->too_long_step_ps;
}

summary_input recorder_totals(const recorder *r)
{
    return (summary_input){
        .world = r->world,
        .step_s = r->step_s,
        .played_ps = r->played_ps,
        .blame_ps = r->blame_ps,
        .blame_of_stage = r->blame_of_stage,
        .gpu_time_ps = r->gpu_time_ps,
        .peer_by_lane = r->peer_by_lane,
        .bubble_by_lane = r->bubble_by_lane,
        .caused_by_link = r->caused_by_link,
        .link_bytes = r->link_bytes,
    };
}

trace_estimate recorder_estimate(const world *w)
{
    const uint64_t steps = w->scenario->run.steps, lanes = w->lanes.count;
    const step_counts counts = step_player_counts(w->player);
    uint64_t kernels = 0;
    for (uint32_t c = 0; c < w->costs.chunk_count; c++)
        kernels += w->costs.chunks[c]->costs.kernel_count + w->costs.chunks[c]->costs.coding_kernel_count;
    for (uint32_t o = 0; o < w->costs.optimizer_count; o++)
        kernels += w->costs.optimizers[o]->costs.kernel_count;
    trace_estimate e = { 0 };
    e.rows[TRACE_SUMMARY] = topology_node_count(w->fabric) + topology_vertex_count(w->fabric) +
                            topology_link_count(w->fabric) + parallel_ranks(w->lanes.sizes) + lanes + kernels;
    // Causes that occur are few: compute in four kinds, launches, bubble, waiting for peers and for the pipeline, and the
    // exposed part of what is communicated.
    const uint64_t causes = 10;
    e.rows[TRACE_STEPS] = e.rows[TRACE_SUMMARY] +
                          steps * (1 + causes + lanes * (1 + causes) + topology_link_count(w->fabric));
    e.rows[TRACE_SPANS] = e.rows[TRACE_STEPS] + steps * (counts.spans + counts.collectives);
    e.rows[TRACE_TRANSFERS] = e.rows[TRACE_SPANS] + steps * counts.transfers;
    e.rows[TRACE_PACKETS] = e.rows[TRACE_TRANSFERS];
    return e;
}
