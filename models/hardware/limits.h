// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/limits.h: what definitions may say: far beyond any hardware, and well inside what times, sums and the
// integers of the fabric hold.
#pragma once

#define FLOPS_MAX 1e21
#define RATE_MAX_Bps 1e15
#define MEMORY_MAX_BYTES 1e15
#define HOST_MEMORY_MAX_BYTES 1e18
#define DELAY_MAX_S 1.0
#define CABLE_MAX_m 100e3
#define POWER_LEAST_W 1.0
#define POWER_MAX_W 1e6
