// SPDX-License-Identifier: GPL-3.0-or-later
// Measured steps of pipelines whose passes were profiled, so that the schedule and its messages are tried apart from any model
// of kernels. Qi, Wan, Huang, Lin, "Zero bubble pipeline parallelism", ICLR 2024: GPT models on A100-80GB, eight to a node,
// one stage a GPU, 1F1B and interleaved 1F1B of a fork of Megatron-LM whose sends and receives block (--no-overlap-p2p-
// communication). Profiles and rows are those of the paper's tables 4 and 12.
//
// The profile says less than a pipeline needs; what it leaves out follows from the published configuration and code, and no
// number here was chosen to fit a row:
//     stages      T_F, T_B, T_W are means over the stages. The first and the last have one layer less, the last the head: 2 h V
//                 FLOP per token beside 24 h^2 + 4 s h of a layer, s = 1024 and V about 32,000, the only vocabulary that goes
//                 with the published numbers of parameters. Times are shared out by FLOP. The steady period is that of the
//                 slowest stage: also ZB-2p, which sends beside its passes, takes 7 to 9 % longer than T_F + T_B + T_W.
//     messages    T_comm is a mean over the hops: a message handed down the pipeline and back, by (p - 1) x 2. Of those
//                 between nodes it tells only by the mean: within a node a hop takes EXCHANGE_CALLS of the host and, by bytes,
//                 as long as in the 6.2B job, which has one node; hops between nodes take what is left of the mean.
//     optimizer   42 bytes a parameter (models/training/kernels.c) at the A100's copy rate of 1,570 GB/s
//     restart     PROGRAM_RESTART_CALLS x 13 us = 0.286 ms. The measurements say as much: an interleaved schedule has more
//                 exchanges than 1F1B, and each of them adds 0.83 and 0.94 ms to the steady period of the two jobs on one
//                 node, where the message itself takes 0.55 and 0.66 ms; what is left, 0.28 ms, is the restart.
// The aim was 2.5 %. Reached: 23 of 26 rows; 1F1B +0.3 % in the mean, interleaved -0.7 %. Beyond it are the two rows of two
// micro-batches, +3.3 and +2.8 % (hardly any GPU works then, and clocks are higher), and 28.3B interleaved, -3.0 %.
#include "tests/support/stage_play.h"

enum { STAGES_MAX = 32, CHUNKS_MAX = 4, EXCHANGE_CALLS = 12, SEQUENCE = 1024, VOCABULARY = 32000 };
static const double call_ms = 0.013, aim = 2.5;

typedef struct model {
    const char *name;
    uint32_t layers, stages, micro_batch;
    double hidden;
} model;
static const model models[] = { { "1.5B", 22, 8, 6, 2304 },
                                { "6.2B", 30, 8, 3, 4096 },
                                { "14.6B", 46, 16, 1, 5120 },
                                { "28.3B", 62, 32, 1, 6144 } };
enum { MODEL_6_2B = 1 };

typedef struct profile { // of a stage and micro-batch
    uint32_t model, micro_batches;
    double forward_ms, backward_ms, weights_ms, message_ms;
} profile;
static const profile profiles[] = {
    { 0, 24, 18.522, 18.086, 9.337, 0.601 },  { 0, 32, 18.513, 18.086, 9.331, 0.626 },
    { 0, 64, 18.546, 18.097, 9.321, 0.762 },  { 1, 24, 29.718, 29.444, 19.927, 0.527 },
    { 1, 32, 29.802, 29.428, 19.530, 0.577 }, { 1, 64, 29.935, 29.621, 19.388, 0.535 },
    { 2, 48, 11.347, 11.248, 8.132, 0.377 },  { 2, 64, 11.307, 11.254, 8.101, 0.379 },
    { 2, 128, 11.325, 11.308, 8.109, 0.378 }, { 3, 96, 10.419, 10.207, 7.715, 0.408 },
    { 3, 128, 10.408, 10.204, 7.703, 0.408 }, { 3, 256, 10.402, 10.248, 7.698, 0.460 },
};
static const double hop_6_2b_ms = (0.527 + 0.577 + 0.535) / 3;

typedef struct row {
    const char *name;
    uint32_t model, chunks, micro_batches;
    double step_s;
} row;
static const row rows[] = {
    { "zb-007", 0, 1, 24, 1.525 },  { "zb-008", 0, 1, 32, 1.920 },  { "zb-009", 0, 1, 64, 3.529 },
    { "zb-019", 1, 1, 24, 2.571 },  { "zb-021", 1, 1, 64, 5.955 },  { "zb-031", 2, 1, 48, 2.143 },
    { "zb-032", 2, 1, 64, 2.685 },  { "zb-033", 2, 1, 128, 4.878 }, { "zb-043", 3, 1, 96, 3.947 },
    { "zb-049", 0, 1, 2, 0.421 },   { "zb-053", 0, 1, 8, 0.726 },   { "zb-055", 1, 1, 2, 0.721 },
    { "zb-057", 1, 1, 4, 0.888 },   { "zb-059", 1, 1, 8, 1.224 },   { "zb-061", 2, 1, 4, 0.641 },
    { "zb-063", 2, 1, 8, 0.769 },   { "zb-065", 2, 1, 16, 1.053 },  { "zb-010", 0, 3, 24, 1.374 },
    { "zb-011", 0, 3, 32, 1.791 },  { "zb-012", 0, 3, 64, 3.453 },  { "zb-022", 1, 4, 24, 2.244 },
    { "zb-023", 1, 4, 32, 2.941 },  { "zb-024", 1, 4, 64, 5.728 },  { "zb-034", 2, 3, 48, 1.948 },
    { "zb-036", 2, 3, 128, 4.819 }, { "zb-047", 3, 2, 128, 4.706 },
};

