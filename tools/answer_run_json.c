// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/os.h"
#include "tools/answer_run.h"
#include <inttypes.h>

static void print_classes(json_writer *j, const run_result *r)
{
    json_array(j, "blame_by_stage");
    for (uint32_t i = 0; i < r->classes.count; i++) {
        const blame_class *class = &r->classes.items[i];
        json_object(j, NULL);
        json_count(j, "first_stage", class->first);
        json_count(j, "last_stage", class->last);
        json_object(j, "shares");
        for (int cause = 0; cause < BLAME_CAUSES; cause++)
            if (class->shares[cause] > 0.0) json_number(j, blame_cause_words[cause], class->shares[cause]);
        json_close(j);
        json_close(j);
    }
    json_close(j);
}

static void print_culprits(json_writer *j, const run_result *r)
{
    json_array(j, "culprits");
    for (uint32_t i = 0; i < r->culprits.count; i++) {
        const culprit *c = &r->culprits.items[i];
        json_object(j, NULL);
        json_text(j, "part", c->part);
        json_text(j, "detail", c->detail);
        json_bool(j, "degraded", c->degraded);
        json_number(j, "share", c->share);
        json_close(j);
    }
    json_close(j);
}

static void print_links(json_writer *j, const run_result *r)
{
    json_array(j, "hottest_links");
    for (uint32_t i = 0; i < r->links.count; i++) {
        const busy_link *l = &r->links.items[i];
        json_object(j, NULL);
        json_text(j, "link", l->name);
        json_text(j, "class", l->class);
        json_count(j, "bytes", l->bytes);
        json_number(j, "busy_share", l->busy_share);
        json_close(j);
    }
    json_close(j);
}

static void print_lists(json_writer *j, const run_result *r)
{
    answer_summary_json(j, &r->summary);
    json_array(j, "blame");
    for (uint32_t i = 0; i < r->blame.count; i++) {
        json_object(j, NULL);
        json_text(j, "cause", r->blame.items[i].cause);
        json_bool(j, "idle", r->blame.items[i].idle);
        json_number(j, "share", r->blame.items[i].share);
        json_number(j, "time_s", r->blame.items[i].time_s);
        json_close(j);
    }
    json_close(j);
    print_classes(j, r);
    print_culprits(j, r);
    print_links(j, r);
    answer_memory_json(j, r->scenario, &r->memory);
    answer_assumptions_json(j, &r->assumptions);
}

void answer_run_json(arena *a, const play_options *o, const run_result *r)
{
    const run_counters *c = &r->counters;
    json_writer j = json_make(stdout);
    json_object(&j, NULL);
    json_text(&j, "scenario", r->scenario->file);
    json_text(&j, "job", answer_job(a, r->scenario));
    json_text(&j, "plan", answer_plan(a, r->scenario));
    json_text(&j, "state", run_state_words[r->state]);
    json_text(&j, "digest", r->state == RUN_DONE ? arena_format(a, "%016" PRIx64, r->digest) : NULL);
    json_count(&j, "steps_done", r->steps_done);
    json_count(&j, "steps", r->scenario->run.steps);
    json_bool(&j, "folded", r->world->folded);
    json_count(&j, "ranks", parallel_ranks(r->world->lanes.sizes));
    json_count(&j, "lanes", r->world->lanes.count);
    answer_warnings_json(&j, a, r->world);
    answer_alerts_json(&j, a, &r->alerts);
    print_lists(&j, r);
    json_object(&j, "counters");
    json_count(&j, "events", c->events);
    json_count(&j, "collectives", c->collectives);
    json_count(&j, "collectives_alone", c->collectives_alone);
    json_count(&j, "messages", c->messages);
    json_count(&j, "plan_hits", c->plan_hits);
    json_count(&j, "transfers", c->transfers);
    json_large(&j, "bytes_sent", c->bytes_sent);
    json_count(&j, "settles", c->settles);
    json_count(&j, "flows_touched", c->flows_touched);
    json_count(&j, "trace_rows", c->trace_rows);
    json_count(&j, "pending_high_water", c->pending_high_water);
    json_close(&j);
    json_object(&j, "run_env"); // what the same run may answer differently elsewhere
    json_text(&j, "output", o->output);
    json_number(&j, "wall_s", r->wall_s);
    json_number(&j, "cpu_s", r->cpu_s);
    json_count(&j, "arena_bytes", c->arena_bytes);
    json_count(&j, "peak_memory_bytes", os_peak_memory_bytes());
    json_close(&j);
    json_close(&j);
}
