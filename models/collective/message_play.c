// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/message_play.h"

typedef struct message_run {
    uint32_t shape, tag;
    uint32_t next_free;
    uint32_t left;     // transfers that nobody has received yet, and slots that are still to be freed
    sim_time end_ps;   // so far
    plan_state *state; // NULL: this run is free
} message_run;
ARRAY_OF(message_run, message_run_array);

struct message_player {
    collectives *collectives;
    sim *sim;
    network *network;
    message_client client;
    message_run_array runs;
    uint32_t free_run;
    uint16_t network_client, kind_begin, kind_copied, kind_seen, kind_freed, kind_rested, kind_nic_free,
        kind_end;
};

static const shape *shape_of(const message_player *p, uint32_t run)
{
    return shape_at(p->collectives, p->runs.items[run].shape);
}

static const cached_plan *plan_of(const message_player *p, uint32_t run)
{
    return shape_plan(p->collectives, shape_of(p, run));
}

// ---- one transfer

// Its bytes leave the node, or the lane that copies them.
static void send(message_player *p, uint32_t run, uint32_t t)
{
    network_request request = message_request(p->collectives, shape_of(p, run), t);
    request.client = p->network_client;
    request.tag = (uint64_t)run << 32 | t;
    request.twin = t;
    network_start(p->network, &request);
}

static void begin(message_player *p, uint32_t run, uint32_t t)
{
    plan_state *state = p->runs.items[run].state;
    const slice_times times = message_times(p->collectives, shape_of(p, run), t);
    state->starts[t] = sim_now(p->sim);
    if (times.by_nic)
        sim_schedule(p->sim, sim_now(p->sim) + times.copy_ps, p->kind_copied, run, t);
    else
        send(p, run, t);
}

static void release(message_player *p, uint32_t run, uint32_t t, follower_kind kind)
{
    const cached_plan *cached = plan_of(p, run);
    for (uint32_t f = cached->follower_starts[t]; f < cached->follower_starts[t + 1]; f++) {
        if (cached->follower_kinds[f] != kind) continue;
        const uint32_t follower = cached->followers[f];
        uint16_t *waits = &p->runs.items[run].state->waits[follower];
        SIM_ASSERT(*waits > 0);
        if (--*waits == 0) begin(p, run, follower);
    }
}

static bool has_followers(const cached_plan *cached, uint32_t t, follower_kind kind)
{
    for (uint32_t f = cached->follower_starts[t]; f < cached->follower_starts[t + 1]; f++)
        if (cached->follower_kinds[f] == kind) return true;
    return false;
}

static void count_down(message_player *p, uint32_t run)
{
    message_run *own = &p->runs.items[run];
    SIM_ASSERT(own->state && own->left > 0);
    if (--own->left > 0) return;
    sim_time end_ps = own->end_ps + shape_of(p, run)->drain_ps;
    if (end_ps < sim_now(p->sim)) end_ps = sim_now(p->sim);
    sim_schedule(p->sim, end_ps, p->kind_end, run, 0);
}

// It has been copied.
static void leave_lane(message_player *p, uint32_t run, uint32_t t)
{
    const slice_times times = message_times(p->collectives, shape_of(p, run), t);
    const sim_time passed_ps = sim_now(p->sim) - p->runs.items[run].state->starts[t];
    const sim_time rest_ps = times.lane_ps > passed_ps ? times.lane_ps - passed_ps : times.rest_ps;
    if (rest_ps == 0 || !has_followers(plan_of(p, run), t, FOLLOWS_OWN)) {
        release(p, run, t, FOLLOWS_OWN);
        return;
    }
    p->runs.items[run].left++;
    sim_schedule(p->sim, sim_now(p->sim) + rest_ps, p->kind_rested, run, t);
}

// It has been copied, or the one before it has left the NIC.
static void come_up(message_player *p, uint32_t run, uint32_t t)
{
    if (++p->runs.items[run].state->nic[t] == NIC_READY) send(p, run, t);
}

// ---- events

static void on_begin(sim *s, void *owner, const sim_event *event)
{
    message_player *p = owner;
    const cached_plan *cached = plan_of(p, event->target);
    (void)s;
    for (uint32_t t = 0; t < cached->transfer_count; t++)
        if (cached->waits[t] == 0) begin(p, event->target, t);
}

// It lies before the NIC, and the lane is free.
static void on_copied(sim *s, void *owner, const sim_event *event)
{
    message_player *p = owner;
    const uint32_t run = event->target, t = event->extra;
    const cached_plan *cached = plan_of(p, run);
    if (has_followers(cached, t, FOLLOWS_SLOT)) {
        p->runs.items[run].left++;
        sim_schedule(s, sim_now(s) + shape_of(p, run)->pace.visible_ps, p->kind_freed, run, t);
    }
    come_up(p, run, t);
    leave_lane(p, run, t);
}

