// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/breakdown.h"
#include "models/recorder_internal.h"

// ---- Where the time went ----

static void write_cause(recorder *r, const step_end *end, trace_opt_int lane, int cause, trace_opt_int part,
                        unsigned __int128 time, unsigned __int128 total)
{
    SIM_ASSERT(time <= INT64_MAX); // not more than total, of which recorder_end_step() has seen to it
    tables_write_blame(r->tables, &(row_blame){ .step = end->step,
                                                .lane_id = lane,
                                                .cause_id = tables_name(r->tables, blame_cause_words[cause]),
                                                .idle = !blame_is_compute((blame_cause)cause),
                                                .culprit_part_id = part,
                                                .time_ps = (int64_t)time,
                                                .share_ratio = (double)time / (double)total });
}

// Of all lanes together: who is named (breakdown.h) has a row of its own. Returns the time that has got such rows.
static unsigned __int128 write_culprits(recorder *r, const step_end *end, int cause, unsigned __int128 total)
{
    const world *w = r->world;
    unsigned __int128 named = 0, time;
    uint32_t links;
    for (lane_id l = 0; l < w->lanes.count; l++) {
        const lane_def *lane = &w->lanes.lanes[l];
        if (!breakdown_blames_lane(lane, (blame_cause)cause)) continue;
        time = blame_caused_by(end->accounts, l, (blame_cause)cause);
        if (!breakdown_names(lane_is_degraded(lane), time, total)) continue;
        const vertex_id gpu = w->vertex_of_rank[lane->first_rank];
        write_cause(r, end, (trace_opt_int){ 0 }, cause, known_int(r->parts.first_vertex + gpu), time, total);
        named += time;
    }
    const link_id *slow = topology_degraded_links(w->fabric, &links);
    for (uint32_t i = 0; i < links; i++) {
        time = step_player_caused_by_link(w->player, i, (blame_cause)cause);
        if (!breakdown_names(true, time, total)) continue;
        write_cause(r, end, (trace_opt_int){ 0 }, cause, known_int(r->parts.first_link + slow[i]), time,
                    total);
        named += time;
    }
    return named;
}

static void write_blame_of_all(recorder *r, const step_end *end, const unsigned __int128 *spent,
                               unsigned __int128 total)
{
    for (int cause = 0; cause < BLAME_CAUSES; cause++) {
        const unsigned __int128 rest = spent[cause] - write_culprits(r, end, cause, total);
        if (rest > 0) write_cause(r, end, (trace_opt_int){ 0 }, cause, (trace_opt_int){ 0 }, rest, total);
    }
}

static void write_blame(recorder *r, const step_end *end, lane_id lane, const unsigned __int128 *spent,
                        unsigned __int128 total)
{
    for (int cause = 0; cause < BLAME_CAUSES; cause++)
        if (spent[cause])
            write_cause(r, end, known_int(lane), cause, (trace_opt_int){ 0 }, spent[cause], total);
}

static double compute_share(const sim_time *spent, sim_time duration)
{
    sim_time busy = 0;
    for (int cause = 0; cause < BLAME_CAUSES; cause++)
        if (blame_is_compute((blame_cause)cause)) busy += spent[cause];
    return duration > 0 ? (double)busy / (double)duration : 0.0;
}

static void write_lanes(recorder *r, const step_end *end)
{
    const world *w = r->world;
    const sim_time duration = end->end_ps - end->start_ps;
    for (lane_id l = 0; l < w->lanes.count; l++) {
        const sim_time *spent = blame_of_lane(end->accounts, l);
        const uint32_t multiplicity = w->lanes.lanes[l].multiplicity;
        unsigned __int128 times[BLAME_CAUSES];
        for (int cause = 0; cause < BLAME_CAUSES; cause++)
            times[cause] = (unsigned __int128)spent[cause] * multiplicity;
        write_blame(r, end, l, times, (unsigned __int128)duration * multiplicity);
        tables_write_gpu_sample(
            r->tables, &(row_gpu_sample){ .lane_id = l,
                                          .start_ps = end->start_ps,
                                          .end_ps = end->end_ps,
                                          .busy_ratio = compute_share(spent, duration),
                                          .memory_used_bytes = known_int(recorder_lane_memory(w, l)) });
    }
}

// ---- What crossed the links ----

void recorder_add_troubles(const network *n, link_id l, link_troubles *before, row_link_sample *row)
{
    if (!topology_faults_of(network_topology(n), l)) return;
    const link_troubles now = network_link_troubles(n, l);
    row->retransmitted_packets = known_int(
        (int64_t)(now.retransmitted_packets - before->retransmitted_packets));
    row->retransmitted_bytes = known_int((int64_t)(now.retransmitted_bytes - before->retransmitted_bytes));
    row->timeouts = known_int((int64_t)(now.timeouts - before->timeouts));
    *before = now;
}

