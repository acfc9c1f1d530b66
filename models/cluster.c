// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/cluster.h"
#include "models/hardware/limits.h"
#include "models/table_file.h"
#include <math.h>
#include <string.h>

const char *const fabric_topology_words[] = { "single-switch", "fat-tree", "spine-leaf", "rail-optimized",
                                              "rail-only",     "file",     NULL };
static const char *const transport_choices[] = { "nic", "infiniband", "roce", "tcp", NULL };
static const char *const recovery_choices[] = { "go-back-n", "selective-repeat", NULL };
static const char *const never[] = { "never", NULL };

#define COUNTS(field_, key_, ...)                                                                            \
    BIND_NUMBERS(tree_numbers, field_, key_, UNIT_NONE, BIND_AT_LEAST(1), BIND_AT_MOST(1e6),                 \
                 .check = bind_check_whole, __VA_ARGS__)
static const bind_row xgft_binds[] = {
    COUNTS(children, "m", BIND_REQUIRED, BIND_NOTE("children of a switch, tier by tier from the hosts up")),
    COUNTS(parents, "w", BIND_REQUIRED, BIND_NOTE("parents of a host, of a leaf, of a spine")),
    COUNTS(cables, "p", BIND_DEFAULT(1.0, "1"),
           BIND_NOTE("parallel cables to each of them; one number for all tiers")),
    BIND_END,
};

static const bind_row link_binds[] = {
    BIND_RATE(link_override, rate_Bps, "rate", BIND_SET_FLAG(link_override, has_rate), BIND_ABOVE(0),
              BIND_AT_MOST(RATE_MAX_Bps),
              BIND_NOTE("payload of every port, instead of the switches'; NICs may be slower")),
    BIND_TIME(link_override, delay_ps, "delay", BIND_SET_FLAG(link_override, has_delay), BIND_AT_LEAST(0),
              BIND_AT_MOST(DELAY_MAX_S), BIND_NOTE("of every link, instead of cables and switches")),
    BIND_END,
};

const bind_row cable_binds[] = {
    BIND_TEXT(cable_entry, a, "a", BIND_REQUIRED, BIND_NOTE("one end: node0/nic1, leaf0, spine0 or core0")),
    BIND_TEXT(cable_entry, b, "b", BIND_REQUIRED, BIND_NOTE("the other end")),
    BIND_RATE(cable_entry, rate_Bps, "rate", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(RATE_MAX_Bps),
              BIND_NOTE("of the line, each direction")),
    BIND_TIME(cable_entry, delay_ps, "delay", BIND_REQUIRED, BIND_AT_LEAST(0), BIND_AT_MOST(DELAY_MAX_S),
              BIND_NOTE("last byte in to last byte out, with the port behind it")),
    BIND_U32(cable_entry, count, "count", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1), BIND_AT_MOST(1000),
             BIND_NOTE("parallel cables")),
    BIND_END,
};

