// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "models/cluster_degraded.h"
#include "models/collective/ring_order.h"
#include "models/training/fold.h"
#include "models/world.h"
#include "tests/support/loaded.h"
#include "tests/support/random.h"

enum { RANKS_MAX = 64 };

// Small leaves: NICs 4 i to 4 i + 3 on leaf i, four cables up from each, two to each of two spines.
#define SMALL "{ ports: 8, port_rate: 400 Gb/s, delay: 100 ns, adaptive_ratio: 0.9 }"
#define ONE_SWITCH "fabric: { topology: single-switch, switch: qm9700 }"
#define TREE(routing_) "fabric: { topology: fat-tree, switch: " SMALL ", routing: " routing_ " }"

// T, D, P, and the order of the axes where it is not the usual one.
#define SIZES(tensor_, data_, pipeline_, ...)                                                                \
    .sizes = { .tensor = tensor_, .data = data_, .pipeline = pipeline_, .order = { __VA_ARGS__ } }

typedef struct fold_case {
    const char *name, *cluster; // keys of cluster
    parallel_sizes sizes;
    fold_obstacle_kind want;
    bool alone;
    rank_id rank;    // of the obstacle
    uint32_t turned; // in the second node ranks sit so many GPUs further on
} fold_case;

static const fold_case cases[] = {
    { "without tensor parallelism there is nothing to fold",
      "node: rtx4090-4x, degraded: [{ gpu: gpu 1, clock: 0.5 }]", SIZES(1, 4, 1), .want = FOLD_NO_OBSTACLE,
      .alone = true },
    // Rank c of a group uses NIC c alone: GPU, NIC, switch and back. No path of a column crosses NVLink.
    { "a group a node, data parallel", "node: dgx-h100, nodes: 2, " ONE_SWITCH, SIZES(8, 2, 1),
      .want = FOLD_NO_OBSTACLE, .alone = true },
    { "a cable that loses packets, somewhere",
      "node: dgx-h100, nodes: 2, fabric: { topology: single-switch, switch: qm9700, transport: infiniband }, "
      "degraded: [{ link: leaf 0 > node 1 nic 3, loss: 1e-4 }]",
      SIZES(8, 2, 1), .want = FOLD_LINK_LOSES, .alone = true, .rank = NO_ID },
    { "data and pipeline parallel", "node: dgx-h100, nodes: 4, " ONE_SWITCH, SIZES(8, 2, 2),
      .want = FOLD_NO_OBSTACLE, .alone = true },
    { "pipeline in another order", "node: dgx-h100, nodes: 4, " ONE_SWITCH,
      SIZES(8, 2, 2, AXIS_TENSOR, AXIS_PIPELINE, AXIS_DATA), .want = FOLD_NO_OBSTACLE, .alone = true },
    // GPUs c and c + 4 of a node are in one data-parallel group, whose rings cross the NVSwitch between them.
    { "two groups a node, data parallel", "node: dgx-h100, nodes: 2, " ONE_SWITCH, SIZES(4, 4, 1),
      .want = FOLD_NO_OBSTACLE, .alone = false },
    { "two stages a node", "node: dgx-h100", SIZES(4, 1, 2), .want = FOLD_NO_OBSTACLE, .alone = false },
    { "one group alone", "node: dgx-h100", SIZES(8, 1, 1), .want = FOLD_NO_OBSTACLE, .alone = true },
    // In a mesh each pair has its own link: 0-1 and 2-3 are the groups', 0-2 and 1-3 the data-parallel ones'.
    { "groups of a mesh", "node: a100-4x", SIZES(2, 2, 1), .want = FOLD_NO_OBSTACLE, .alone = true },
    { "a NIC for each GPU of a mesh", "node: a100-4x, nodes: 2, " ONE_SWITCH, SIZES(4, 2, 1),
      .want = FOLD_NO_OBSTACLE, .alone = true },
    { "two GPUs of a mesh share a NIC", "node: { base: a100-4x, nics: 2 }, nodes: 2, " ONE_SWITCH,
      SIZES(4, 2, 1), .want = FOLD_COLUMNS_SHARE_LINK, .alone = true, .rank = 1 },
    // GPU > host > GPU is the path of groups. Ranks 0 and 1 reach NIC 0 over links of their own, then share its cable.
    { "four GPUs share a NIC", "node: rtx4090-4x, nodes: 2, " ONE_SWITCH, SIZES(4, 2, 1),
      .want = FOLD_COLUMNS_SHARE_LINK, .alone = true, .rank = 1 },
    // Inside a host all GPUs have a link each to the CPU: column 0 has those of GPUs 0 and 2, column 1 those of 1 and 3.
    { "groups of a host", "node: rtx4090-4x", SIZES(2, 2, 1), .want = FOLD_NO_OBSTACLE, .alone = false },
    { "a group over two nodes", "node: dgx-h100, nodes: 2, " ONE_SWITCH, SIZES(16, 1, 1),
      .want = FOLD_GROUP_LEAVES_NODE, .alone = true, .rank = 8 },
    // Static: to NIC s by port s mod 4 of the leaf. NICs of one node on a leaf are four in a row, so each has a port.
    { "uplinks by destination", "node: dgx-h100, nodes: 2, " TREE("static"), SIZES(8, 2, 1),
      .want = FOLD_NO_OBSTACLE, .alone = true },
    // Four connections over four ports by hash: these do not all find a port of their own.
    { "uplinks by hash", "node: dgx-h100, nodes: 2, " TREE("ecmp"), SIZES(8, 2, 1),
      .want = FOLD_COLUMNS_SHARE_LINK, .alone = true, .rank = 1 },
    { "a bundle is shared by all", "node: dgx-h100, nodes: 2, " TREE("adaptive"), SIZES(8, 2, 1),
      .want = FOLD_COLUMNS_SHARE_LINK, .alone = true, .rank = 1 },
    // Rank c goes to the rail of its neighbour over GPU c + 1. Rings of a mesh of four cross all links alike, those of a mesh
    // of six some of them not at all (ring_order.h).
    { "rails that are changed over links of the group",
      "node: { base: a100-4x, gpus: 6, nics: 6 }, nodes: 2, fabric: { topology: rail-only, switch: qm9700 }",
      SIZES(6, 2, 1), .want = FOLD_TENSOR_LOADS_UNEVENLY, .alone = false, .rank = 0, .turned = 1 },
    { "rails that are changed in a mesh of four",
      "node: a100-4x, nodes: 2, fabric: { topology: rail-only, switch: qm9700 }", SIZES(4, 2, 1),
      .want = FOLD_NO_OBSTACLE, .alone = false, .turned = 1 },
    // ---- degraded parts
    { "a slow GPU", "node: dgx-h100, nodes: 2, " ONE_SWITCH ", degraded: [{ gpu: gpu 11, clock: 0.9 }]",
      SIZES(8, 2, 1), .want = FOLD_GROUP_DIFFERS_IN_HEALTH, .alone = true, .rank = 11 },
    { "slow memory", "node: dgx-h100, nodes: 2, " ONE_SWITCH ", degraded: [{ gpu: gpu 11, memory: 0.9 }]",
      SIZES(8, 2, 1), .want = FOLD_GROUP_DIFFERS_IN_HEALTH, .alone = true, .rank = 11 },
    { "a slow NIC", "node: dgx-h100, nodes: 2, " ONE_SWITCH ", degraded: [{ nic: node 1 nic 3, rate: 0.9 }]",
      SIZES(8, 2, 1), .want = FOLD_COLUMNS_DIFFER, .alone = true, .rank = 3 },
    { "a NIC that receives slowly",
      "node: dgx-h100, nodes: 2, " ONE_SWITCH ", degraded: [{ link: leaf 0 > node 1 nic 3, rate: 0.9 }]",
      SIZES(8, 2, 1), .want = FOLD_COLUMNS_DIFFER, .alone = true, .rank = 3 },
    { "the first NIC is the slow one: the second differs from it",
      "node: dgx-h100, nodes: 2, " ONE_SWITCH ", degraded: [{ nic: nic 0, rate: 0.9 }]", SIZES(8, 2, 1),
      .want = FOLD_COLUMNS_DIFFER, .alone = true, .rank = 1 },
    // The rings of column c have GPUs c, c + 2, c + 4 and c + 6 of both nodes, and node 1 is slow in one NIC of each.
    { "two NICs that are slow alike",
      "node: dgx-h100, nodes: 2, " ONE_SWITCH
      ", degraded: [{ nic: node 1 nic 0, rate: 0.9 }, { nic: node 1 nic 1, rate: 0.9 }]",
      SIZES(2, 8, 1), .want = FOLD_NO_OBSTACLE, .alone = false },
    { "a slow NVLink that no column crosses",
      "node: dgx-h100, nodes: 2, " ONE_SWITCH
      ", degraded: [{ link: node 0 gpu 1 > node 0 nvswitch 0, rate: 0.5 }]",
      SIZES(8, 2, 1), .want = FOLD_NO_OBSTACLE, .alone = true },
    { "a slow NVLink on a column",
      "node: dgx-h100, nodes: 2, " ONE_SWITCH
      ", degraded: [{ link: node 0 gpu 1 > node 0 nvswitch 0, rate: 0.5 }]",
      SIZES(4, 4, 1), .want = FOLD_COLUMNS_DIFFER, .alone = false, .rank = 1 },
    // GPUs 0 and 1 hang on one PCIe switch, 2 and 3 on the other; column c is GPUs c and c + 2, so all cross both uplinks.
    { "uplinks of a PCIe tree",
      "node: { base: rtx4090-4x, scale_up: { kind: pcie, rate: 20 GB/s, delay: 0 ns }, pcie: { "
      "switches: 2, sockets: 1, uplink_rate: 18 GB/s, delay: 70 ns } }",
      SIZES(2, 2, 1), .want = FOLD_COLUMNS_SHARE_LINK, .alone = false, .rank = 1 },
};

