// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel validate training: measured training steps beside the same steps simulated.
#include "tools/progress.h"
#include "tools/validate.h"
#include "validate/results.h"
#include <errno.h>
#include <string.h>

static bool write_results(const training_suite *suite, const played_case *played, const char *path,
                          sim_error *error)
{
    errno = 0;
    FILE *out = fopen(path, "w");
    if (out) results_write(suite, played, out);
    const bool failed = !out || ferror(out);
    if ((!out || fclose(out) == 0) && !failed) return true;
    return sim_fail(error, SIM_EXIT_INPUT, NULL, "cannot write \"%s\": %s", path, strerror(errno));
}

// Rows are played for minutes: whether their results can be written is found out before. What the file holds stays.
static bool is_writable(const char *path, sim_error *error)
{
    FILE *out = fopen(path, "a");
    if (out && fclose(out) == 0) return true;
    return sim_fail(error, SIM_EXIT_INPUT, NULL, "cannot write \"%s\": %s", path, strerror(errno));
}

bool validate_training(const validate_request *q, sim_error *error)
{
    training_suite suite;
    played_case *played;
    if (!training_suite_open(q->arena, &q->training, &suite, error)) return false;
    if (q->results && !is_writable(q->results, error)) return false;
    const bool good = training_suite_play(&suite, &q->training, &played, error);
    progress_clear(q->training.owner);
    if (!good || (q->results && !write_results(&suite, played, q->results, error))) return false;
    const compared_row_array rows = training_suite_compare(&suite, played);
    double *ratios = arena_array(q->arena, double, rows.count);
    for (uint32_t i = 0; i < rows.count; i++)
        ratios[i] = played[i].memory_ratio;
    if (q->json)
        validate_print_json(q->arena, "training", &rows, stdout);
    else if (!q->quiet)
        validate_print(q->arena, &rows, true,
                       &(validate_columns){ .constant = true, .memory_ratios = ratios }, stdout);
    return validate_scored(&rows, error);
}