#define HAS(key_) BIND_SET_FLAG(fabric_def, has.key_)
static const bind_row fabric_binds[] = {
    BIND_ENUM(fabric_def, topology, "topology", fabric_topology_words, BIND_REQUIRED,
              BIND_NOTE("how the nodes are joined; file: cable by cable")),
    BIND_PART(fabric_def, network_switch, "switch", "switches", switch_binds, HAS(network_switch),
              BIND_NOTE("of all tiers; may be left out where link says rate and delay and no ports matter")),
    BIND_PART(fabric_def, spine_switch, "spine_switch", "switches", switch_binds, HAS(spine_switch),
              BIND_NOTE("of the second tier; left out: as switch")),
    BIND_PART(fabric_def, core_switch, "core_switch", "switches", switch_binds, HAS(core_switch),
              BIND_NOTE("of the third tier; left out: as spine_switch")),
    BIND_U32(fabric_def, tiers, "tiers", .default_text = "as few as suffice", HAS(tiers), BIND_AT_LEAST(2),
             BIND_AT_MOST(3), BIND_NOTE("of switches; fat-tree and rail-optimized")),
    BIND_NUMBERS(fabric_def, oversubscription, "oversubscription", UNIT_NONE, .default_text = "1",
                 HAS(oversubscription), BIND_AT_LEAST(1), BIND_AT_MOST(1000),
                 BIND_NOTE("ports down for each port up, of leaves and of spines; one number for both")),
    BIND_STRUCT(fabric_def, xgft, "xgft", xgft_binds, HAS(xgft),
                BIND_NOTE("a fat tree by its definition, instead of tiers and oversubscription")),
    BIND_U32(fabric_def, leaves, "leaves", .default_text = "as few as suffice", HAS(leaves), BIND_AT_LEAST(1),
             BIND_AT_MOST(1e6), BIND_NOTE("of a spine-leaf; NICs are spread over them evenly")),
    BIND_U32(fabric_def, spines, "spines", HAS(spines), BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("of a spine-leaf, which requires it")),
    BIND_U32(fabric_def, uplinks, "uplinks", HAS(uplinks), BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("cables from each leaf to all spines together; required by a spine-leaf")),
    BIND_U32(fabric_def, group_nodes, "group", .default_text = "as many as a leaf has ports for", HAS(group),
             BIND_AT_LEAST(1), BIND_AT_MOST(1e6), BIND_NOTE("nodes that share the leaves of their rails")),
    BIND_LIST(fabric_def, cables, "cables", cable_binds, HAS(cables),
              BIND_NOTE("of a topology: file, one by one")),
    // cluster_prepare() puts the table in the place of its name.
    BIND_PATH(fabric_def, file, "file",
              BIND_NOTE("a CSV table or YAML list of the cables, with the keys of one as columns")),
    BIND_NUMBERS(fabric_def, cable_m, "cable", UNIT_LENGTH, .default_text = "5 m", HAS(cable),
                 BIND_AT_LEAST(0), BIND_AT_MOST(CABLE_MAX_m),
                 BIND_NOTE("length, 5 ns per metre; or a list: from NICs to leaves, to spines, to cores")),
    BIND_PART(fabric_def, cable_set, "cable_set", "cables", cable_set_binds, HAS(cable_set),
              .default_text = "standard",
              BIND_NOTE("which kind of cable reaches how far, and what it delays")),
    BIND_STRUCT(fabric_def, link, "link", link_binds, HAS(link),
                BIND_NOTE("what all links of the network have, whatever the parts say")),
    BIND_ENUM(
        fabric_def, routing, "routing", routing_words, BIND_DEFAULT(ROUTING_STATIC, "static"),
        BIND_NOTE("static: by destination; ecmp: by a hash of source, destination and queue pair; adaptive: "
                  "over all equal links, whose live ones count as if they matched: optimistic while some "
                  "are down")),
    BIND_U32(fabric_def, queue_pairs, "queue_pairs", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1),
             BIND_AT_MOST(1024), BIND_NOTE("of each connection; ecmp gives each a path of its own")),
    BIND_RATE(fabric_def, queue_pair_rate_Bps, "queue_pair_rate",
              .default_text = "0 B/s: as the links; 42 Gb/s for tcp: one core", HAS(queue_pair_rate),
              BIND_AT_LEAST(0), BIND_AT_MOST(RATE_MAX_Bps),
              BIND_NOTE("the most that one queue pair (one connection of TCP) carries")),
    BIND_TIME(fabric_def, reroute_ps, "reroute", BIND_DEFAULT(1.0, "1 s"), BIND_AT_LEAST(0),
              BIND_AT_MOST(3600), .words = never,
              BIND_NOTE("from a link's failure until routes avoid it, or never; adaptive routing leaves out "
                        "dead links between switches at once")),
    BIND_ENUM(
        fabric_def, transport, "transport", transport_choices, BIND_DEFAULT(0, "nic"),
        BIND_NOTE("headers beside the payload: of InfiniBand, RoCE or TCP; nic: as the NIC's payload_ratio")),
    BIND_BYTES(fabric_def, mtu_bytes, "mtu", .default_text = "4096 B; 9000 B for tcp", HAS(mtu),
               BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
               BIND_NOTE("payload of a packet; for tcp with its headers")),
    BIND_ENUM(
        fabric_def, recovery, "recovery", recovery_choices, .default_text = "go-back-n", HAS(recovery),
        BIND_NOTE(
            "what is sent again after a loss: all from the lost packet on, or it alone; TCP has its own")),
    BIND_BYTES(fabric_def, window_bytes, "window", BIND_DEFAULT(0.0, "0 B: as much as the path holds"),
               BIND_AT_LEAST(0), BIND_AT_MOST(1e12),
               BIND_NOTE("most bytes of a queue pair on their way; at least one packet")),
    BIND_TIME(
        fabric_def, timeout_ps, "timeout", .default_text = "4.294967296 s; 200 ms for tcp", HAS(timeout),
        BIND_ABOVE(0), BIND_AT_MOST(60),
        BIND_NOTE("until the lost end of a message is sent again; InfiniBand and RoCE: 4.096 us x 2^n, of "
                  "which NCCL takes n = 20")),
    BIND_BOOL(fabric_def, sharp, "sharp", BIND_DEFAULT(0, "false"),
              BIND_NOTE("its switches sum what NICs send (SHARP): CollNet can be chosen, as where the "
                        "library's plugin is installed and enabled")),
    BIND_END,
};

