// SPDX-License-Identifier: GPL-3.0-or-later
// Pending events lie in a pool of slots. A slot is free, queued (the queue knows its time) or listed (due at the
// current instant, in the list of its phase). At each instant everything due moves from the queue into the lists, so
// what is scheduled for this instant meanwhile only has to be appended.
#include "sim/engine.h"
#include "sim/check.h"
#include "sim/hash.h"
#include <string.h>

enum { SLOT_FREE, SLOT_QUEUED, SLOT_LISTED };
enum { FIRST_POOL = 64, POLL_EVENTS = 1024 };

typedef struct sim_slot {
    sim_event event;
    uint32_t generation;
    uint32_t next, prev; // in the phase's list; next also in the free list. QUEUE_NONE at the ends
    uint32_t state;
} sim_slot;

typedef struct sim_list {
    uint32_t head, tail;
} sim_list;

typedef struct sim_kind {
    const char *name;
    sim_handler *handler;
    void *owner;
    sim_phase phase;
} sim_kind;

struct sim {
    sim_time now;
    queue *pending;
    sim_slot *slots;
    uint32_t slot_count, free_head; // slots of the pool, and the first free one
    uint32_t live;                  // slots that are not free
    uint32_t chained, chained_max;  // events scheduled at this instant for this instant
    sim_list lists[SIM_PHASES];
    bool running, in_instant, reverse, stopping, livelocked;
    sim_event current; // a copy: the pool may grow while a handler looks at its event
    bool has_current;
    check_context context;
    uint64_t sequence;
    uint64_t digest;
    sim_counters counters;
    uint64_t next_poll, next_verify; // counts of handled events
    bool (*poll)(void *owner);
    void *poll_owner;
    arena *arena;
    uint32_t kind_count;
    sim_kind kinds[SIM_KINDS_MAX];
};

static void sim_add_slots(sim *s, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < count; i++)
        s->slots[i].next = i + 1 < count ? i + 1 : QUEUE_NONE;
    s->free_head = first;
    s->slot_count = count;
}

sim *sim_create(arena *a, const sim_options *options)
{
    sim *s = arena_new(a, sim);
    s->arena = a;
    s->reverse = options && options->reverse_phases;
    s->chained_max = options && options->chained_max ? options->chained_max : SIM_CHAINED_MAX;
    for (int phase = 0; phase < SIM_PHASES; phase++)
        s->lists[phase] = (sim_list){ QUEUE_NONE, QUEUE_NONE };
    s->slots = arena_array(a, sim_slot, FIRST_POOL);
    sim_add_slots(s, 0, FIRST_POOL);
    // Last: an arena that ends must not leak it.
    s->pending = queue_create(options ? options->queue : QUEUE_BUCKET);
    return s;
}

void sim_destroy(sim *s)
{
    if (!s) return;
    queue_destroy(s->pending);
    s->pending = NULL;
}

uint16_t sim_add_kind(sim *s, const char *name, sim_phase phase, sim_handler *handler, void *owner)
{
    SIM_ASSERT(s->kind_count < SIM_KINDS_MAX && name && handler && phase < SIM_PHASES);
    s->kinds[s->kind_count] = (sim_kind){ name, handler, owner, phase };
    return (uint16_t)s->kind_count++;
}

const char *sim_kind_name(const sim *s, uint16_t kind)
{
    SIM_ASSERT(kind < s->kind_count);
    return s->kinds[kind].name;
}

sim_time sim_now(const sim *s)
{
    return s->now;
}

static void list_append(sim *s, uint32_t index)
{
    sim_slot *slot = &s->slots[index];
    sim_list *list = &s->lists[slot->event.phase];
    slot->state = SLOT_LISTED;
    slot->next = QUEUE_NONE;
    slot->prev = list->tail;
    if (list->tail == QUEUE_NONE)
        list->head = index;
    else
        s->slots[list->tail].next = index;
    list->tail = index;
}

static void list_remove(sim *s, uint32_t index)
{
    const sim_slot *slot = &s->slots[index];
    sim_list *list = &s->lists[slot->event.phase];
    if (slot->prev == QUEUE_NONE)
        list->head = slot->next;
    else
        s->slots[slot->prev].next = slot->next;
    if (slot->next == QUEUE_NONE)
        list->tail = slot->prev;
    else
        s->slots[slot->next].prev = slot->prev;
}

