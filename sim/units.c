// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/units.h"
#include "sim/array.h"
#include "sim/check.h"
#include "sim/words.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128;

// One unit is odd x 2^exp2 x 10^exp10 of the kind's base unit: in this form decimal text becomes a double with one
// rounding and whole ticks or bytes with none.
typedef struct unit_def {
    const char *name;
    int exp10, exp2;
    uint32_t odd;
    bool shown; // units_format() writes it
} unit_def;

static const unit_def time_units[] = {
    { "ps", -12, 0, 1, true }, { "ns", -9, 0, 1, true }, { "us", -6, 0, 1, true }, { "ms", -3, 0, 1, true },
    { "s", 0, 0, 1, true },    { "min", 1, 1, 3, true }, { "h", 2, 2, 9, true },   { "d", 2, 5, 27, true },
};
static const unit_def bytes_units[] = {
    { "B", 0, 0, 1, true },     { "kB", 3, 0, 1, true },    { "MB", 6, 0, 1, true },
    { "GB", 9, 0, 1, true },    { "TB", 12, 0, 1, true },   { "PB", 15, 0, 1, true },
    { "KiB", 0, 10, 1, false }, { "MiB", 0, 20, 1, false }, { "GiB", 0, 30, 1, false },
    { "TiB", 0, 40, 1, false }, { "PiB", 0, 50, 1, false },
};
static const unit_def rate_units[] = {
    { "b/s", 0, -3, 1, false },   { "kb/s", 3, -3, 1, false },  { "Mb/s", 6, -3, 1, false },
    { "Gb/s", 9, -3, 1, false },  { "Tb/s", 12, -3, 1, false }, { "B/s", 0, 0, 1, true },
    { "kB/s", 3, 0, 1, true },    { "MB/s", 6, 0, 1, true },    { "GB/s", 9, 0, 1, true },
    { "TB/s", 12, 0, 1, true },   { "KiB/s", 0, 10, 1, false }, { "MiB/s", 0, 20, 1, false },
    { "GiB/s", 0, 30, 1, false }, { "TiB/s", 0, 40, 1, false },
};
static const unit_def flops_units[] = {
    { "FLOP/s", 0, 0, 1, true },   { "kFLOP/s", 3, 0, 1, true },  { "MFLOP/s", 6, 0, 1, true },
    { "GFLOP/s", 9, 0, 1, true },  { "TFLOP/s", 12, 0, 1, true }, { "PFLOP/s", 15, 0, 1, true },
    { "EFLOP/s", 18, 0, 1, true },
};
static const unit_def power_units[] = {
    { "mW", -3, 0, 1, true },
    { "W", 0, 0, 1, true },
    { "kW", 3, 0, 1, true },
    { "MW", 6, 0, 1, true },
};
static const unit_def frequency_units[] = {
    { "Hz", 0, 0, 1, true },
    { "kHz", 3, 0, 1, true },
    { "MHz", 6, 0, 1, true },
    { "GHz", 9, 0, 1, true },
};
static const unit_def length_units[] = {
    { "mm", -3, 0, 1, true },
    { "cm", -2, 0, 1, false },
    { "m", 0, 0, 1, true },
    { "km", 3, 0, 1, true },
};
static const unit_def ratio_units[] = { { "%", -2, 0, 1, false } };

typedef struct kind_def {
    const char *noun, *base, *example;
    const unit_def *units;
    uint32_t count;
} kind_def;

static const kind_def kinds[] = {
    [UNIT_NONE] = { "a number", "", "12", ratio_units, ARRAY_COUNT(ratio_units) },
    [UNIT_TIME] = { "a time", "s", "1.3 us", time_units, ARRAY_COUNT(time_units) },
    [UNIT_BYTES] = { "a size", "B", "80 GB", bytes_units, ARRAY_COUNT(bytes_units) },
    [UNIT_RATE] = { "a rate", "B/s", "400 Gb/s", rate_units, ARRAY_COUNT(rate_units) },
    [UNIT_FLOPS] = { "a compute rate", "FLOP/s", "989 TFLOP/s", flops_units, ARRAY_COUNT(flops_units) },
    [UNIT_POWER] = { "a power", "W", "700 W", power_units, ARRAY_COUNT(power_units) },
    [UNIT_FREQUENCY] = { "a frequency", "Hz", "1.98 GHz", frequency_units, ARRAY_COUNT(frequency_units) },
    [UNIT_LENGTH] = { "a length", "m", "30 m", length_units, ARRAY_COUNT(length_units) },
};

