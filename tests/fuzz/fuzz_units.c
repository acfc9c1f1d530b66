// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers with units: the first byte chooses the kind, the rest is the text.
#include "sim/check.h"
#include "sim/units.h"
#include "tests/fuzz/fuzz.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const sim_place place = { .file = "fuzz", .line = 1, .column = 1 };

static double parse_again(unit_kind kind, const char *text)
{
    double value = NAN;
    sim_error error = { 0 };
    SIM_ASSERT(units_parse(kind, text, &value, &place, &error));
    return value;
}

static void try_double(unit_kind kind, const char *text)
{
    char buffer[64];
    double value = 0.0;
    sim_error error = { 0 };
    if (!units_parse(kind, text, &value, &place, &error)) {
        SIM_ASSERT(error.message[0] && error.exit_code == SIM_EXIT_INPUT);
        return;
    }
    SIM_ASSERT(isfinite(value));
    double exact = parse_again(kind, units_exact(kind, value, buffer, sizeof(buffer)));
    SIM_ASSERT(memcmp(&exact, &value, sizeof(value)) == 0);
    units_format(kind, value, buffer, sizeof(buffer));
    // beyond these, four digits may leave the range of double
    if (fabs(value) > 1e300 || (value != 0.0 && fabs(value) < 1e-290)) return;
    SIM_ASSERT(fabs(parse_again(kind, buffer) - value) <= 5.1e-4 * fabs(value));
    units_format_binary_bytes(value, buffer, sizeof(buffer));
}

static void try_ps(const char *text)
{
    char buffer[64];
    sim_time time_ps = 0, again_ps = 0;
    sim_error error = { 0 };
    if (!units_parse_ps(text, &time_ps, &place, &error)) return;
    snprintf(buffer, sizeof(buffer), "%" PRId64 " ps", time_ps);
    SIM_ASSERT(units_parse_ps(buffer, &again_ps, &place, &error) && again_ps == time_ps);
    double seconds = parse_again(UNIT_TIME, text);
    SIM_ASSERT(fabs(units_s_from_ps(time_ps) - seconds) <= 1e-15 * fabs(seconds));
    units_format(UNIT_TIME, units_s_from_ps(time_ps), buffer, sizeof(buffer));
}

static void try_whole(const char *text)
{
    char buffer[64];
    uint64_t value = 0, again = 0;
    sim_error error = { 0 };
    if (units_parse_bytes(text, &value, &place, &error)) {
        snprintf(buffer, sizeof(buffer), "%" PRIu64 " B", value);
        SIM_ASSERT(units_parse_bytes(buffer, &again, &place, &error) && again == value);
        double bytes = parse_again(UNIT_BYTES, text);
        SIM_ASSERT(fabs((double)value - bytes) <= 1e-15 * fabs(bytes));
    }
    sim_error_clear(&error);
    if (units_parse_count(text, &value, &place, &error))
        SIM_ASSERT(fabs((double)value - parse_again(UNIT_NONE, text)) <= 1e-15 * (double)value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    char *text = calloc(size, 1);
    SIM_ASSERT(text);
    memcpy(text, data + 1, size - 1);
    try_double((unit_kind)(data[0] % (UNIT_LENGTH + 1)), text);
    try_ps(text);
    try_whole(text);
    free(text);
    return 0;
}