// ---- and the columns do end together

enum { SENDS_MAX = 1024, ROUNDS = 3 };

typedef struct column_play {
    network *n;
    sim *s;
    uint16_t client;
    uint32_t count, rounds_left[SENDS_MAX]; // by tag: edge of the column x T + column
    network_edge edges[SENDS_MAX];
    sim_time ends_ps[SENDS_MAX];
} column_play;

static void send(column_play *c, uint32_t tag)
{
    c->rounds_left[tag]--;
    network_start(c->n, &(network_request){ .edges = &c->edges[tag],
                                            .edge_count = 1,
                                            .delay_crossings = 1,
                                            .weight = 1,
                                            .queue_pairs = 1,
                                            .multiplicity = 1,
                                            .client = c->client,
                                            .tag = tag });
}

// The next one is another size, in all columns the same.
static void on_delivered(void *owner, uint64_t tag, transfer_id id)
{
    column_play *c = owner;
    (void)id;
    c->ends_ps[tag] = sim_now(c->s);
    c->edges[tag].bytes = c->edges[tag].bytes * 2 / 3 + 17;
    if (c->rounds_left[tag] > 0) send(c, (uint32_t)tag);
}

// An edge of every column with as many bytes in each.
static void add_edges(column_play *c, const fold_question *q, const rank_id *from, const rank_id *to,
                      uint64_t bytes)
{
    for (uint32_t i = 0; i < q->sizes.tensor; i++) {
        assert_true(c->count < SENDS_MAX);
        c->rounds_left[c->count] = ROUNDS;
        c->edges[c->count++] = (network_edge){ .from = topology_gpu_vertex(q->fabric,
                                                                           q->gpu_of_rank[from[i]]),
                                               .to = topology_gpu_vertex(q->fabric, q->gpu_of_rank[to[i]]),
                                               .bytes = bytes };
    }
}

