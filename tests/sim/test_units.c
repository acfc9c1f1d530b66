// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/array.h"
#include "sim/units.h"
#include "tests/support/near.h"
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const sim_place place = { .file = "a.yaml", .line = 7, .column = 13 };

// ---- numbers in the base unit

struct parse_case {
    const char *text;
    unit_kind kind;
    double want; // exactly: the double nearest to the decimal value
};
static const struct parse_case parse_cases[] = {
    { "12", UNIT_NONE, 12.0 },
    { "-0.375", UNIT_NONE, -0.375 },
    { ".5", UNIT_NONE, 0.5 },
    { "7.", UNIT_NONE, 7.0 },
    { "90 %", UNIT_NONE, 0.9 },
    { "37.3%", UNIT_NONE, 0.373 },
    { "6.02214076e23", UNIT_NONE, 6.02214076e23 },
    { "1E-7", UNIT_NONE, 1e-7 },
    { "2e+3", UNIT_NONE, 2000.0 },
    { "0e99999999", UNIT_NONE, 0.0 },
    { "1.3 us", UNIT_TIME, 1.3e-6 },
    { "1.3us", UNIT_TIME, 1.3e-6 },
    { "417   ps", UNIT_TIME, 417e-12 },
    { "3.7 ns", UNIT_TIME, 3.7e-9 },
    { "2.9 ms", UNIT_TIME, 2.9e-3 },
    { "11.3 s", UNIT_TIME, 11.3 },
    { "7 min", UNIT_TIME, 420.0 },
    { "2.5 h", UNIT_TIME, 9000.0 },
    { "3 d", UNIT_TIME, 259200.0 },
    { "-4 ms", UNIT_TIME, -4e-3 },
    { "1e3ns", UNIT_TIME, 1e-6 },
    { "513 B", UNIT_BYTES, 513.0 },
    { "1.7 kB", UNIT_BYTES, 1700.0 },
    { "3.3 MB", UNIT_BYTES, 3.3e6 },
    { "80 GB", UNIT_BYTES, 80e9 },
    { "1.92 TB", UNIT_BYTES, 1.92e12 },
    { "2.1 PB", UNIT_BYTES, 2.1e15 },
    { "3 KiB", UNIT_BYTES, 3072.0 },
    { "5 MiB", UNIT_BYTES, 5242880.0 },
    { "80 GiB", UNIT_BYTES, 85899345920.0 },
    { "7 TiB", UNIT_BYTES, 7696581394432.0 },
    { "3 PiB", UNIT_BYTES, 3377699720527872.0 },
    { "8 b/s", UNIT_RATE, 1.0 },
    { "9.6 kb/s", UNIT_RATE, 1200.0 },
    { "100 Mb/s", UNIT_RATE, 12.5e6 },
    { "400 Gb/s", UNIT_RATE, 50e9 },
    { "400Gb/s", UNIT_RATE, 50e9 },
    { "1.6 Tb/s", UNIT_RATE, 200e9 },
    { "17 B/s", UNIT_RATE, 17.0 },
    { "19 kB/s", UNIT_RATE, 19e3 },
    { "23 MB/s", UNIT_RATE, 23e6 },
    { "450 GB/s", UNIT_RATE, 450e9 },
    { "3.35 TB/s", UNIT_RATE, 3.35e12 },
    { "3 KiB/s", UNIT_RATE, 3072.0 },
    { "5 MiB/s", UNIT_RATE, 5242880.0 },
    { "3 GiB/s", UNIT_RATE, 3221225472.0 },
    { "7 TiB/s", UNIT_RATE, 7696581394432.0 },
    { "31 FLOP/s", UNIT_FLOPS, 31.0 },
    { "31 kFLOP/s", UNIT_FLOPS, 31e3 },
    { "31 MFLOP/s", UNIT_FLOPS, 31e6 },
    { "31 GFLOP/s", UNIT_FLOPS, 31e9 },
    { "989.4 TFLOP/s", UNIT_FLOPS, 989.4e12 },
    { "1.979 PFLOP/s", UNIT_FLOPS, 1.979e15 },
    { "1EFLOP/s", UNIT_FLOPS, 1e18 },
    { "1e2EFLOP/s", UNIT_FLOPS, 1e20 },
    { "250 mW", UNIT_POWER, 0.25 },
    { "700 W", UNIT_POWER, 700.0 },
    { "10.2 kW", UNIT_POWER, 10200.0 },
    { "1.3 MW", UNIT_POWER, 1.3e6 },
    { "59 Hz", UNIT_FREQUENCY, 59.0 },
    { "59 kHz", UNIT_FREQUENCY, 59e3 },
    { "322.265625 MHz", UNIT_FREQUENCY, 322265625.0 },
    { "1.98 GHz", UNIT_FREQUENCY, 1.98e9 },
    { "3 mm", UNIT_LENGTH, 3e-3 },
    { "17 cm", UNIT_LENGTH, 0.17 },
    { "30 m", UNIT_LENGTH, 30.0 },
    { "1.1 km", UNIT_LENGTH, 1100.0 },
};

