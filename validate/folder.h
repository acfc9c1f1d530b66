// SPDX-License-Identifier: GPL-3.0-or-later
// validate/folder.h: where this folder's data lie, seen from a running program.
#pragma once
#include "sim/arena.h"
#include "sim/error.h"

// What WINDTUNNEL_VALIDATE names, else ../share/windtunnel/validate beside the program, else that of the source tree this
// program was built from. NULL and the error when none is a directory.
const char *validate_folder(arena *a, sim_error *error);