static rank_id rank_at(const fold_question *q, uint32_t tensor, uint32_t data, uint32_t pipeline)
{
    return parallel_rank_at(q->sizes,
                            (parallel_place){ .tensor = tensor, .data = data, .pipeline = pipeline });
}

// All edges of the first column's rings, in the proof's claim those of every column.
static void add_rings(arena *a, column_play *c, const fold_question *q, uint32_t stage, uint64_t *seed)
{
    const uint32_t n = q->sizes.data;
    vertex_id members[RANKS_MAX];
    rank_id from[RANKS_MAX], to[RANKS_MAX];
    for (uint32_t d = 0; d < n; d++)
        members[d] = topology_gpu_vertex(q->fabric, q->gpu_of_rank[rank_at(q, 0, d, stage)]);
    const ring_set rings = ring_order_make(a, q->fabric, members, n);
    for (uint32_t e = 0; e < rings.count * n && n > 1; e++) {
        const uint32_t sender = rings.orders[e], receiver = rings.orders[e - e % n + (e + 1) % n];
        for (uint32_t i = 0; i < q->sizes.tensor; i++) {
            from[i] = rank_at(q, i, sender, stage);
            to[i] = rank_at(q, i, receiver, stage);
        }
        add_edges(c, q, from, to, 100000 + test_random_below(seed, 10000000));
    }
}

