// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/library_group.h: a group's set-up and its end for tests of times and cuts: the catalogue's library, and an
// arena that all tests of the group share.
#pragma once
#include "tests/support/layouts.h"

static arena *scratch;
static const collective_library *library;

static int open_library(void **state)
{
    (void)state;
    scratch = arena_create("library");
    library = layouts_library(scratch);
    return 0;
}

static int close_library(void **state)
{
    (void)state;
    arena_destroy(scratch);
    return 0;
}
