// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/healthy.h"

static bool on_step(void *owner, const step_end *end)
{
    healthy_twin *t = owner;
    t->step_ps = end->end_ps - end->start_ps;
    t->done = true;
    return false;
}

void healthy_play(arena *a, const scenario *s, const world_options *options, bool (*poll)(void *owner),
                  void *owner, healthy_twin *out)
{
    sim_error error = { 0 };
    world_options quiet = *options;
    *out = (healthy_twin){ .scenario = *s };
    out->scenario.cluster.degraded.count = 0;
    out->scenario.run.steps = 1;
    quiet.listener = (step_listener){ .on_step = on_step, .owner = out };
    const bool built = world_create(a, &out->scenario, &quiet, &out->world, &error);
    SIM_ASSERT(built); // what is slower has been built from the same scenario
    sim_set_poll(out->world->sim, poll, owner);
    step_player_start(out->world->player);
    sim_run(out->world->sim, SIM_TIME_MAX);
}

void healthy_destroy(healthy_twin *t)
{
    world_destroy(t->world);
    t->world = NULL;
}
