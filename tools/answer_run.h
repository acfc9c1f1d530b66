// SPDX-License-Identifier: GPL-3.0-or-later
// tools/answer_run.h: what `windtunnel run` answers: the summary for people, everything for machines.
#pragma once
#include "tools/answer.h"
#include "tools/command.h"

void answer_run(arena *a, const play_options *o, const run_result *r);
void answer_run_json(arena *a, const play_options *o, const run_result *r);
