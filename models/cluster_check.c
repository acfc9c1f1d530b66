// SPDX-License-Identifier: GPL-3.0-or-later
// Holds the nodes and the fabric against each other: which keys a topology has, and what they ask of one another.
#include "models/cluster_degraded.h"
#include "sim/words.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// sim_fail() at the key that filled field.
#define REFUSE(field_, ...) sim_fail(error, SIM_EXIT_INPUT, bind_place_of(r, &(field_)), __VA_ARGS__)

// ---- which keys there are

#define ON(topology_) (1u << FABRIC_##topology_)
#define TREES (ON(SINGLE_SWITCH) | ON(FAT_TREE) | ON(SPINE_LEAF) | ON(RAIL_OPTIMIZED) | ON(RAIL_ONLY))
#define SHAPED (ON(FAT_TREE) | ON(RAIL_OPTIMIZED))
typedef struct fabric_key_rule {
    const char *key;
    size_t has, field, size;
    uint32_t topologies;
} fabric_key_rule;
#define RULE(key_, has_, field_, topologies_)                                                                \
    {                                                                                                        \
        key_, offsetof(fabric_def, has.has_), offsetof(fabric_def, field_),                                  \
            sizeof(((fabric_def *)0)->field_), topologies_                                                   \
    }
static const fabric_key_rule rules[] = {
    RULE("switch", network_switch, network_switch, TREES),
    RULE("spine_switch", spine_switch, spine_switch, SHAPED | ON(SPINE_LEAF)),
    RULE("core_switch", core_switch, core_switch, SHAPED),
    RULE("tiers", tiers, tiers, SHAPED),
    RULE("oversubscription", oversubscription, oversubscription, SHAPED),
    RULE("xgft", xgft, xgft, ON(FAT_TREE)),
    RULE("leaves", leaves, leaves, ON(SPINE_LEAF)),
    RULE("spines", spines, spines, ON(SPINE_LEAF)),
    RULE("uplinks", uplinks, uplinks, ON(SPINE_LEAF)),
    RULE("group", group, group_nodes, ON(RAIL_OPTIMIZED)),
    RULE("cables", cables, cables, ON(FILE)),
    RULE("cable", cable, cable_m, TREES),
    RULE("cable_set", cable_set, cable_set, TREES),
    RULE("link", link, link, TREES),
};

static bool is_given(const fabric_def *f, const fabric_key_rule *rule)
{
    return *(const bool *)((const char *)f + rule->has);
}

static bool check_keys(const fabric_def *f, const bind_reader *r, sim_error *error)
{
    const char *words[ARRAY_COUNT(rules)];
    uint32_t count = 0;
    for (uint32_t i = 0; i < ARRAY_COUNT(rules); i++)
        if (rules[i].topologies >> f->topology & 1) words[count++] = rules[i].key;
    for (uint32_t i = 0; i < ARRAY_COUNT(rules); i++) {
        char list[256];
        if (!is_given(f, &rules[i]) || (rules[i].topologies >> f->topology & 1)) continue;
        sim_fail(error, SIM_EXIT_INPUT,
                 bind_place_of_sized(r, (const char *)f + rules[i].field, rules[i].size),
                 "a fabric of topology %s has no \"%s\"", fabric_topology_words[f->topology], rules[i].key);
        return sim_hint(error, "beside routing and transport it has: %s",
                        words_list(list, sizeof list, words, count, ARRAY_COUNT(rules)));
    }
    return true;
}

// ---- what they ask of one another

static bool check_xgft(const fabric_def *f, const bind_reader *r, sim_error *error)
{
    const tree_numbers *x = &f->xgft;
    if (!f->has.xgft) return true;
    if (f->has.tiers || f->has.oversubscription)
        return REFUSE(*x, "xgft says all that %s would", f->has.tiers ? "tiers" : "oversubscription") ||
               sim_hint(error, "leave one of them out");
    if (x->children.count > TIERS_MAX)
        return REFUSE(x->children, "a tree of %u tiers is not built", x->children.count) ||
               sim_hint(error, "m: at most %d numbers", TIERS_MAX);
    if (x->parents.count != x->children.count)
        return REFUSE(x->parents, "w has %u numbers, but m has %u", x->parents.count, x->children.count) ||
               sim_hint(error, "one of each for every tier of switches");
    if (x->cables.count != 1 && x->cables.count != x->children.count)
        return REFUSE(x->cables, "p has %u numbers, but m has %u", x->cables.count, x->children.count) ||
               sim_hint(error, "one of each for every tier of switches, or p: 1");
    return true;
}

