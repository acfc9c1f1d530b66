// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/marked.h: a part of a README that a test makes anew and compares, between two lines of its own. With
// WINDTUNNEL_REWRITE=1 the part is written instead.
#pragma once
#include "tests/support/near.h"

#include "sim/os.h"
#include <stdlib.h>
#include <string.h>

static inline void assert_marked_part(const char *path, const char *begin_line, const char *end_line,
                                      const char *want)
{
    char *text = NULL;
    size_t length = 0;
    sim_error error = { 0 };
    assert_true(os_read_file(path, 1 << 20, &text, &length, NULL, &error));
    char *from = strstr(text, begin_line), *to = strstr(text, end_line);
    assert_true(from && to && from < to);
    from += strlen(begin_line);
    if (getenv("WINDTUNNEL_REWRITE")) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        fprintf(out, "%.*s%s%s", (int)(from - text), text, want, to);
        assert_int_equal(fclose(out), 0);
    } else {
        *to = '\0';
        assert_string_equal(from, want);
    }
    free(text);
}
