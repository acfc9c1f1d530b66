// SPDX-License-Identifier: GPL-3.0-or-later
// How large a trace will be, said before anything is created: an hour of simulation must not end at a full
// disk.
#include "sim/check.h"
#include "sim/trace.h"
#include "sim/words.h"

// Beyond these a trace is refused unless it is asked for all the same (--trace-anyway).
#define ROWS_MAX UINT64_C(20000000)
#define BYTES_MAX UINT64_C(2000000000)

// A row of span, collective or transfer, which are nearly all rows of a large trace, with its share of the
// indexes. Unit: bytes. Source: tests/models/test_tables.c writes 20,000 rows of each, with ids and times as
// a long run has them, and divides the size of the closed file by the rows: 88 bytes. Rounded up; a run of
// one kind only is within a third.
#define ROW_BYTES UINT64_C(100)

uint64_t trace_estimate_bytes(uint64_t rows)
{
    return rows > UINT64_MAX / ROW_BYTES ? UINT64_MAX : rows * ROW_BYTES;
}

static bool fits(uint64_t rows)
{
    return rows <= ROWS_MAX && trace_estimate_bytes(rows) <= BYTES_MAX;
}

bool trace_estimate_check(const trace_estimate *estimate, trace_level level, bool anyway, sim_error *error)
{
    SIM_ASSERT((uint32_t)level < TRACE_LEVELS);
    uint64_t rows = estimate->rows[level];
    if (anyway || fits(rows)) return true;
    char text[WORDS_GROUPED_SIZE], most[WORDS_GROUPED_SIZE];
    sim_fail(
        error, SIM_EXIT_INPUT, NULL,
        "the trace at level %s would have %s rows (about %.1f GB); at most %s rows or %.0f GB are written "
        "unasked",
        trace_level_words[level], words_grouped(text, rows), (double)trace_estimate_bytes(rows) * 1e-9,
        words_grouped(most, ROWS_MAX), (double)BYTES_MAX * 1e-9);
    for (int lower = (int)level - 1; lower >= TRACE_SUMMARY; lower--)
        if (fits(estimate->rows[lower]))
            return sim_hint(error, "run.trace: %s writes %s rows", trace_level_words[lower],
                            words_grouped(text, estimate->rows[lower]));
    return sim_hint(error, "no lower level fits either");
}
