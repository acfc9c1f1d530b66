// SPDX-License-Identifier: GPL-3.0-or-later
// models/traffic/flow.h: one transfer between two hosts as plain data, however it was thought of. Hosts are numbers from 0;
// which vertices of the fabric they are, the player is told (models/traffic/traffic.h).
#pragma once
#include "models/ids.h"
#include "sim/array.h"
#include "sim/units.h"

typedef struct traffic_flow {
    sim_time start_ps;
    uint64_t bytes;
    uint32_t from, to; // never the same
} traffic_flow;
ARRAY_OF(traffic_flow, traffic_flow_array);

// A list is held whole (24 bytes a flow), and all of it may be in flight at once (some 300 bytes more each). Closed loops
// hold one flow per host, so that only time limits them.
enum { TRAFFIC_LIST_MAX = 10000000, TRAFFIC_LOOP_MAX = 1000000000 };
// The clock holds 106 days; half of it is left to the flows that have started.
#define TRAFFIC_START_MAX_PS (SIM_TIME_MAX / 2)
// Sums of bytes are kept in rows of the trace, whose integers are signed.
#define TRAFFIC_BYTES_MAX ((uint64_t)INT64_MAX)
