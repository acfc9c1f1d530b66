// SPDX-License-Identifier: GPL-3.0-or-later
// tools/show_path.h: a path as a table and as JSON, for those who show one.
#pragma once
#include "tools/show.h"

double show_rate_Bps(uint64_t rate_mBps);
void show_path_print(arena *a, const topology *t, vertex_id from,
                     vertex_id to); // of queue pair 0, all links up
void show_link_json(json_writer *j, link_class class, uint64_t rate_mBps,
                    sim_time delay_ps); // members of an object
void show_path_json(arena *a, json_writer *j, const char *key, const topology *t, vertex_id from,
                    vertex_id to);
