// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/blame.h: where the GPU time of a step went. The time of each lane is cut without gap or overlap into
// compute (by kind) and idle intervals, and each idle interval is charged by the event that ended it:
//     waiting for a pipeline message: until it was handed to the network, bubble; from then on, PP wait
//     waiting for a collective: until the arrival of its last participant, wait for peer, or bubble where that one is of
//     another stage, charged on along its own idle causes in that time; from then on, exposed communication of that group, of
//     groups of several stages PP wait
//     waiting for the end of the step: for the lane that ended last, likewise
// Waiting for the host to launch between the kernels of one piece of work is counted with the work; the host's restart behind
// a blocking exchange is an idle interval of its own. Both are charged to launch, and to nobody else.
// What work takes longer because collectives or messages move beside it is counted with the work, and charged to their kind: to
// that which alone would slow it most, where several move.
// Beside its cause an idle interval has a culprit: the lane that was waited for, or whom that lane itself waited for in that
// time, so that one slow GPU shows as the culprit of all whom it keeps waiting, however far away. A part that is no lane, such
// as a slow link, can be a culprit too, of communication that it slows down, and then of whoever waits for those.
// Conservation: compute + all causes = lanes x step time, exactly, in integers (asserted for every lane and step).
#pragma once
#include "models/ids.h"
#include "sim/arena.h"
#include "sim/units.h"
#include <stdbool.h>

typedef enum blame_cause {
    BLAME_FORWARD, // compute
    BLAME_BACKWARD,
    BLAME_RECOMPUTE,
    BLAME_OPTIMIZER,
    BLAME_CODING,    // gradients encoded for their reduction and decoded: cast, compressed
    BLAME_SLOWED_TP, // what all of these take longer because of what moves beside them
    BLAME_SLOWED_DP,
    BLAME_SLOWED_PP,
    BLAME_LAUNCH, // from here on idle: waiting for the host to launch
    BLAME_BUBBLE,
    BLAME_PP_WAIT,
    BLAME_PEER, // wait for a peer of the same stage that was computing
    BLAME_EXPOSED_TP,
    BLAME_EXPOSED_DP,
    BLAME_EXPOSED_EP,
    BLAME_EXPOSED_CP,
    BLAME_DATA,
    BLAME_CHECKPOINT,
    BLAME_FAULT,
    BLAME_OTHER,
    BLAME_CAUSES
} blame_cause;
extern const char *const blame_cause_words[]; // "forward", ..., "wait for peer", "exposed DP", ..., NULL
bool blame_is_compute(blame_cause cause);

typedef struct blame blame; // the accounts of all lanes in the current step
// multiplicity: of each lane, kept.
blame *blame_create(arena *a, uint32_t lanes, const uint32_t *multiplicity);
void blame_set_parts(blame *b,
                     uint32_t parts); // culprits that are no lanes, numbered from 0; before the first step
void blame_start_step(blame *b, sim_time now);
sim_time blame_busy_until(const blame *b, lane_id lane);
// The lane works from now until end: the parts are given by cause and add up to end - now. It must not be idle unaccounted:
// blame_busy_until() == now.
void blame_work(blame *b, lane_id lane, sim_time end, const sim_time parts[BLAME_CAUSES]);
// The lane was idle until end for one cause, as is known from the instant `known` on. Nothing happens when
// end <= busy_until. Returns how long.
sim_time blame_idle(blame *b, lane_id lane, sim_time end, blame_cause cause, sim_time known);
sim_time blame_idle_for_part(blame *b, lane_id lane, sim_time end, blame_cause cause, uint32_t part,
                             sim_time known);
// The lane was idle until end because peer had not come yet: charged along the peer's idle causes in that time, the rest to
// own. Only causes known before now count, so that the order of charges at one instant does not show. peer == lane is charged
// to BLAME_OTHER (it cannot wait for itself). culprit: who is to blame while the peer works: itself, or by whom it is slow.
void blame_idle_for_peer(blame *b, lane_id lane, sim_time end, lane_id peer, lane_id culprit, blame_cause own,
                         sim_time now);
// The lane was idle until end because peer, another lane, had not handed over what it needs: BLAME_BUBBLE, whatever that lane
// waited for, with its culprits.
void blame_idle_for_stage(blame *b, lane_id lane, sim_time end, lane_id peer, lane_id culprit, sim_time now);
// Ends the step for every lane; asserts conservation.
void blame_end_step(blame *b, sim_time end);
const sim_time *blame_of_lane(const blame *b, lane_id lane); // BLAME_CAUSES entries, this step
// How long others were idle in this step for BLAME_PEER or BLAME_BUBBLE with this lane as the culprit, x their multiplicity.
unsigned __int128 blame_caused_by(const blame *b, lane_id lane, blame_cause cause);
unsigned __int128 blame_caused_by_part(const blame *b, uint32_t part,
                                       blame_cause cause); // the same, of any cause
