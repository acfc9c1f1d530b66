// SPDX-License-Identifier: GPL-3.0-or-later
// The life of a request in the fluid network, and the settling of rates.
//
// Between two settles of its rate x a flow does work x dt. Its work left is an integer and is brought up to date only when
// its own rate changes, and it ends at
//     t_end = t + ceil(left / x)        left [1e-15 B]   x [mB/s]   t: of the latest change [ps]
// which is the same integer however often it is worked out in between. So the end depends on the course of its rate alone,
// not on when somebody looked. A flow with rate 0 has no end, nor has one whose end lies beyond the clock.
#include "models/network/fluid_internal.h"

static fluid_network *fluid_of(const network *n)
{
    return n->state;
}

void fluid_settle_later(network *n)
{
    fluid_network *f = n->state;
    if (f->settle_is_due) return;
    f->settle_is_due = true;
    sim_schedule(n->sim, sim_now(n->sim), f->kind_settles, 0, 0);
}

// ---- work and ends

static fluid_work work_done(const network *n, const fluid_flow *flow)
{
    return (fluid_work)(uint64_t)(sim_now(n->sim) - flow->since_ps) * flow->rate_mBps;
}

fluid_work fluid_work_left(const network *n, const fluid_flow *flow)
{
    fluid_work done = work_done(n, flow);
    return done < flow->left ? flow->left - done : 0;
}

// Never early. False: the clock ends before.
static bool exact_end(const fluid_flow *flow, sim_time *end_ps)
{
    if (flow->rate_mBps == 0 || flow->tail_ps > SIM_TIME_MAX - flow->since_ps) return false;
    fluid_work time_ps = (flow->left + flow->rate_mBps - 1) / flow->rate_mBps;
    if (time_ps > (fluid_work)(SIM_TIME_MAX - flow->since_ps - flow->tail_ps)) return false;
    *end_ps = flow->since_ps + (sim_time)time_ps;
    return true;
}

// Completion windows: up to a multiple of the greatest power of two that is at most the share of the time since the flow
// began. Powers of two nest, so that flows of unlike lengths meet on common instants; late by less than that share.
static sim_time window_end(const fluid_network *f, const fluid_flow *flow, sim_time end_ps)
{
    double share_ps = f->options.completion_window * (double)(end_ps - flow->begin_ps);
    if (share_ps < 2.0) return end_ps;
    sim_time window_ps = 1;
    while ((double)window_ps * 2.0 <= share_ps)
        window_ps *= 2;
    if (end_ps > SIM_TIME_MAX - flow->tail_ps - window_ps) return end_ps;
    return (end_ps + window_ps - 1) & ~(window_ps - 1);
}

static void set_end(network *n, uint32_t slot)
{
    const fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    bool pending = flow->event.index1 != 0;
    sim_time end_ps;
    if (!exact_end(flow, &end_ps)) {
        if (pending) sim_cancel(n->sim, flow->event);
        flow->event = (sim_handle){ 0 };
        return;
    }
    if (f->options.completion_window > 0.0) end_ps = window_end(f, flow, end_ps);
    if (pending)
        sim_move(n->sim, flow->event, end_ps);
    else
        flow->event = sim_schedule(n->sim, end_ps, f->kind_sent, slot, n->transfers.items[slot].generation);
}

void fluid_set_rate(network *n, uint32_t slot, uint64_t rate_mBps)
{
    fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    fluid_work left = fluid_work_left(n, flow);
    if (left == 0) { // a window holds it: its end stays
        SIM_ASSERT(f->options.completion_window > 0.0 && flow->event.index1 != 0);
        return;
    }
    flow->left = left;
    flow->since_ps = sim_now(n->sim);
    flow->rate_mBps = rate_mBps;
    set_end(n, slot);
    f->counters.rate_changes++;
}

