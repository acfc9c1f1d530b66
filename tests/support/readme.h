// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/readme.h: parts of README.md that are made from data. A test makes its part anew and compares; with
// WINDTUNNEL_REWRITE=1 it writes the part between the markers instead.
#pragma once
#include "tests/support/near.h"

#include "sim/os.h"
#include <stdlib.h>
#include <string.h>

static inline void readme_check(const char *begin_marker, const char *end_marker, const char *part)
{
    static const char readme[] = "README.md";
    char *text = NULL;
    size_t length = 0;
    sim_error error = { 0 };
    assert_true(os_read_file(readme, 1 << 20, &text, &length, NULL, &error));
    char *from = strstr(text, begin_marker), *to = strstr(text, end_marker);
    assert_true(from && to && from < to);
    from += strlen(begin_marker);
    if (getenv("WINDTUNNEL_REWRITE")) {
        FILE *out = fopen(readme, "w");
        assert_non_null(out);
        fprintf(out, "%.*s%s%s", (int)(from - text), text, part, to);
        assert_int_equal(fclose(out), 0);
    } else {
        *to = '\0';
        assert_string_equal(from, part);
    }
    free(text);
}
