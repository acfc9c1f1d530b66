// SPDX-License-Identifier: GPL-3.0-or-later
// How a shape is played message by message: how its plan is cut, and what each transfer costs. Three ways:
//     slices     rings, broadcasts and reduces by Simple: each slice has the costs of its own that the pace gives
//     a line     trees, NVLS, SHARP, other broadcasts: piece behind piece over many hops, all alike. With K pieces and H hops
//                    own = stream / K     hop = (T - entry - (K - 1) own) / H
//                so that a lane is busy with a piece for own, a piece takes hop on each of its way, and all of them take the
//                pace's T alone. A send is a line of one piece and one hop; so is an all-to-all, all of whose parts move at
//                once.
//     steps      recursive, hierarchical, PAT: each step of the plan has a pace of its own
#include "models/collective/collective_internal.h"
#include <math.h>

typedef enum message_way { BY_SLICES, IN_LINE, BY_STEPS } message_way;

static message_way way_of(const shape *s)
{
    if (pace_has_steps(s->choice.algorithm)) return BY_STEPS;
    return s->choice.algorithm == ALGORITHM_RING && s->pace.slice_bytes > 0 ? BY_SLICES : IN_LINE;
}

// ---- how the plan is cut

// In line, and cut.
static bool is_pipeline(const shape *s)
{
    return way_of(s) == IN_LINE && s->choice.algorithm != ALGORITHM_SEND_RECV &&
           s->choice.algorithm != ALGORITHM_PAIRWISE;
}

// So much of one channel, on one of the plan's lanes.
static uint64_t lane_bytes(const shape *s, uint64_t channel_bytes, uint32_t lanes)
{
    const unsigned __int128 all = (unsigned __int128)channel_bytes * s->pace.channels;
    const unsigned __int128 bytes = (all + lanes - 1) / lanes;
    return bytes < UINT64_MAX / 2 ? (uint64_t)bytes : UINT64_MAX / 2;
}

// Of the plan among which a channel's chunk is spread. Heads of NVLS have a chunk each.
static uint32_t lane_count(const shape *s, const ring_set *rings)
{
    switch (s->choice.algorithm) {
    case ALGORITHM_NVLS: return 1;
    case ALGORITHM_NVLS_TREE: return 2;
    case ALGORITHM_TREE: return plan_nodes(rings) > 1 ? 2 * rings->count : rings->count;
    default: return rings->count;
    }
}

static uint32_t heads_of(const shape *s, const ring_set *rings)
{
    const bool nvls = s->choice.algorithm == ALGORITHM_NVLS || s->choice.algorithm == ALGORITHM_NVLS_TREE;
    return nvls ? rings->ranks / plan_nodes(rings) : 1;
}

// Up and down the chain of the largest node and the binary tree over nodes; into switches and out of them; or from rank to
// rank.
static uint32_t pipeline_hops(const shape *s, const ring_set *rings)
{
    const uint32_t largest = plan_largest_node(rings), depth = plan_doublings(plan_nodes(rings));
    switch (s->choice.algorithm) {
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE: return 2 + 2 * depth;
    case ALGORITHM_COLLNET_DIRECT: return largest > 1 ? 3 : 1;
    case ALGORITHM_COLLNET_CHAIN: return 2 * largest - 1;
    case ALGORITHM_TREE: return 2 * (largest - 1 + depth);
    default: return rings->ranks - 1;
    }
}

// A pipeline passes a piece on before all of it is there, where a lane is busy with one for longer than a hop takes: then
// pieces are cut finer, up to 128 times. Loops of NVLS are stored whole. A plan has a million messages at most, for more
// only cost time, but each lane may have 128 pieces in any case.
static uint64_t piece_bytes(const collectives *c, const shape *s, const plan_cache_key *key, uint32_t lanes)
{
    enum { FINER_MAX = 128, PIECES_ALLOWED = 128, MESSAGES_MAX = 1 << 20 };
    const ring_set *rings = shape_rings(c, s);
    const uint32_t hops = pipeline_hops(s, rings);
    const double pieces = fmax(1, ceil(s->pace.loops)), own_ps = (double)s->pace.stream_ps / pieces;
    const double hops_ps = (double)(s->pace.latency_ps - s->pace.entry_ps);
    const double finer = ceil(2 * own_ps * (hops - 1.0) / fmax(hops_ps, 1));
    uint64_t bytes = lane_bytes(s, s->pace.chunk_bytes, lanes);
    if (s->choice.algorithm != ALGORITHM_NVLS && hops > 0 && finer > 1)
        bytes /= (uint64_t)fmin(finer, FINER_MAX);
    const uint64_t most = MESSAGES_MAX / (plan_cache_messages(c->plans, key) + 1);
    const uint64_t least = s->key.bytes /
                           ((most > PIECES_ALLOWED ? most : PIECES_ALLOWED) * lanes * heads_of(s, rings));
    if (bytes < least) bytes = least;
    return bytes > 0 ? bytes : 1;
}