#define FABRIC_ROW                                                                                           \
    BIND_STRUCT(cluster_def, fabric, "fabric", fabric_binds, BIND_SET_FLAG(cluster_def, fabric.given),       \
                BIND_NOTE("the network between the nodes; not needed for one node"))

#define NAME_ROW BIND_TEXT(cluster_def, name, "name", BIND_NOTE("of a system of the catalogue, for people"))

#define DEGRADED_ROW                                                                                         \
    BIND_LIST(cluster_def, degraded, "degraded", degraded_binds,                                             \
              BIND_NOTE("parts that are slower than healthy ones throughout the run, one a row"))

const bind_row cluster_binds[] = {
    NAME_ROW,
    BIND_PART(cluster_def, node, "node", "nodes", node_binds, BIND_REQUIRED,
              BIND_NOTE("the server: a name of the catalogue or a mapping")),
    BIND_U32(
        cluster_def, nodes, "nodes", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
        BIND_NOTE("how many servers; or, instead of node, a list of kinds: [{ node: dgx-h100, count: 8 }, "
                  "...]")),
    FABRIC_ROW,
    DEGRADED_ROW,
    BIND_END,
};

static const bind_row node_entry_binds[] = {
    BIND_PART(node_entry, node, "node", "nodes", node_binds, BIND_REQUIRED,
              BIND_NOTE("the server: a name of the catalogue or a mapping")),
    BIND_U32(node_entry, count, "count", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("how many of them")),
    BIND_END,
};

const bind_row cluster_list_binds[] = {
    NAME_ROW,
    BIND_LIST(cluster_def, list, "nodes", node_entry_binds, BIND_REQUIRED,
              BIND_NOTE("kinds of servers, which follow one another")),
    FABRIC_ROW,
    DEGRADED_ROW,
    BIND_END,
};

// ---- before it is bound

static const doc_node *cluster_of(const document *doc)
{
    return document_find(doc->root, "cluster");
}

bool cluster_is_list(const document *doc)
{
    const doc_node *cluster = cluster_of(doc);
    const doc_node *nodes = cluster ? document_find(cluster, "nodes") : NULL;
    return nodes && nodes->kind == DOC_SEQUENCE;
}

static bool wants_cable_set(const doc_node *fabric)
{
    const doc_node *shape = document_find(fabric, "topology"), *link = document_find(fabric, "link");
    const doc_node *set = document_find(fabric, "cable_set");
    if (set && !document_is_null(set)) return false;
    if (shape && shape->kind == DOC_SCALAR && strcmp(shape->scalar, "file") == 0) return false;
    return !link || link->kind != DOC_MAPPING || !document_find(link, "delay");
}

