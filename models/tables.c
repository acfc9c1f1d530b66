// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/tables.h"
#include "sim/array.h"
#include "sim/check.h"
#include <inttypes.h>
#include <string.h>

// What an end of the run writes beside the texts of its row: that row's other values, the message of a failure, the row of
// run_env, and the pages that lead to them. There may be two ends: "done", then "failed" as the log does not fit the file.
#define END_BYTES ((uint64_t)16 * 1024)

struct tables {
    trace *trace; // NULL: rows go nowhere
    names *names;
    name_id names_written;
};

trace_options tables_options(const char *path, bool force, trace_level level)
{
    return (trace_options){ .path = path,
                            .force = force,
                            .level = level,
                            .application_id = TABLES_APPLICATION_ID,
                            .user_version = TABLES_USER_VERSION,
                            .tables = tables_all,
                            .table_count = TABLES,
                            .dictionary = tables_all[TABLE_DICTIONARY].name,
                            .views = tables_views,
                            .view_count = tables_view_count,
                            .indexes = tables_indexes,
                            .index_count = tables_index_count };
}

tables *tables_create(arena *a, trace *t)
{
    tables *made = arena_new(a, tables);
    made->trace = t;
    made->names = names_create(a);
    return made;
}

bool tables_wants(const tables *t, table_id table)
{
    return t->trace && trace_wants(t->trace, table);
}

static void write_row(tables *t, table_id table, const void *row)
{
    if (t->trace) trace_row(t->trace, table, row);
}

name_id tables_name(tables *t, const char *text)
{
    name_id id = names_intern(t->names, text);
    if (id <= t->names_written) return id;
    SIM_ASSERT(id == t->names_written + 1);
    t->names_written = id;
    write_row(t, TABLE_NAME, &(row_name){ .name_id = id, .text = text });
    return id;
}

void tables_write_run(tables *t, const row_run *row)
{
    if (!t->trace) return;
    trace_keep_room(t->trace, 2 * (END_BYTES + strlen(row->scenario_text) + strlen(row->resolved)));
    write_row(t, TABLE_RUN, row);
    trace_commit(t->trace);
}

void tables_write_step(tables *t, const row_step *row)
{
    write_row(t, TABLE_STEP, row);
    if (t->trace) trace_commit(t->trace);
}

#define WRITES(name_, table_)                                                                                \
    void tables_write_##name_(tables *t, const row_##name_ *row)                                             \
    {                                                                                                        \
        write_row(t, (table_), row);                                                                         \
    }

WRITES(run_env, TABLE_RUN_ENV)
WRITES(part, TABLE_PART)
WRITES(rank, TABLE_RANK)
WRITES(lane, TABLE_LANE)
WRITES(kernel, TABLE_KERNEL)
WRITES(span, TABLE_SPAN)
WRITES(collective, TABLE_COLLECTIVE)
WRITES(transfer, TABLE_TRANSFER)
WRITES(link_sample, TABLE_LINK_SAMPLE)
WRITES(queue_sample, TABLE_QUEUE_SAMPLE)
WRITES(gpu_sample, TABLE_GPU_SAMPLE)
WRITES(storage_op, TABLE_STORAGE_OP)
WRITES(blame, TABLE_BLAME)
WRITES(checkpoint, TABLE_CHECKPOINT)
WRITES(condition, TABLE_CONDITION)
WRITES(job_event, TABLE_JOB_EVENT)
WRITES(job_loss, TABLE_JOB_LOSS)
WRITES(fault, TABLE_FAULT)
WRITES(summary, TABLE_SUMMARY)

static trace_value text_or_null(const char *text)
{
    return text ? trace_text(text) : trace_null();
}

static void write_run_env_end(tables *t, const run_end *end)
{
    const trace_value env[] = { trace_real(end->wall_s), trace_real(end->cpu_s),
                                trace_int(end->peak_memory_bytes), trace_int(end->events),
                                trace_int(trace_rows_written(t->trace)) };
    trace_update(
        t->trace,
        "UPDATE run_env SET wall_s = ?1, cpu_s = ?2, peak_memory_bytes = ?3, events = ?4, trace_rows = ?5",
        env, ARRAY_COUNT(env));
}

static void write_state(tables *t, const char *state, const char *error, const char *digest)
{
    const trace_value run[] = { trace_text(state), text_or_null(error), text_or_null(digest) };
    trace_update(t->trace, "UPDATE run SET state = ?1, error = ?2, digest = ?3", run, ARRAY_COUNT(run));
}

void tables_finish_run(tables *t, const run_end *end)
{
    if (!t->trace) return;
    char digest[17];
    snprintf(digest, sizeof digest, "%016" PRIx64, end->digest);
    // The state last: whoever reads "done" finds everything else.
    trace_complete(t->trace);
    write_run_env_end(t, end);
    if (trace_ok(t->trace)) write_state(t, end->state, end->error, end->has_digest ? digest : NULL);
    trace_copy_log(t->trace);
    sim_error failure = { 0 };
    if (!trace_error_of(t->trace, &failure))
        write_state(t, "failed", end->error ? end->error : failure.message, NULL);
}