// A second slice without bytes is no message, but keeps the lane and the NIC busy.
static void cut_slices(shape *s, const ring_set *rings, plan_cache_key *key)
{
    const bool whole = s->pace.slice_bytes >= s->pace.chunk_bytes;
    key->cut.chunk_bytes = lane_bytes(s, s->pace.chunk_bytes, rings->count);
    key->cut.slices = whole ? 1 : s->pace.slices;
    key->slots = whole ? s->pace.slots / s->pace.slices : s->pace.slots;
    if (key->slots < 2) key->slots = 2; // or what is passed on would wait for itself
    s->by_slices = true;
    s->slice_bytes = lane_bytes(s, s->pace.slice_bytes, rings->count);
    const sim_time empty_ps = s->pace.host_ps > s->pace.message_ps ? s->pace.host_ps : s->pace.message_ps;
    const uint32_t empty = whole ? s->pace.slices - 1 : 0;
    s->rest_ps = (sim_time)empty * s->pace.slice_ps;
    s->nic_rest_ps = (sim_time)empty * empty_ps;
    s->drain_ps = s->pace.drain_ps;
}

void message_cut(const collectives *c, shape *s, plan_cache_key *key)
{
    if (c->options.grain == GRAIN_STREAMS) return;
    const ring_set *rings = shape_rings(c, s);
    key->at_once = s->choice.algorithm == ALGORITHM_PAIRWISE;
    key->in_turn = way_of(s) == BY_STEPS;
    if (way_of(s) == BY_SLICES) {
        key->apart = plan_nodes(rings) > 1;
        cut_slices(s, rings, key);
    } else if (is_pipeline(s)) {
        key->apart = plan_nodes(rings) > 1 || rings->count > 1;
        key->cut.chunk_bytes = piece_bytes(c, s, key, lane_count(s, rings));
    }
}

// ---- what transfers cost

static void find_line(const collectives *c, shape *s, const plan *p)
{
    const bool at_once = s->choice.algorithm == ALGORITHM_PAIRWISE;
    const uint32_t pieces = at_once ? 1 : p->chunks / p->rings, hops = at_once ? 1 : p->steps - pieces + 1;
    const sim_time all_ps = pace_time_ps(&s->pace) - s->pace.entry_ps;
    const sim_time before_last_ps = s->pace.stream_ps / (sim_time)pieces * (sim_time)(pieces - 1);
    s->line_bytes = is_pipeline(s) ? library_wire_bytes(shape_cut(c, s), p->bytes / p->rings)
                                   : s->busiest_bytes;
    s->hop_ps = (all_ps - before_last_ps) / (sim_time)hops;
}

// On the wire, over one edge; of an act of a switch, which has many, one rank's part.
static uint64_t part_bytes(const collectives *c, const shape *s, const cached_plan *cached, uint32_t t)
{
    const plan_message *first = cached_first_message(cached, t);
    const bool act = cached->plan.edges[first->edge].operation > 0;
    return library_wire_bytes(shape_cut(c, s),
                              act ? first->bytes : cached->edges[cached->first_edges[t]].bytes);
}

static void find_steps(collectives *c, shape *s, const cached_plan *cached, const collective_layout *layout)
{
    const plan *p = &cached->plan;
    s->steps = arena_array(c->arena, message_step, p->steps);
    const arena_mark_t mark = arena_mark(c->arena);
    step_pace *paces = arena_array(c->arena, step_pace, p->steps);
    pace_steps_of(c->options.library, layout, s->key.kind, s->choice.algorithm, s->choice.protocol,
                  s->key.bytes, p->steps, paces);
    for (uint32_t i = 0; i < p->steps; i++)
        s->steps[i] = (message_step){ .moving_ps = paces[i].stream_ps, .seen_ps = paces[i].latency_ps };
    arena_release(c->arena, mark);
    for (uint32_t t = 0; t < cached->transfer_count; t++) {
        message_step *step = &s->steps[cached_first_message(cached, t)->step];
        const uint64_t bytes = part_bytes(c, s, cached, t);
        if (step->most_bytes < bytes) step->most_bytes = bytes;
    }
}

