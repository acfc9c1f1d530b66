// SPDX-License-Identifier: GPL-3.0-or-later
// What every column of the trace means. The texts are what "dictionary" says, so they are written for
// somebody who has only the database.
#include "models/tables.h"
#include "sim/array.h"

// A job's step or a GPU's second may be told by either clock, never by both.
#define ONE_CLOCK "(start_ps IS NULL) <> (start_us IS NULL)"

static const trace_column run_columns[] = {
    TRACE_KEY(row_run, run_id, "id", "Always 1: a database holds one run."),
    TRACE_COLUMN(
        row_run, state, "text",
        "running, done, failed or cancelled. Still running when no such program runs: it was killed."),
    TRACE_COLUMN(row_run, kind, "text", "What was simulated: step, job, traffic, collective or storage."),
    TRACE_TEXT_OR_NULL(row_run, error, "Why the run failed. NULL: it did not."),
    TRACE_COLUMN(row_run, version, "text", "Version of the program."),
    TRACE_COLUMN(row_run, scenario, "text", "The scenario's file, as it was named."),
    TRACE_COLUMN(row_run, scenario_text, "text", "The scenario's file, word for word."),
    TRACE_COLUMN(
        row_run, resolved, "text",
        "The scenario with every default, --set, include and catalogue value written out: running it again "
        "gives the same digest."),
    TRACE_COLUMN(row_run, seed, "1", "Seed of all random streams."),
    TRACE_TEXT_OR_NULL(
        row_run, digest,
        "Hash of all results, 16 hexadecimal digits; independent of trace level, folding and order. "
        "NULL: the run is not done."),
    TRACE_COLUMN(row_run, trace_level, "text",
                 "summary, steps, spans, transfers or packets: which tables were filled."),
    TRACE_COLUMN(row_run, engine, "text", "The network engine."),
    TRACE_COLUMN(row_run, fold, "text", "Which ranks were played as one lane: none, node or exact."),
    TRACE_TEXT_OR_NULL(row_run, model, "The language model of the first job. NULL: no job."),
    TRACE_TEXT_OR_NULL(row_run, plan, "The first job's plan in short. NULL: no job."),
    TRACE_COLUMN(row_run, nodes, "1", "Servers of the cluster."),
    TRACE_COLUMN(row_run, gpus, "1", "GPUs of the cluster."),
    TRACE_COLUMN(row_run, jobs, "1", "Jobs played."),
    TRACE_COLUMN(row_run, ranks, "1", "Ranks of all jobs."),
    TRACE_COLUMN(row_run, lanes, "1", "Lanes they were played as."),
    TRACE_COLUMN(row_run, steps, "1", "Training steps asked for."),
};
static const trace_column run_env_columns[] = {
    TRACE_KEY(row_run_env, run_id, "id", "Always 1."),
    TRACE_COLUMN(row_run_env, host, "text", "The machine the simulator ran on."),
    TRACE_COLUMN(row_run_env, date_utc, "text", "When the run began, UTC."),
    TRACE_COLUMN(row_run_env, compiler, "text", "What the program was built with."),
    TRACE_COLUMN(row_run_env, sqlite_version, "text", "The SQLite library that wrote this file."),
    TRACE_COLUMN(row_run_env, arguments, "text", "The command line."),
    TRACE_COLUMN(row_run_env, cores, "1", "Processor cores of the machine."),
    TRACE_COLUMN(row_run_env, wall_s, "s", "Wall time of the run. NULL: it did not end."),
    TRACE_COLUMN(row_run_env, cpu_s, "s", "CPU time of the run. NULL: it did not end."),
    TRACE_COLUMN(row_run_env, peak_memory_bytes, "B",
                 "Largest resident memory of the program. NULL: it did not end."),
    TRACE_COLUMN(row_run_env, events, "1", "Simulated events handled. NULL: it did not end."),
    TRACE_COLUMN(row_run_env, trace_rows, "1", "Rows written when the run ended. NULL: it did not end."),
};
static const trace_column name_columns[] = {
    TRACE_KEY(row_name, name_id, "id", "The number that stands for the text elsewhere, from 1."),
    TRACE_COLUMN(row_name, text, "text", "The text."),
};
static const trace_column part_columns[] = {
    TRACE_KEY(row_part, part_id, "id", "The part's number."),
    TRACE_COLUMN(
        row_part, kind, "text",
        "node, gpu, nvswitch, pcie-switch, cpu, nic, leaf, spine, core; of a link: nvlink, pcie, network."),
    TRACE_COLUMN(row_part, name, "text", "What messages call it: \"node 3 gpu 5\"."),
    TRACE_TEXT_OR_NULL(row_part, catalogue,
                       "Name of the definition it was made from, in the catalogue or the scenario. NULL: it "
                       "has none of its own."),
    TRACE_COLUMN(row_part, parent_part_id, "id", "The part it sits in, such as a GPU's node. NULL: none."),
    TRACE_COLUMN(row_part, source_part_id, "id", "Of a link: the end that sends. NULL: not a link."),
    TRACE_COLUMN(row_part, destination_part_id, "id", "Of a link: the end that receives. NULL: not a link."),
    TRACE_COLUMN(row_part, tier, "1",
                 "Height in the fabric: 0 inside a node, 1 NIC and leaf, 2 spine, 3 core. NULL: not in the "
                 "fabric, or not recorded."),
    TRACE_COLUMN(row_part, rate_Bps, "B/s",
                 "Of a link: bytes per second at the start of the run, as in link_sample.wire_bytes; of a "
                 "degraded one, "
                 "what is left. NULL: not a link."),
    TRACE_COLUMN(row_part, delay_ps, "ps", "Of a link: last byte out to last byte in. NULL: not a link."),
    TRACE_COLUMN(
        row_part, health_ratio, "1",
        "Speed at the start of the run against a healthy one's, which is 1: clock of a GPU, rate of a link."),
};
static const trace_column rank_columns[] = {
    TRACE_KEY(row_rank, rank_id, "id", "The rank's number among those of all jobs."),
    TRACE_COLUMN(row_rank, job_id, "id", "Its job."),
    TRACE_COLUMN(row_rank, rank, "1", "Its number within the job, from 0."),
    TRACE_COLUMN(row_rank, gpu_part_id, "id", "The GPU it runs on. NULL: parts were not written."),
    TRACE_COLUMN(row_rank, lane_id, "id", "The lane that was played for it."),
    TRACE_COLUMN(row_rank, tensor, "1", "Place in its tensor-parallel group, from 0."),
    TRACE_COLUMN(row_rank, data, "1", "Place in its data-parallel group, from 0."),
    TRACE_COLUMN(row_rank, pipeline, "1", "Pipeline stage, from 0."),
    TRACE_COLUMN(row_rank, context, "1", "Place in its context-parallel group. NULL: not modelled."),
    TRACE_COLUMN(row_rank, expert, "1", "Place in its expert-parallel group. NULL: not modelled."),
};
static const trace_column lane_columns[] = {
    TRACE_KEY(row_lane, lane_id, "id", "The lane's number."),
    TRACE_COLUMN(row_lane, job_id, "id", "Its job."),
    TRACE_TEXT_OR_NULL(row_lane, name, "What it is called. NULL: nothing but its ranks tells it apart."),
    TRACE_COLUMN(row_lane, first_rank_id, "id", "The first of the ranks it stands for."),
    TRACE_COLUMN(row_lane, multiplicity, "1",
                 "How many ranks it stands for; they do the same at the same time."),
    TRACE_COLUMN(row_lane, stage, "1", "Pipeline stage, from 0."),
    TRACE_COLUMN(row_lane, layers, "1", "Transformer layers it holds. NULL: not a transformer."),
    TRACE_COLUMN(row_lane, clock_ratio, "1", "Clock of its GPUs against a healthy one's, which is 1."),
    TRACE_COLUMN(row_lane, memory_ratio, "1", "Memory rate of its GPUs against a healthy one's, which is 1."),
    TRACE_COLUMN(row_lane, memory_need_bytes, "B", "GPU memory that one rank needs. NULL: not worked out."),
    TRACE_COLUMN(row_lane, memory_bytes, "B", "GPU memory that one rank has. NULL: unknown."),
};
static const trace_column kernel_columns[] = {
    TRACE_KEY(row_kernel, kernel_id, "id", "The kernel's number; each distinct shape, GPU and clock once."),
    TRACE_COLUMN(row_kernel, job_id, "id", "The job that runs it."),
    TRACE_COLUMN(row_kernel, name, "text", "What it computes: \"attention.qkv\"."),
    TRACE_COLUMN(
        row_kernel, class, "text",
        "Which formula gives its time: matmul, attention-forward, attention-backward or elementwise."),
    TRACE_COLUMN(row_kernel, dtype, "text", "Number format of its operands."),
    TRACE_COLUMN(row_kernel, gpu, "text", "The GPU, by its catalogue name."),
    TRACE_COLUMN(row_kernel, batch, "1", "Independent products; for attention, sequences times heads."),
    TRACE_COLUMN(row_kernel, m, "1",
                 "Rows of the result; elements of an elementwise kernel; sequence length."),
    TRACE_COLUMN(row_kernel, n, "1", "Columns of the result; 1 for an elementwise kernel; sequence length."),
    TRACE_COLUMN(row_kernel, k, "1", "Length that is summed over; 1 for an elementwise kernel; head size."),
    TRACE_COLUMN(row_kernel, clock_ratio, "1", "Clock it ran at against a healthy GPU's, which is 1."),
    TRACE_COLUMN(row_kernel, flop, "FLOP", "Floating-point operations of one call, really executed."),
    TRACE_COLUMN(row_kernel, bytes, "B", "Least traffic of one call with the GPU's memory."),
    TRACE_COLUMN(row_kernel, time_ps, "ps", "Time of one call on the GPU."),
    TRACE_COLUMN(row_kernel, bound, "text", "What decides its time: tensor-core, vector, hbm or launch."),
    TRACE_COLUMN(
        row_kernel, efficiency_ratio, "1",
        "Share of the data sheet's peak it reaches: of the memory rate where its bytes take longer than its "
        "FLOP, else of the FLOP/s."),
    TRACE_COLUMN(row_kernel, launches, "1", "Launches by the host for one call."),
    TRACE_COLUMN(row_kernel, calls_per_step, "1", "Calls in one step by all ranks together."),
};
static const trace_column step_columns[] = {
    TRACE_KEY(row_step, job_id, "id", "The job."),
    TRACE_KEY(row_step, step, "1", "The step, from 0."),
    TRACE_COLUMN(row_step, start_ps, "ps", "When its first rank began."),
    TRACE_COLUMN(row_step, end_ps, "ps", "When its last rank ended."),
    TRACE_COLUMN(row_step, tokens, "1", "Tokens trained on, by all ranks."),
    TRACE_COLUMN(row_step, sequences, "1", "Sequences trained on, by all ranks."),
    TRACE_COLUMN(
        row_step, model_flop, "FLOP",
        "FLOP of the model for these tokens, by the convention named in the summary. NULL: no model."),
    TRACE_COLUMN(row_step, mfu_ratio, "1", "Model FLOP per second against the GPUs' peak. NULL: no model."),
    TRACE_COLUMN(row_step, hfu_ratio, "1",
                 "FLOP really executed per second against the GPUs' peak. NULL: no model."),
    TRACE_COLUMN(row_step, condition_id, "id",
                 "The state of the cluster it was played in. NULL: the scenario's own."),
    TRACE_COLUMN(row_step, energy_J, "J", "Energy of all GPUs. NULL: power is not modelled."),
};
static const trace_column blame_columns[] = {
    TRACE_COLUMN(row_blame, job_id, "id", "The job."),
    TRACE_COLUMN(row_blame, step, "1", "The step, from 0."),
    TRACE_COLUMN(row_blame, lane_id, "id",
                 "The lane. NULL: all lanes together; do not add these rows to the others."),
    TRACE_COLUMN(row_blame, cause_id, "id", "Name of what the time went to."),
    TRACE_COLUMN(row_blame, idle, "1", "1: the GPU waited; 0: it computed."),
    TRACE_COLUMN(row_blame, culprit_part_id, "id", "The part that is to blame. NULL: no single one."),
    TRACE_COLUMN(row_blame, time_ps, "ps",
                 "GPU time: the lane's time times its multiplicity, so that lanes add up."),
    TRACE_COLUMN(row_blame, share_ratio, "1", "Share of the GPU time of this lane, or of all, in this step."),
};
static const trace_column span_columns[] = {
    TRACE_KEY(row_span, span_id, "id", "The span's number, in the order of their ends."),
    TRACE_COLUMN(row_span, job_id, "id", "The job."),
    TRACE_COLUMN(row_span, step, "1", "The step, from 0."),
    TRACE_COLUMN(row_span, lane_id, "id", "The lane; the span happens on each of its ranks."),
    TRACE_COLUMN(row_span, stream_id, "id", "Name of the GPU's stream."),
    TRACE_COLUMN(
        row_span, kind_id, "id",
        "Name of what is done: forward, backward (with what is recomputed for it), a collective's purpose."),
    TRACE_COLUMN(row_span, micro_batch, "1", "The micro-batch, from 0. NULL: belongs to none."),
    TRACE_COLUMN(row_span, chunk, "1", "Virtual stage or piece of a pass, from 0. NULL: the pass is whole."),
    TRACE_COLUMN(row_span, start_ps, "ps", "When it began."),
    TRACE_COLUMN(row_span, end_ps, "ps", "When it ended."),
    TRACE_COLUMN(row_span, ready_ps, "ps",
                 "When all it needed was there; from then on it waited for its stream. NULL: "
                 "not recorded."),
    TRACE_COLUMN(row_span, launch_ps, "ps",
                 "Part of its time in which the GPU waited for the host. NULL: no kernels."),
    TRACE_COLUMN(row_span, collective_id, "id", "The collective it takes part in. NULL: it computes."),
    TRACE_COLUMN(row_span, cause_span_id, "id", "The span whose end let it start. NULL: not recorded."),
    TRACE_COLUMN(row_span, kernels, "1", "Kernels it runs on one rank."),
    TRACE_COLUMN(row_span, flop, "FLOP", "Floating-point operations of one rank, really executed."),
    TRACE_COLUMN(row_span, bytes, "B", "Memory traffic of one rank; of a collective, its size."),
    TRACE_COLUMN(row_span, energy_J, "J", "Energy of one rank. NULL: power is not modelled."),
};
static const trace_column collective_columns[] = {
    TRACE_KEY(row_collective, collective_id, "id", "The collective's number."),
    TRACE_COLUMN(row_collective, job_id, "id", "The job."),
    TRACE_COLUMN(row_collective, step, "1", "The step, from 0."),
    TRACE_COLUMN(row_collective, kind_id, "id", "Name of its kind: all-reduce, all-gather, ..."),
    TRACE_COLUMN(row_collective, purpose_id, "id", "Name of what it is for: gradient reduce-scatter, ..."),
    TRACE_COLUMN(row_collective, group_kind_id, "id", "Name of the kind of group: dp, tp, pp, ..."),
    TRACE_COLUMN(row_collective, group_id, "id", "The group's number among all groups of the run."),
    TRACE_COLUMN(row_collective, algorithm_id, "id", "Name of the algorithm: ring, tree, ..."),
    TRACE_COLUMN(row_collective, protocol_id, "id", "Name of NCCL's protocol: ll, ll128, simple."),
    TRACE_COLUMN(row_collective, grain_id, "id", "Name of how finely it was played: messages or streams."),
    TRACE_COLUMN(row_collective, ranks, "1", "Members of the group."),
    TRACE_COLUMN(row_collective, multiplicity, "1",
                 "How many such collectives of folded ranks it stands for."),
    TRACE_COLUMN(row_collective, channels, "1", "Channels used. NULL: the model does not tell them apart."),
    TRACE_COLUMN(row_collective, micro_batch, "1", "The micro-batch, from 0. NULL: belongs to none."),
    TRACE_COLUMN(row_collective, bytes, "B", "Size as nccl-tests prints it; of one of the multiplicity."),
    TRACE_COLUMN(row_collective, payload_bytes, "B",
                 "Payload over all its edges, without the protocol's flags; of one of the multiplicity."),
    TRACE_COLUMN(row_collective, first_arrival_ps, "ps", "When its first member arrived and began to wait."),
    TRACE_COLUMN(row_collective, last_arrival_ps, "ps", "When its last member arrived and it began."),
    TRACE_COLUMN(row_collective, end_ps, "ps", "When every member had its result."),
    TRACE_COLUMN(row_collective, last_rank_id, "id", "The member that arrived last. NULL: not recorded."),
    TRACE_COLUMN(row_collective, algorithm_Bps, "B/s",
                 "bytes / (end_ps - last_arrival_ps), algbw in nccl-tests. NULL: it took no time."),
    TRACE_COLUMN(row_collective, bus_Bps, "B/s",
                 "The same times nccl-tests' factor, busbw. NULL: it took no time."),
    TRACE_COLUMN(row_collective, alone_ps, "ps",
                 "The time it would take on an idle network. NULL: not worked out."),
};
static const trace_column transfer_columns[] = {
    TRACE_KEY(row_transfer, transfer_id, "id", "The transfer's number."),
    TRACE_COLUMN(row_transfer, job_id, "id", "The job. NULL: traffic of no job."),
    TRACE_COLUMN(row_transfer, step, "1", "The step, from 0. NULL: outside steps."),
    TRACE_COLUMN(row_transfer, collective_id, "id", "The collective it is part of. NULL: none."),
    TRACE_COLUMN(row_transfer, storage_op_id, "id", "The storage operation it is part of. NULL: none."),
    TRACE_COLUMN(row_transfer, source_part_id, "id", "The part that sends."),
    TRACE_COLUMN(row_transfer, destination_part_id, "id", "The part that receives."),
    TRACE_COLUMN(row_transfer, class_id, "id", "Name of its traffic class."),
    TRACE_COLUMN(row_transfer, bytes, "B",
                 "Payload, without the protocol's flags; of one of the multiplicity."),
    TRACE_COLUMN(row_transfer, multiplicity, "1", "How many such transfers of folded ranks it stands for."),
    TRACE_COLUMN(row_transfer, start_ps, "ps", "When it was handed to the network."),
    TRACE_COLUMN(row_transfer, end_ps, "ps", "When its last byte was delivered."),
    TRACE_COLUMN(row_transfer, alone_ps, "ps",
                 "The time it would take on an idle network. NULL: not worked out."),
    TRACE_COLUMN(row_transfer, links, "1", "Links on its path. NULL: not recorded."),
    TRACE_COLUMN(row_transfer, bottleneck_part_id, "id",
                 "The link that held it back longest. NULL: not recorded."),
    TRACE_COLUMN(row_transfer, retransmitted_bytes, "B",
                 "Bytes sent again. NULL: the engine does not model loss."),
};
static const trace_column link_sample_columns[] = {
    TRACE_KEY(row_link_sample, link_part_id, "id", "The link, one direction of a cable."),
    TRACE_KEY(row_link_sample, start_ps, "ps",
              "When the interval began; intervals of a link do not overlap."),
    TRACE_COLUMN(row_link_sample, end_ps, "ps", "When the interval ended."),
    TRACE_COLUMN(row_link_sample, wire_bytes, "B",
                 "Bytes that crossed the link, where ranks are folded of those played only: payload and the "
                 "flags of NCCL's "
                 "protocols; the line's own framing is in its rate."),
    TRACE_COLUMN(row_link_sample, busy_ratio, "1",
                 "Mean share of the link's rate (part.rate_Bps) that was used."),
    TRACE_COLUMN(row_link_sample, peak_ratio, "1", "Largest share used at any moment. NULL: not recorded."),
    TRACE_COLUMN(row_link_sample, transfers, "1", "Transfers that used the link. NULL: not recorded."),
    TRACE_COLUMN(row_link_sample, packets, "1", "Packets sent. NULL: the engine has none."),
    TRACE_COLUMN(row_link_sample, retransmitted_packets, "1",
                 "Packets sent again, by connections or by the link itself. NULL: the link has no faults."),
    TRACE_COLUMN(row_link_sample, retransmitted_bytes, "B",
                 "Bytes sent again, beside wire_bytes. NULL: the link has no faults."),
    TRACE_COLUMN(
        row_link_sample, timeouts, "1",
        "Times that a message whose last packet was lost here waited for its sender's timeout. NULL: the "
        "link has no faults."),
};
static const trace_column queue_sample_columns[] = {
    TRACE_KEY(row_queue_sample, link_part_id, "id", "The link that the queue feeds."),
    TRACE_KEY(row_queue_sample, start_ps, "ps",
              "When the interval began; intervals of a queue do not overlap."),
    TRACE_COLUMN(row_queue_sample, end_ps, "ps", "When the interval ended."),
    TRACE_COLUMN(row_queue_sample, mean_bytes, "B",
                 "Mean length over the time. NULL: only estimated peaks are known."),
    TRACE_COLUMN(row_queue_sample, peak_bytes, "B", "Largest length."),
    TRACE_COLUMN(row_queue_sample, paused_ps, "ps",
                 "Time in which the next hop forbade sending. NULL: not modelled."),
    TRACE_COLUMN(row_queue_sample, marked_packets, "1", "Packets marked for congestion. NULL: not modelled."),
    TRACE_COLUMN(row_queue_sample, dropped_packets, "1", "Packets dropped. NULL: not modelled."),
};
static const trace_column gpu_sample_columns[] = {
    TRACE_KEY(row_gpu_sample, lane_id, "id", "The lane; the sample holds for the GPU of each of its ranks."),
    TRACE_KEY(row_gpu_sample, start_ps, "ps", "When the interval began; intervals of a lane do not overlap."),
    TRACE_COLUMN(row_gpu_sample, end_ps, "ps", "When the interval ended."),
    TRACE_COLUMN(row_gpu_sample, busy_ratio, "1", "Share of the time in which the GPU computed."),
    TRACE_COLUMN(row_gpu_sample, communication_ratio, "1",
                 "Share of the time in which it communicated, also beside computing. NULL: not recorded."),
    TRACE_COLUMN(row_gpu_sample, memory_used_bytes, "B", "Memory in use at the end. NULL: not recorded."),
    TRACE_COLUMN(row_gpu_sample, clock_Hz, "Hz", "Mean clock. NULL: power is not modelled."),
    TRACE_COLUMN(row_gpu_sample, power_W, "W", "Mean power. NULL: power is not modelled."),
    TRACE_COLUMN(row_gpu_sample, energy_J, "J", "Energy. NULL: power is not modelled."),
    TRACE_COLUMN(row_gpu_sample, temperature_C, "C", "Temperature at the end. NULL: power is not modelled."),
    TRACE_TEXT_OR_NULL(row_gpu_sample, throttle,
                       "Why the clock was lowered. NULL: it was not, or is not modelled."),
};
static const trace_column storage_op_columns[] = {
    TRACE_KEY(row_storage_op, storage_op_id, "id", "The operation's number."),
    TRACE_COLUMN(row_storage_op, job_id, "id", "The job. NULL: none, as in a benchmark."),
    TRACE_COLUMN(row_storage_op, step, "1", "The step, from 0. NULL: outside steps."),
    TRACE_COLUMN(row_storage_op, lane_id, "id", "The lane that asked. NULL: none."),
    TRACE_COLUMN(row_storage_op, checkpoint_id, "id", "The checkpoint it writes or loads. NULL: none."),
    TRACE_COLUMN(row_storage_op, kind_id, "id", "Name of the operation: read, write, open, create, ..."),
    TRACE_COLUMN(row_storage_op, client_part_id, "id", "The node that asked."),
    TRACE_COLUMN(row_storage_op, target_part_id, "id", "The target or metadata server. NULL: several."),
    TRACE_COLUMN(row_storage_op, file_id, "id", "Name of the file. NULL: not recorded."),
    TRACE_COLUMN(row_storage_op, bytes, "B", "Payload; 0 for a metadata operation."),
    TRACE_COLUMN(row_storage_op, requests, "1", "Requests it was cut into."),
    TRACE_COLUMN(row_storage_op, ready_ps, "ps", "When it was asked for."),
    TRACE_COLUMN(row_storage_op, start_ps, "ps", "When the server began it."),
    TRACE_COLUMN(row_storage_op, end_ps, "ps", "When it was done."),
};
static const trace_column checkpoint_columns[] = {
    TRACE_KEY(row_checkpoint, checkpoint_id, "id", "The checkpoint's number."),
    TRACE_COLUMN(row_checkpoint, job_id, "id", "The job."),
    TRACE_COLUMN(row_checkpoint, replication, "1",
                 "The repetition of the job it belongs to. NULL: played once."),
    TRACE_COLUMN(row_checkpoint, step, "1", "The step whose state it holds. NULL: none."),
    TRACE_COLUMN(row_checkpoint, kind, "text", "synchronous, asynchronous or memory."),
    TRACE_COLUMN(row_checkpoint, outcome, "text", "complete, lost, corrupt or unfinished."),
    TRACE_COLUMN(row_checkpoint, writers, "1", "Ranks that write."),
    TRACE_COLUMN(row_checkpoint, bytes, "B", "Size, all writers together."),
    TRACE_COLUMN(row_checkpoint, start_ps, "ps",
                 "When it began, in a step simulation. NULL: a job simulation."),
    TRACE_COLUMN(row_checkpoint, end_ps, "ps", "When it was safe. NULL: it never was, or a job simulation."),
    TRACE_COLUMN(row_checkpoint, stall_ps, "ps", "How long training stood still. NULL: a job simulation."),
    TRACE_COLUMN(row_checkpoint, start_us, "us",
                 "When it began, in a job simulation. NULL: a step simulation."),
    TRACE_COLUMN(row_checkpoint, end_us, "us", "When it was safe. NULL: it never was, or a step simulation."),
    TRACE_COLUMN(row_checkpoint, stall_us, "us", "How long training stood still. NULL: a step simulation."),
};
static const trace_column condition_columns[] = {
    TRACE_KEY(row_condition, condition_id, "id", "The condition's number."),
    TRACE_COLUMN(row_condition, job_id, "id", "The job."),
    TRACE_COLUMN(row_condition, condition, "text",
                 "The state of the cluster, in canonical form: roles, not numbers."),
    TRACE_COLUMN(row_condition, explanation, "text", "The same for people."),
    TRACE_COLUMN(row_condition, step_ps, "ps", "Length of a step in it. NULL: see reason."),
    TRACE_TEXT_OR_NULL(row_condition, reason, "Why no step length is known. NULL: it is."),
    TRACE_COLUMN(row_condition, steps_played, "1", "Steps the job spent in it, over all replications."),
    TRACE_COLUMN(row_condition, time_us, "us", "Time the job spent in it, over all replications."),
};
static const trace_column job_event_columns[] = {
    TRACE_KEY(row_job_event, job_event_id, "id",
              "The event's number, in order of time within a replication."),
    TRACE_COLUMN(row_job_event, job_id, "id", "The job."),
    TRACE_COLUMN(row_job_event, replication, "1", "The repetition of the job, from 0."),
    TRACE_COLUMN(row_job_event, time_us, "us", "When it happened."),
    TRACE_COLUMN(row_job_event, kind, "text",
                 "What happened: fault, detection, restart, repair, checkpoint, ..."),
    TRACE_COLUMN(row_job_event, job_state, "text",
                 "What the job does from then on: training, loading, waiting, ..."),
    TRACE_COLUMN(row_job_event, step, "1", "Steps that were done. NULL: not recorded."),
    TRACE_COLUMN(row_job_event, part_id, "id", "The part it happened to. NULL: none."),
    TRACE_COLUMN(row_job_event, fault_id, "id", "The fault it belongs to. NULL: none."),
    TRACE_COLUMN(row_job_event, checkpoint_id, "id", "The checkpoint it belongs to. NULL: none."),
    TRACE_COLUMN(row_job_event, condition_id, "id", "The condition from then on. NULL: unchanged."),
    TRACE_COLUMN(row_job_event, cause_event_id, "id", "The event that led to it. NULL: none."),
    TRACE_TEXT_OR_NULL(row_job_event, explanation, "The same for people. NULL: the kind says it all."),
};
static const trace_column job_loss_columns[] = {
    TRACE_KEY(row_job_loss, job_id, "id", "The job."),
    TRACE_KEY(row_job_loss, replication, "1", "The repetition of the job, from 0."),
    TRACE_KEY(row_job_loss, cause, "text", "What the time went to."),
    TRACE_COLUMN(row_job_loss, productive, "1",
                 "1: training that was kept, at the undisturbed speed; 0: a loss."),
    TRACE_COLUMN(row_job_loss, occurrences, "1", "How often."),
    TRACE_COLUMN(row_job_loss, time_us, "us", "How long, together."),
    TRACE_COLUMN(row_job_loss, share_ratio, "1", "Share of the job's time; they add up to 1."),
};
static const trace_column fault_columns[] = {
    TRACE_KEY(row_fault, fault_id, "id", "The fault's number."),
    TRACE_COLUMN(row_fault, job_id, "id", "The job it hit. NULL: none."),
    TRACE_COLUMN(row_fault, replication, "1", "The repetition of the job. NULL: played once."),
    TRACE_COLUMN(row_fault, kind, "text", "link down, gpu slow, node, ..."),
    TRACE_TEXT_OR_NULL(row_fault, class, "The class of the failure process. NULL: it was injected."),
    TRACE_COLUMN(row_fault, origin, "text", "injected, drawn or replayed."),
    TRACE_COLUMN(row_fault, part_id, "id", "The part that is at fault. NULL: none, as in preemption."),
    TRACE_COLUMN(row_fault, blamed_part_id, "id",
                 "The part the diagnosis blamed, rightly or not. NULL: none."),
    TRACE_COLUMN(row_fault, magnitude_ratio, "1",
                 "What is left of its speed. NULL: nothing is, or it has none."),
    TRACE_COLUMN(row_fault, start_ps, "ps", "When it began, in a step simulation. NULL: a job simulation."),
    TRACE_COLUMN(row_fault, end_ps, "ps", "When it was gone. NULL: it stayed, or a job simulation."),
    TRACE_COLUMN(row_fault, start_us, "us", "When it began, in a job simulation. NULL: a step simulation."),
    TRACE_COLUMN(row_fault, detected_us, "us", "When it was noticed. NULL: never, or a step simulation."),
    TRACE_COLUMN(row_fault, diagnosed_us, "us", "When a part was blamed. NULL: never, or a step simulation."),
    TRACE_COLUMN(row_fault, end_us, "us", "When it was gone. NULL: it stayed, or a step simulation."),
    TRACE_TEXT_OR_NULL(row_fault, explanation, "The same for people. NULL: the kind says it all."),
};
static const trace_column summary_columns[] = {
    TRACE_KEY(row_summary, summary_id, "id", "The order in which the values are printed, from 1."),
    TRACE_COLUMN(row_summary, job_id, "id", "The job. NULL: the whole run."),
    TRACE_COLUMN(row_summary, metric, "text", "What was asked."),
    TRACE_COLUMN(row_summary, unit, "text", "The value's unit; 1 for a count or a ratio."),
    TRACE_COLUMN(row_summary, value, "in column unit", "The answer. NULL: see reason."),
    TRACE_TEXT_OR_NULL(row_summary, reason, "Why there is no answer. NULL: there is one."),
    TRACE_COLUMN(row_summary, low, "in column unit", "Lower end of the answer's range. NULL: no range."),
    TRACE_COLUMN(row_summary, high, "in column unit", "Upper end of the answer's range. NULL: no range."),
    TRACE_COLUMN(row_summary, explanation, "text", "What exactly is meant, and by which convention."),
};
static const trace_column dictionary_columns[] = {
    TRACE_COLUMN(trace_dictionary_row, table_name, "text", "The table or view."),
    TRACE_TEXT_OR_NULL(trace_dictionary_row, column_name,
                       "The column. NULL: the row speaks of the table itself."),
    TRACE_TEXT_OR_NULL(
        trace_dictionary_row, unit,
        "The column's unit: ps, us, s, B, B/s, FLOP, W, J, Hz, C; id: refers to the table of that name, "
        "or to name; 1: a count or a ratio; text. NULL: the row speaks of a table."),
    TRACE_COLUMN(trace_dictionary_row, explanation, "text", "What it means."),
};

