// SPDX-License-Identifier: GPL-3.0-or-later
// The fluid engine on its own: workloads of tests/support/reference_flows.h, with their known ends, CPU time per transfer and
// memory. Wrong ends, more work of the solver or more memory than stated fail. tests/bench/README.md has the figures.
#include "models/network/fluid_network.h"
#include "sim/os.h"
#include "tests/support/reference_flows.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { PROCESS_MOST_MIB = 200 }; // for 16,384 hosts with a transfer each in flight

typedef struct bench_case {
    const char *name;
    const reference_tree *tree;
    sim_time delay_ps;
    reference_kind kind;
    uint64_t bytes;
    uint32_t rounds;
    double last_s, within;  // 0: not known; relative
    double most_incidences; // of the solver, per transfer: a count that no machine changes
    uint32_t most_mib;
    bool quick;
} bench_case;

static const bench_case cases[] = {
    { "ring, F64", &reference_f64, 0, REFERENCE_RING, UINT64_C(1) << 30, 1, 0.042278584, 1e-7, 8, 1, true },
    { "perm, F64", &reference_f64, 0, REFERENCE_PERM, 100000000, 1, 0.006, 1e-7, 12, 1, true },
    { "permk K=8, F128r3", &reference_f128r3, 0, REFERENCE_PERMK, 100000000, 8, 0.028235199, 1e-7, 180, 2,
      true },
    { "churn K=20, F64", &reference_f64, 0, REFERENCE_CHURN, 100000000, 20, 0.102226539, 1e-6, 35, 1, true },
    { "churn K=20, F1024", &reference_f1024, 0, REFERENCE_CHURN, 100000000, 20, 0.114186319, 1e-6, 45, 3,
      false },
    { "churn K=100, F1024", &reference_f1024, 0, REFERENCE_CHURN, 100000000, 100, 0, 0, 45, 3, false },
    { "permk K=4, F1024", &reference_f1024, 0, REFERENCE_PERMK, 100000000, 4, 0, 0, 36, 6, false },
    { "churn K=5, F16384", &reference_f16384, 0, REFERENCE_CHURN, 100000000, 5, 0, 0, 40, 200, false },
    { "ring, F1024", &reference_f1024, 0, REFERENCE_RING, UINT64_C(1) << 30, 1, 0.042907730, 1e-7, 8, 3,
      false },
    { "ring, 500 ns a link, F1024", &reference_f1024, 500000, REFERENCE_RING, UINT64_C(1) << 30, 1,
      0.046999730, 1e-7, 8, 3, false },
};

static bool play(const bench_case *c)
{
    arena *a = arena_create("bench");
    if (!a) return false;
    sim *s = sim_create(a, NULL);
    const topology *t = reference_topology(a, c->tree, c->delay_ps);
    const size_t fabric_bytes = arena_used_bytes(a);
    network *n = network_create_fluid(a, s, t, &(fluid_options){ .flows = topology_nic_count(t) });
    const double start_s = os_cpu_s();
    reference_run run = reference_play(a, s, n, c->kind, c->bytes, c->rounds);
    const double cpu_s = os_cpu_s() - start_s, last_s = units_s_from_ps(run.last_ps);
    const fluid_counters f = fluid_counters_of(n);
    const double incidences = (double)f.solver.incidences / (double)run.finished;
    const bool good = (c->last_s <= 0 || fabs(last_s - c->last_s) <= c->within * c->last_s) &&
                      incidences <= c->most_incidences && arena_high_water_bytes(a) >> 20 <= c->most_mib;
    printf("%-28s %9" PRIu64 " transfers, end %.9f s, %6.3f s CPU, %6.3f us each, %5.2f settles %6.2f rates "
           "%6.1f incidences, fabric %zu MB, all %zu MB%s\n",
           c->name, run.finished, last_s, cpu_s, cpu_s * 1e6 / (double)run.finished,
           (double)f.settles / (double)run.finished, (double)f.rate_changes / (double)run.finished,
           incidences, fabric_bytes >> 20, arena_high_water_bytes(a) >> 20, good ? "" : " WRONG");
    network_verify(n);
    sim_destroy(s);
    arena_destroy(a);
    return good;
}

int main(int argc, char **argv)
{
    const bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    bool good = true;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        if (cases[i].quick || !quick) good &= play(&cases[i]);
    // What the system gave: everything, the queue of events and the program itself too. The largest case decides it.
    const uint64_t peak_mib = os_peak_memory_bytes() >> 20;
    const bool small = quick || peak_mib <= PROCESS_MOST_MIB; // quick: as a sanitizer has it, too
    printf("peak memory of the process %" PRIu64 " MB%s\n", peak_mib, small ? "" : " WRONG");
    return good && small ? 0 : 1;
}
