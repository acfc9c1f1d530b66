// SPDX-License-Identifier: GPL-3.0-or-later
// models/tables.h: the trace tables (this is the only list) as rows that models fill. Each table is a
// plain struct and a function that writes one; what a column means stands once, in tables_declared.c, and
// from there in the table "dictionary" of every database. Views and indexes are in tables_views.c.
//
// Times are integers in ps (step simulation) or us (job simulation), never both in one row. Ids count from 0
// but for names and those said otherwise; what may be unknown is a trace_opt_int, trace_opt_real or a NULL
// text, and zeroed memory is NULL there. Every time, FLOP and byte of a row that stands for several ranks
// says whether it is multiplied. All tables exist at every level from the first schema on, also those that no
// model fills yet.
#pragma once
#include "models/ids.h"
#include "sim/names.h"
#include "sim/trace.h"

#define TABLES_APPLICATION_ID 0x57544e4c // "WTNL"
// Major version x 1000 + minor. Readers refuse another major; a minor only adds tables, columns or views.
#define TABLES_USER_VERSION 1000

typedef enum table_id {
    TABLE_RUN,
    TABLE_RUN_ENV,
    TABLE_NAME,
    TABLE_PART,
    TABLE_RANK,
    TABLE_LANE,
    TABLE_KERNEL,
    TABLE_SPAN,
    TABLE_COLLECTIVE,
    TABLE_TRANSFER,
    TABLE_LINK_SAMPLE,
    TABLE_QUEUE_SAMPLE,
    TABLE_GPU_SAMPLE,
    TABLE_STORAGE_OP,
    TABLE_STEP,
    TABLE_BLAME,
    TABLE_CHECKPOINT,
    TABLE_CONDITION,
    TABLE_JOB_EVENT,
    TABLE_JOB_LOSS,
    TABLE_FAULT,
    TABLE_SUMMARY,
    TABLE_DICTIONARY,
    TABLES
} table_id;
extern const trace_table tables_all[TABLES];
extern const trace_view tables_views[];
extern const uint32_t tables_view_count;
extern const trace_index tables_indexes[];
extern const uint32_t tables_index_count;
trace_options tables_options(const char *path, bool force, trace_level level);

// ---- The run ----

typedef struct row_run {
    int64_t run_id;       // 1
    const char *state;    // written as "running"; tables_finish_run() sets the others
    const char *kind;     // "step", "job", "traffic", "collective", "storage"
    const char *error;    // NULL while nothing failed
    const char *version;  // of the program
    const char *scenario; // the file as the user named it
    const char *scenario_text;
    const char *resolved;
    uint64_t seed;
    const char *digest; // NULL until done
    const char *trace_level;
    const char *engine, *fold;
    const char *model, *plan; // NULL: a fabric alone
    uint32_t nodes, gpus;
    uint32_t jobs, ranks, lanes; // 0: no job
    uint32_t steps;
} row_run;
typedef struct row_run_env {
    int64_t run_id; // 1
    const char *host, *date_utc, *compiler, *sqlite_version, *arguments;
    uint32_t cores;
    trace_opt_real wall_s, cpu_s; // known at the end only
    trace_opt_int peak_memory_bytes, events, trace_rows;
} row_run_env;
typedef struct row_summary {
    uint32_t summary_id; // from 1, in the order they are printed
    trace_opt_int job_id;
    const char *metric, *unit;
    trace_opt_real value;
    const char *reason; // exactly where value is NULL
    trace_opt_real low, high;
    const char *explanation;
} row_summary;

// ---- What there is ----