static void on_settles(sim *s, void *owner, const sim_event *event)
{
    network *n = owner;
    fluid_network *f = n->state;
    (void)s;
    (void)event;
    f->settle_is_due = false;
    f->counters.settles++;
    fluid_phase_settle(n);
    fluid_apply_changes(n);
    uint32_t count;
    const maxmin_change *changes = maxmin_resolve(f->solver, &count);
    for (uint32_t i = 0; i < count; i++)
        fluid_set_rate(n, f->slot_of_flow.items[changes[i].flow], changes[i].rate);
}

// ---- the stages of a request

static void wait_for_delivery(network *n, uint32_t slot)
{
    const fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    sim_time now = sim_now(n->sim);
    SIM_ASSERT(flow->tail_ps <= SIM_TIME_MAX - now); // the horizon
    flow->stage = FLUID_SENT;
    flow->event = sim_schedule(n->sim, now + flow->tail_ps, f->kind_delivered, slot,
                               n->transfers.items[slot].generation);
}

static void begin_moving(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    fluid_demand demand = fluid_recall_path(n, slot);
    fluid_flow *flow = &f->flows.items[slot];
    flow->left = demand.work;
    flow->pace_bytes = demand.pace_bytes;
    flow->cap_mBps = demand.cap_mBps;
    flow->delay_ps = demand.delay_ps;
    flow->tail_ps = demand.tail_ps;
    flow->strays = demand.strays;
    flow->since_ps = flow->begin_ps = sim_now(n->sim);
    flow->event = (sim_handle){ 0 };
    if (demand.work == 0) {
        wait_for_delivery(n, slot);
        return;
    }
    flow->stage = FLUID_MOVING;
    fluid_store_path(n, slot);
    if (!fluid_phase_takes(n, slot)) fluid_enter(n, slot);
}

static void fluid_start(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    const transfer *t = &n->transfers.items[slot];
    while (f->flows.count <= slot)
        array_push(&f->flows, n->arena);
    fluid_flow *flow = &f->flows.items[slot];
    *flow = (fluid_flow){ .solver_flow = NO_ID, .resent_ps = -1 };
    if (t->latency_ps == 0) {
        begin_moving(n, slot);
        return;
    }
    sim_time now = sim_now(n->sim);
    SIM_ASSERT(t->latency_ps <= SIM_TIME_MAX - now); // the horizon
    flow->stage = FLUID_WAITING;
    flow->event = sim_schedule(n->sim, now + t->latency_ps, f->kind_begins, slot, t->generation);
}

static void on_begins(sim *s, void *owner, const sim_event *event)
{
    network *n = owner;
    (void)s;
    SIM_ASSERT(n->transfers.items[event->target].generation == event->extra);
    begin_moving(n, event->target);
}

// Nobody misses a lost packet behind which no other follows, until the sender's timeout has passed. The links are free until
// then, and what is one packet does not load them again. A wait beyond half of the clock never ends, as a flow does not whose
// end lies beyond the clock: the other half is for what others still do.
static void wait_for_timeout(network *n, uint32_t slot, uint32_t timeouts)
{
    const fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    const sim_time now = sim_now(n->sim);
    const __int128 wait_ps = (__int128)timeouts * topology_policy(n->topology)->terms.timeout_ps;
    flow->stage = FLUID_LOST;
    flow->event = (sim_handle){ 0 };
    if (wait_ps > SIM_TIME_MAX / 2 - now) return;
    flow->event = sim_schedule(n->sim, now + (sim_time)wait_ps, f->kind_times_out, slot,
                               n->transfers.items[slot].generation);
}

static void on_times_out(sim *s, void *owner, const sim_event *event)
{
    network *n = owner;
    (void)s;
    SIM_ASSERT(n->transfers.items[event->target].generation == event->extra);
    wait_for_delivery(n, event->target);
}

void fluid_finish_moving(network *n, uint32_t slot, bool as_event)
{
    fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    fluid_count_links(n, slot, true);
    fluid_forget_path(n, slot);
    const uint32_t timeouts = topology_loses(n->topology) ? fluid_count_losses(n, slot) : 0;
    if (timeouts > 0) {
        wait_for_timeout(n, slot, timeouts);
        return;
    }
    if (flow->tail_ps > 0 || as_event) {
        wait_for_delivery(n, slot);
        return;
    }
    flow->stage = FLUID_NONE;
    flow->event = (sim_handle){ 0 };
    network_finish(n, slot);
}