static uint32_t slot_take(sim *s)
{
    if (s->free_head == QUEUE_NONE) {
        uint32_t old = s->slot_count;
        SIM_ASSERT(old <= UINT32_MAX / 4);
        s->slots = arena_resize(s->arena, s->slots, old * sizeof(sim_slot), 2 * old * sizeof(sim_slot),
                                _Alignof(sim_slot));
        sim_add_slots(s, old, 2 * old);
    }
    uint32_t index = s->free_head;
    s->free_head = s->slots[index].next;
    s->live++;
    if (s->live > s->counters.pending_high_water) s->counters.pending_high_water = s->live;
    return index;
}

// From here on every handle to the slot is stale.
static void slot_release(sim *s, uint32_t index)
{
    sim_slot *slot = &s->slots[index];
    slot->generation++;
    slot->state = SLOT_FREE;
    slot->next = s->free_head;
    s->free_head = index;
    s->live--;
}

sim_handle sim_schedule(sim *s, sim_time time, uint16_t kind, uint32_t target, uint32_t extra)
{
    SIM_ASSERT(kind < s->kind_count && time >= s->now && !s->livelocked);
    uint32_t index = slot_take(s);
    sim_slot *slot = &s->slots[index];
    slot->event = (sim_event){ .time = time,
                               .sequence = ++s->sequence,
                               .cause = s->has_current ? s->current.sequence : 0,
                               .target = target,
                               .extra = extra,
                               .kind = kind,
                               .phase = (uint16_t)s->kinds[kind].phase };
    if (s->in_instant && time == s->now) {
        list_append(s, index);
        s->chained++;
    } else {
        slot->state = SLOT_QUEUED;
        queue_push(s->pending, index, time);
    }
    s->counters.scheduled++;
    return (sim_handle){ index + 1, slot->generation };
}

bool sim_pending(const sim *s, sim_handle handle)
{
    if (handle.index1 == 0) return false;
    SIM_ASSERT(handle.index1 <= s->slot_count);
    const sim_slot *slot = &s->slots[handle.index1 - 1];
    return slot->state != SLOT_FREE && slot->generation == handle.generation;
}

void sim_cancel(sim *s, sim_handle handle)
{
    SIM_ASSERT(sim_pending(s, handle));
    uint32_t index = handle.index1 - 1;
    if (s->slots[index].state == SLOT_LISTED)
        list_remove(s, index);
    else
        queue_cancel(s->pending, index);
    slot_release(s, index);
    s->counters.cancelled++;
}

void sim_move(sim *s, sim_handle handle, sim_time time)
{
    SIM_ASSERT(sim_pending(s, handle) && time >= s->now && !s->livelocked);
    uint32_t index = handle.index1 - 1;
    sim_slot *slot = &s->slots[index];
    bool was_listed = slot->state == SLOT_LISTED;
    bool is_listed = s->in_instant && time == s->now;
    slot->event.time = time;
    s->counters.moved++;
    if (!was_listed && !is_listed) {
        queue_move(s->pending, index, time);
        return;
    }
    if (was_listed)
        list_remove(s, index);
    else
        queue_cancel(s->pending, index);
    if (is_listed) {
        list_append(s, index);
        s->chained++;
    } else {
        slot->state = SLOT_QUEUED;
        queue_push(s->pending, index, time);
    }
}

static void handle_event(sim *s, uint32_t index)
{
    s->current = s->slots[index].event;
    s->has_current = true;
    list_remove(s, index);
    slot_release(s, index);
    const sim_kind *kind = &s->kinds[s->current.kind];
    s->context = (check_context){ s->now, s->current.sequence, kind->name };
    check_set_context(&s->context);
    s->counters.handled++;
    kind->handler(s, kind->owner, &s->current);
}

// False: the phase does not come to an end.
static bool drain_phase(sim *s, sim_phase phase)
{
    const sim_list *list = &s->lists[phase];
    while (list->head != QUEUE_NONE) {
        if (s->chained > s->chained_max) return false;
        handle_event(s, s->reverse ? list->tail : list->head);
    }
    return true;
}