typedef struct row_name {
    name_id name_id; // from 1
    const char *text;
} row_name;
typedef struct row_part {
    uint32_t part_id;
    const char *kind, *name;
    const char *catalogue; // the entry it was made from
    trace_opt_int parent_part_id, source_part_id, destination_part_id, tier;
    trace_opt_real rate_Bps;
    trace_opt_int delay_ps;
    double health_ratio;
} row_part;
typedef struct row_rank {
    uint32_t rank_id, job_id, rank;
    trace_opt_int gpu_part_id;
    uint32_t lane_id;
    uint32_t tensor, data, pipeline;
    trace_opt_int context, expert;
} row_rank;
typedef struct row_lane {
    uint32_t lane_id, job_id;
    const char *name; // NULL: its first rank says it
    uint32_t first_rank_id, multiplicity;
    uint32_t stage;
    trace_opt_int layers;
    double clock_ratio, memory_ratio;
    trace_opt_int memory_need_bytes, memory_bytes;
} row_lane;
typedef struct row_kernel {
    uint32_t kernel_id, job_id;
    const char *name, *class, *dtype, *gpu;
    uint64_t batch, m, n, k;
    double clock_ratio;
    double flop, bytes;
    int64_t time_ps;
    const char *bound;
    double efficiency_ratio;
    uint64_t launches, calls_per_step;
} row_kernel;

// ---- What happened in a step ----

typedef struct row_step {
    uint32_t job_id, step;
    int64_t start_ps, end_ps;
    uint64_t tokens, sequences;
    trace_opt_real model_flop, mfu_ratio, hfu_ratio;
    trace_opt_int condition_id;
    trace_opt_real energy_J;
} row_step;
typedef struct row_blame {
    uint32_t job_id, step;
    trace_opt_int lane_id; // NULL: all lanes together
    name_id cause_id;
    bool idle;
    trace_opt_int culprit_part_id;
    int64_t time_ps; // multiplied
    double share_ratio;
} row_blame;
typedef struct row_span {
    uint64_t span_id;
    uint32_t job_id, step, lane_id;
    name_id stream_id, kind_id;
    trace_opt_int micro_batch, chunk;
    int64_t start_ps, end_ps;
    trace_opt_int ready_ps, launch_ps;
    trace_opt_int collective_id, cause_span_id;
    uint64_t kernels;
    double flop, bytes; // of one rank
    trace_opt_real energy_J;
} row_span;
typedef struct row_collective {
    uint64_t collective_id;
    uint32_t job_id, step;
    name_id kind_id, purpose_id, group_kind_id;
    uint32_t group_id;
    name_id algorithm_id, protocol_id, grain_id;
    uint32_t ranks, multiplicity;
    trace_opt_int channels, micro_batch;
    uint64_t bytes, payload_bytes; // of one of the multiplicity
    int64_t first_arrival_ps, last_arrival_ps, end_ps;
    trace_opt_int last_rank_id;
    trace_opt_real algorithm_Bps, bus_Bps; // NULL: it took no time or moved no byte
    trace_opt_int alone_ps;
} row_collective;
typedef struct row_transfer {
    uint64_t transfer_id;
    trace_opt_int job_id, step, collective_id, storage_op_id;
    uint32_t source_part_id, destination_part_id;
    name_id class_id;
    uint64_t bytes; // of one of the multiplicity
    uint32_t multiplicity;
    int64_t start_ps, end_ps;
    trace_opt_int alone_ps, links, bottleneck_part_id, retransmitted_bytes;
} row_transfer;
typedef struct row_storage_op {
    uint64_t storage_op_id;
    trace_opt_int job_id, step, lane_id, checkpoint_id;
    name_id kind_id;
    uint32_t client_part_id;
    trace_opt_int target_part_id, file_id;
    uint64_t bytes, requests;
    int64_t ready_ps, start_ps, end_ps;
} row_storage_op;

// ---- Samples: intervals of one part that do not overlap, so that sums over them are totals ----

typedef struct row_link_sample {
    uint32_t link_part_id;
    int64_t start_ps, end_ps;
    uint64_t wire_bytes; // payload and protocol flags
    double busy_ratio;
    trace_opt_real peak_ratio;
    trace_opt_int transfers, packets, retransmitted_packets, retransmitted_bytes, timeouts;
} row_link_sample;
typedef struct row_queue_sample {
    uint32_t link_part_id;
    int64_t start_ps, end_ps;
    trace_opt_real mean_bytes;
    uint64_t peak_bytes;
    trace_opt_int paused_ps, marked_packets, dropped_packets;
} row_queue_sample;
typedef struct row_gpu_sample {
    uint32_t lane_id;
    int64_t start_ps, end_ps;
    double busy_ratio;
    trace_opt_real communication_ratio;
    trace_opt_int memory_used_bytes;
    trace_opt_real clock_Hz, power_W, energy_J, temperature_C;
    const char *throttle;
} row_gpu_sample;

