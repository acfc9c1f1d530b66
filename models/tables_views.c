// SPDX-License-Identifier: GPL-3.0-or-later
// Views: the questions that are asked first, with names instead of numbers and units for people. Every view
// ends with run_state, which says "incomplete" unless the run is done. Sums are taken in
// floating point: GPU times of a large cluster in ps would overflow an integer.
#include "models/tables.h"
#include "sim/array.h"

#define STATE_LABEL                                                                                          \
    {                                                                                                        \
        "run_state", "text", "done, or incomplete: the run goes on, failed or was stopped."                  \
    }

static const trace_label completeness_labels[] = { STATE_LABEL };
static const char completeness_sql[] = "SELECT coalesce((SELECT CASE state WHEN 'done' THEN 'done' ELSE "
                                       "'incomplete' END FROM run), 'incomplete')\n"
                                       "  AS run_state";

static const trace_label step_breakdown_labels[] = {
    { "job_id", "id", "The job." },
    { "step", "1", "The step, from 0." },
    { "step_ms", "ms", "Length of the step. NULL: it has not ended." },
    { "cause", "text", "What the time went to." },
    { "idle", "1", "1: the GPUs waited; 0: they computed." },
    { "mean_ms", "ms",
      "Time of the step that went there, mean over all GPUs. NULL: the step has not ended." },
    { "share_ratio", "1", "The same as a share of the step." },
    STATE_LABEL,
};
static const char step_breakdown_sql[] =
    "SELECT b.job_id, b.step, 1e-9 * (s.end_ps - s.start_ps) AS step_ms,\n"
    "  (SELECT text FROM name WHERE name_id = b.cause_id) AS cause, b.idle,\n"
    "  1e-9 * (s.end_ps - s.start_ps) * sum(b.share_ratio) AS mean_ms,\n"
    "  sum(b.share_ratio) AS share_ratio,\n"
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM blame b LEFT JOIN step s USING (job_id, step)\n"
    "WHERE b.lane_id IS NULL\n"
    "GROUP BY b.job_id, b.step, b.cause_id, b.idle\n"
    "ORDER BY b.job_id, b.step, sum(b.share_ratio) DESC, b.cause_id";

static const trace_label blame_by_stage_labels[] = {
    { "job_id", "id", "The job." },
    { "step", "1", "The step, from 0." },
    { "stage", "1", "Pipeline stage, from 0." },
    { "cause", "text", "What the time went to." },
    { "idle", "1", "1: the GPUs waited; 0: they computed." },
    { "mean_ms", "ms", "Time of the step that went there, mean over the GPUs of the stage." },
    { "share_ratio", "1", "The same as a share of the time of these GPUs." },
    STATE_LABEL,
};
static const char blame_by_stage_sql[] =
    "WITH total AS (\n"
    "  SELECT b.job_id, b.step, l.stage, sum(1e-9 * b.time_ps) AS gpu_ms,\n"
    "    (SELECT sum(x.multiplicity) FROM lane x WHERE x.job_id = b.job_id AND x.stage = l.stage) AS gpus\n"
    "  FROM blame b JOIN lane l ON l.lane_id = b.lane_id GROUP BY b.job_id, b.step, l.stage)\n"
    "SELECT b.job_id, b.step, l.stage, (SELECT text FROM name WHERE name_id = b.cause_id) AS cause, b.idle,\n"
    "  sum(1e-9 * b.time_ps) / t.gpus AS mean_ms, sum(1e-9 * b.time_ps) / t.gpu_ms AS share_ratio,\n"
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM blame b JOIN lane l ON l.lane_id = b.lane_id\n"
    "  JOIN total t ON t.job_id = b.job_id AND t.step = b.step AND t.stage = l.stage\n"
    "GROUP BY b.job_id, b.step, l.stage, b.cause_id\n"
    "ORDER BY b.job_id, b.step, l.stage, share_ratio DESC, b.cause_id";

