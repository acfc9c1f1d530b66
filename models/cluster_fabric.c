// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/cluster_fabric.h"
#include "models/cluster_degraded.h"
#include "models/network/topology_build.h"
#include "sim/rng.h"
#include <math.h>

typedef struct fabric_maker {
    arena *arena;
    const cluster_def *cluster;
    const fabric_def *def;
    const bind_reader *reader;
    sim_error *error;
    topology *fabric;
    double port_ratio; // payload of a port's line rate
} fabric_maker;

// ---- nodes

static node_wiring_kind wiring_kind(int scale_up)
{
    switch ((scale_up_kind)scale_up) {
    case SCALE_UP_NONE: return WIRING_NONE;
    case SCALE_UP_NVSWITCH: return WIRING_SWITCH;
    case SCALE_UP_MESH: return WIRING_MESH;
    case SCALE_UP_PCIE: return WIRING_HOST;
    }
    SIM_ASSERT(false);
    return WIRING_NONE;
}

// From GPU to GPU there is one link of a mesh, or two through a switch or the host, which share the delay; a lone odd
// picosecond is rounded up.
static sim_time scale_up_link_delay_ps(const scale_up_def *scale_up)
{
    return scale_up->kind == SCALE_UP_MESH ? scale_up->delay_ps : (scale_up->delay_ps + 1) / 2;
}

static double transport_ratio(const fabric_def *def)
{
    const transport_kind kind = (transport_kind)(def->transport - 1);
    return transport_payload_ratio(kind, def->mtu_bytes);
}

// Share of a NIC's line rate that payload gets: what was measured at it, and no more than the transport's headers leave.
static double nic_ratio(const fabric_def *def, const nic_def *nic)
{
    if (!def->given || def->transport == 0) return nic->payload_ratio;
    const double headers = transport_ratio(def);
    return headers < nic->payload_ratio ? headers : nic->payload_ratio;
}

// The slowest NIC decides.
static sim_time nic_delay_ps(const cluster_def *c)
{
    sim_time delay_ps = 0;
    for (uint32_t g = 0; g < c->group_count; g++) {
        const node_def *node = c->groups[g].node;
        if (node->nics > 0 && node->nic.delay_ps > delay_ps) delay_ps = node->nic.delay_ps;
    }
    return delay_ps;
}

static transport_terms terms_of(const cluster_def *c, uint64_t key)
{
    const fabric_def *f = &c->fabric;
    transport_terms terms = { .recovery = (loss_recovery)f->recovery,
                              .window_bytes = f->window_bytes,
                              .ends_ps = 4 * nic_delay_ps(c), // each of two ends, out and in
                              .timeout_ps = f->timeout_ps,
                              .key = key };
    if (f->transport == 0) return terms;
    const transport_kind kind = (transport_kind)(f->transport - 1);
    const transport_packet packet = transport_packet_of(kind, f->mtu_bytes);
    if (kind == TRANSPORT_TCP) terms.recovery = RECOVERY_TCP;
    terms.payload_bytes = packet.payload_bytes;
    terms.wire_bytes = packet.wire_bytes;
    return terms;
}

static pcie_wiring pcie_of(const node_def *node)
{
    const pcie_def *p = &node->pcie;
    if (!p->given) return (pcie_wiring){ 0 };
    const uint64_t device_mBps = units_mBps_from_Bps(node->nic_pcie_rate_Bps);
    const scale_up_def *s = &node->scale_up;
    return (pcie_wiring){
        .switches = p->switches,
        .sockets = p->sockets,
        .gpu_rate_mBps = s->kind == SCALE_UP_PCIE ? units_mBps_from_Bps(s->rate_Bps * s->payload_ratio)
                                                  : device_mBps,
        .nic_rate_mBps = device_mBps,
        .uplink_rate_mBps = units_mBps_from_Bps(p->uplink_rate_Bps),
        .socket_rate_mBps = units_mBps_from_Bps(p->socket_rate_Bps),
        .delay_ps = p->delay_ps,
        .socket_delay_ps = p->socket_delay_ps,
        .through_host = !p->gpudirect,
    };
}

static node_wiring wiring_of(const fabric_maker *m, const node_def *node)
{
    uint32_t *first = arena_array(m->arena, uint32_t, node->gpus),
             *count = arena_array(m->arena, uint32_t, node->gpus);
    for (uint32_t g = 0; g < node->gpus && node->nics; g++) {
        first[g] = node_nic_of_gpu(node, g);
        count[g] = node_nics_of_gpu(node, g);
    }
    return (node_wiring){
        .gpus = node->gpus,
        .nics = node->nics,
        .scale_up = wiring_kind(node->scale_up.kind),
        .scale_up_rate_mBps = units_mBps_from_Bps(node->scale_up.rate_Bps * node->scale_up.payload_ratio),
        .scale_up_delay_ps = scale_up_link_delay_ps(&node->scale_up),
        .nic_pcie_rate_mBps = units_mBps_from_Bps(node->nic_pcie_rate_Bps),
        .nic_of_gpu = first,
        .nics_of_gpu = count,
        .pcie = pcie_of(node),
        .nic_rate_mBps = units_mBps_from_Bps(node->nic.rate_Bps * nic_ratio(m->def, &node->nic)),
    };
}