static void write_link(recorder *r, const step_end *end, link_id l, uint64_t bytes)
{
    const double duration_s = units_s_from_ps(end->end_ps - end->start_ps);
    const double rate_Bps = (double)topology_link_at(r->world->fabric, l)->rate_mBps / 1000.0;
    row_link_sample row = { .link_part_id = r->parts.first_link + l,
                            .start_ps = end->start_ps,
                            .end_ps = end->end_ps,
                            .wire_bytes = bytes,
                            .busy_ratio = (double)bytes / rate_Bps / duration_s };
    recorder_add_troubles(r->world->network, l, &r->link_troubles[l], &row);
    tables_write_link_sample(r->tables, &row);
}

static void add_links(recorder *r, const step_end *end)
{
    const bool wanted = tables_wants(r->tables, TABLE_LINK_SAMPLE);
    for (link_id l = 0; l < topology_link_count(r->world->fabric); l++) {
        const uint64_t bytes = network_link_bytes(r->world->network, l), before = r->link_bytes[l];
        r->link_bytes[l] = bytes;
        if (wanted && bytes > before) write_link(r, end, l, bytes - before);
    }
}

// ---- The step ----

static void write_step(recorder *r, const step_end *end)
{
    const scenario *s = r->world->scenario;
    const uint64_t tokens = s->training.global_batch * s->training.sequence_length;
    const double flop = llm_flop_per_token(&s->model, s->training.sequence_length, FLOP_MODEL_FULL) *
                        (double)tokens;
    const double peak_flop = s->cluster.node.gpu.peak_flops[s->training.precision] * s->plan.gpus *
                             units_s_from_ps(end->end_ps - end->start_ps);
    tables_write_step(r->tables,
                      &(row_step){ .step = end->step,
                                   .start_ps = end->start_ps,
                                   .end_ps = end->end_ps,
                                   .tokens = tokens,
                                   .sequences = s->training.global_batch,
                                   .model_flop = known_real(flop),
                                   .mfu_ratio = known_real(flop / peak_flop),
                                   .hfu_ratio = known_real(summary_executed_flop(r->world) / peak_flop) });
}

static void add_culprits(recorder *r, const step_end *end)
{
    const world *w = r->world;
    uint32_t links;
    topology_degraded_links(w->fabric, &links);
    for (lane_id l = 0; l < w->lanes.count; l++) {
        r->peer_by_lane[l] += blame_caused_by(end->accounts, l, BLAME_PEER);
        r->bubble_by_lane[l] += blame_caused_by(end->accounts, l, BLAME_BUBBLE);
    }
    for (uint32_t i = 0; i < links; i++)
        for (int cause = 0; cause < BLAME_CAUSES; cause++)
            r->caused_by_link[i] += step_player_caused_by_link(w->player, i, (blame_cause)cause);
}

// Adds the step to the sums over all; spent is that of this step. Returns the GPU time of the step.
static unsigned __int128 add_blame(recorder *r, const step_end *end, unsigned __int128 spent[BLAME_CAUSES])
{
    const world *w = r->world;
    unsigned __int128 total = 0;
    for (lane_id l = 0; l < w->lanes.count; l++) {
        const lane_def *lane = &w->lanes.lanes[l];
        unsigned __int128 *of_stage = &r->blame_of_stage[lane->place.pipeline * BLAME_CAUSES];
        for (int cause = 0; cause < BLAME_CAUSES; cause++) {
            const unsigned __int128 time = (unsigned __int128)blame_of_lane(end->accounts, l)[cause] *
                                           lane->multiplicity;
            of_stage[cause] += time;
            spent[cause] += time;
            total += time;
        }
    }
    for (int cause = 0; cause < BLAME_CAUSES; cause++)
        r->blame_ps[cause] += spent[cause];
    r->gpu_time_ps += total;
    return total;
}

bool recorder_end_step(void *recorder_, const step_end *end)
{
    recorder *r = recorder_;
    unsigned __int128 spent[BLAME_CAUSES] = { 0 };
    const unsigned __int128 total = add_blame(r, end, spent);
    r->played_ps += end->end_ps - end->start_ps;
    stats_add(&r->step_s, units_s_from_ps(end->end_ps - end->start_ps));
    add_culprits(r, end);
    add_links(r, end);
    if (tables_wants(r->tables, TABLE_BLAME) && total > INT64_MAX) {
        r->too_long_step_ps = end->end_ps - end->start_ps;
        return false;
    }
    if (tables_wants(r->tables, TABLE_BLAME)) write_blame_of_all(r, end, spent, total);
    if (tables_wants(r->tables, TABLE_GPU_SAMPLE)) write_lanes(r, end);
    if (tables_wants(r->tables, TABLE_STEP)) write_step(r, end);
    return !r->after_step || r->after_step(r->owner);
}
