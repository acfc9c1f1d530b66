// SPDX-License-Identifier: GPL-3.0-or-later
// tests/fuzz/fuzz.h: the one function of a fuzz target, called by libFuzzer or by replay.c.
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