static const trace_label idle_by_cause_labels[] = {
    { "job_id", "id", "The job." },
    { "cause", "text", "What the GPUs waited for." },
    { "culprit", "text", "The part that is to blame. NULL: no single one." },
    { "idle_gpu_s", "s", "GPU time lost, over all ranks and steps." },
    { "share_of_idle_ratio", "1", "Share of all idle GPU time." },
    { "share_of_all_ratio", "1", "Share of all GPU time." },
    STATE_LABEL,
};
static const char idle_by_cause_sql[] =
    "WITH total AS (\n"
    "  SELECT job_id, sum(1e-12 * time_ps) AS gpu_s, sum(1e-12 * time_ps * idle) AS idle_s\n"
    "  FROM blame WHERE lane_id IS NULL GROUP BY job_id)\n"
    "SELECT b.job_id, (SELECT text FROM name WHERE name_id = b.cause_id) AS cause,\n"
    "  (SELECT name FROM part WHERE part_id = b.culprit_part_id) AS culprit,\n"
    "  sum(1e-12 * b.time_ps) AS idle_gpu_s,\n"
    "  sum(1e-12 * b.time_ps) / t.idle_s AS share_of_idle_ratio,\n"
    "  sum(1e-12 * b.time_ps) / t.gpu_s AS share_of_all_ratio,\n"
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM blame b JOIN total t USING (job_id)\n"
    "WHERE b.lane_id IS NULL AND b.idle\n"
    "GROUP BY b.job_id, b.cause_id, b.culprit_part_id\n"
    "ORDER BY b.job_id, idle_gpu_s DESC, b.cause_id, b.culprit_part_id";

static const trace_label hottest_links_labels[] = {
    { "link_part_id", "id", "The link." },
    { "link", "text", "Its name." },
    { "source", "text", "The end that sends." },
    { "destination", "text", "The end that receives." },
    { "rate_Bps", "B/s", "Its rate at the start of the run." },
    { "wire_bytes", "B", "Bytes that crossed it: payload and the flags of NCCL's protocols." },
    { "busy_ratio", "1", "Mean share of its rate that was used, over all samples." },
    { "peak_ratio", "1", "Largest share that was used. NULL: not recorded." },
    STATE_LABEL,
};
static const char hottest_links_sql[] =
    "SELECT l.link_part_id, p.name AS link,\n"
    "  (SELECT name FROM part WHERE part_id = p.source_part_id) AS source,\n"
    "  (SELECT name FROM part WHERE part_id = p.destination_part_id) AS destination,\n"
    "  p.rate_Bps, sum(l.wire_bytes) AS wire_bytes,\n"
    "  sum(l.busy_ratio * (l.end_ps - l.start_ps)) / sum(l.end_ps - l.start_ps) AS busy_ratio,\n"
    "  max(l.peak_ratio) AS peak_ratio,\n"
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM link_sample l LEFT JOIN part p ON p.part_id = l.link_part_id\n"
    "GROUP BY l.link_part_id\n"
    "ORDER BY sum(l.busy_ratio * (l.end_ps - l.start_ps)) / sum(l.end_ps - l.start_ps) DESC, l.link_part_id";

static const trace_label retransmitting_links_labels[] = {
    { "link_part_id", "id", "The link." },
    { "link", "text", "Its name." },
    { "wire_bytes", "B", "Bytes that crossed it: payload and the flags of NCCL's protocols." },
    { "retransmitted_bytes", "B", "Bytes sent again, beside these." },
    { "retransmitted_packets", "1", "Packets of these." },
    { "timeouts", "1", "Messages that waited for their sender's timeout." },
    { "retransmit_ratio", "1", "Bytes sent again against all that crossed it; above 0.0001." },
    STATE_LABEL,
};
static const char retransmitting_links_sql[] =
    "SELECT l.link_part_id, p.name AS link, sum(l.wire_bytes) AS wire_bytes,\n"
    "  sum(l.retransmitted_bytes) AS retransmitted_bytes,\n"
    "  sum(l.retransmitted_packets) AS retransmitted_packets, sum(l.timeouts) AS timeouts,\n"
    "  1.0 * sum(l.retransmitted_bytes) / (sum(l.wire_bytes) + sum(l.retransmitted_bytes)) AS "
    "retransmit_ratio,\n"
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM link_sample l LEFT JOIN part p ON p.part_id = l.link_part_id\n"
    "GROUP BY l.link_part_id\n"
    "HAVING sum(l.retransmitted_bytes) > 1e-4 * (sum(l.wire_bytes) + sum(l.retransmitted_bytes))\n"
    "ORDER BY retransmit_ratio DESC, l.link_part_id";