bool cluster_prepare(arena *a, document *doc, sim_error *error)
{
    const doc_node *cluster = cluster_of(doc);
    const doc_node *fabric = cluster ? document_find(cluster, "fabric") : NULL;
    if (!fabric || fabric->kind != DOC_MAPPING) return true; // bind says what is wrong
    const bool whole = !document_find(cluster, "base");      // the fabric of a system has cables of its own
    static const table_file cables = { .mapping = { "cluster", "fabric" },
                                       .key = "file",
                                       .list = "cables",
                                       .example = "cables.csv, with the columns a, b, rate, delay" };
    return table_file_inline(a, doc, &cables, error) &&
           (!whole || !wants_cable_set(fabric) ||
            document_set(a, doc, "cluster.fabric.cable_set=standard", error));
}

// ---- once it is bound

static bool complete_list(arena *a, cluster_def *c, const bind_reader *r, sim_error *error)
{
    const uint32_t count = c->list.count;
    uint32_t first = count;
    uint64_t nodes = 0;
    if (count == 0)
        return sim_fail(error, SIM_EXIT_INPUT, bind_place_of(r, &c->list),
                        "cluster.nodes is an empty list") ||
               sim_hint(error, "nodes: [{ node: dgx-h100, count: 8 }]");
    c->groups = arena_array(a, node_group, count);
    c->group_count = count;
    for (uint32_t i = 0; i < count; i++) {
        node_entry *entry = &c->list.items[i];
        if (!node_complete(&entry->node, r, error)) return false;
        c->groups[i] = (node_group){ .node = &entry->node, .count = entry->count };
        nodes += entry->count;
        if (nodes > 1000000)
            return sim_fail(error, SIM_EXIT_INPUT, bind_place_of(r, &entry->count),
                            "the cluster has more than 1,000,000 nodes");
        if (first == count && entry->node.gpus > 0) first = i;
    }
    c->node = c->list.items[first < count ? first : 0].node;
    c->nodes = (uint32_t)nodes;
    return true;
}

static void set_number(arena *a, bind_numbers *numbers, bool *has, double value)
{
    if (*has) return;
    *numbers = (bind_numbers){ .items = arena_array(a, double, 1), .count = 1 };
    numbers->items[0] = value;
    *has = true;
}

// Defaults that hold where the topology has the key: they then stand in the resolved scenario as well.
static void complete_fabric(arena *a, fabric_def *f)
{
    const bool by_ports = f->topology == FABRIC_RAIL_OPTIMIZED ||
                          (f->topology == FABRIC_FAT_TREE && !f->has.xgft);
    if (by_ports) set_number(a, &f->oversubscription, &f->has.oversubscription, 1.0);
    if (f->topology != FABRIC_FILE && !f->link.has_delay) set_number(a, &f->cable_m, &f->has.cable, 5.0);
    if (f->transport == 0) {
        f->has.queue_pair_rate = true; // 0, unless it was given
        return;
    }
    const transport_kind kind = (transport_kind)(f->transport - 1);
    if (!f->has.mtu) f->mtu_bytes = transport_default_mtu_bytes(kind);
    f->has.mtu = true;
    if (!f->has.timeout) f->timeout_ps = transport_timeout_ps(kind);
    if (!f->has.queue_pair_rate) f->queue_pair_rate_Bps = transport_connection_Bps(kind);
    f->has.timeout = f->has.queue_pair_rate = true;
}

bool cluster_complete(arena *a, cluster_def *c, bool list, const bind_reader *r, sim_error *error)
{
    if (c->fabric.given) complete_fabric(a, &c->fabric);
    if (list) return complete_list(a, c, r, error);
    if (!node_complete(&c->node, r, error)) return false;
    c->groups = arena_array(a, node_group, 1);
    c->groups[0] = (node_group){ .node = &c->node, .count = c->nodes };
    c->group_count = 1;
    return true;
}

static bool kind_is_used(const fabric_def *f, const cable_kind_def *kind)
{
    for (uint32_t i = 0; i < f->cable_m.count; i++)
        if (cable_kind_for(&f->cable_set, f->cable_m.items[i]) == kind) return true;
    return false;
}