void message_find_times(collectives *c, shape *s, const collective_layout *layout)
{
    const cached_plan *cached = shape_plan(c, s);
    switch (way_of(s)) {
    case BY_SLICES: break; // each has its own
    case IN_LINE: find_line(c, s, &cached->plan); break;
    case BY_STEPS: find_steps(c, s, cached, layout); break;
    }
    if (cached->most_edges <= c->edges_room) return;
    c->edges_room = cached->most_edges;
    c->edges = arena_array(c->arena, network_edge, c->edges_room);
}

// Each ring has a share of its own in what others want too: of a pair that several rings share, the transfers weigh as
// many times those of the pair with the fewest, as in a stream (models/network/fluid_path.c).
static uint32_t weight_of(const shape *s, const cached_plan *cached, uint32_t edge)
{
    const plan *p = &cached->plan;
    if (cached->key.apart || p->edges[edge].operation > 0) return 1;
    return (p->edges[edge].rings + s->least_rings - 1) / s->least_rings;
}

// One transfer, as what it costs depends on it.
typedef struct slice {
    const plan_message *first;
    uint32_t rings;
    uint64_t bytes; // over its edge
    double part;    // of a full first slice of the pace, as the kernels cut it
    bool leaves;
} slice;

// Of the kernels' slice in the place of a message. The plan is cut evenly. The kernels send full chunks and then what
// is left: for pieces that pass hop after hop the first one's time counts; loops of a ring add up to the same. Of a
// chunk they first send a slice that is not less than their least.
static double part_of(const collectives *c, const shape *s, const cached_plan *cached, const slice *x)
{
    const plan *p = &cached->plan;
    const uint32_t slices = cached->key.cut.slices;
    double bytes = (double)x->bytes / x->rings;
    if (p->share_chunks == 0) { // pieces k R + r
        const uint32_t pieces = p->chunks / p->rings;
        const double full = (double)cached->key.cut.chunk_bytes, all = (double)p->bytes / p->rings;
        bytes = x->first->chunk / p->rings + 1 < pieces ? full : fmax(all - (pieces - 1) * full, 0);
    }
    if (slices == 2) {
        const double least = (double)lane_bytes(s, shape_cut(c, s)->least_slice_bytes, p->rings);
        const double chunk = 2 * bytes, first_bytes = fmin(chunk, fmax(bytes, least));
        bytes = x->first->step % slices == 0 ? first_bytes : chunk - first_bytes;
    }
    return bytes / (double)s->slice_bytes;
}

static slice slice_of(const collectives *c, const shape *s, uint32_t t)
{
    const cached_plan *cached = shape_plan(c, s);
    const plan_message *first = cached_first_message(cached, t);
    slice x = { .first = first,
                .rings = cached->first_messages[t + 1] - cached->first_messages[t],
                .bytes = cached->edges[cached->first_edges[t]].bytes,
                .leaves = cached->leaves[first->edge] };
    x.part = part_of(c, s, cached, &x);
    return x;
}

// Of a line of pieces by slices the network carries as many bytes as the kernels' slice has whose time it takes: the last
// is what full ones leave, and would be far above the pace's rate with as many bytes as they. Those of a lane add up to what
// the plan cuts evenly: pieces k R + r of lane r, the first ones a byte larger.
static uint64_t piece_carried_bytes(const cached_plan *cached, const plan_message *m)
{
    const plan *p = &cached->plan;
    const uint32_t lanes = p->rings, pieces = p->chunks / lanes, lane = m->chunk % lanes;
    const uint64_t full = cached->key.cut.chunk_bytes, more = p->bytes % p->chunks;
    const uint64_t longer = more > lane ? (more - lane + lanes - 1) / lanes : 0;
    const uint64_t all = p->bytes / p->chunks * pieces + longer;
    SIM_ASSERT(cached->key.cut.slices == 1 && all <= full * pieces);
    const uint64_t before = full * (m->chunk / lanes);
    if (before >= all) return 0;
    return all - before < full ? all - before : full;
}

static uint64_t carried_bytes(const shape *s, const cached_plan *cached, uint32_t t, uint32_t edge)
{
    uint64_t bytes = 0;
    if (!s->by_slices || cached->plan.share_chunks > 0) return cached->edges[edge].bytes;
    for (uint32_t m = cached->first_messages[t]; m < cached->first_messages[t + 1]; m++)
        bytes += piece_carried_bytes(cached, &cached->plan.messages[m]);
    return bytes;
}