static const trace_label gpus_under_70_busy_labels[] = {
    { "job_id", "id", "The job." },
    { "rank", "1", "The rank, from 0." },
    { "gpu", "text", "Its GPU. NULL: parts were not written." },
    { "lane_id", "id", "The lane that was played for it." },
    { "busy_ratio", "1", "Share of the time in which the GPU computed; below 0.7." },
    STATE_LABEL,
};
static const char gpus_under_70_busy_sql[] =
    "WITH busy AS (\n"
    "  SELECT lane_id, sum(busy_ratio * (end_ps - start_ps)) / sum(end_ps - start_ps) AS mean_ratio\n"
    "  FROM gpu_sample GROUP BY lane_id)\n"
    "SELECT r.job_id, r.rank, (SELECT name FROM part WHERE part_id = r.gpu_part_id) AS gpu, r.lane_id,\n"
    "  b.mean_ratio AS busy_ratio,\n"
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM busy b JOIN rank r USING (lane_id)\n"
    "WHERE b.mean_ratio < 0.7\n"
    "ORDER BY b.mean_ratio, r.rank_id";

static const trace_label goodput_labels[] = {
    { "job_id", "id", "The job." },
    { "cause", "text", "What the time went to." },
    { "productive", "1", "1: training that was kept; 0: a loss." },
    { "mean_h", "h", "How long, mean over the replications." },
    { "mean_ratio", "1", "Share of the job's time, mean over the replications." },
    { "occurrences", "1", "How often, mean over the replications." },
    STATE_LABEL,
};
// A replication that never met a loss has no row for it, so the mean is not SQL's avg().
static const char goodput_sql[] =
    "WITH played AS (SELECT job_id, count(DISTINCT replication) AS times FROM job_loss GROUP BY job_id)\n"
    "SELECT l.job_id, l.cause, l.productive, sum(l.time_us / 3.6e9) / p.times AS mean_h,\n"
    "  sum(l.share_ratio) / p.times AS mean_ratio,\n"
    "  1.0 * sum(l.occurrences) / p.times AS occurrences,\n"
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM job_loss l JOIN played p USING (job_id)\n"
    "GROUP BY l.job_id, l.cause, l.productive\n"
    "ORDER BY l.job_id, l.productive DESC, mean_h DESC, l.cause";

static const trace_label stragglers_labels[] = {
    { "job_id", "id", "The job." },
    { "step", "1", "The step, from 0." },
    { "lane_id", "id", "The lane that computed longer than its like." },
    { "rank", "1", "The first of its ranks." },
    { "gpu", "text", "That rank's GPU. NULL: parts were not written." },
    { "stage", "1", "Pipeline stage, from 0." },
    { "compute_ms", "ms", "Time its GPUs computed." },
    { "median_ms", "ms", "The same, median over the lanes of its stage." },
    { "slower_ratio", "1", "compute_ms / median_ms; above 1.03." },
    STATE_LABEL,
};
static const char stragglers_sql[] =
    "WITH work AS (\n"
    "  SELECT b.job_id, b.step, b.lane_id, l.stage, l.first_rank_id,\n"
    "    sum(1e-9 * b.time_ps) / l.multiplicity AS compute_ms\n"
    "  FROM blame b JOIN lane l ON l.lane_id = b.lane_id\n"
    "  WHERE NOT b.idle GROUP BY b.job_id, b.step, b.lane_id),\n"
    "ranked AS (\n"
    "  SELECT *, row_number() OVER (PARTITION BY job_id, step, stage ORDER BY compute_ms, lane_id) AS "
    "place,\n"
    "    count(*) OVER (PARTITION BY job_id, step, stage) AS lanes FROM work),\n"
    "median AS (\n"
    "  SELECT job_id, step, stage, compute_ms AS median_ms FROM ranked WHERE place = (lanes + 1) / 2)\n"
    "SELECT w.job_id, w.step, w.lane_id, r.rank,\n"
    "  (SELECT name FROM part WHERE part_id = r.gpu_part_id) AS gpu, w.stage,\n"
    "  w.compute_ms, m.median_ms, w.compute_ms / m.median_ms AS slower_ratio,\n"
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM work w JOIN median m USING (job_id, step, stage)\n"
    "  LEFT JOIN rank r ON r.rank_id = w.first_rank_id\n"
    "WHERE w.compute_ms > 1.03 * m.median_ms\n"
    "ORDER BY slower_ratio DESC, w.step, w.lane_id";