static bool check_switches(const fabric_def *f, const bind_reader *r, sim_error *error)
{
    const bool described = f->topology == FABRIC_FILE || (f->link.has_rate && f->link.has_delay);
    const bool ports_matter = (f->topology == FABRIC_FAT_TREE && !f->has.xgft) ||
                              f->topology == FABRIC_RAIL_OPTIMIZED;
    if (!f->has.network_switch && (ports_matter || !described))
        return REFUSE(f->topology, "this fabric needs a switch: its ports%s",
                      ports_matter ? " decide its shape" : ", rates and delays") ||
               sim_hint(error, ports_matter ? "switch: qm9700"
                                            : "switch: qm9700, or link: { rate: 400 Gb/s, delay: 300 ns }");
    if (!f->has.network_switch && (f->has.spine_switch || f->has.core_switch))
        return REFUSE(f->topology, "the switches above are given, but not those of the leaves (switch)") ||
               sim_hint(error, "switch: qm9700");
    if (f->link.has_delay && (f->has.cable || f->has.cable_set))
        return REFUSE(f->link, "link.delay stands for all delays, so cables have none") ||
               sim_hint(error, "leave link.delay or %s out", f->has.cable ? "cable" : "cable_set");
    if (f->topology == FABRIC_SPINE_LEAF && (!f->has.spines || !f->has.uplinks))
        return REFUSE(f->topology, "a spine-leaf needs the number of its %s",
                      f->has.spines ? "uplinks" : "spines") ||
               sim_hint(error, "spines: 4, uplinks: 32");
    if (f->topology == FABRIC_FILE && f->cables.count == 0)
        return REFUSE(f->topology, "a fabric of topology file needs its cables") ||
               sim_hint(error, "file: cables.csv, with the columns a, b, rate, delay");
    return true;
}

static bool check_lists(const fabric_def *f, const bind_reader *r, sim_error *error)
{
    if (f->cable_m.count > TIERS_MAX)
        return REFUSE(f->cable_m, "there are %u lengths of cable, but at most %d tiers of switches",
                      f->cable_m.count, TIERS_MAX) ||
               sim_hint(error, "cable: [NIC to leaf, leaf to spine, spine to core]");
    if (f->oversubscription.count > TIERS_MAX - 1)
        return REFUSE(f->oversubscription,
                      "there are %u oversubscriptions, but at most %d tiers below others",
                      f->oversubscription.count, TIERS_MAX - 1) ||
               sim_hint(error, "oversubscription: [of leaves, of spines]");
    if (!f->has.cable_set) return true;
    const double reach_m = f->cable_set.kinds.items[f->cable_set.kinds.count - 1].reach_m;
    for (uint32_t i = 0; i < f->cable_m.count; i++)
        if (f->cable_m.items[i] > reach_m)
            return REFUSE(f->cable_m, "no cable of set \"%s\" is %g m long", f->cable_set.name,
                          f->cable_m.items[i]) ||
                   sim_hint(error, "cable: at most %g m", reach_m);
    return true;
}

static bool refuse_without_transport(const fabric_def *f, const bind_reader *r, sim_error *error)
{
    const sim_place *where = f->window_bytes > 0 ? bind_place_of(r, &f->window_bytes)
                             : f->has.recovery   ? bind_place_of(r, &f->recovery)
                                                 : bind_place_of(r, &f->timeout_ps);
    const char *key = f->window_bytes > 0 ? "window" : f->has.recovery ? "recovery" : "timeout";
    return sim_fail(error, SIM_EXIT_INPUT, where, "%s is of a transport, which this fabric does not name",
                    key) ||
           sim_hint(error, "transport: infiniband, roce or tcp");
}

static bool check_window(const fabric_def *f, const bind_reader *r, sim_error *error)
{
    const uint64_t least =
        transport_packet_of((transport_kind)(f->transport - 1), f->mtu_bytes).payload_bytes;
    if (f->window_bytes == 0 || f->window_bytes >= least) return true;
    return REFUSE(f->window_bytes, "a window of %" PRIu64 " bytes lets no packet of %" PRIu64 " bytes pass",
                  f->window_bytes, least) ||
           sim_hint(error, "window: %" PRIu64 " B or more", least);
}