// Not even a percentage: a count stands alone.
static const kind_def count_kind = { "a whole number", "", "12", NULL, 0 };

const char *units_base(unit_kind kind)
{
    SIM_ASSERT((size_t)kind < ARRAY_COUNT(kinds));
    return kinds[kind].base;
}

const char *units_example(unit_kind kind)
{
    SIM_ASSERT((size_t)kind < ARRAY_COUNT(kinds));
    return kinds[kind].example;
}

// ---- text to numbers

enum {
    NUMBER_CHARS_MAX = 100,  // of one written number; what is longer is a slip, or an attack
    DIGITS_MAX = 38,         // decimal digits that surely fit 128 bits
    EXPONENT_BOUND = 100000, // far beyond double and int64: larger exponents say nothing new
};

// A number as written: (-1)^negative x mantissa x 10^exp10, if it has at most DIGITS_MAX digits that count.
typedef struct decimal {
    bool negative;
    bool many_digits; // the mantissa is incomplete
    u128 mantissa;
    int exp10;
    char text[NUMBER_CHARS_MAX + 1]; // sign, digits and point, without the exponent
    int text_exp10;                  // the written exponent
    bool zero;
} decimal;

static bool is_digit(char c)
{
    return '0' <= c && c <= '9';
}

// Takes digits and a point. Zeros at the end are held back, so that 1.500000 has two digits that count.
static const char *scan_mantissa(const char *c, decimal *out, uint32_t *digits)
{
    bool point = false;
    uint32_t counting = 0, held_zeros = 0;
    for (; is_digit(*c) || (*c == '.' && !point); c++) {
        if (*c == '.') {
            point = true;
            continue;
        }
        ++*digits;
        if (point) out->exp10--;
        if (*c == '0') {
            if (counting) held_zeros++;
            continue;
        }
        counting += held_zeros + 1;
        if (counting > DIGITS_MAX) {
            out->many_digits = true;
        } else {
            for (; held_zeros; held_zeros--)
                out->mantissa *= 10;
            out->mantissa = out->mantissa * 10 + (uint32_t)(*c - '0');
        }
        held_zeros = 0;
    }
    out->exp10 += (int)held_zeros;
    out->zero = counting == 0;
    return c;
}

// Takes "e-12" if that is what follows. "EFLOP/s" is a unit and stays.
static const char *scan_exponent(const char *c, int *exponent)
{
    if (*c != 'e' && *c != 'E') return c;
    const char *digit = c + 1;
    bool negative = *digit == '-';
    if (*digit == '-' || *digit == '+') digit++;
    if (!is_digit(*digit)) return c;
    int value = 0;
    for (; is_digit(*digit); digit++)
        if (value < EXPONENT_BOUND) value = value * 10 + (*digit - '0');
    *exponent = negative ? -value : value;
    return digit;
}

// Splits text into a number and the unit behind it.
static bool scan(const kind_def *kind, const char *text, decimal *out, const char **unit,
                 const sim_place *where, sim_error *error)
{
    char shown[WORDS_SHOWN_SIZE];
    *out = (decimal){ 0 };
    const char *c = text;
    if (*c == '-') {
        out->negative = true;
        c++;
    }
    uint32_t digits = 0;
    c = scan_mantissa(c, out, &digits);
    const char *end = scan_exponent(c, &out->text_exp10);
    if (digits == 0) {
        sim_fail(error, SIM_EXIT_INPUT, where, "\"%s\" is not a number", words_show(shown, text));
        return sim_hint(error, "%s is written like \"%s\"", kind->noun, kind->example);
    }
    if (end - text > NUMBER_CHARS_MAX)
        return sim_fail(error, SIM_EXIT_INPUT, where,
                        "\"%s\" is too long: a number has at most %d characters", words_show(shown, text),
                        NUMBER_CHARS_MAX);
    memcpy(out->text, text, (size_t)(c - text));
    out->exp10 += out->text_exp10;
    while (*end == ' ')
        end++;
    *unit = end;
    return true;
}

static bool same_but_for_case(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        bool letters = ((*a | 32) >= 'a' && (*a | 32) <= 'z');
        if (letters ? (*a | 32) != (*b | 32) : *a != *b) return false;
    }
    return *a == *b;
}