static void numbers_are_read(void **state)
{
    const struct parse_case *c = *state;
    sim_error error = { 0 };
    double got = NAN;
    assert_true(units_parse(c->kind, c->text, &got, &place, &error));
    assert_false(sim_failed(&error));
    assert_near(got, c->want, 0.0);
}

// ---- refusals

struct refuse_case {
    unit_kind kind;
    char how; // 'd': double, 'p': picoseconds, 'b': bytes, 'c': count
    const char *text, *message, *hint;
};
#define LONG_NUMBER                                                                                          \
    "0."                                                                                                     \
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001"
static const struct refuse_case refuse_cases[] = {
    { UNIT_RATE, 'd', "400", "a rate needs a unit, such as \"400 Gb/s\"", "" },
    { UNIT_TIME, 'd', "1.3", "a time needs a unit, such as \"1.3 us\"", "" },
    { UNIT_TIME, 'p', "0", "a time needs a unit, such as \"1.3 us\"", "" },
    { UNIT_BYTES, 'b', "80 ", "a size needs a unit, such as \"80 GB\"", "" },
    { UNIT_FLOPS, 'd', "1e12", "a compute rate needs a unit, such as \"989 TFLOP/s\"", "" },
    { UNIT_POWER, 'd', "700", "a power needs a unit, such as \"700 W\"", "" },
    { UNIT_FREQUENCY, 'd', "700", "a frequency needs a unit, such as \"1.98 GHz\"", "" },
    { UNIT_LENGTH, 'd', "30", "a length needs a unit, such as \"30 m\"", "" },
    { UNIT_RATE, 'd', "400 gb/s", "\"gb/s\" is no unit of a rate",
      "did you mean \"Gb/s\" (bits) or \"GB/s\" (bytes)?" },
    { UNIT_POWER, 'd', "700 mw", "\"mw\" is no unit of a power", "did you mean \"mW\" or \"MW\"?" },
    { UNIT_RATE, 'd', "400 Gbps", "\"Gbps\" is no unit of a rate", "did you mean \"Gb/s\"?" },
    { UNIT_BYTES, 'd', "80 gb", "\"gb\" is no unit of a size", "did you mean \"GB\"?" },
    { UNIT_BYTES, 'b', "80 gib", "\"gib\" is no unit of a size", "did you mean \"GiB\"?" },
    { UNIT_TIME, 'p', "3 sec", "\"sec\" is no unit of a time",
      "units of a time: ps, ns, us, ms, s, min, h, d" },
    { UNIT_TIME, 'd', "3 minutes", "\"minutes\" is no unit of a time",
      "units of a time: ps, ns, us, ms, s, min, h, d" },
    { UNIT_FLOPS, 'd', "989 TFLOPS", "\"TFLOPS\" is no unit of a compute rate", "did you mean \"TFLOP/s\"?" },
    { UNIT_TIME, 'd', "1.2.3 s", "\".3 s\" is no unit of a time",
      "units of a time: ps, ns, us, ms, s, min, h, d" },
    { UNIT_TIME, 'd', "1 s ", "\"s \" is no unit of a time", "did you mean \"s\"?" },
    { UNIT_NONE, 'd', "5 GB", "\"5 GB\" is not a bare number",
      "here a number stands without a unit, such as \"12\"" },
    { UNIT_NONE, 'd', "0x10", "\"0x10\" is not a bare number",
      "here a number stands without a unit, such as \"12\"" },
    { UNIT_NONE, 'd', "1_000", "\"1_000\" is not a bare number",
      "here a number stands without a unit, such as \"12\"" },
    { UNIT_NONE, 'd', "1e", "\"1e\" is not a bare number",
      "here a number stands without a unit, such as \"12\"" },
    { UNIT_NONE, 'd', "", "\"\" is not a number", "a number is written like \"12\"" },
    { UNIT_NONE, 'd', "+5", "\"+5\" is not a number", "a number is written like \"12\"" },
    { UNIT_NONE, 'd', "-", "\"-\" is not a number", "a number is written like \"12\"" },
    { UNIT_NONE, 'd', ".", "\".\" is not a number", "a number is written like \"12\"" },
    { UNIT_NONE, 'd', " 1", "\" 1\" is not a number", "a number is written like \"12\"" },
    { UNIT_NONE, 'd', "e5", "\"e5\" is not a number", "a number is written like \"12\"" },
    { UNIT_NONE, 'd', "nan", "\"nan\" is not a number", "a number is written like \"12\"" },
    { UNIT_NONE, 'd', ".nan", "\".nan\" is not a number", "a number is written like \"12\"" },
    { UNIT_NONE, 'd', "-inf", "\"-inf\" is not a number", "a number is written like \"12\"" },
    { UNIT_RATE, 'd', "fast", "\"fast\" is not a number", "a rate is written like \"400 Gb/s\"" },
    { UNIT_NONE, 'd', "1e309", "\"1e309\" is out of range", "" },
    { UNIT_NONE, 'd', "1e-400", "\"1e-400\" is out of range", "" },
    { UNIT_NONE, 'd', "1e99999999999", "\"1e99999999999\" is out of range", "" },
    { UNIT_BYTES, 'd', "1e300 PiB", "\"1e300 PiB\" is out of range", "" },
    { UNIT_NONE, 'd', LONG_NUMBER,
      "\"0.00000000000000000000000000000000000000...\" is too long: a number has at most 100 characters",
      "" },
    { UNIT_TIME, 'p', "0.3 ps", "0.3 ps is not a whole number of picoseconds", "" },
    { UNIT_TIME, 'p', "1.3000001 us", "1.3000001 us is not a whole number of picoseconds", "" },
    { UNIT_TIME, 'p', "1e-20 d", "1e-20 d is not a whole number of picoseconds", "" },
    { UNIT_TIME, 'p', "9223372036854775808 ps", "\"9223372036854775808 ps\" is out of range", "" },
    { UNIT_TIME, 'p', "107 d", "\"107 d\" is out of range", "" },
    { UNIT_TIME, 'p', "1e99999 ps", "\"1e99999 ps\" is out of range", "" },
    { UNIT_TIME, 'p', "99999999999999999999999999999999999999 d",
      "\"99999999999999999999999999999999999999 d\" is out of range", "" },
    { UNIT_TIME, 'p', "123456789012345678901234567890123456789 ps",
      "\"123456789012345678901234567890123456789 ...\" has more than 38 digits", "" },
    { UNIT_TIME, 'p', "now", "\"now\" is not a number", "a time is written like \"1.3 us\"" },
    { UNIT_BYTES, 'b', "0.5 B", "0.5 B is not a whole number of bytes", "" },
    { UNIT_BYTES, 'b', "0.3 KiB", "0.3 KiB is not a whole number of bytes", "" },
    { UNIT_BYTES, 'b', "-3 GB", "-3 GB is negative", "" },
    { UNIT_BYTES, 'b', "18446744073709551616 B", "\"18446744073709551616 B\" is out of range", "" },
    { UNIT_BYTES, 'b', "1e38 PiB", "\"1e38 PiB\" is out of range", "" },
    { UNIT_NONE, 'c', "2.5", "2.5 is not a whole number", "" },
    { UNIT_NONE, 'c', "1e-1", "1e-1 is not a whole number", "" },
    { UNIT_NONE, 'c', "-3", "-3 is negative", "" },
    { UNIT_NONE, 'c', "1e20", "\"1e20\" is out of range", "" },
    { UNIT_NONE, 'c', "100 %", "\"100 %\" is not a bare number",
      "here a number stands without a unit, such as \"12\"" },
    { UNIT_NONE, 'c', "eight", "\"eight\" is not a number", "a whole number is written like \"12\"" },
    { UNIT_BYTES, 'b', "much", "\"much\" is not a number", "a size is written like \"80 GB\"" },
};