// Round trips are asked for by windows and by losses.
static bool has_round_trips(const cluster_def *c)
{
    bool loses = false;
    for (uint32_t i = 0; i < c->degraded.count; i++)
        loses |= c->degraded.items[i].has.loss || c->degraded.items[i].has.bit_error_rate;
    return loses || c->fabric.window_bytes > 0;
}

bool cluster_rests_on(const cluster_def *c, const void *field)
{
    const fabric_def *f = &c->fabric;
    const switch_def *const boxes[] = { &f->network_switch, &f->spine_switch, &f->core_switch };
    for (uint32_t i = 0; i < ARRAY_COUNT(boxes); i++)
        if (field == &boxes[i]->adaptive_ratio) return f->routing == ROUTING_ADAPTIVE;
    if (field == &c->node.nic.delay_ps) return has_round_trips(c);
    for (uint32_t i = 0; i < c->list.count; i++)
        if (field == &c->list.items[i].node.nic.delay_ps) return has_round_trips(c);
    for (uint32_t i = 0; i < f->cable_set.kinds.count; i++) {
        const cable_kind_def *kind = &f->cable_set.kinds.items[i];
        if (field == &kind->end_delay_ps || field == &kind->reach_m) return kind_is_used(f, kind);
    }
    return true;
}

uint64_t cluster_gpus(const cluster_def *c)
{
    uint64_t gpus = 0;
    for (uint32_t g = 0; g < c->group_count; g++)
        gpus += (uint64_t)c->groups[g].count * c->groups[g].node->gpus;
    return gpus;
}

const node_def *cluster_node_at(const cluster_def *c, node_id n)
{
    for (uint32_t g = 0; g < c->group_count; g++) {
        if (n < c->groups[g].count) return c->groups[g].node;
        n -= c->groups[g].count;
    }
    SIM_ASSERT(false);
    return NULL;
}

const switch_def *cluster_switch_of_tier(const cluster_def *c, uint32_t tier)
{
    const fabric_def *f = &c->fabric;
    if (tier >= 2 && f->has.core_switch) return &f->core_switch;
    return tier >= 1 && f->has.spine_switch ? &f->spine_switch : &f->network_switch;
}

const node_def *cluster_node_of_gpu(const cluster_def *c, uint64_t gpu)
{
    for (uint32_t g = 0; g < c->group_count; g++) {
        const uint64_t gpus = (uint64_t)c->groups[g].count * c->groups[g].node->gpus;
        if (gpu < gpus) return c->groups[g].node;
        gpu -= gpus;
    }
    SIM_ASSERT(false);
    return NULL;
}

// The nodes of a group can take part in a job that begins on first (NULL: no GPUs before this group).
static bool is_alike(const node_def *node, const node_def *first)
{
    return !first || (node->gpus == first->gpus && bind_equal(gpu_binds, &node->gpu, &first->gpu));
}

uint64_t cluster_gpus_alike(const cluster_def *c)
{
    const node_def *first = NULL;
    uint64_t gpus = 0;
    for (uint32_t g = 0; g < c->group_count; g++) {
        const node_def *node = c->groups[g].node;
        if (node->gpus == 0) continue;
        if (!is_alike(node, first)) break;
        if (!first) first = node;
        gpus += (uint64_t)c->groups[g].count * node->gpus;
    }
    return gpus;
}

node_id *cluster_nodes_alike(const cluster_def *c, arena *a, uint32_t *count)
{
    const node_def *first = NULL;
    node_id *nodes = arena_array(a, node_id, c->nodes), next = 0;
    *count = 0;
    for (uint32_t g = 0; g < c->group_count; next += c->groups[g++].count) {
        const node_def *node = c->groups[g].node;
        if (node->gpus == 0) continue;
        if (!is_alike(node, first)) break;
        if (!first) first = node;
        for (uint32_t n = 0; n < c->groups[g].count; n++)
            nodes[(*count)++] = next + n;
    }
    return nodes;
}