static const trace_label largest_kernels_labels[] = {
    { "kernel_id", "id", "The kernel; of equal ones, which several stages or chunks have, the first." },
    { "name", "text", "What it computes." },
    { "shape", "text", "Batch, rows, columns and summed length: \"1 x 8192 x 28672 x 8192\"." },
    { "dtype", "text", "Number format of its operands." },
    { "bound", "text", "What decides its time: tensor-core, vector, hbm or launch." },
    { "time_us", "us", "Time of one call." },
    { "calls_per_step", "1", "Calls in one step by all ranks together." },
    { "gpu_s_per_step", "s", "GPU time of one step that goes to it, over all ranks." },
    { "share_ratio", "1", "Share of the GPU time of all kernels." },
    { "speed_TFLOPps", "TFLOP/s", "Speed it reaches." },
    { "efficiency_ratio", "1", "Share of the data sheet's peak it reaches." },
    STATE_LABEL,
};
static const char largest_kernels_sql[] =
    "WITH total AS (SELECT sum(1e-12 * time_ps * calls_per_step) AS gpu_s FROM kernel),\n"
    "  alike AS (SELECT min(kernel_id) AS kernel_id, name, batch, m, n, k, dtype, bound, time_ps, flop,\n"
    "    efficiency_ratio, sum(calls_per_step) AS calls_per_step FROM kernel\n"
    "    GROUP BY name, gpu, batch, m, n, k, dtype, bound, time_ps, flop, efficiency_ratio)\n"
    "SELECT k.kernel_id, k.name, printf('%d x %d x %d x %d', k.batch, k.m, k.n, k.k) AS shape, k.dtype,\n"
    "  k.bound, 1e-6 * k.time_ps AS time_us, k.calls_per_step,\n"
    "  1e-12 * k.time_ps * k.calls_per_step AS gpu_s_per_step,\n"
    "  1e-12 * k.time_ps * k.calls_per_step / t.gpu_s AS share_ratio,\n"
    "  k.flop / k.time_ps AS speed_TFLOPps, k.efficiency_ratio,\n" // FLOP per ps is TFLOP per s
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM alike k, total t\n"
    "ORDER BY gpu_s_per_step DESC, k.kernel_id";

static const trace_label span_named_labels[] = {
    { "span_id", "id", "The span." },
    { "job_id", "id", "The job." },
    { "step", "1", "The step, from 0." },
    { "lane_id", "id", "The lane that was played." },
    { "rank", "1", "The first of the ranks it happens on." },
    { "multiplicity", "1", "How many ranks it happens on." },
    { "stream", "text", "The GPU's stream." },
    { "kind", "text", "What is done." },
    { "micro_batch", "1", "The micro-batch, from 0. NULL: belongs to none." },
    { "chunk", "1", "Virtual stage or piece of a pass, from 0. NULL: the pass is whole." },
    { "start_ms", "ms", "When it began." },
    { "end_ms", "ms", "When it ended." },
    { "duration_ms", "ms", "How long it took." },
    { "speed_TFLOPps", "TFLOP/s", "Speed of one rank. NULL: it took no time." },
    { "collective_id", "id", "The collective it takes part in. NULL: it computes." },
    STATE_LABEL,
};
static const char span_named_sql[] =
    "SELECT s.span_id, s.job_id, s.step, s.lane_id, r.rank, l.multiplicity,\n"
    "  (SELECT text FROM name WHERE name_id = s.stream_id) AS stream,\n"
    "  (SELECT text FROM name WHERE name_id = s.kind_id) AS kind, s.micro_batch, s.chunk,\n"
    "  1e-9 * s.start_ps AS start_ms, 1e-9 * s.end_ps AS end_ms, 1e-9 * (s.end_ps - s.start_ps) AS "
    "duration_ms,\n"
    "  s.flop / (s.end_ps - s.start_ps) AS speed_TFLOPps, s.collective_id,\n"
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM span s LEFT JOIN lane l ON l.lane_id = s.lane_id LEFT JOIN rank r ON r.rank_id = l.first_rank_id";

