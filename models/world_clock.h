// SPDX-License-Identifier: GPL-3.0-or-later
// models/world_clock.h: whether the clock of a step simulation can hold the run, before any integer time of a collective is
// worked out: none of them can overflow then. Refused are steps that may be longer than half of what the clock holds, and runs
// that certainly are. Since a run begins no step in the second half, each ends in time.
#pragma once
#include "models/world.h"

#define WORLD_CLOCK_PS (SIM_TIME_MAX / 2)

// Costs and programs are built.
bool world_check_clock(const world *w, sim_error *error);
double world_longest_step_s(const world *w); // no step takes longer
