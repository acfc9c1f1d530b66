// SPDX-License-Identifier: GPL-3.0-or-later
// tests/fuzz/fuzz.h: the one function of a fuzz target, called by libFuzzer or by replay.c, and what several targets claim.
#pragma once
#include "sim/check.h"
#include "sim/os.h"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The user's mistake, and it can be told.
static inline void fuzz_check_error(const sim_error *error)
{
    SIM_ASSERT(error->exit_code == SIM_EXIT_INPUT && error->message[0]);
    char *text = NULL;
    size_t length = 0;
    FILE *out = os_open_memory(&text, &length);
    SIM_ASSERT(out);
    sim_error_print(error, out);
    SIM_ASSERT(fclose(out) == 0 && length > 0);
    free(text);
}