static const trace_label rank_span_labels[] = {
    { "rank", "1", "The rank, from 0." },
    { "gpu", "text", "Its GPU. NULL: parts were not written." },
    { "span_id", "id", "The span." },
    { "job_id", "id", "The job." },
    { "step", "1", "The step, from 0." },
    { "stream", "text", "The GPU's stream." },
    { "kind", "text", "What is done." },
    { "micro_batch", "1", "The micro-batch, from 0. NULL: belongs to none." },
    { "chunk", "1", "Virtual stage or piece of a pass, from 0. NULL: the pass is whole." },
    { "start_ms", "ms", "When it began." },
    { "end_ms", "ms", "When it ended." },
    { "duration_ms", "ms", "How long it took." },
    { "speed_TFLOPps", "TFLOP/s", "Speed of this rank. NULL: it took no time." },
    { "collective_id", "id", "The collective it takes part in. NULL: it computes." },
    STATE_LABEL,
};
static const char rank_span_sql[] =
    "SELECT r.rank, (SELECT name FROM part WHERE part_id = r.gpu_part_id) AS gpu, n.span_id, n.job_id, "
    "n.step,\n"
    "  n.stream, n.kind, n.micro_batch, n.chunk, n.start_ms, n.end_ms, n.duration_ms, n.speed_TFLOPps,\n"
    "  n.collective_id, n.run_state\n"
    "FROM rank r JOIN span_named n ON n.lane_id = r.lane_id";

static const trace_label collective_named_labels[] = {
    { "collective_id", "id", "The collective." },
    { "job_id", "id", "The job." },
    { "step", "1", "The step, from 0." },
    { "kind", "text", "all-reduce, all-gather, ..." },
    { "purpose", "text", "What it is for." },
    { "group_kind", "text", "The kind of group: dp, tp, pp, ..." },
    { "algorithm", "text", "ring, tree, ..." },
    { "protocol", "text", "NCCL's protocol." },
    { "ranks", "1", "Members of the group." },
    { "multiplicity", "1", "How many such collectives it stands for." },
    { "bytes", "B", "Size as nccl-tests prints it." },
    { "wait_ms", "ms", "First arrival to last arrival." },
    { "duration_ms", "ms", "Last arrival to end." },
    { "bus_GBps", "GB/s", "busbw as nccl-tests prints it. NULL: it took no time." },
    { "last_rank", "1", "The member that arrived last. NULL: not recorded." },
    STATE_LABEL,
};
static const char collective_named_sql[] =
    "SELECT c.collective_id, c.job_id, c.step,\n"
    "  (SELECT text FROM name WHERE name_id = c.kind_id) AS kind,\n"
    "  (SELECT text FROM name WHERE name_id = c.purpose_id) AS purpose,\n"
    "  (SELECT text FROM name WHERE name_id = c.group_kind_id) AS group_kind,\n"
    "  (SELECT text FROM name WHERE name_id = c.algorithm_id) AS algorithm,\n"
    "  (SELECT text FROM name WHERE name_id = c.protocol_id) AS protocol,\n"
    "  c.ranks, c.multiplicity, c.bytes, 1e-9 * (c.last_arrival_ps - c.first_arrival_ps) AS wait_ms,\n"
    "  1e-9 * (c.end_ps - c.last_arrival_ps) AS duration_ms, 1e-9 * c.bus_Bps AS bus_GBps,\n"
    "  r.rank AS last_rank,\n"
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM collective c LEFT JOIN rank r ON r.rank_id = c.last_rank_id";