static bool check_transport(const fabric_def *f, const bind_reader *r, sim_error *error)
{
    const bool is_tcp = f->transport == 1 + TRANSPORT_TCP;
    if (is_tcp && f->has.recovery)
        return REFUSE(f->recovery, "TCP repairs its losses in its own way") ||
               sim_hint(error, "leave recovery out, or transport: infiniband or roce");
    if (f->transport == 0 && (f->window_bytes > 0 || f->has.recovery || f->has.timeout))
        return refuse_without_transport(f, r, error);
    if (!f->has.mtu) return true;
    if (f->transport == 0)
        return REFUSE(f->mtu_bytes,
                      "the NIC's payload_ratio holds for one MTU, which this does not change") ||
               sim_hint(error, "transport: infiniband, roce or tcp");
    const uint64_t nearest = transport_nearest_mtu_bytes((transport_kind)(f->transport - 1), f->mtu_bytes);
    if (nearest == f->mtu_bytes) return check_window(f, r, error);
    return REFUSE(f->mtu_bytes, "%s has no packets of %" PRIu64 " bytes", transport_words[f->transport - 1],
                  f->mtu_bytes) ||
           sim_hint(error, "mtu: %" PRIu64 " B", nearest);
}

static bool check_adaptive(const fabric_def *f, const bind_reader *r, sim_error *error)
{
    if (f->routing != ROUTING_ADAPTIVE || f->topology == FABRIC_SINGLE_SWITCH ||
        f->topology == FABRIC_RAIL_ONLY)
        return true;
    if (f->topology == FABRIC_FILE)
        return REFUSE(f->routing, "adaptive routing is modelled for trees, not for lists of cables") ||
               sim_hint(error, "routing: static or ecmp");
    if (f->has.xgft && f->xgft.parents.items[0] > 1)
        return REFUSE(f->routing, "adaptive routing is modelled for NICs on one leaf; here they have %g",
                      f->xgft.parents.items[0]) ||
               sim_hint(error, "routing: static or ecmp");
    const switch_def *const boxes[] = { &f->network_switch, f->has.spine_switch ? &f->spine_switch : NULL };
    for (uint32_t i = 0; i < ARRAY_COUNT(boxes); i++) {
        if (!boxes[i] || boxes[i]->adaptive_ratio > 0.0) continue;
        if (!f->has.network_switch)
            return REFUSE(f->routing,
                          "adaptive routing is as good as \"switch\" says, and this fabric names none") ||
                   sim_hint(error, "routing: static or ecmp, or switch: qm9700");
        return REFUSE(f->routing, "switch \"%s\" has no adaptive routing", boxes[i]->name) ||
               sim_hint(error, "routing: static or ecmp, or adaptive_ratio: 0.97 of the switch");
    }
    return true;
}

enum { BOXES = 3 };

// NULL: not named, or as the tier below.
static void named_switches(const fabric_def *f, const switch_def *boxes[BOXES])
{
    boxes[0] = f->has.network_switch ? &f->network_switch : NULL;
    boxes[1] = f->has.spine_switch ? &f->spine_switch : NULL;
    boxes[2] = f->has.core_switch ? &f->core_switch : NULL;
}

// Sums in switches are InfiniBand's.
static bool check_sharp(const fabric_def *f, const bind_reader *r, sim_error *error)
{
    const switch_def *boxes[BOXES];
    named_switches(f, boxes);
    if (!f->sharp) return true;
    if (!boxes[0])
        return REFUSE(f->sharp, "sums are of switches that can, and this fabric names none") ||
               sim_hint(error, "leave sharp out, or switch: qm9700, in a topology that has one");
    if (f->transport == 1 + TRANSPORT_ROCE || f->transport == 1 + TRANSPORT_TCP)
        return REFUSE(f->sharp, "over %s no switch sums what NICs send", transport_words[f->transport - 1]) ||
               sim_hint(error, "leave sharp out, or transport: infiniband");
    for (uint32_t i = 0; i < BOXES; i++)
        if (boxes[i] && !boxes[i]->sharp)
            return REFUSE(f->sharp, "switch \"%s\" cannot sum what NICs send", boxes[i]->name) ||
                   sim_hint(error, "leave sharp out, or an InfiniBand switch with SHARP: qm9700");
    return true;
}