typedef enum way {
    EVEN_BESIDE,      // each stage takes the mean, sends go on beside passes
    EVEN_STANDING,    // each stage takes the mean and stands still for its messages
    STANDING,         // stages share the times by FLOP
    STANDING_BY_HOPS, // and hops between nodes take longer
    WITH_OPTIMIZER,   // and the optimizer works at the end
    WAYS
} way;
static const char *const way_words[] = { "even, beside", "even, still", "by FLOP", "by hop", "all" };

static sim_time ps_of(double ms)
{
    return (sim_time)(ms * 1e9 + 0.5);
}

// That of another number of micro-batches where there is none: the times hardly differ.
static const profile *profile_of(const row *r)
{
    const profile *first = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(profiles); i++) {
        if (profiles[i].model != r->model) continue;
        if (profiles[i].micro_batches == r->micro_batches) return &profiles[i];
        if (!first) first = &profiles[i];
    }
    return first;
}

// Layers, and the head as so many of them by its FLOP.
static double head_layers(const model *m)
{
    return 2 * m->hidden * VOCABULARY / (24 * m->hidden * m->hidden + 4.0 * SEQUENCE * m->hidden);
}

static void fill_lengths(const row *r, bool even, sim_time *lengths)
{
    const model *m = &models[r->model];
    const profile *p = profile_of(r);
    const uint32_t places = m->stages * r->chunks;
    const double all = m->layers + head_layers(m), each = (m->layers + 2.0) / places;
    for (uint32_t i = 0; i < places; i++) {
        double layers = i == 0 || i == places - 1 ? each - 1 : each;
        if (i == places - 1) layers += head_layers(m);
        const double share = even ? 1.0 / r->chunks : layers / all * m->stages;
        sim_time *at = &lengths[(i % m->stages * r->chunks + i / m->stages) * 2];
        at[PASS_FORWARD] = ps_of(p->forward_ms * share);
        at[PASS_BACKWARD] = ps_of((p->backward_ms + p->weights_ms) * share);
    }
}

static void fill_messages(const row *r, bool by_hop, stage_play *play)
{
    const model *m = &models[r->model], *other = &models[MODEL_6_2B];
    const uint32_t hops = m->stages - 1, far = m->stages / STAGE_PLAY_NODE - 1;
    const double mean_ms = profile_of(r)->message_ms, host_ms = EXCHANGE_CALLS * call_ms;
    const double bytes_ratio = m->micro_batch * m->hidden / (other->micro_batch * other->hidden);
    const double near_ms = host_ms + (hop_6_2b_ms - host_ms) * bytes_ratio;
    play->message_ps = ps_of(mean_ms);
    if (!by_hop || far == 0) return;
    play->message_ps = ps_of(near_ms);
    play->far_message_ps = ps_of((mean_ms * hops - near_ms * (hops - far)) / far);
}

static sim_time optimizer_ps(const model *m)
{
    const double parameters = (m->layers + 2.0) / m->stages * 12 * m->hidden * m->hidden;
    return ps_of(parameters * 42 / 1570e9 * 1e3);
}

// Signed, in %.
static double error_of(const row *r, way w)
{
    sim_time lengths[STAGES_MAX * CHUNKS_MAX * 2];
    const model *m = &models[r->model];
    stage_play play = { .def = { .kind = r->chunks > 1 ? SCHEDULE_INTERLEAVED_1F1B : SCHEDULE_1F1B,
                                 .stages = m->stages,
                                 .micro_batches = r->micro_batches,
                                 .chunks = r->chunks },
                        .lengths = lengths,
                        .overlap = w == EVEN_BESIDE,
                        .restart_ps = w == EVEN_BESIDE ? 0 : ps_of(PROGRAM_RESTART_CALLS * call_ms),
                        .optimizer_ps = w == WITH_OPTIMIZER ? optimizer_ps(m) : 0 };
    fill_lengths(r, w <= EVEN_STANDING, lengths);
    fill_messages(r, w >= STANDING_BY_HOPS, &play);
    return 100 * ((double)stage_play_run(&play).step_ps * 1e-12 / r->step_s - 1);
}

static void profiled_passes_make_the_measured_steps(void **state)
{
    (void)state;
    double sum[2][WAYS] = { { 0 } };
    uint32_t count[2] = { 0 }, within = 0;
    printf("%-6s %5s %2s %4s", "row", "model", "v", "m");
    for (int w = 0; w < WAYS; w++)
        printf(" %13s", way_words[w]);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const row *r = &rows[i];
        printf("\n%s %5s %2u %4u", r->name, models[r->model].name, r->chunks, r->micro_batches);
        double error = 0;
        for (int w = 0; w < WAYS; w++) {
            error = error_of(r, (way)w);
            sum[r->chunks > 1][w] += error;
            printf(" %+12.2f%%", error);
        }
        count[r->chunks > 1]++;
        within += fabs(error) <= aim;
        assert_true(fabs(error) <= 3.5);
    }
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        printf("\n%-20s", interleaved ? "mean, interleaved" : "mean, 1F1B");
        for (int w = 0; w < WAYS; w++)
            printf(" %+12.2f%%", sum[interleaved][w] / count[interleaved]);
        assert_true(fabs(sum[interleaved][WITH_OPTIMIZER] / count[interleaved]) <= 1.0);
    }
    printf("\n%u of %zu rows within %.1f %%\n", within, ARRAY_COUNT(rows), aim);
    assert_true(within >= 23);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(profiled_passes_make_the_measured_steps) };
    return cmocka_run_group_tests_name("zero bubble", tests, NULL, NULL);
}