static void add_nodes(const fabric_maker *m)
{
    for (uint32_t g = 0; g < m->cluster->group_count; g++) {
        const node_group *group = &m->cluster->groups[g];
        const uint32_t domain = group->node->scale_up.domain_nodes;
        node_wiring wiring = wiring_of(m, group->node);
        for (uint32_t n = 0; n < group->count; n++) {
            wiring.opens_domain = domain > 1 && n % domain == 0;
            wiring.joins_domain = domain > 1 && n % domain != 0;
            topology_add_node(m->fabric, &wiring);
        }
    }
}

// ---- switches and cables

// Without a transport of the fabric, ports carry what the best of the NICs makes of its line.
static double port_ratio(const cluster_def *c)
{
    if (c->fabric.transport != 0) return transport_ratio(&c->fabric);
    double ratio = 0.0;
    for (uint32_t g = 0; g < c->group_count; g++)
        if (c->groups[g].node->nics > 0) ratio = fmax(ratio, c->groups[g].node->nic.payload_ratio);
    return ratio;
}

static double of_tier(const bind_numbers *numbers, uint32_t tier)
{
    return numbers->items[tier < numbers->count ? tier : numbers->count - 1];
}

static fabric_tier tier_of(const fabric_maker *m, uint32_t tier)
{
    const fabric_def *f = m->def;
    const switch_def *box = cluster_switch_of_tier(m->cluster, tier);
    fabric_tier t = { .name = box->name ? box->name : "unnamed",
                      .ports = box->ports,
                      .port_rate_mBps = units_mBps_from_Bps(box->port_rate_Bps * m->port_ratio),
                      .switch_delay_ps = box->delay_ps,
                      .adaptive_ppm = (uint32_t)lround(box->adaptive_ratio * 1e6) };
    if (f->link.has_rate) t.port_rate_mBps = units_mBps_from_Bps(f->link.rate_Bps);
    if (f->link.has_delay) {
        t.switch_delay_ps = 0;
        t.cable_delay_ps = f->link.delay_ps;
        return t;
    }
    const double length_m = of_tier(&f->cable_m, tier);
    t.cable_delay_ps = cable_delay_ps(cable_kind_for(&f->cable_set, length_m), length_m);
    return t;
}

static fabric_places places_of(const fabric_maker *m)
{
    const fabric_def *f = m->def;
    const bind_reader *r = m->reader;
    const bool list = m->cluster->list.count > 0;
    return (fabric_places){
        .at = {
            [FABRIC_TOPOLOGY] = bind_place_of(r, &f->topology),
            [FABRIC_NODES] = list ? bind_place_of(r, &m->cluster->list) : bind_place_of(r, &m->cluster->nodes),
            [FABRIC_TIERS] = bind_place_of(r, &f->tiers),
            [FABRIC_OVERSUBSCRIPTION] = bind_place_of(r, &f->oversubscription),
            [FABRIC_XGFT] = bind_place_of(r, &f->xgft),
            [FABRIC_LEAVES] = bind_place_of(r, &f->leaves),
            [FABRIC_SPINES] = bind_place_of(r, &f->spines),
            [FABRIC_UPLINKS] = bind_place_of(r, &f->uplinks),
            [FABRIC_GROUP] = bind_place_of(r, &f->group_nodes),
        },
    };
}

// ---- one network

static bool add_single_switch(const fabric_maker *m)
{
    const fabric_tier t = tier_of(m, 0);
    const single_switch_def def = { .ports = t.ports,
                                    .rate_mBps = t.port_rate_mBps,
                                    .cable_delay_ps = t.cable_delay_ps,
                                    .switch_delay_ps = t.switch_delay_ps };
    return topology_add_single_switch(m->fabric, &def, bind_place_of(m->reader, m->def), m->error);
}

static fat_tree_def fat_tree_of(const fabric_maker *m)
{
    fat_tree_def def = { .tiers = m->def->tiers };
    for (uint32_t t = 0; t < TIERS_MAX; t++)
        def.tier[t] = tier_of(m, t);
    for (uint32_t t = 0; t + 1 < TIERS_MAX; t++)
        def.oversubscription[t] = of_tier(&m->def->oversubscription, t);
    return def;
}

