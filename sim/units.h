// SPDX-License-Identifier: GPL-3.0-or-later
// sim/units.h: time as integers, and numbers with units as text. Units are written: "400 Gb/s",
// "80 GiB", "1.3 us", "989 TFLOP/s", "700 W"; a bare number for a dimensioned quantity is an error.
// 1 GB = 1e9 bytes, 1 GiB = 2^30 bytes, b = bit, B = byte.
#pragma once
#include "sim/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Ticks: 1 ps in a step simulation, 1 us in a job simulation. Names say which: _ps, _us.
typedef int64_t sim_time;
#define SIM_TIME_MAX INT64_MAX
#define PS_PER_NS INT64_C(1000)
#define PS_PER_US INT64_C(1000000)
#define PS_PER_MS INT64_C(1000000000)
#define PS_PER_S INT64_C(1000000000000)

typedef enum unit_kind {
    UNIT_NONE,  // a bare number: counts, and ratios also written "90 %"
    UNIT_TIME,  // kept in s;       ps ns us ms s min h d
    UNIT_BYTES, // kept in bytes;   B kB MB GB TB PB, KiB MiB GiB TiB PiB
    UNIT_RATE,  // kept in bytes/s; b/s kb/s Mb/s Gb/s Tb/s, B/s kB/s MB/s GB/s TB/s, KiB/s MiB/s GiB/s TiB/s
    UNIT_FLOPS, // kept in FLOP/s;  FLOP/s kFLOP/s MFLOP/s GFLOP/s TFLOP/s PFLOP/s EFLOP/s
    UNIT_POWER, // kept in W;       mW W kW MW
    UNIT_FREQUENCY, // kept in Hz;      Hz kHz MHz GHz
    UNIT_LENGTH     // kept in m;       mm cm m km
} unit_kind;

// Text to a number in the kind's base unit. Refuses (exit code 2): not a number, NaN, infinite, out of double's range,
// a missing unit, an unknown unit (naming the nearest), trailing text. where is the place of the text.
bool units_parse(unit_kind kind, const char *text, double *value, const sim_place *where, sim_error *error);
// The same for a time as whole picoseconds and for whole bytes: exact for decimal input, no rounding through double;
// refuses a fraction of a tick ("0.3 ps") and what exceeds int64/uint64.
bool units_parse_ps(const char *text, sim_time *value_ps, const sim_place *where, sim_error *error);
bool units_parse_bytes(const char *text, uint64_t *value_bytes, const sim_place *where, sim_error *error);
// A count: a whole number without a unit, exact; 1e6 is one too.
bool units_parse_count(const char *text, uint64_t *value, const sim_place *where, sim_error *error);

// A number for people: "1.234 ms", "80.0 GB", "451 GB/s", "312 TFLOP/s"; four significant digits. Returns buffer.
char *units_format(unit_kind kind, double value, char *buffer, size_t size);
char *units_format_binary_bytes(double bytes, char *buffer, size_t size); // "74.51 GiB"
// A number that units_parse() reads back to the same bits: "4.5e+11 B/s". Returns buffer.
char *units_exact(unit_kind kind, double value, char *buffer, size_t size);
const char *units_base(unit_kind kind);    // "s", "B", "B/s", ...; "" for UNIT_NONE
const char *units_example(unit_kind kind); // "1.3 us", "80 GB", ... for messages

// Seconds to ticks, rounded up once (never complete early); asserts 0 <= seconds and the horizon.
sim_time units_ps_from_s(double seconds);
double units_s_from_ps(sim_time time_ps);
// Kernel and host times are rounded to whole nanoseconds (sim/README.md, rules of time): nearest, ties up.
sim_time units_ps_from_s_whole_ns(double seconds);
// ceil(bytes / rate) with the rate in millibytes per second: exact, 128 bits, rounded up once.
sim_time units_wire_time_ps(uint64_t bytes, uint64_t rate_mBps);
uint64_t units_mBps_from_Bps(double rate_Bps); // nearest; asserts 0 <= rate < 2^63 / 1000
