// SPDX-License-Identifier: GPL-3.0-or-later
// tools/answer.h: parts of answers that several subcommands share.
#pragma once
#include "models/run.h"
#include "tools/output.h"

const char *answer_job(arena *a, const scenario *s);     // "llama3-8b on 8 x h100-sxm in 1 x dgx-h100"
const char *answer_cluster(arena *a, const scenario *s); // "8 x h100-sxm in 1 x dgx-h100"
// "data 8, zero-1, no recompute, 64 micro-batches of 1 x 8,192 tokens, bf16"
const char *answer_plan(arena *a, const scenario *s);
// Whether lanes stand for whole tensor-parallel groups, or what is in the way; "" where there is nothing to fold.
const char *answer_fold(arena *a, const world *w);
void answer_wrapped(arena *a, const char *text, FILE *out); // a list with commas, in lines that fit a page
// w: NULL: a cluster without a job.
void answer_warnings(arena *a, const world *w, const char *before, FILE *out); // a line each, behind before
void answer_alerts(arena *a, const link_alert_array *alerts, FILE *out);
void answer_alerts_json(json_writer *j, arena *a,
                        const link_alert_array *alerts);                 // nothing where there are none
void answer_warnings_json(json_writer *j, arena *a, const world *w);     // the member "warnings"
void answer_blame(arena *a, const blame_share_array *causes, FILE *out); // the table of causes
void answer_memory(arena *a, const scenario *s, const stage_memory *m, FILE *out); // the table by part
void answer_memory_json(json_writer *j, const scenario *s, const stage_memory *m); // the member "memory"
// "1.234 ms", "41.3 %" (of unit 1), "74.51 GiB", "unknown"
const char *answer_value(arena *a, const summary_value *v);
void answer_summary_json(json_writer *j, const summary_array *summary); // the member "summary"
// How many values nobody has measured or published; verbose: which.
void answer_assumptions(arena *a, const assumption_array *assumptions, bool verbose, FILE *out);
void answer_assumptions_json(json_writer *j, const assumption_array *assumptions); // the member "assumed"