static bool add_xgft(const fabric_maker *m, const fabric_places *where)
{
    const tree_numbers *x = &m->def->xgft;
    xgft_def def = { .tiers = x->children.count };
    for (uint32_t t = 0; t < def.tiers; t++) {
        def.children[t] = (uint32_t)x->children.items[t];
        def.parents[t] = (uint32_t)x->parents.items[t];
        def.cables[t] = (uint32_t)of_tier(&x->cables, t);
        def.tier[t] = tier_of(m, t);
    }
    return topology_add_xgft(m->fabric, &def, where, m->error);
}

static bool add_spine_leaf(const fabric_maker *m, const fabric_places *where)
{
    const fabric_def *f = m->def;
    const spine_leaf_def def = { .leaves = f->leaves,
                                 .spines = f->spines,
                                 .uplinks = f->uplinks,
                                 .tier = { tier_of(m, 0), tier_of(m, 1) } };
    return topology_add_spine_leaf(m->fabric, &def, where, m->error);
}

static bool add_cables(const fabric_maker *m)
{
    const cable_entry_array *entries = &m->def->cables;
    listed_cable *cables = arena_array(m->arena, listed_cable, entries->count);
    for (uint32_t i = 0; i < entries->count; i++) {
        const cable_entry *e = &entries->items[i];
        cables[i] = (listed_cable){ .a = e->a,
                                    .b = e->b,
                                    .rate_mBps = units_mBps_from_Bps(e->rate_Bps * m->port_ratio),
                                    .delay_ps = e->delay_ps,
                                    .count = e->count,
                                    .where = bind_place_of(m->reader, e),
                                    .where_a = bind_place_of(m->reader, &e->a),
                                    .where_b = bind_place_of(m->reader, &e->b) };
    }
    return topology_add_cables(m->fabric, cables, entries->count, bind_place_of(m->reader, entries),
                               m->error);
}

static bool add_fat_tree(const fabric_maker *m, const fabric_places *where)
{
    if (m->def->has.xgft) return add_xgft(m, where);
    const fat_tree_def def = fat_tree_of(m);
    return topology_add_fat_tree(m->fabric, &def, where, m->error);
}

static bool add_rail_optimized(const fabric_maker *m, const fabric_places *where)
{
    const rail_def def = { .group_nodes = m->def->group_nodes, .tree = fat_tree_of(m) };
    return topology_add_rail_optimized(m->fabric, &def, where, m->error);
}

static bool add_rail_only(const fabric_maker *m, const fabric_places *where)
{
    const fabric_tier leaf = tier_of(m, 0);
    return topology_add_rail_only(m->fabric, &leaf, where, m->error);
}

static bool add_network(const fabric_maker *m)
{
    const fabric_places where = places_of(m);
    switch ((fabric_topology)m->def->topology) {
    case FABRIC_SINGLE_SWITCH: return add_single_switch(m);
    case FABRIC_FAT_TREE: return add_fat_tree(m, &where);
    case FABRIC_SPINE_LEAF: return add_spine_leaf(m, &where);
    case FABRIC_RAIL_OPTIMIZED: return add_rail_optimized(m, &where);
    case FABRIC_RAIL_ONLY: return add_rail_only(m, &where);
    case FABRIC_FILE: return add_cables(m);
    }
    SIM_ASSERT(false);
    return false;
}

topology *fabric_build(arena *a, const cluster_def *c, uint64_t seed, const bind_reader *r, sim_error *error)
{
    fabric_maker m = {
        .arena = a, .cluster = c, .def = &c->fabric, .reader = r, .error = error, .fabric = topology_create(a)
    };
    add_nodes(&m);
    if (c->fabric.given) {
        m.port_ratio = port_ratio(c);
        topology_set_policy(
            m.fabric, &(fabric_policy){
                          .routing = (routing_kind)c->fabric.routing,
                          .hash_key = rng_u64(rng_create(a, seed, "fabric.ecmp", 0, 0)),
                          .queue_pairs = c->fabric.queue_pairs,
                          .queue_pair_cap_mBps = units_mBps_from_Bps(c->fabric.queue_pair_rate_Bps),
                          .reroute_ps = c->fabric.reroute_ps,
                          .terms = terms_of(c, rng_u64(rng_create(a, seed, "network.tail-loss", 0, 0))) });
        if (!add_network(&m)) return NULL;
    }
    topology_seal(m.fabric);
    const sim_place *where = c->list.count > 0 ? bind_place_of(r, &c->list) : bind_place_of(r, &c->node);
    if (!topology_check(m.fabric, where, error)) return NULL;
    return degraded_apply(a, c, m.fabric, r, error) ? m.fabric : NULL;
}