static void add_stages(column_play *c, const fold_question *q, uint32_t stage, uint32_t next, uint64_t *seed)
{
    rank_id here[RANKS_MAX], there[RANKS_MAX];
    for (uint32_t d = 0; d < q->sizes.data; d++) {
        for (uint32_t i = 0; i < q->sizes.tensor; i++) {
            here[i] = rank_at(q, i, d, stage);
            there[i] = rank_at(q, i, d, next);
        }
        add_edges(c, q, here, there, 100000 + test_random_below(seed, 10000000));
        add_edges(c, q, there, here, 100000 + test_random_below(seed, 10000000));
    }
}

// Traffic of random sizes on all edges of all columns at once: in each column every one ends when it does in the first.
static void columns_end_together(arena *a, const scenario *s, const fold_question *q)
{
    column_play *c = arena_new(a, column_play);
    uint64_t seed = 7;
    c->s = sim_create(a, &(sim_options){ .queue = QUEUE_HEAP });
    c->n = world_build_network(a, s, c->s, q->fabric);
    c->client = network_add_client(c->n, on_delivered, c);
    for (uint32_t p = 0; p < q->sizes.pipeline; p++) {
        add_rings(a, c, q, p, &seed);
        if (q->sizes.pipeline > 1) add_stages(c, q, p, (p + 1) % q->sizes.pipeline, &seed);
    }
    for (uint32_t tag = 0; tag < c->count; tag++)
        send(c, tag);
    assert_int_equal(sim_run(c->s, SIM_TIME_MAX), SIM_DRAINED);
    for (uint32_t tag = 0; tag < c->count; tag++)
        assert_true(c->ends_ps[tag] > 0 && c->ends_ps[tag] == c->ends_ps[tag - tag % q->sizes.tensor]);
    sim_destroy(c->s);
}

static void proof_matches(void **state)
{
    const fold_case *c = *state;
    void *folder = NULL;
    loaded l;
    char text[1200];
    gpu_id gpu_of_rank[RANKS_MAX];
    fold_obstacle obstacle;
    assert_int_equal(scratch_enter(&folder), 0);
    snprintf(text, sizeof text, "cluster: { %s }\n", c->cluster);
    const topology *fabric = NULL;
    if (loaded_read(&l, folder, text, NULL, 0) && scenario_check(&l.s, false, &l.error))
        fabric = world_build_fabric(l.a, &l.s, &l.error);
    if (!fabric) sim_error_print(&l.error, stderr);
    assert_non_null(fabric);
    for (rank_id r = 0; r < parallel_ranks(c->sizes); r++)
        gpu_of_rank[r] = r < c->sizes.tensor ? r
                                             : r - r % c->sizes.tensor + (r + c->turned) % c->sizes.tensor;
    const fold_question q = { .fabric = fabric,
                              .sizes = c->sizes,
                              .gpu_of_rank = gpu_of_rank,
                              .health = degraded_gpus(l.a, &l.s.cluster.degraded, fabric) };
    const bool exact = fold_is_exact(l.a, &q, &obstacle);
    assert_string_equal(fold_obstacle_words[obstacle.kind], fold_obstacle_words[c->want]);
    assert_int_equal(exact, c->want == FOLD_NO_OBSTACLE);
    assert_int_equal(obstacle.rank, exact ? NO_ID : c->rank);
    assert_int_equal(fold_tensor_is_alone(l.a, &q), c->alone);
    if (exact) columns_end_together(l.a, &l.s, &q);
    arena_destroy(l.a);
    assert_int_equal(scratch_leave(&folder), 0);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(cases)];
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){ cases[i].name, proof_matches, NULL, NULL, (void *)&cases[i] };
    return cmocka_run_group_tests_name("fold", tests, NULL, NULL);
}
