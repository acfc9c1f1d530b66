// SPDX-License-Identifier: GPL-3.0-or-later
// sim/check.h: assertions for our own mistakes. A user's mistake is a sim_error (sim/error.h), never an assertion.
// SIM_ASSERT stays on in every build. SIM_VERIFY guards whole-structure checks and exists only with the build
// option CHECKS. A failed check prints the condition, the simulated time and the event being handled, and ends the
// process with exit code 3: a bug of ours.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define SIM_ASSERT(condition)                                                                                \
    (__builtin_expect(!!(condition), 1) ? (void)0 : check_failed(#condition, __FILE__, __LINE__, __func__))
#ifdef WINDTUNNEL_CHECKS
#define SIM_VERIFY(condition) SIM_ASSERT(condition)
#define SIM_CHECKS_ON 1
#else
#define SIM_VERIFY(condition) ((void)0)
#define SIM_CHECKS_ON 0
#endif

// What was going on: set by the engine around each handler so that a failed check can say when and in which event.
typedef struct check_context {
    int64_t now_ticks;
    uint64_t sequence;
    const char *event_name;
} check_context;

// Kept in a mutable variable at file scope, thread-local and read only by check_failed(); the project's only other one
// is the signal flag of sim/os.c.
void check_set_context(const check_context *context); // NULL: no event is being handled
_Noreturn void check_failed(const char *condition, const char *file, int line, const char *function);
