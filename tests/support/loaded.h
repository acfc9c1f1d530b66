// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/loaded.h: a scenario read from a text, on the project's catalogue. Include tests/support/scratch.h first.
#pragma once
#include "models/scenario.h"

typedef struct loaded {
    arena *a;
    catalogue parts;
    scenario s;
    sim_error error;
} loaded;

static inline bool loaded_read(loaded *l, const scratch_folder *folder, const char *text,
                               const char *const *sets, uint32_t set_count)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/models/catalogue", folder->before);
    *l = (loaded){ .a = arena_create("test") };
    scratch_write("s.yaml", text);
    return catalogue_find(l->a, path, &l->parts, &l->error) &&
           scenario_load(l->a, &l->parts, "s.yaml", sets, set_count, &l->s, &l->error);
}
