// SPDX-License-Identifier: GPL-3.0-or-later
// models/healthy.h: what degraded parts cost: the same step with all parts healthy, played apart. Blame names who is waited
// for; this is by how much the step is longer.
#pragma once
#include "models/world.h"

typedef struct healthy_twin {
    scenario scenario; // without cluster.degraded, one step
    world *world;      // NULL before it is built and after it has been destroyed
    sim_time step_ps;  // once it has been played
    bool done;
} healthy_twin;

// Plays it, stopped by poll (as sim_set_poll()); done says whether it came to its end. The twin is the owner's, who destroys it
// also after an escape of the arena.
void healthy_play(arena *a, const scenario *s, const world_options *options, bool (*poll)(void *owner),
                  void *owner, healthy_twin *out);
void healthy_destroy(healthy_twin *t);
