// SPDX-License-Identifier: GPL-3.0-or-later
// tools/progress.h: one line on the terminal while a run goes on: how far it is, how fast, how long it still takes. It appears
// only on a terminal and on runs longer than half a second, and is gone when the run has ended.
#pragma once
#include "models/traffic_run.h"

typedef struct progress {
    FILE *out; // NULL: nothing is shown
    double shown_s;
    double started_s; // of pieces of work, which know no time
    uint32_t width;   // of the line that stands there now
} progress;

progress progress_make(bool wanted);
// A run_options.progress: shows the line when one is due; false when the user has interrupted.
bool progress_show(void *owner, const run_progress *now);
bool progress_show_flows(void *owner, const traffic_progress *now); // a traffic_run_options.progress
// A workers_progress: pieces of work, from a progress whose started_s is set.
bool progress_show_cases(void *owner, uint32_t done, uint32_t count);
void progress_clear(progress *p);
// "step 12 of 300  4 %  3.2 steps/s  1 min 30 s left"; returns buffer.
char *progress_format(char *buffer, size_t size, const run_progress *now);
// "1234 of 8064 flows  15 %  2.31e+05 flows/s  3 s left"; returns buffer.
char *progress_format_flows(char *buffer, size_t size, const traffic_progress *now);
// "45 of 815 cases  6 %  3.1 cases/s  4 min 05 s left"
char *progress_format_cases(char *buffer, size_t size, uint32_t done, uint32_t count, double wall_s);