// Says which unit was probably meant. "gb/s" differs from two units in case alone, and they differ by a factor of 8: both
// are named.
static bool hint_unit(const kind_def *kind, const char *unit, sim_error *error)
{
    const char *names[ARRAY_COUNT(rate_units)], *twins[2];
    uint32_t twin_count = 0;
    SIM_ASSERT(kind->count <= ARRAY_COUNT(names));
    for (uint32_t i = 0; i < kind->count; i++) {
        names[i] = kind->units[i].name;
        if (same_but_for_case(unit, names[i]) && twin_count < 2) twins[twin_count++] = names[i];
    }
    if (twin_count == 2 && kind == &kinds[UNIT_RATE])
        return sim_hint(error, "did you mean \"%s\" (bits) or \"%s\" (bytes)?", twins[0], twins[1]);
    if (twin_count == 2) return sim_hint(error, "did you mean \"%s\" or \"%s\"?", twins[0], twins[1]);
    char called[64];
    snprintf(called, sizeof(called), "units of %s", kind->noun);
    return words_hint(error, unit, names, kind->count, kind->count, called);
}

static const unit_def *find_unit(const kind_def *kind, const char *text, const char *unit,
                                 const sim_place *where, sim_error *error)
{
    static const unit_def one = { "", 0, 0, 1, false };
    char shown[WORDS_SHOWN_SIZE];
    bool bare = !*kind->base;
    if (!*unit && bare) return &one;
    if (!*unit) {
        sim_fail(error, SIM_EXIT_INPUT, where, "%s needs a unit, such as \"%s\"", kind->noun, kind->example);
        return NULL;
    }
    for (uint32_t i = 0; i < kind->count; i++)
        if (strcmp(unit, kind->units[i].name) == 0) return &kind->units[i];
    if (bare) {
        sim_fail(error, SIM_EXIT_INPUT, where, "\"%s\" is not a bare number", words_show(shown, text));
        sim_hint(error, "here a number stands without a unit, such as \"%s\"", kind->example);
        return NULL;
    }
    sim_fail(error, SIM_EXIT_INPUT, where, "\"%s\" is no unit of %s", words_show(shown, unit), kind->noun);
    hint_unit(kind, unit, error);
    return NULL;
}

static bool fail_range(const char *text, const sim_place *where, sim_error *error)
{
    char shown[WORDS_SHOWN_SIZE];
    return sim_fail(error, SIM_EXIT_INPUT, where, "\"%s\" is out of range", words_show(shown, text));
}

bool units_parse(unit_kind kind, const char *text, double *value, const sim_place *where, sim_error *error)
{
    SIM_ASSERT((size_t)kind < ARRAY_COUNT(kinds));
    decimal number;
    const char *unit_text;
    if (!scan(&kinds[kind], text, &number, &unit_text, where, error)) return false;
    const unit_def *unit = find_unit(&kinds[kind], text, unit_text, where, error);
    if (!unit) return false;
    // The unit's power of ten goes into the text, so that "1.3 us" is the double nearest to 1.3e-6.
    char buffer[NUMBER_CHARS_MAX + 24];
    snprintf(buffer, sizeof(buffer), "%se%d", number.text, number.text_exp10 + unit->exp10);
    double scaled = ldexp(strtod(buffer, NULL) * unit->odd, unit->exp2);
    if (!isfinite(scaled) || (scaled == 0.0 && !number.zero)) return fail_range(text, where, error);
    *value = scaled;
    return true;
}

typedef enum exact_result { EXACT, EXACT_FRACTION, EXACT_TOO_LARGE } exact_result;

// number x unit x 10^shift as a whole number, by cancelling twos and fives before anything is multiplied.
static exact_result exact_product(const decimal *number, const unit_def *unit, int shift, u128 *out)
{
    u128 n = number->mantissa;
    *out = 0;
    if (n == 0) return EXACT;
    int fives = number->exp10 + unit->exp10 + shift, twos = fives + unit->exp2;
    for (; fives < 0; fives++, n /= 5)
        if (n % 5) return EXACT_FRACTION;
    for (; twos < 0; twos++, n /= 2)
        if (n % 2) return EXACT_FRACTION;
    const u128 most = ~(u128)0;
    for (; fives > 0; fives--, n *= 5)
        if (n > most / 5) return EXACT_TOO_LARGE;
    for (; twos > 0; twos--, n *= 2)
        if (n > most / 2) return EXACT_TOO_LARGE;
    if (n > most / unit->odd) return EXACT_TOO_LARGE;
    *out = n * unit->odd;
    return EXACT;
}

