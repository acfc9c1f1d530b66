// SPDX-License-Identifier: GPL-3.0-or-later
// models/recorder_internal.h: what the files of the recorder share; nobody else includes it.
//   recorder.c       entities, spans, collectives, transfers; totals and estimates; the interface
//   recorder_step.c  the end of a step: rows of its blame, GPUs and links, and the sums over all steps
#pragma once
#include "models/recorder.h"

struct recorder {
    arena *a;
    tables *tables;
    const world *world;
    part_bases parts;
    uint64_t spans, transfers;
    uint32_t kernels;
    // Sums over the steps that have ended.
    stats_running step_s;
    sim_time played_ps;
    unsigned __int128 blame_ps[BLAME_CAUSES], gpu_time_ps;
    unsigned __int128 *blame_of_stage;                // stage x BLAME_CAUSES + cause
    unsigned __int128 *peer_by_lane, *bubble_by_lane; // of others, with this lane as the culprit
    unsigned __int128 *caused_by_link;                // by place in topology_degraded_links()
    uint64_t *link_bytes;                             // per link, since the run began
    link_troubles *link_troubles;                     // likewise
    sim_time too_long_step_ps;                        // recorder_too_long_step_ps()
    bool (*after_step)(void *owner);
    void *owner;
};

static inline uint64_t recorder_lane_memory(const world *w, lane_id l)
{
    return w->memory.of_stage[w->lanes.lanes[l].place.pipeline].total_bytes;
}

bool recorder_end_step(void *recorder_, const step_end *end); // of the step_listener