static void on_rested(sim *s, void *owner, const sim_event *event)
{
    message_player *p = owner;
    (void)s;
    release(p, event->target, event->extra, FOLLOWS_OWN);
    count_down(p, event->target);
}

static void on_freed(sim *s, void *owner, const sim_event *event)
{
    message_player *p = owner;
    (void)s;
    release(p, event->target, event->extra, FOLLOWS_SLOT);
    count_down(p, event->target);
}

static void on_delivered(void *owner, uint64_t tag, transfer_id id)
{
    message_player *p = owner;
    const uint32_t run = (uint32_t)(tag >> 32), t = (uint32_t)tag;
    const slice_times times = message_times(p->collectives, shape_of(p, run), t);
    (void)id;
    sim_schedule(p->sim, sim_now(p->sim) + times.seen_ps, p->kind_seen, run, t);
    if (!times.by_nic) {
        leave_lane(p, run, t);
        return;
    }
    const uint32_t next = plan_of(p, run)->next_on_edge[t];
    const sim_time rest_ps = shape_of(p, run)->nic_rest_ps;
    if (next == NO_ID) return;
    if (rest_ps == 0) {
        come_up(p, run, next);
        return;
    }
    p->runs.items[run].left++;
    sim_schedule(p->sim, sim_now(p->sim) + rest_ps, p->kind_nic_free, run, next);
}

static void on_nic_free(sim *s, void *owner, const sim_event *event)
{
    message_player *p = owner;
    (void)s;
    come_up(p, event->target, event->extra);
    count_down(p, event->target);
}

static void on_seen(sim *s, void *owner, const sim_event *event)
{
    message_player *p = owner;
    const uint32_t run = event->target, t = event->extra;
    const shape *of = shape_of(p, run);
    const plan_state *state = p->runs.items[run].state;
    p->runs.items[run].end_ps = sim_now(s);
    if (p->client.moved) p->client.moved(p->client.owner, p->runs.items[run].tag, t, state->starts[t]);
    release(p, run, t, FOLLOWS_DATA);
    if (!message_times(p->collectives, of, t).by_nic) release(p, run, t, FOLLOWS_SLOT);
    count_down(p, run);
}

static void on_end(sim *s, void *owner, const sim_event *event)
{
    message_player *p = owner;
    message_run *own = &p->runs.items[event->target];
    (void)s;
    plan_cache_return(p->collectives->plans, shape_of(p, event->target)->plan, own->state);
    own->state = NULL;
    own->next_free = p->free_run;
    p->free_run = event->target;
    p->client.ended(p->client.owner, own->tag); // last: it may play others
}

// ----

message_player *message_player_create(collectives *c, sim *s, network *n, const message_client *client)
{
    message_player *p = arena_new(c->arena, message_player);
    *p = (message_player){ .collectives = c, .sim = s, .network = n, .client = *client, .free_run = NO_ID };
    p->network_client = network_add_client(n, on_delivered, p);
    p->kind_begin = sim_add_kind(s, "collective begins", SIM_ACT, on_begin, p);
    p->kind_copied = sim_add_kind(s, "slice copied", SIM_ACT, on_copied, p);
    p->kind_seen = sim_add_kind(s, "slice seen", SIM_ACT, on_seen, p);
    p->kind_freed = sim_add_kind(s, "slot freed", SIM_ACT, on_freed, p);
    p->kind_nic_free = sim_add_kind(s, "NIC free", SIM_ACT, on_nic_free, p);
    p->kind_rested = sim_add_kind(s, "lane free", SIM_ACT, on_rested, p);
    p->kind_end = sim_add_kind(s, "messages end", SIM_ACT, on_end, p);
    return p;
}

void message_play(message_player *p, uint32_t s, uint32_t tag)
{
    uint32_t run = p->free_run;
    if (run == NO_ID) {
        run = p->runs.count;
        array_push(&p->runs, p->collectives->arena);
    } else {
        p->free_run = p->runs.items[run].next_free;
    }
    const shape *of = shape_at(p->collectives, s);
    const cached_plan *cached = shape_plan(p->collectives, of);
    SIM_ASSERT(cached->transfer_count > 0);
    p->runs.items[run] = (message_run){ .shape = s,
                                        .tag = tag,
                                        .left = cached->transfer_count,
                                        .state = plan_cache_lend(p->collectives->plans, of->plan) };
    sim_schedule(p->sim, sim_now(p->sim) + of->pace.entry_ps, p->kind_begin, run, 0);
}