static void mistakes_are_refused(void **state)
{
    const struct refuse_case *c = *state;
    sim_error error = { 0 };
    double value = 3.5;
    sim_time ps = 35;
    uint64_t bytes = 35;
    bool ok = c->how == 'd'   ? units_parse(c->kind, c->text, &value, &place, &error)
              : c->how == 'p' ? units_parse_ps(c->text, &ps, &place, &error)
              : c->how == 'b' ? units_parse_bytes(c->text, &bytes, &place, &error)
                              : units_parse_count(c->text, &bytes, &place, &error);
    assert_false(ok);
    assert_string_equal(error.message, c->message);
    assert_string_equal(error.hint, c->hint);
    assert_int_equal(error.exit_code, SIM_EXIT_INPUT);
    assert_string_equal(error.file, "a.yaml");
    assert_int_equal(error.line, 7);
    assert_int_equal(error.column, 13);
    assert_true(value == 3.5 && ps == 35 && bytes == 35);
}

// ---- whole picoseconds and bytes

static void times_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        sim_time want;
    } rows[] = {
        { "1.3 us", 1300000 },
        { "0 s", 0 },
        { "-0 s", 0 },
        { "-2.5 ns", -2500 },
        { "1e-12 s", 1 },
        { "0.5 d", INT64_C(43200000000000000) },
        { "106 d", INT64_C(9158400000000000000) },
        { "0.000000000000003125 d", 270 }, // 86400e12 x 3.125e-15
        { "9223372036854775807 ps", INT64_MAX },
        { "1.700000000000000000000000000000000000000000000000000000000 ns", 1700 },
        { "1234.567891 us", 1234567891 },
        { "7 min", INT64_C(420000000000000) },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        sim_error error = { 0 };
        sim_time got = -1;
        assert_true(units_parse_ps(rows[i].text, &got, &place, &error));
        assert_true(got == rows[i].want);
    }
}

