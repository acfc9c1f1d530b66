// SPDX-License-Identifier: GPL-3.0-or-later
// tools/progress.h: one line on the terminal while a run goes on: how far it is, how fast, how long it still takes. It appears
// only on a terminal and on runs longer than half a second, and is gone when the run has ended.
#pragma once
#include "models/traffic_run.h"

typedef struct progress {
    FILE *out; // NULL: nothing is shown
    double shown_s;
    uint32_t width; // of the line that stands there now
} progress;

progress progress_make(bool wanted);
// A run_options.progress: shows the line when one is due; false when the user has interrupted.
bool progress_show(void *owner, const run_progress *now);
bool progress_show_flows(void *owner, const traffic_progress *now); // a traffic_run_options.progress
void progress_clear(progress *p);
// "step 12 of 300  4 %  3.2 steps/s  1 min 30 s left"; returns buffer.
char *progress_format(char *buffer, size_t size, const run_progress *now);
// "1234 of 8064 flows  15 %  2.31e+05 flows/s  3 s left"; returns buffer.
char *progress_format_flows(char *buffer, size_t size, const traffic_progress *now);