uint64_t message_wire_bytes(const collectives *c, const shape *s, uint32_t t, uint32_t edge)
{
    return library_wire_bytes(shape_cut(c, s), carried_bytes(s, shape_plan(c, s), t, edge));
}

static sim_time part_ps(const slice *x, sim_time full_ps)
{
    return llround((double)full_ps * x->part);
}

// Of a transfer between nodes.
static sim_time nic_ps(const shape *s, const slice *x)
{
    const collective_pace *p = &s->pace;
    const sim_time moving_ps = p->nic_ps > p->host_ps ? p->nic_ps - p->message_ps : 0;
    const sim_time all_ps = p->message_ps + part_ps(x, moving_ps);
    return all_ps > p->host_ps ? all_ps : p->host_ps;
}

static sim_time scaled_ps(sim_time all_ps, uint64_t bytes, uint64_t all_bytes)
{
    if (all_bytes == 0) return 0;
    return (sim_time)((unsigned __int128)(uint64_t)all_ps * bytes / all_bytes);
}

// What a transfer takes at least on its way, and from there until it is seen.
static slice_times even_times(const collectives *c, const shape *s, uint32_t t)
{
    const cached_plan *cached = shape_plan(c, s);
    const uint64_t bytes = part_bytes(c, s, cached, t);
    if (s->steps) {
        const message_step *step = &s->steps[cached_first_message(cached, t)->step];
        return (slice_times){ .moving_ps = scaled_ps(step->moving_ps, bytes, step->most_bytes),
                              .seen_ps = step->seen_ps };
    }
    // Parts of an all-to-all end together, unequal ones too: each has a share of the rate by what it holds.
    const bool at_once = s->choice.algorithm == ALGORITHM_PAIRWISE;
    const sim_time own_ps = at_once ? s->pace.stream_ps : scaled_ps(s->pace.stream_ps, bytes, s->line_bytes);
    const bool leaves = cached->leaves[cached->edges[cached->first_edges[t]].edge];
    sim_time moving_ps = own_ps < s->hop_ps ? own_ps : s->hop_ps;
    if (leaves && moving_ps < own_ps / 2)
        moving_ps = own_ps / 2; // NICs have no more: those of trees pass each piece twice
    return (slice_times){ .moving_ps = moving_ps,
                          .seen_ps = s->hop_ps > moving_ps ? s->hop_ps - moving_ps : 0,
                          .lane_ps = own_ps };
}

slice_times message_times(const collectives *c, const shape *s, uint32_t t)
{
    if (!s->by_slices) return even_times(c, s, t);
    const slice x = slice_of(c, s, t);
    const sim_time slice_ps = s->pace.slice_ps;
    if (!x.leaves)
        return (slice_times){ .moving_ps = slice_ps + part_ps(&x, s->pace.work_ps - slice_ps),
                              .seen_ps = s->pace.visible_ps,
                              .rest_ps = s->rest_ps };
    return (slice_times){ .by_nic = true,
                          .copy_ps = slice_ps + part_ps(&x, s->pace.out_work_ps - slice_ps),
                          .moving_ps = nic_ps(s, &x),
                          .seen_ps = s->pace.network_hop_ps,
                          .rest_ps = s->rest_ps };
}

network_request message_request(collectives *c, const shape *s, uint32_t t)
{
    const cached_plan *cached = shape_plan(c, s);
    const sim_time moving_ps = message_times(c, s, t).moving_ps;
    const uint32_t first = cached->first_edges[t], count = cached_edge_count(cached, t);
    uint64_t busiest_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        c->edges[i] = s->edges[cached->edges[first + i].edge];
        c->edges[i].bytes = message_wire_bytes(c, s, t, first + i);
        if (c->edges[i].bytes > busiest_bytes) busiest_bytes = c->edges[i].bytes;
    }
    return (network_request){ .edges = c->edges,
                              .edge_count = count,
                              .latency_ps = busiest_bytes == 0 ? moving_ps : 0,
                              .rate_cap_mBps = shape_cap_mBps(busiest_bytes, moving_ps),
                              .weight = weight_of(s, cached, cached->edges[first].edge),
                              .queue_pairs = 1,
                              .multiplicity = c->groups.items[s->key.group].def.multiplicity };
}