// RoCE runs on Ethernet. TCP is not looked at: it runs on InfiniBand as well.
static bool check_transport_layer(const fabric_def *f, const bind_reader *r, sim_error *error)
{
    const int needed = f->transport == 1 + TRANSPORT_INFINIBAND ? LINK_LAYER_INFINIBAND
                       : f->transport == 1 + TRANSPORT_ROCE     ? LINK_LAYER_ETHERNET
                                                                : LINK_LAYER_ANY;
    const switch_def *boxes[BOXES];
    named_switches(f, boxes);
    for (uint32_t i = 0; i < BOXES && needed != LINK_LAYER_ANY; i++)
        if (boxes[i] && boxes[i]->link_layer != LINK_LAYER_ANY && boxes[i]->link_layer != needed)
            return REFUSE(f->transport, "transport %s needs switches of %s, but \"%s\" speaks %s",
                          transport_words[f->transport - 1], link_layer_words[needed], boxes[i]->name,
                          link_layer_words[boxes[i]->link_layer]) ||
                   sim_hint(error, "transport: nic, or switch: %s",
                            needed == LINK_LAYER_ETHERNET ? "sn5600" : "qm9700");
    return true;
}

static bool check_fabric(const fabric_def *f, const bind_reader *r, sim_error *error)
{
    return check_keys(f, r, error) && check_xgft(f, r, error) && check_switches(f, r, error) &&
           check_lists(f, r, error) && check_transport(f, r, error) && check_adaptive(f, r, error) &&
           check_sharp(f, r, error) && check_transport_layer(f, r, error);
}

// ---- nodes

// Trays on one NVSwitch need no network.
static bool is_one_domain(const cluster_def *c)
{
    const scale_up_def *s = &c->groups[0].node->scale_up;
    return c->group_count == 1 && s->kind == SCALE_UP_NVSWITCH && s->domain_nodes >= c->groups[0].count;
}

static bool check_counts(const cluster_def *c, const bind_reader *r, sim_error *error)
{
    const uint64_t gpus = cluster_gpus(c);
    if (gpus <= 1000000) return true;
    if (c->list.count > 0)
        return REFUSE(c->list, "%" PRIu64 " GPUs are more than the 1,000,000 that a cluster may have",
                      gpus) ||
               sim_hint(error, "fewer nodes");
    REFUSE(c->nodes, "%u nodes x %u GPUs are more than the 1,000,000 GPUs a cluster may have", c->nodes,
           c->node.gpus);
    return sim_hint(error, "nodes: %u", 1000000 / c->node.gpus);
}

static bool check_nics(const cluster_def *c, const bind_reader *r, sim_error *error)
{
    for (uint32_t g = 0; g < c->group_count; g++) {
        const node_def *node = c->groups[g].node;
        if (node->nics > 0) continue;
        REFUSE(node->nics, "node \"%s\" has no NICs, so %u of them cannot be joined", node->name, c->nodes);
        return sim_hint(error, "nodes: 1");
    }
    const fabric_def *f = &c->fabric;
    const uint64_t nics = (uint64_t)c->nodes * c->node.nics;
    if (f->topology != FABRIC_SINGLE_SWITCH || c->list.count > 0 || !f->has.network_switch ||
        nics <= f->network_switch.ports)
        return true;
    REFUSE(c->nodes, "%u nodes x %u NICs need %" PRIu64 " ports, but switch \"%s\" has %u", c->nodes,
           c->node.nics, nics, f->network_switch.name, f->network_switch.ports);
    const uint32_t fit = f->network_switch.ports / c->node.nics;
    if (fit) return sim_hint(error, "nodes: %u", fit);
    return sim_hint(error, "nodes: 1, without a fabric, or a switch with more ports");
}

