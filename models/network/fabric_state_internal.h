// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/fabric_state_internal.h: for fabric_state.c and routing only.
#pragma once
#include "models/network/fabric_state.h"

struct fabric_state {
    const topology *topology;
    uint64_t *rates_mBps; // per link, whether up or not
    uint8_t *down;        // per link
    uint8_t *avoided;     // per link
    uint32_t avoided_count, down_count;
    uint8_t *distance; // of lists (topology_list): without the links that are avoided
};
