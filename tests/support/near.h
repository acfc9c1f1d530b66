// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/near.h: what every cmocka test needs: the library in its order of includes, and doubles compared relatively
// (cmocka 1.1 compares only floats).
#pragma once
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>

#define assert_near(got, want, relative) assert_near_((got), (want), (relative), #got, __FILE__, __LINE__)

static inline void assert_near_(double got, double want, double relative, const char *text, const char *file,
                                int line)
{
    double allowed = relative * fmax(fabs(want), 1e-300);
    if (fabs(got - want) <= allowed) return;
    print_error("%s: got %.17g, want %.17g (relative difference %.3g, allowed %.3g)\n", text, got, want,
                fabs(got - want) / fmax(fabs(want), 1e-300), relative);
    _fail(file, line);
}
