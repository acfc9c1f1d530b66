// SPDX-License-Identifier: GPL-3.0-or-later
// What a collective library gets out of the hardware of a scenario's nodes. Parts of the catalogue name their classes
// (costs); of parts that do not, the class is found by rule, and its numbers stand in the resolved scenario as if it
// had been named:
//     scale_up.costs  through the host, or of an architecture that has no NVLink: pcie
//                     else by architecture: volta nvlink2, ampere nvlink3, hopper nvlink4 (a mesh: nvlink4-mesh),
//                     blackwell
//                     nvlink5 (racks: nvl72), cdna3 xgmi; links between GPUs of another architecture are refused
//     nic.costs       by the fabric's transport: roce, tcp; else by the NIC's line: infiniband-ndr from 300 Gb/s on,
//                     infiniband-hdr below
#include "models/part.h"
#include "models/scenario.h"
#include "sim/check.h"
#include <string.h>

typedef struct link_rule {
    const char *architecture, *switched, *rack, *mesh;
} link_rule;

static const link_rule link_rules[] = {
    { "volta", "nvlink2", "nvlink2", "nvlink2" },
    { "ampere", "nvlink3", "nvlink3", "nvlink3" },
    { "hopper", "nvlink4", "nvlink4", "nvlink4-mesh" },
    { "blackwell", "nvlink5", "nvl72", "nvlink5" },
    { "cdna3", "xgmi", "xgmi", "xgmi" },
};

// NULL: there is none.
static const char *usual_link_costs(const node_def *node)
{
    const scale_up_def *s = &node->scale_up;
    if (s->kind == SCALE_UP_PCIE) return "pcie";
    for (size_t i = 0; i < ARRAY_COUNT(link_rules); i++) {
        if (strcmp(link_rules[i].architecture, node->gpu.architecture) != 0) continue;
        if (s->kind == SCALE_UP_MESH) return link_rules[i].mesh;
        return s->domain_nodes > 1 ? link_rules[i].rack : link_rules[i].switched;
    }
    return s->kind == SCALE_UP_NONE ? "pcie" : NULL;
}

static const char *usual_nic_costs(const fabric_def *fabric, const nic_def *nic)
{
    if (fabric->transport == 1 + (int)TRANSPORT_ROCE) return "roce";
    if (fabric->transport == 1 + (int)TRANSPORT_TCP) return "tcp";
    return nic->rate_Bps >= 37.5e9 ? "infiniband-ndr" : "infiniband-hdr";
}

// As if "costs: NAME" stood where the struct at out stands.
static bool read_named(const scenario *s, const bind_row *row, const char *name, const char *path,
                       const sim_place *written, void *out, sim_error *error)
{
    const bind_row rows[] = { *row, BIND_END };
    const sim_place *place = written ? written : &s->document.root->place;
    doc_node value = {
        .kind = DOC_SCALAR, .place = *place, .quoted = true, .scalar = name, .unrolled = 1, .height = 1
    };
    doc_pair pair = { .key = row->key, .key_place = *place, .value = &value };
    const doc_node mapping = {
        .kind = DOC_MAPPING, .place = *place, .pairs = &pair, .count = 1, .unrolled = 2, .height = 2
    };
    return bind_read(s->reader, rows, &mapping, path, out, error);
}

static bool read_usual(scenario *s, const bind_row *rows, const usual_costs *usual, const char *parent,
                       const sim_place *written, void *out, sim_error *error)
{
    *array_push(&s->usual_costs, bind_reader_arena(s->reader)) = *usual;
    return read_named(s, bind_find_row(rows, "costs"), usual->name, parent, written, out, error);
}

static bool complete_link(scenario *s, const char *path, node_def *node, sim_error *error)
{
    scale_up_def *link = &node->scale_up;
    const sim_place *place = bind_place_of(s->reader, link);
    if (node->gpus == 0 || !node->has_gpu || link->has_costs) return true;
    const char *name = usual_link_costs(node);
    if (!name) {
        sim_fail(error, SIM_EXIT_INPUT, place,
                 "what collectives get out of links between GPUs of architecture \"%s\" is not known (costs)",
                 node->gpu.architecture);
        return sim_hint(error, "scale_up.costs: nvlink5, or another of the catalogue's link_costs");
    }
    const char *parent = arena_format(bind_reader_arena(s->reader), "%s.scale_up", path);
    const usual_costs usual = { .path = arena_format(bind_reader_arena(s->reader), "%s.costs", parent),
                                .name = name,
                                .rule = "by the GPU's architecture and its links, for none is named" };
    return read_usual(s, scale_up_binds, &usual, parent, place, link, error);
}

static bool complete_nic(scenario *s, const char *path, node_def *node, sim_error *error)
{
    const sim_place *place = bind_place_of(s->reader, &node->nic);
    nic_def line = node->nic;
    if (node->nics == 0 || node->gpus == 0 || node->nic.has_costs) return true;
    if (!node->has_nic) line.rate_Bps = node->nic_rate_Bps;
    const char *parent = arena_format(bind_reader_arena(s->reader), "%s.nic", path);
    const usual_costs usual = { .path = arena_format(bind_reader_arena(s->reader), "%s.costs", parent),
                                .name = usual_nic_costs(&s->cluster.fabric, &line),
                                .rule = "by the fabric's transport and the NIC's rate, for none is named" };
    return read_usual(s, nic_binds, &usual, parent, place, &node->nic, error);
}

static bool complete_node(scenario *s, const char *path, node_def *node, sim_error *error)
{
    return complete_link(s, path, node, error) && complete_nic(s, path, node, error);
}

bool scenario_complete_costs(scenario *s, sim_error *error)
{
    node_entry_array *list = &s->cluster.list;
    if (list->count == 0) return complete_node(s, "cluster.node", &s->cluster.node, error);
    for (uint32_t i = 0; i < list->count; i++) {
        const char *path = arena_format(bind_reader_arena(s->reader), "cluster.nodes[%u].node", i);
        if (!complete_node(s, path, &list->items[i].node, error)) return false;
    }
    return true;
}

const collective_hardware *scenario_hardware(arena *a, const scenario *s)
{
    const cluster_def *c = &s->cluster;
    collective_hardware *out = arena_new(a, collective_hardware);
    collective_costs *kinds = arena_array(a, collective_costs, c->group_count);
    uint32_t *kind_of_node = arena_array(a, uint32_t, c->nodes), next = 0;
    for (uint32_t g = 0; g < c->group_count; g++) {
        const node_def *node = c->groups[g].node;
        kinds[g] = (collective_costs){ .link = &node->scale_up.costs,
                                       .nic = node->nics > 0 ? &node->nic.costs : NULL };
        for (uint32_t n = 0; n < c->groups[g].count; n++)
            kind_of_node[next++] = g;
    }
    *out = (collective_hardware){ .kinds = kinds,
                                  .kind_of_node = kind_of_node,
                                  .sharp = c->fabric.sharp,
                                  .channels = s->network.min_ctas,
                                  .send_channels = s->network.send_channels,
                                  .peer_channels = s->network.peer_channels };
    return out;
}