#define TABLE(name_, level_, check_, explanation_)                                                           \
    {                                                                                                        \
        .name = #name_, .level = (level_), .check = (check_), .explanation = (explanation_),                 \
        .columns = name_##_columns, .column_count = ARRAY_COUNT(name_##_columns)                             \
    }
const trace_table tables_all[TABLES] = {
    [TABLE_RUN] = TABLE(run, TRACE_SUMMARY,
                        "run_id = 1 AND state IN ('running', 'done', 'failed', 'cancelled') AND "
                        "(state = 'done' OR digest IS NULL)",
                        "The run: what was simulated, from what, and how it ended."),
    [TABLE_RUN_ENV] = TABLE(run_env, TRACE_SUMMARY, "run_id = 1",
                            "Where and how long the simulator ran; left out when runs are compared."),
    [TABLE_NAME] = TABLE(name, TRACE_SUMMARY, NULL, "Texts that large tables refer to by number."),
    [TABLE_PART] = TABLE(part, TRACE_SUMMARY, NULL,
                         "Every entity of the cluster: nodes, GPUs, NICs, switches, links."),
    [TABLE_RANK] = TABLE(rank, TRACE_SUMMARY, NULL,
                         "Every rank of every job: its GPU, its lane, its place in the plan."),
    [TABLE_LANE] = TABLE(lane, TRACE_SUMMARY, "multiplicity > 0",
                         "What was played: one or several ranks that do the same at the same time."),
    [TABLE_KERNEL] = TABLE(kernel, TRACE_SUMMARY, "time_ps >= 0",
                           "Every distinct kernel once, with its time."),
    [TABLE_SPAN] = TABLE(
        span, TRACE_SPANS, "start_ps <= end_ps",
        "One task of a lane: the run of kernels between two synchronisation points, or its part in a "
        "collective."),
    [TABLE_COLLECTIVE] = TABLE(collective, TRACE_SPANS,
                               "first_arrival_ps <= last_arrival_ps AND last_arrival_ps <= end_ps",
                               "One collective operation or send/recv of a group."),
    [TABLE_TRANSFER] = TABLE(transfer, TRACE_TRANSFERS, "start_ps <= end_ps",
                             "One message, or one edge of a stream, across the network."),
    [TABLE_LINK_SAMPLE] = TABLE(
        link_sample, TRACE_STEPS, "start_ps < end_ps",
        "What crossed a link in an interval; without a finer interval, one row per step."),
    [TABLE_QUEUE_SAMPLE] = TABLE(queue_sample, TRACE_STEPS, "start_ps < end_ps",
                                 "The queue before a link in an interval."),
    [TABLE_GPU_SAMPLE] = TABLE(
        gpu_sample, TRACE_STEPS, "start_ps < end_ps",
        "What the GPUs of a lane did in an interval; without a finer interval, one row per step."),
    [TABLE_STORAGE_OP] = TABLE(storage_op, TRACE_SPANS, "ready_ps <= start_ps AND start_ps <= end_ps",
                               "One operation on the storage system."),
    [TABLE_STEP] = TABLE(step, TRACE_STEPS, "start_ps <= end_ps", "One training step of a job."),
    [TABLE_BLAME] = TABLE(
        blame, TRACE_STEPS, "time_ps >= 0",
        "Where GPU time went: for each lane, and for all, the causes of a step add up to its length."),
    [TABLE_CHECKPOINT] = TABLE(checkpoint, TRACE_STEPS, ONE_CLOCK, "One checkpoint of a job."),
    [TABLE_CONDITION] = TABLE(
        condition, TRACE_STEPS, "(step_ps IS NULL) = (reason IS NOT NULL)",
        "A state of the cluster in which a job trained, and how long its steps take there."),
    [TABLE_JOB_EVENT] = TABLE(job_event, TRACE_STEPS, NULL, "What happened to a job over days and months."),
    [TABLE_JOB_LOSS] = TABLE(job_loss, TRACE_SUMMARY, "time_us >= 0",
                             "Where a job's time went: productive, and each loss."),
    [TABLE_FAULT] = TABLE(fault, TRACE_STEPS, ONE_CLOCK,
                          "One fault of a part: from when to when, and who was blamed."),
    [TABLE_SUMMARY] = TABLE(summary, TRACE_SUMMARY, "(value IS NULL) = (reason IS NOT NULL)",
                            "The answers, one value each, as the program prints them."),
    [TABLE_DICTIONARY] = TABLE(dictionary, TRACE_SUMMARY, NULL, "What every table, view and column means."),
};
