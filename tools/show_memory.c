// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel show memory: what a job needs of the memory of its GPUs, part by part.
#include "tools/show.h"

bool show_memory(const show_request *q, sim_error *error)
{
    run_result *r = q->result;
    const scenario *s = r->scenario;
    const bool fits = world_check_memory(q->arena, s, &r->memory, error);
    r->has_memory = q->options->json; // else the table is printed here, not by the refusal
    if (q->options->json && !fits) return false;
    if (q->options->json) {
        json_writer j = json_make(stdout);
        json_object(&j, NULL);
        json_text(&j, "scenario", s->file);
        json_text(&j, "job", answer_job(q->arena, s));
        json_text(&j, "plan", answer_plan(q->arena, s));
        answer_memory_json(&j, s, &r->memory);
        json_close(&j);
        return true;
    }
    printf("%s\n", answer_job(q->arena, s));
    answer_wrapped(q->arena, answer_plan(q->arena, s), stdout);
    printf("\n");
    answer_memory(q->arena, s, &r->memory, stdout);
    return fits;
}
