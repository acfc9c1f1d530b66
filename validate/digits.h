// SPDX-License-Identifier: GPL-3.0-or-later
// validate/digits.h: numbers as catalogue files have them. What is fitted is rounded before it is judged, so that residuals are
// those of the numbers that are written.
#pragma once
#include <math.h>

// Six significant digits; 0 below 1e-12 (of a time, a picosecond).
static inline double digits_six(double value)
{
    if (!(value > 1e-12)) return 0.0;
    const double unit = pow(10.0, floor(log10(value)) - 5.0);
    return round(value / unit) * unit;
}
