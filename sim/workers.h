// SPDX-License-Identifier: GPL-3.0-or-later
// sim/workers.h: a pool of processes for independent pieces of work (sweeps, validation, Monte Carlo). Fork before any
// database is opened; results come back by index, so that any number of workers gives the same array.
#pragma once
#include "sim/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Runs in a child: fills result (result_size bytes, zeroed before); false: the piece failed and error says why. A long
// piece asks os_interrupted() and fails when it is: an interrupted pool waits for the pieces that are being worked on.
typedef bool workers_task(void *owner, uint32_t index, void *result, sim_error *error);
// Told in the parent, in order of completion, for progress; may be NULL. Returning false stops handing out pieces.
typedef bool workers_progress(void *owner, uint32_t done, uint32_t count);

// results: count x result_size bytes; errors: one per piece (exit_code 0: fine; 130: it was never begun). Of a piece that
// failed the result is zero. jobs = 1 runs in this process. False only if the pool itself failed (fork, sockets, memory),
// was stopped, or a child died (its piece is named, counted from 1).
bool workers_run(uint32_t count, uint32_t jobs, workers_task *task, workers_progress *progress, void *owner,
                 void *results, size_t result_size, sim_error *errors, sim_error *error);