// What the window has added to the exact end.
static void count_lateness(const network *n, fluid_network *f, const fluid_flow *flow)
{
    sim_time end_ps;
    if (!exact_end(flow, &end_ps) || end_ps == sim_now(n->sim)) return;
    sim_time late_ps = sim_now(n->sim) - end_ps;
    f->counters.windowed++;
    if (late_ps > f->counters.latest_ps) f->counters.latest_ps = late_ps;
}

static void on_sent(sim *s, void *owner, const sim_event *event)
{
    network *n = owner;
    fluid_network *f = n->state;
    const uint32_t slot = event->target;
    const fluid_flow *flow = &f->flows.items[slot];
    (void)s;
    SIM_ASSERT(n->transfers.items[slot].generation == event->extra);
    SIM_ASSERT(flow->stage == FLUID_MOVING && work_done(n, flow) >= flow->left);
    if (f->options.completion_window > 0.0) count_lateness(n, f, flow);
    fluid_leave(n, slot);
    fluid_finish_moving(n, slot, false);
}

static void on_delivered(sim *s, void *owner, const sim_event *event)
{
    network *n = owner;
    fluid_flow *flow = &fluid_of(n)->flows.items[event->target];
    (void)s;
    SIM_ASSERT(n->transfers.items[event->target].generation == event->extra && flow->stage == FLUID_SENT);
    flow->stage = FLUID_NONE;
    flow->event = (sim_handle){ 0 };
    network_finish(n, event->target);
}

// What it has moved until now stays counted on its links: they carried it.
static void fluid_cancel(network *n, uint32_t slot)
{
    fluid_network *f = n->state;
    fluid_flow *flow = &f->flows.items[slot];
    if (flow->stage == FLUID_MOVING) {
        fluid_count_links(n, slot, false);
        if (flow->phase_place > 0)
            fluid_phase_remove(n, slot);
        else
            fluid_leave(n, slot);
        fluid_forget_path(n, slot);
    }
    if (flow->event.index1 != 0) sim_cancel(n->sim, flow->event);
    flow->event = (sim_handle){ 0 };
    flow->stage = FLUID_NONE;
}

// ---- the whole

static void verify_flow(const network *n, uint32_t slot)
{
    const fluid_network *f = n->state;
    const fluid_flow *flow = &f->flows.items[slot];
    bool pending = sim_pending(n->sim, flow->event);
    SIM_ASSERT(pending == (flow->event.index1 != 0));
    switch ((fluid_stage)flow->stage) {
    case FLUID_NONE: SIM_ASSERT(n->transfers.items[slot].generation % 2 == 0 && !pending); break;
    case FLUID_LOST: SIM_ASSERT(flow->solver_flow == NO_ID); break;
    case FLUID_WAITING:
    case FLUID_SENT: SIM_ASSERT(pending && flow->solver_flow == NO_ID); break;
    case FLUID_MOVING:
        SIM_ASSERT(flow->left > 0 && flow->left <= (fluid_work)flow->pace_bytes * FLUID_WORK_PER_BYTE);
        if (flow->phase_place > 0) {
            SIM_ASSERT(!pending && flow->solver_flow == NO_ID);
        } else {
            sim_time end_ps;
            SIM_ASSERT(f->slot_of_flow.items[flow->solver_flow] == slot);
            SIM_ASSERT(f->settle_is_due || pending == exact_end(flow, &end_ps));
            SIM_ASSERT(f->settle_is_due || fluid_work_left(n, flow) == 0 ||
                       flow->rate_mBps == maxmin_rate(f->solver, flow->solver_flow));
        }
        break;
    }
}