// The shared part of the exact readers. whole_name says whole what.
static bool parse_whole(const kind_def *kind, int shift, const char *whole_name, u128 greatest,
                        const char *text, bool *negative, u128 *out, const sim_place *where, sim_error *error)
{
    char shown[WORDS_SHOWN_SIZE];
    decimal number;
    const char *unit_text;
    if (!scan(kind, text, &number, &unit_text, where, error)) return false;
    const unit_def *unit = find_unit(kind, text, unit_text, where, error);
    if (!unit) return false;
    if (number.many_digits)
        return sim_fail(error, SIM_EXIT_INPUT, where, "\"%s\" has more than %d digits",
                        words_show(shown, text), DIGITS_MAX);
    exact_result result = exact_product(&number, unit, shift, out);
    if (result == EXACT_FRACTION)
        return sim_fail(error, SIM_EXIT_INPUT, where, "%s is not a whole number%s", words_show(shown, text),
                        whole_name);
    if (result == EXACT_TOO_LARGE || *out > greatest) return fail_range(text, where, error);
    *negative = number.negative && *out != 0;
    return true;
}

bool units_parse_ps(const char *text, sim_time *value_ps, const sim_place *where, sim_error *error)
{
    u128 ticks;
    bool negative;
    if (!parse_whole(&kinds[UNIT_TIME], 12, " of picoseconds", INT64_MAX, text, &negative, &ticks, where,
                     error))
        return false;
    *value_ps = negative ? -(sim_time)ticks : (sim_time)ticks;
    return true;
}

static bool parse_unsigned(const kind_def *kind, const char *whole_name, const char *text, uint64_t *value,
                           const sim_place *where, sim_error *error)
{
    u128 whole;
    bool negative;
    if (!parse_whole(kind, 0, whole_name, UINT64_MAX, text, &negative, &whole, where, error)) return false;
    if (negative) {
        char shown[WORDS_SHOWN_SIZE];
        return sim_fail(error, SIM_EXIT_INPUT, where, "%s is negative", words_show(shown, text));
    }
    *value = (uint64_t)whole;
    return true;
}

bool units_parse_bytes(const char *text, uint64_t *value_bytes, const sim_place *where, sim_error *error)
{
    return parse_unsigned(&kinds[UNIT_BYTES], " of bytes", text, value_bytes, where, error);
}

bool units_parse_count(const char *text, uint64_t *value, const sim_place *where, sim_error *error)
{
    return parse_unsigned(&count_kind, "", text, value, where, error);
}

// ---- numbers to text

// The value in this unit. Powers of ten up to 1e18 are exact doubles, so there is one rounding.
static double in_unit(double value, const unit_def *unit)
{
    double power = 1.0;
    for (int i = abs(unit->exp10); i > 0; i--)
        power *= 10.0;
    value = ldexp(value / unit->odd, -unit->exp2);
    return unit->exp10 < 0 ? value * power : value / power;
}

static double four_digits(double value)
{
    char text[32];
    snprintf(text, sizeof(text), "%.3e", value);
    return strtod(text, NULL);
}

// Four digits that count: "1.234", "12.34", "451.0", "1234"; far from one with a power of ten.
static char *format_four(double value, const char *unit, char *buffer, size_t size)
{
    double rounded = four_digits(value), positive = fabs(rounded);
    const char *space = *unit ? " " : "";
    int decimals = positive < 10.0 ? 3 : positive < 100.0 ? 2 : positive < 1000.0 ? 1 : 0;
    if (positive == 0.0)
        snprintf(buffer, size, "0%s%s", space, unit);
    else if (positive < 1.0 || positive >= 1e6)
        snprintf(buffer, size, "%.4g%s%s", rounded, space, unit);
    else
        snprintf(buffer, size, "%.*f%s%s", decimals, rounded, space, unit);
    return buffer;
}

// NaN stands for "no value" (an empty average), and people are told so. True if it was no finite number.
static bool format_no_number(double value, char *buffer, size_t size)
{
    if (isfinite(value)) return false;
    snprintf(buffer, size, "%s", isnan(value) ? "unknown" : value > 0 ? "infinite" : "-infinite");
    return true;
}

char *units_format(unit_kind kind, double value, char *buffer, size_t size)
{
    SIM_ASSERT((size_t)kind < ARRAY_COUNT(kinds) && size > 0);
    if (format_no_number(value, buffer, size)) return buffer;
    // Counts and single bytes come whole.
    bool whole = value == floor(value);
    if (whole &&
        ((kind == UNIT_NONE && fabs(value) < 1e15) || (kind == UNIT_BYTES && fabs(value) < 1000.0))) {
        snprintf(buffer, size, "%.0f%s%s", value + 0.0, kind == UNIT_NONE ? "" : " ", units_base(kind));
        return buffer;
    }
    if (kind == UNIT_NONE) return format_four(value, "", buffer, size);
    // The largest unit in which the rounded number is at least one, else the smallest.
    const unit_def *unit = NULL;
    for (uint32_t i = kinds[kind].count; i-- > 0;) {
        if (!kinds[kind].units[i].shown) continue;
        unit = &kinds[kind].units[i];
        if (fabs(four_digits(in_unit(value, unit))) >= 1.0) break;
    }
    if (value == 0.0) return format_four(0.0, units_base(kind), buffer, size);
    return format_four(in_unit(value, unit), unit->name, buffer, size);
}