static bool is_anything_due(const sim *s)
{
    for (int phase = 0; phase < SIM_PHASES; phase++)
        if (s->lists[phase].head != QUEUE_NONE) return true;
    return false;
}

// Handles everything that is due now, first being the first of it in the queue. False: a livelock.
static bool handle_instant(sim *s, uint32_t first)
{
    sim_time time = s->now;
    for (uint32_t index = first; index != QUEUE_NONE; index = queue_pop(s->pending, s->now, &time))
        list_append(s, index);
    s->counters.instants++;
    s->chained = 0;
    s->in_instant = true;
    for (uint32_t rounds = 1; is_anything_due(s); rounds++) {
        if (rounds > SIM_ROUNDS_MAX) return false;
        s->counters.rounds++;
        for (sim_phase phase = 0; phase < SIM_PHASES; phase++)
            if (!drain_phase(s, phase)) return false;
    }
    s->in_instant = false;
    s->has_current = false;
    return true;
}

static void sim_verify(const sim *s)
{
    uint64_t queued = 0;
    uint64_t listed = 0;
    for (uint32_t i = 0; i < s->slot_count; i++) {
        queued += s->slots[i].state == SLOT_QUEUED;
        listed += s->slots[i].state == SLOT_LISTED;
    }
    SIM_ASSERT(listed == 0 && queued == s->live && queued == queue_count(s->pending));
    queue_verify(s->pending);
}

// Between instants: what is asked or checked every so many events. True: stop.
static bool sim_pause(sim *s)
{
    if (SIM_CHECKS_ON && s->counters.handled >= s->next_verify) {
        // As rarely as the pool is large, so that checking stays a constant factor.
        s->next_verify = s->counters.handled + POLL_EVENTS + s->slot_count;
        sim_verify(s);
    }
    if (!s->poll || s->counters.handled < s->next_poll) return false;
    s->next_poll = s->counters.handled + POLL_EVENTS;
    return s->poll(s->poll_owner);
}

static sim_outcome run_instants(sim *s, sim_time limit)
{
    while (!s->stopping && !sim_pause(s)) {
        sim_time time = s->now;
        uint32_t first = queue_pop(s->pending, limit, &time);
        if (first == QUEUE_NONE) return queue_count(s->pending) ? SIM_REACHED_LIMIT : SIM_DRAINED;
        SIM_ASSERT(time >= s->now);
        s->now = time;
        if (!handle_instant(s, first)) {
            s->livelocked = true;
            return SIM_LIVELOCK;
        }
    }
    return SIM_STOPPED;
}

sim_outcome sim_run(sim *s, sim_time limit)
{
    SIM_ASSERT(!s->running && !s->livelocked);
    s->running = true;
    s->stopping = false;
    sim_outcome outcome = run_instants(s, limit);
    s->running = false;
    check_set_context(NULL);
    return outcome;
}

void sim_stop(sim *s)
{
    SIM_ASSERT(s->running);
    s->stopping = true;
}

void sim_set_poll(sim *s, bool (*poll)(void *owner), void *owner)
{
    s->poll = poll;
    s->poll_owner = owner;
    s->next_poll = s->counters.handled + POLL_EVENTS;
}

sim_counters sim_counters_of(const sim *s)
{
    return s->counters;
}

const sim_event *sim_current(const sim *s)
{
    return s->has_current ? &s->current : NULL;
}

// The golden ratio keeps a record of zeros from mixing to zero; the chain makes each word count by its position.
static uint64_t mix_word(uint64_t hash, uint64_t word)
{
    return hash_mix((hash ^ word) + UINT64_C(0x9E3779B97F4A7C15));
}

void sim_digest_add(sim *s, uint32_t record_kind, const uint64_t *words, uint32_t count,
                    uint64_t multiplicity)
{
    uint64_t hash = mix_word(count, record_kind);
    for (uint32_t i = 0; i < count; i++)
        hash = mix_word(hash, words[i]);
    s->digest += hash * multiplicity;
}

uint64_t sim_digest(const sim *s)
{
    return s->digest;
}

uint64_t sim_digest_text(const char *text)
{
    uint64_t hash = 0;
    for (; *text; text++)
        hash = mix_word(hash, (unsigned char)*text + UINT64_C(1));
    return hash;
}
