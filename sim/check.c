// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/check.h"
#include "sim/error.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local const check_context *current;

void check_set_context(const check_context *context)
{
    current = context;
}

_Noreturn void check_failed(const char *condition, const char *file, int line, const char *function)
{
    fflush(stdout);
    fprintf(stderr, "windtunnel: internal error: %s:%d: %s: assertion failed: %s\n", file, line, function,
            condition);
    if (current)
        fprintf(stderr, "  at time %" PRId64 " ticks, in event %" PRIu64 " (%s)\n", current->now_ticks,
                current->sequence, current->event_name ? current->event_name : "?");
    fprintf(stderr, "  this is a bug in windtunnel, not in your input; please report it with the scenario\n");
    fflush(stderr);
    _Exit(SIM_EXIT_BUG);
}