char *units_format_binary_bytes(double bytes, char *buffer, size_t size)
{
    static const char *const names[] = { "KiB", "MiB", "GiB", "TiB", "PiB" };
    SIM_ASSERT(size > 0);
    if (format_no_number(bytes, buffer, size)) return buffer;
    if (fabs(bytes) < 1024.0) return units_format(UNIT_BYTES, bytes, buffer, size);
    uint32_t i = 0;
    double scaled = bytes / 1024.0;
    for (; i + 1 < ARRAY_COUNT(names) && fabs(four_digits(scaled)) >= 1024.0; i++)
        scaled /= 1024.0;
    return format_four(scaled, names[i], buffer, size);
}

char *units_exact(unit_kind kind, double value, char *buffer, size_t size)
{
    SIM_ASSERT(isfinite(value) && size > 0);
    const char *base = units_base(kind);
    // %g drops zeros at the end; six digits keep 400 from becoming 4e+02
    for (int digits = 6; digits <= DBL_DECIMAL_DIG; digits++) {
        snprintf(buffer, size, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) break;
    }
    size_t used = strlen(buffer);
    SIM_ASSERT(used + 1 + strlen(base) < size);
    snprintf(buffer + used, size - used, "%s%s", *base ? " " : "", base);
    return buffer;
}

// ---- seconds and ticks

// A finite positive double is mantissa x 2^exp2 exactly, with a mantissa of at most 53 bits.
static uint64_t split_double(double value, int *exp2)
{
    double fraction = frexp(value, exp2); // in [0.5, 1)
    *exp2 -= DBL_MANT_DIG;
    return (uint64_t)ldexp(fraction, DBL_MANT_DIG);
}

// seconds x per_second as a whole number: up, or to the nearest with ties up. Exact: the product has at most 53 + 40 bits,
// and only the last shift rounds.
static uint64_t ticks_from_s(double seconds, uint64_t per_second, bool up)
{
    SIM_ASSERT(seconds >= 0.0 && seconds * (double)per_second < 9.2e18); // NaN fails too
    if (seconds == 0.0) return 0;
    int exp2;
    u128 product = (u128)split_double(seconds, &exp2) * per_second;
    if (exp2 >= 0) return (uint64_t)(product << exp2); // below 2^63 by the assertion
    if (exp2 <= -127) return up ? 1 : 0;               // product < 2^93, so this is less than half a tick
    u128 unit = (u128)1 << -exp2;
    return (uint64_t)((product + (up ? unit - 1 : unit / 2)) / unit);
}

sim_time units_ps_from_s(double seconds)
{
    return (sim_time)ticks_from_s(seconds, (uint64_t)PS_PER_S, true);
}

double units_s_from_ps(sim_time time_ps)
{
    return (double)time_ps / (double)PS_PER_S;
}

sim_time units_ps_from_s_whole_ns(double seconds)
{
    uint64_t whole_ns = ticks_from_s(seconds, (uint64_t)(PS_PER_S / PS_PER_NS), false);
    SIM_ASSERT(whole_ns <= (uint64_t)(SIM_TIME_MAX / PS_PER_NS));
    return (sim_time)whole_ns * PS_PER_NS;
}

// Up, and once per transfer: whole picoseconds per byte would turn 450 GB/s (2.22 ps) into 500 GB/s.
sim_time units_wire_time_ps(uint64_t bytes, uint64_t rate_mBps)
{
    SIM_ASSERT(rate_mBps > 0);
    u128 work = (u128)bytes * UINT64_C(1000000000000000); // unit 1e-15 B = 1 mB/s for 1 ps
    u128 time_ps = (work + rate_mBps - 1) / rate_mBps;
    SIM_ASSERT(time_ps <= (u128)SIM_TIME_MAX);
    return (sim_time)time_ps;
}

uint64_t units_mBps_from_Bps(double rate_Bps)
{
    SIM_ASSERT(rate_Bps >= 0.0 && rate_Bps < 9.223372036854775808e18 / 1000.0);
    return (uint64_t)round(rate_Bps * 1000.0);
}