static const trace_label transfer_named_labels[] = {
    { "transfer_id", "id", "The transfer." },
    { "job_id", "id", "The job. NULL: traffic of no job." },
    { "step", "1", "The step, from 0. NULL: outside steps." },
    { "source", "text", "The part that sends." },
    { "destination", "text", "The part that receives." },
    { "class", "text", "Its traffic class." },
    { "bytes", "B", "Payload." },
    { "start_ms", "ms", "When it was handed to the network." },
    { "duration_ms", "ms", "Until its last byte was delivered." },
    { "rate_GBps", "GB/s", "bytes / duration. NULL: it took no time." },
    { "slowdown_ratio", "1", "Duration against that on an idle network. NULL: not worked out." },
    { "bottleneck", "text", "The link that held it back longest. NULL: not recorded." },
    STATE_LABEL,
};
static const char transfer_named_sql[] =
    "SELECT t.transfer_id, t.job_id, t.step,\n"
    "  (SELECT name FROM part WHERE part_id = t.source_part_id) AS source,\n"
    "  (SELECT name FROM part WHERE part_id = t.destination_part_id) AS destination,\n"
    "  (SELECT text FROM name WHERE name_id = t.class_id) AS class, t.bytes,\n"
    "  1e-9 * t.start_ps AS start_ms, 1e-9 * (t.end_ps - t.start_ps) AS duration_ms,\n"
    "  1e3 * t.bytes / (t.end_ps - t.start_ps) AS rate_GBps,\n" // bytes per ps are TB per s
    "  1.0 * (t.end_ps - t.start_ps) / t.alone_ps AS slowdown_ratio,\n"
    "  (SELECT name FROM part WHERE part_id = t.bottleneck_part_id) AS bottleneck,\n"
    "  (SELECT run_state FROM completeness) AS run_state\n"
    "FROM transfer t";

#define VIEW(name_, explanation_)                                                                            \
    {                                                                                                        \
        .name = #name_, .select = name_##_sql, .explanation = (explanation_), .columns = name_##_labels,     \
        .column_count = ARRAY_COUNT(name_##_labels)                                                          \
    }
const trace_view tables_views[] = {
    VIEW(completeness, "One row: whether the numbers here are those of a whole run."),
    VIEW(step_breakdown, "Where the time of each step went, mean over all GPUs."),
    VIEW(blame_by_stage, "Where the time of each step went, mean over the GPUs of a pipeline stage."),
    VIEW(idle_by_cause, "What the GPUs waited for, over the whole run, largest first."),
    VIEW(hottest_links, "Links by the share of their rate that was used, largest first."),
    VIEW(retransmitting_links, "Links on which more than 0.01 % of the bytes were sent again, worst first."),
    VIEW(gpus_under_70_busy, "GPUs that computed less than 70 % of the time, least first."),
    VIEW(goodput, "Where a job's days went: productive, then each loss."),
    VIEW(stragglers, "Lanes that computed more than 3 % longer than the median of their stage."),
    VIEW(largest_kernels, "Kernels by the GPU time that goes to them, largest first."),
    VIEW(span_named, "Spans with names instead of numbers."),
    VIEW(rank_span, "Spans of every rank, also of those that were folded into a lane."),
    VIEW(collective_named, "Collectives with names instead of numbers."),
    VIEW(transfer_named, "Transfers with names instead of numbers."),
};
const uint32_t tables_view_count = ARRAY_COUNT(tables_views);

// Few, for each costs time and room at the end of a large run: what the views above and "one rank", "one
// step", "one link" look up.
const trace_index tables_indexes[] = {
    { "part_by_parent", "part", "parent_part_id" },
    { "rank_by_lane", "rank", "lane_id" },
    { "span_by_lane", "span", "lane_id, start_ps" },
    { "collective_by_step", "collective", "job_id, step" },
    { "transfer_by_collective", "transfer", "collective_id" },
    { "transfer_by_source", "transfer", "source_part_id, start_ps" },
    { "storage_op_by_target", "storage_op", "target_part_id, start_ps" },
    { "blame_by_step", "blame", "job_id, step" },
    { "job_event_by_time", "job_event", "job_id, replication, time_us" },
};
const uint32_t tables_index_count = ARRAY_COUNT(tables_indexes);