static void bytes_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t want;
    } rows[] = {
        { "18446744073709551615 B", UINT64_MAX },
        { "80 GiB", UINT64_C(85899345920) },
        { "79.6 GB", UINT64_C(79600000000) },
        { "0.5 KiB", 512 },
        { "16383.999999999999999 PiB", 0 }, // not whole: below
        { "0.00000000000000088817841970012523233890533447265625 PiB", 1 },
        { "-0 B", 0 },
        { "1.00000000000000001 PB", 0 }, // not whole: below
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        sim_error error = { 0 };
        uint64_t got = 0;
        bool whole = rows[i].want != 0 || strcmp(rows[i].text, "-0 B") == 0;
        assert_int_equal(units_parse_bytes(rows[i].text, &got, &place, &error), whole);
        assert_true(got == rows[i].want);
    }
}

static void counts_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t want;
    } rows[] = {
        { "0", 0 },   { "18446744073709551615", UINT64_MAX }, { "1e6", 1000000 }, { "2.50e1", 25 },
        { "007", 7 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        sim_error error = { 0 };
        uint64_t got = 3;
        assert_true(units_parse_count(rows[i].text, &got, &place, &error));
        assert_true(got == rows[i].want);
    }
}

// ---- back to text

struct format_case {
    unit_kind kind;
    double value;
    const char *want;
};
static const struct format_case format_cases[] = {
    { UNIT_TIME, 1.2341e-3, "1.234 ms" },
    { UNIT_TIME, 0.0, "0 s" },
    { UNIT_TIME, 417e-12, "417.0 ps" },
    { UNIT_TIME, 0.25e-12, "0.25 ps" },
    { UNIT_TIME, 59.9996, "1.000 min" },
    { UNIT_TIME, 3723.0, "1.034 h" },
    { UNIT_TIME, 86400.0 * 31.7, "31.70 d" },
    { UNIT_TIME, 86400.0 * 5.4321e6, "5.432e+06 d" },
    { UNIT_TIME, -2.5e-6, "-2.500 us" },
    { UNIT_TIME, 999.96e-9, "1.000 us" },
    { UNIT_BYTES, 513.0, "513 B" },
    { UNIT_BYTES, 513.25, "513.2 B" },
    { UNIT_BYTES, 1000.0, "1.000 kB" },
    { UNIT_BYTES, 80e9, "80.00 GB" },
    { UNIT_BYTES, 999949.0, "999.9 kB" },
    { UNIT_BYTES, 999951.0, "1.000 MB" },
    { UNIT_BYTES, 1234.5e15, "1234 PB" },
    { UNIT_RATE, 451e9, "451.0 GB/s" },
    { UNIT_RATE, 3.3512e12, "3.351 TB/s" },
    { UNIT_FLOPS, 312.2e12, "312.2 TFLOP/s" },
    { UNIT_POWER, 10200.0, "10.20 kW" },
    { UNIT_POWER, 0.0123, "12.30 mW" },
    { UNIT_FREQUENCY, 1.98e9, "1.980 GHz" },
    { UNIT_LENGTH, 0.17, "170.0 mm" },
    { UNIT_LENGTH, 30.0, "30.00 m" },
    { UNIT_NONE, 123456789.0, "123456789" },
    { UNIT_NONE, -0.0, "0" },
    { UNIT_NONE, 0.87654321, "0.8765" },
    { UNIT_NONE, 12.3456, "12.35" },
    { UNIT_NONE, 6.02214e23, "6.022e+23" },
    { UNIT_TIME, NAN, "unknown" },
    { UNIT_RATE, INFINITY, "infinite" },
    { UNIT_RATE, -INFINITY, "-infinite" },
};

