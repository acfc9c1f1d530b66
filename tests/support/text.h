// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/text.h: messages captured as text and compared whole. Include tests/support/near.h first.
#pragma once
#include "sim/error.h"
#include <stdio.h>
#include <string.h>

// What stream holds from its beginning, as text. Returns buffer; the stream is closed.
static inline char *text_read_back(FILE *stream, char *buffer, size_t size)
{
    rewind(stream);
    size_t length = fread(buffer, 1, size - 1, stream);
    assert_int_equal(ferror(stream), 0);
    buffer[length] = 0;
    fclose(stream);
    return buffer;
}

static inline char *text_of_error(const sim_error *error, char *buffer, size_t size)
{
    FILE *stream = tmpfile();
    assert_non_null(stream);
    sim_error_print(error, stream);
    return text_read_back(stream, buffer, size);
}

#define assert_error_prints(error, want)                                                                     \
    do {                                                                                                     \
        char got_[4096];                                                                                     \
        assert_string_equal(text_of_error((error), got_, sizeof got_), (want));                              \
    } while (0)