static void fluid_verify(const network *n)
{
    const fluid_network *f = n->state;
    uint32_t in_solver = 0;
    for (uint32_t slot = 0; slot < f->flows.count; slot++) {
        verify_flow(n, slot);
        in_solver += f->flows.items[slot].solver_flow != NO_ID;
    }
    SIM_ASSERT(in_solver == maxmin_flow_count(f->solver));
    if (!f->settle_is_due) maxmin_verify(f->solver);
}

static network *fluid_create_like(arena *a, sim *s, const network *n)
{
    return network_create_fluid(a, s, n->topology, &fluid_of(n)->options);
}

static bool fluid_is_steady(const network *n)
{
    const fluid_options *options = &fluid_of(n)->options;
    return options->completion_window == 0.0 && !options->bottleneck_count && !topology_loses(n->topology);
}

static const network_ops fluid_ops = { .engine = ENGINE_FLUID,
                                       .start = fluid_start,
                                       .cancel = fluid_cancel,
                                       .verify = fluid_verify,
                                       .carry = fluid_carry,
                                       .create_like = fluid_create_like,
                                       .is_steady = fluid_is_steady,
                                       .set_link = fluid_set_link,
                                       .link_bytes = fluid_link_bytes,
                                       .stuck = fluid_stuck };

// The links of a usual path of one edge, for the solver's records: out of the node, up and down the tiers, into the node.
static uint32_t usual_path(const topology *t)
{
    uint32_t links = 2;
    if (topology_gpu_count(t) > 0) links += 2;
    if (topology_count_kind(t, VERTEX_SPINE) > 0) links += 2;
    if (topology_count_kind(t, VERTEX_CORE) > 0) links += 2;
    return links;
}

network *network_create_fluid(arena *a, sim *s, const topology *t, const fluid_options *options)
{
    const uint32_t links = topology_link_count(t) + topology_bundle_count(t);
    SIM_ASSERT(options->completion_window >= 0.0 && options->completion_window < 1.0);
    fluid_network *f = arena_new(a, fluid_network);
    f->options = *options;
    f->fabric = fabric_state_create(a, t);
    f->solver = maxmin_create(a, &(maxmin_options){ .links = links,
                                                    .flows = options->flows,
                                                    .path_usual = usual_path(t),
                                                    .policy = options->policy,
                                                    .check_every = options->check_every });
    for (uint32_t l = 0; l < links; l++)
        maxmin_add_link(f->solver, topology_rate_mBps(t, l));
    for (uint32_t i = 0; i < EDGE_BLOCK_SIZES; i++)
        f->free_blocks[i] = NO_ID;
    f->place_of_link = arena_array(a, uint32_t, links);
    network *n = network_create(a, s, t, &fluid_ops, f);
    f->kind_begins = sim_add_kind(s, "transfer begins", SIM_ACT, on_begins, n);
    f->kind_sent = sim_add_kind(s, "transfer sent", SIM_ACT, on_sent, n);
    f->kind_times_out = sim_add_kind(s, "transfer times out", SIM_ACT, on_times_out, n);
    f->kind_delivered = sim_add_kind(s, "transfer delivered", SIM_ACT, on_delivered, n);
    f->kind_converges = sim_add_kind(s, "routing converges", SIM_ACT, fluid_on_converges, n);
    f->kind_phase_ends = sim_add_kind(s, "phase ends", SIM_ACT, fluid_on_phase_ends, n);
    f->kind_settles = sim_add_kind(s, "rates settle", SIM_SETTLE, on_settles, n);
    return n;
}

fluid_counters fluid_counters_of(const network *n)
{
    SIM_ASSERT(n->ops == &fluid_ops);
    fluid_counters counters = fluid_of(n)->counters;
    counters.solver = maxmin_counters_of(fluid_of(n)->solver);
    return counters;
}

uint64_t fluid_rate_mBps(const network *n, transfer_id id)
{
    SIM_ASSERT(n->ops == &fluid_ops && network_in_flight(n, id));
    const fluid_flow *flow = &fluid_of(n)->flows.items[id.index1 - 1];
    return flow->stage == FLUID_MOVING ? flow->rate_mBps : 0;
}