static void numbers_are_written_for_people(void **state)
{
    const struct format_case *c = *state;
    char buffer[64];
    assert_string_equal(units_format(c->kind, c->value, buffer, sizeof(buffer)), c->want);
}

static void binary_bytes_and_ticks_are_written(void **state)
{
    (void)state;
    char buffer[64];
    assert_string_equal(units_format_binary_bytes(80e9, buffer, sizeof(buffer)), "74.51 GiB");
    assert_string_equal(units_format_binary_bytes(1023.0, buffer, sizeof(buffer)), "1.023 kB");
    assert_string_equal(units_format_binary_bytes(513.0, buffer, sizeof(buffer)), "513 B");
    assert_string_equal(units_format_binary_bytes(1024.0, buffer, sizeof(buffer)), "1.000 KiB");
    assert_string_equal(units_format_binary_bytes(1048575.0, buffer, sizeof(buffer)), "1.000 MiB");
    assert_string_equal(units_format_binary_bytes(1047000.0, buffer, sizeof(buffer)), "1022 KiB");
    assert_string_equal(units_format_binary_bytes(-3.0 * 1099511627776.0, buffer, sizeof(buffer)),
                        "-3.000 TiB");
    assert_string_equal(units_format_binary_bytes(2e21, buffer, sizeof(buffer)), "1.776e+06 PiB");
    assert_string_equal(units_format_binary_bytes(NAN, buffer, sizeof(buffer)), "unknown");
}

static void exact_text_reads_back_to_the_same_bits(void **state)
{
    (void)state;
    char buffer[64];
    assert_string_equal(units_exact(UNIT_RATE, 450e9, buffer, sizeof(buffer)), "4.5e+11 B/s");
    assert_string_equal(units_exact(UNIT_TIME, 0.1, buffer, sizeof(buffer)), "0.1 s");
    assert_string_equal(units_exact(UNIT_NONE, 1.0 / 3.0, buffer, sizeof(buffer)), "0.3333333333333333");
    assert_string_equal(units_exact(UNIT_POWER, 400.0, buffer, sizeof(buffer)), "400 W");
    assert_string_equal(units_exact(UNIT_POWER, 1e6, buffer, sizeof(buffer)), "1e+06 W");
    assert_string_equal(units_exact(UNIT_NONE, 12.0, buffer, sizeof(buffer)), "12");
    uint64_t bits = UINT64_C(0x9e3779b97f4a7c15); // a walk through all exponents, denormal numbers too
    for (int i = 0; i < 2000; i++) {
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t sample = i % 16 ? bits : bits & UINT64_C(0x800fffffffffffff);
        double value, back = NAN;
        memcpy(&value, &sample, sizeof(value));
        if (!isfinite(value)) continue;
        unit_kind kind = (unit_kind)(i % (UNIT_LENGTH + 1));
        sim_error error = { 0 };
        assert_true(
            units_parse(kind, units_exact(kind, value, buffer, sizeof(buffer)), &back, &place, &error));
        assert_memory_equal(&back, &value, sizeof(value));
    }
}

static void every_kind_reads_its_own_example(void **state)
{
    (void)state;
    static const char *const bases[] = { "", "s", "B", "B/s", "FLOP/s", "W", "Hz", "m" };
    for (unit_kind kind = UNIT_NONE; kind <= UNIT_LENGTH; kind++) {
        double value = 0.0;
        sim_error error = { 0 };
        assert_true(units_parse(kind, units_example(kind), &value, &place, &error));
        assert_true(value > 0.0);
        assert_string_equal(units_base(kind), bases[kind]);
    }
}

// ---- seconds and ticks