// ---- What happened to the job ----

typedef struct row_checkpoint {
    uint32_t checkpoint_id, job_id;
    trace_opt_int replication, step;
    const char *kind, *outcome;
    uint32_t writers;
    uint64_t bytes;
    trace_opt_int start_ps, end_ps, stall_ps; // either clock
    trace_opt_int start_us, end_us, stall_us;
} row_checkpoint;
typedef struct row_condition {
    uint32_t condition_id, job_id;
    const char *condition; // canonical
    const char *explanation;
    trace_opt_int step_ps;
    const char *reason; // exactly where step_ps is NULL
    uint64_t steps_played, time_us;
} row_condition;
typedef struct row_fault {
    uint32_t fault_id;
    trace_opt_int job_id, replication;
    const char *kind, *class, *origin;
    trace_opt_int part_id, blamed_part_id;
    trace_opt_real magnitude_ratio;
    trace_opt_int start_ps, end_ps; // either clock
    trace_opt_int start_us, detected_us, diagnosed_us, end_us;
    const char *explanation;
} row_fault;
typedef struct row_job_event {
    uint64_t job_event_id;
    uint32_t job_id, replication;
    int64_t time_us;
    const char *kind, *job_state;
    trace_opt_int step, part_id, fault_id, checkpoint_id, condition_id, cause_event_id;
    const char *explanation;
} row_job_event;
typedef struct row_job_loss {
    uint32_t job_id, replication;
    const char *cause;
    bool productive;
    uint64_t occurrences;
    int64_t time_us;
    double share_ratio;
} row_job_loss;

// ---- Writing ----

// What models hold: the trace and the names. The trace may be NULL (no output wanted): then rows go nowhere.
typedef struct tables tables;
tables *tables_create(arena *a, trace *t);
bool tables_wants(const tables *t, table_id table); // is it worth making the row?
// The text's number; the row in "name" is written at its first use. Allocates at first use only.
name_id tables_name(tables *t, const char *text);
// A reference that may be none.
static inline trace_opt_int tables_id(uint32_t id)
{
    return id == NO_ID ? (trace_opt_int){ .known = false } : known_int(id);
}

void tables_write_run(tables *t, const row_run *row); // commits, so that a killed run can be told from no run
void tables_write_run_env(tables *t, const row_run_env *row);
void tables_write_part(tables *t, const row_part *row);
void tables_write_rank(tables *t, const row_rank *row);
void tables_write_lane(tables *t, const row_lane *row);
void tables_write_kernel(tables *t, const row_kernel *row);
void tables_write_span(tables *t, const row_span *row);
void tables_write_collective(tables *t, const row_collective *row);
void tables_write_transfer(tables *t, const row_transfer *row);
void tables_write_link_sample(tables *t, const row_link_sample *row);
void tables_write_queue_sample(tables *t, const row_queue_sample *row);
void tables_write_gpu_sample(tables *t, const row_gpu_sample *row);
void tables_write_storage_op(tables *t, const row_storage_op *row);
void tables_write_step(tables *t, const row_step *row); // last of the step's rows: commits
void tables_write_blame(tables *t, const row_blame *row);
void tables_write_checkpoint(tables *t, const row_checkpoint *row);
void tables_write_condition(tables *t, const row_condition *row);
void tables_write_job_event(tables *t, const row_job_event *row);
void tables_write_job_loss(tables *t, const row_job_loss *row);
void tables_write_fault(tables *t, const row_fault *row);
void tables_write_summary(tables *t, const row_summary *row);

typedef struct run_end {
    const char *state; // "done", "failed", "cancelled"
    const char *error; // NULL: none
    bool has_digest;   // only a run that is done has one
    uint64_t digest;
    double wall_s, cpu_s;
    uint64_t peak_memory_bytes, events;
} run_end;
// All that a database has beside its rows, then those of run and run_env as they end; commits. Where something could not be
// written the state is "failed", whatever end says. Call trace_close() next.
void tables_finish_run(tables *t, const run_end *end);
