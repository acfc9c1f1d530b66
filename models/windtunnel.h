// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel.h: Windtunnel for other programs. Load a scenario, change keys, run it with a progress callback that can stop
// it, ask for the summary, free it. Errors are values; nothing is printed and nothing exits. Several simulations may live
// in one process, each used by one thread at a time. An installed library is linked by what pkg-config knows:
//
//     cc program.c $(pkg-config --cflags --libs windtunnel)
//
//     windtunnel_error error;
//     windtunnel *w = windtunnel_load("scenario.yaml", NULL, &error);
//     if (w && windtunnel_set(w, "run.steps=1", &error) && windtunnel_run(w, NULL, NULL, NULL, &error)) {
//         double seconds;
//         if (windtunnel_value(w, "step_time", &seconds, NULL, NULL)) printf("%g s\n", seconds);
//     }
//     windtunnel_free(w);
#pragma once
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct windtunnel windtunnel;

typedef struct windtunnel_error {
    int exit_code; // 0 none; 1 the answer is no (does not fit); 2 the input or the environment is at fault; 3 a bug
    char text[4096]; // as the program would print it: file:line:column, the line, a caret, a hint
} windtunnel_error;

// Reads the scenario. catalogue: the folder of the catalogue, or NULL to find it. NULL and error when it is refused.
// Loading and setting check each key by itself: syntax, known keys and names of parts, units, ranges. What belongs together
// is checked by windtunnel_check() and by a run, so that keys which depend on one another can be set one after another, and
// a file that lacks keys (a cluster without a model) can be completed by settings.
windtunnel *windtunnel_load(const char *scenario_path, const char *catalogue, windtunnel_error *error);
// Overrides a key: "plan.data=4". Refused settings change nothing. Errors call the text of a setting "--set".
bool windtunnel_set(windtunnel *w, const char *assignment, windtunnel_error *error);
// Refuses what a run would refuse, but for its output: keys that are missing or contradict each other, what is not modelled,
// a job that does not fit into memory.
bool windtunnel_check(const windtunnel *w, windtunnel_error *error);

// Called now and then and after each step; false stops the run, which then counts as cancelled.
typedef bool windtunnel_progress(void *owner, uint32_t steps_done, uint32_t steps);
// output: the path of the database to write (an existing one is refused), or NULL for none. True: done or cancelled.
bool windtunnel_run(windtunnel *w, const char *output, windtunnel_progress *progress, void *owner,
                    windtunnel_error *error);
bool windtunnel_is_done(const windtunnel *w); // false also when cancelled

// A number of the summary by name ("step_time", "mfu", ...). unit and reason may be NULL; the texts live until the next run or
// free. False: there is no such metric, or its value is not known and *reason says why.
bool windtunnel_value(const windtunnel *w, const char *metric, double *value, const char **unit,
                      const char **reason);
// The names of the summary, by index; NULL at the end.
const char *windtunnel_metric(const windtunnel *w, uint32_t index);
uint64_t windtunnel_digest(const windtunnel *w); // of the results of a run that is done, else 0
void windtunnel_free(windtunnel *w);             // NULL is fine
const char *windtunnel_version(void);

#ifdef __cplusplus
}
#endif