static void seconds_round_up_once(void **state)
{
    (void)state;
    assert_true(units_ps_from_s(0.0) == 0);
    assert_true(units_ps_from_s(1.5) == INT64_C(1500000000000));
    assert_true(units_ps_from_s(1e-12) == 1);         // 1e-12 as a double lies just below
    assert_true(units_ps_from_s(1.0000001e-12) == 2); // never complete early
    assert_true(units_ps_from_s(DBL_MIN) == 1);
    assert_true(units_ps_from_s(4.9e-324) == 1);
    assert_true(units_ps_from_s(0x1p-40) == 1); // 0.909 ps
    assert_true(units_ps_from_s(9e6) == INT64_C(9000000000000000000));
    assert_near(units_s_from_ps(INT64_C(1234567891)), 1.234567891e-3, 1e-15);
}

static void kernel_times_round_to_whole_ns(void **state)
{
    (void)state;
    assert_true(units_ps_from_s_whole_ns(0.0) == 0);
    assert_true(units_ps_from_s_whole_ns(1.2344e-6) == 1234000);
    assert_true(units_ps_from_s_whole_ns(1.2346e-6) == 1235000);
    // 2^-10 s = 976562.5 ns exactly: a tie goes up
    assert_true(units_ps_from_s_whole_ns(0x1p-10) == INT64_C(976563000));
    assert_true(units_ps_from_s_whole_ns(0.49e-9) == 0);
    assert_true(units_ps_from_s_whole_ns(4.9e-324) == 0);
    assert_true(units_ps_from_s_whole_ns(0x1p33 / 1024.0) == INT64_C(8388608000000000000));
}

static void wire_times_are_exact(void **state)
{
    (void)state;
    assert_true(units_wire_time_ps(0, 1) == 0);
    // 1 GB at 450 GB/s: 2222222222.2 ps
    assert_true(units_wire_time_ps(UINT64_C(1000000000), UINT64_C(450000000000000)) == INT64_C(2222222223));
    // one byte at 450 GB/s: 2.22 ps
    assert_true(units_wire_time_ps(1, UINT64_C(450000000000000)) == 3);
    // a product beyond 64 bits: 1e15 B x 1e15 / 5e13 mB/s
    assert_true(units_wire_time_ps(UINT64_C(1000000000000000), UINT64_C(1000000000000000)) ==
                INT64_C(1000000000000000));
    assert_true(units_wire_time_ps(UINT64_C(7777777777777), UINT64_C(50000000000000)) ==
                INT64_C(155555555555540));
    assert_true(units_mBps_from_Bps(450e9) == UINT64_C(450000000000000));
    assert_true(units_mBps_from_Bps(0.0) == 0);
    assert_true(units_mBps_from_Bps(0.0004) == 0);
    assert_true(units_mBps_from_Bps(12.3456) == 12346);
}

int main(void)
{
    enum { PARSE = ARRAY_COUNT(parse_cases), REFUSE = ARRAY_COUNT(refuse_cases) };
    enum { FORMAT = ARRAY_COUNT(format_cases), PLAIN = 9 };
    struct CMUnitTest tests[PARSE + REFUSE + FORMAT + PLAIN] = {
        cmocka_unit_test(times_are_exact),
        cmocka_unit_test(bytes_are_exact),
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(binary_bytes_and_ticks_are_written),
        cmocka_unit_test(exact_text_reads_back_to_the_same_bits),
        cmocka_unit_test(every_kind_reads_its_own_example),
        cmocka_unit_test(seconds_round_up_once),
        cmocka_unit_test(kernel_times_round_to_whole_ns),
        cmocka_unit_test(wire_times_are_exact),
    };
    struct CMUnitTest *next = tests + PLAIN;
    for (size_t i = 0; i < PARSE; i++)
        *next++ = (struct CMUnitTest){ .name = parse_cases[i].text,
                                       .test_func = numbers_are_read,
                                       .initial_state = (void *)&parse_cases[i] };
    for (size_t i = 0; i < REFUSE; i++)
        *next++ = (struct CMUnitTest){ .name = refuse_cases[i].message,
                                       .test_func = mistakes_are_refused,
                                       .initial_state = (void *)&refuse_cases[i] };
    for (size_t i = 0; i < FORMAT; i++)
        *next++ = (struct CMUnitTest){ .name = format_cases[i].want,
                                       .test_func = numbers_are_written_for_people,
                                       .initial_state = (void *)&format_cases[i] };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