static bool refuse_layer(const fabric_def *f, const switch_def *box, const node_def *node,
                         const bind_reader *r, sim_error *error)
{
    const bool leaf = box == &f->network_switch, spine = box == &f->spine_switch;
    const sim_place *where = leaf    ? bind_place_of(r, &f->network_switch)
                             : spine ? bind_place_of(r, &f->spine_switch)
                                     : bind_place_of(r, &f->core_switch);
    const char *key = leaf    ? "switch"
                      : spine ? "spine_switch"
                              : "core_switch",
               *usual = node->nic.usual_switch;
    sim_fail(error, SIM_EXIT_INPUT, where, "switch \"%s\" speaks %s, but NIC \"%s\" of node \"%s\" %s",
             box->name, link_layer_words[box->link_layer], node->nic.name, node->name,
             link_layer_words[node->nic.link_layer]);
    if (usual && strcmp(usual, box->name) != 0) // or the NIC speaks what its usual switch does not
        return sim_hint(error, "%s: %s, or another NIC, or its link_layer: %s", key, usual,
                        link_layer_words[box->link_layer]);
    return sim_hint(error, "a %s of %s, or a NIC with link_layer: %s", key,
                    link_layer_words[node->nic.link_layer], link_layer_words[box->link_layer]);
}

static bool has_layer(const node_def *node)
{
    return node->nics > 0 && node->has_nic && node->nic.link_layer != LINK_LAYER_ANY;
}

// Nor do NICs of one fabric meet that speak differently, whatever is between them.
static bool check_layers_of_nics(const cluster_def *c, const bind_reader *r, sim_error *error)
{
    const node_def *first = NULL;
    for (uint32_t g = 0; g < c->group_count; g++) {
        const node_def *node = c->groups[g].node;
        if (!has_layer(node)) continue;
        if (!first) first = node;
        if (node->nic.link_layer == first->nic.link_layer) continue;
        REFUSE(c->list, "NIC \"%s\" of node \"%s\" speaks %s, but NIC \"%s\" of node \"%s\" %s",
               node->nic.name, node->name, link_layer_words[node->nic.link_layer], first->nic.name,
               first->name, link_layer_words[first->nic.link_layer]);
        return sim_hint(error, "NICs of one link_layer; any where nothing is to be said");
    }
    return true;
}

static bool check_layers(const cluster_def *c, const bind_reader *r, sim_error *error)
{
    const switch_def *boxes[BOXES];
    named_switches(&c->fabric, boxes);
    for (uint32_t g = 0; g < c->group_count; g++) {
        const node_def *node = c->groups[g].node;
        if (!has_layer(node)) continue;
        for (uint32_t i = 0; i < BOXES; i++)
            if (boxes[i] && boxes[i]->link_layer != LINK_LAYER_ANY &&
                boxes[i]->link_layer != node->nic.link_layer)
                return refuse_layer(&c->fabric, boxes[i], node, r, error);
    }
    return check_layers_of_nics(c, r, error);
}

bool cluster_check(const cluster_def *c, const bind_reader *r, sim_error *error)
{
    const fabric_def *f = &c->fabric;
    if (!check_counts(c, r, error) || !degraded_check(&c->degraded, r, error)) return false;
    if (f->given && (!check_fabric(f, r, error) || !check_layers(c, r, error))) return false;
    if (c->nodes == 1 || (is_one_domain(c) && !f->given)) return true;
    if (!f->given) {
        if (c->list.count > 0)
            REFUSE(c->list, "%u nodes need a fabric", c->nodes);
        else
            REFUSE(c->nodes, "%u nodes need a fabric", c->nodes);
        return sim_hint(error, "fabric: { topology: single-switch, switch: qm9700 }");
    }
    return check_nics(c, r, error);
}

void cluster_warnings(const cluster_def *c, arena *a, text_list *out)
{
    for (uint32_t g = 0; g < c->group_count; g++) {
        const node_def *node = c->groups[g].node;
        const double line_Bps = node->nic.rate_Bps * node->nic.payload_ratio,
                     slot_Bps = node->nic_pcie_rate_Bps;
        char line[32], slot[32];
        if (node->gpus == 0 || node->nics == 0 || !(line_Bps > slot_Bps)) continue;
        *array_push(out, a) = arena_format(a,
                                           "node \"%s\": a NIC's %s of payload is more than the %s of its "
                                           "PCIe slot (nic_pcie_rate), which decides",
                                           node->name, units_format(UNIT_RATE, line_Bps, line, sizeof line),
                                           units_format(UNIT_RATE, slot_Bps, slot, sizeof slot));
    }
}
