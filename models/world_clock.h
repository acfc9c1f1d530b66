// SPDX-License-Identifier: GPL-3.0-or-later
// models/world_clock.h: whether the clock of a step simulation can hold the run, before any integer time of a collective is
// worked out: none of them can overflow then.
#pragma once
#include "models/world.h"

// Costs and programs are built.
bool world_check_clock(const world *w, sim_error *error);
