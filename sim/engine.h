// SPDX-License-Identifier: GPL-3.0-or-later
// sim/engine.h: the event loop. A sim has a clock, a pending-event set, event kinds with handlers, and the digest of
// results. It knows nothing about GPUs; it moves ids.
//
// Order at one instant: ACT (things happen), then SETTLE (shared things are worked out anew, once), then OBSERVE
// (samplers); each drained first in, first out by scheduling (a moved event goes to the end). An event scheduled for
// the current instant into an earlier phase starts another round, once this one has been through all three phases. More
// than SIM_ROUNDS_MAX rounds is a livelock, reported with exit code 3; so is a phase that never ends (SIM_CHAINED_MAX).
// Handlers commute within a phase or sort what they gather: the option reverse_phases plays each phase's list backwards
// and must give the same digest.
#pragma once
#include "sim/arena.h"
#include "sim/error.h"
#include "sim/queue.h"
#include "sim/units.h"

enum {
    SIM_ROUNDS_MAX = 1000,       // at one instant
    SIM_CHAINED_MAX = 100000000, // events scheduled at one instant for that instant
    SIM_KINDS_MAX = 256
};

typedef struct sim sim;
typedef enum sim_phase { SIM_ACT, SIM_SETTLE, SIM_OBSERVE, SIM_PHASES } sim_phase;

// Plain data, 40 bytes, no pointers: it can be hashed and printed. What it is about lives in its target.
typedef struct sim_event {
    sim_time time;
    uint64_t sequence; // number of the scheduling, from 1
    uint64_t cause;    // sequence of the event being handled when this one was scheduled; 0: from outside
    uint32_t target;   // an index that the kind's owner understands
    uint32_t extra;    // a second small number for the owner
    uint16_t kind;
    uint16_t phase;
    uint32_t reserved; // 0
} sim_event;

// Names a pending event; {0} is none. Stale once the event has been handled or cancelled.
typedef struct sim_handle {
    uint32_t index1, generation;
} sim_handle;

typedef void sim_handler(sim *s, void *owner, const sim_event *event);

typedef struct sim_options {
    queue_kind queue;     // QUEUE_BUCKET unless a large pending set is expected
    bool reverse_phases;  // tests: the same results must come out
    uint32_t chained_max; // tests: instead of SIM_CHAINED_MAX; 0: that
} sim_options;

// The pool of events lives in the arena and grows there by doubling, also when a handler schedules: while the sim
// lives, the arena must not be released to an earlier mark. options NULL: defaults.
sim *sim_create(arena *a, const sim_options *options);
void sim_destroy(sim *s); // the queue's memory; the rest goes with the arena. NULL is fine
uint16_t sim_add_kind(sim *s, const char *name, sim_phase phase, sim_handler *handler, void *owner);

sim_time sim_now(const sim *s); // the instant being handled, or the last one that was
// time >= now, asserted.
sim_handle sim_schedule(sim *s, sim_time time, uint16_t kind, uint32_t target, uint32_t extra);
bool sim_pending(const sim *s, sim_handle handle); // false while the event is being handled, and for {0}
void sim_cancel(sim *s, sim_handle handle);        // must be pending
void sim_move(sim *s, sim_handle handle, sim_time time); // must be pending; keeps its cause

typedef enum sim_outcome { SIM_DRAINED, SIM_REACHED_LIMIT, SIM_STOPPED, SIM_LIVELOCK } sim_outcome;
// Handles events up to and including limit; the clock stays at the last of them. sim_stop() (from a handler) ends the
// run after the current instant. May be called again, except after SIM_LIVELOCK.
sim_outcome sim_run(sim *s, sim_time limit);
void sim_stop(sim *s);
// Asked between instants about every 1,024 events; true stops the run as sim_stop() does. For signals and progress.
void sim_set_poll(sim *s, bool (*poll)(void *owner), void *owner);

// The digest of results (sim/README.md, rules of determinism): every record is mixed to 64 bits by itself and summed
// modulo 2^64, times its multiplicity, so that neither order nor folding shows. words are the record's fields in a fixed
// order.
void sim_digest_add(sim *s, uint32_t record_kind, const uint64_t *words, uint32_t count,
                    uint64_t multiplicity);
uint64_t sim_digest(const sim *s);
uint64_t sim_digest_text(const char *text); // a fixed hash of a text, to stand as a word

typedef struct sim_counters {
    uint64_t scheduled, handled, cancelled, moved, instants, rounds;
    uint32_t pending_high_water;
} sim_counters;
sim_counters sim_counters_of(const sim *s);
const sim_event *sim_current(const sim *s); // being handled, or NULL; after SIM_LIVELOCK the last that was
const char *sim_kind_name(const sim *s, uint16_t kind);
