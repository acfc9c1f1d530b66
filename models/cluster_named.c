// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/cluster_named.h"
#include "sim/words.h"
#include <string.h>

enum { NAMES_SHOWN = 12 };

static bool has(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static bool is_in(arena *a, const catalogue *parts, const char *folder, const char *name)
{
    const char **names;
    const int count = catalogue_names(a, parts, folder, &names);
    return has(names, count, name);
}

bool cluster_named_is_system(arena *a, const catalogue *parts, const char *name)
{
    return is_in(a, parts, "systems", name);
}

static bool fail_unknown(arena *a, const catalogue *parts, const char *name, const sim_place *where,
                         sim_error *error)
{
    const char **nodes, **systems;
    char shown[WORDS_SHOWN_SIZE];
    const int node_count = catalogue_names(a, parts, "nodes", &nodes),
              system_count = catalogue_names(a, parts, "systems", &systems);
    text_list all = { 0 };
    for (int i = 0; i < node_count; i++)
        *array_push(&all, a) = nodes[i];
    for (int i = 0; i < system_count; i++)
        *array_push(&all, a) = systems[i];
    sim_fail(error, SIM_EXIT_INPUT, where, "the catalogue has neither a node nor a system \"%s\"",
             words_show(shown, name));
    return words_hint_holders(error, name, all.items, all.count, NAMES_SHOWN, "nodes and systems");
}

// The lines of "fabric:" for a node of which one has been read; NULL with error.
static const char *fabric_text(arena *a, const catalogue *parts, const cluster_named *wanted,
                               const cluster_named_places *places, const node_def *node, sim_error *error)
{
    if (node->nics == 0) {
        sim_fail(error, SIM_EXIT_INPUT, places->name,
                 "node \"%s\" has no NICs, so %u of them cannot be joined", node->name, wanted->nodes);
        sim_hint(error, "one node");
        return NULL;
    }
    if (!node->nic.usual_switch) {
        sim_fail(error, SIM_EXIT_INPUT, places->name,
                 "NIC \"%s\" of node \"%s\" names no switch to make a fabric of", node->nic.name, node->name);
        sim_hint(error, "a scenario that describes the fabric");
        return NULL;
    }
    const int usual = node->nics > 1 ? FABRIC_RAIL_OPTIMIZED : FABRIC_FAT_TREE;
    const char *shape = fabric_topology_words[wanted->topology >= 0 ? wanted->topology : usual];
    const char *text = arena_format(a, "  fabric:\n    topology: %s\n    switch: %s\n", shape,
                                    node->nic.usual_switch);
    const char *probe = arena_format(
        a, "cluster:\n  node: %s\n  fabric: { topology: single-switch, switch: %s }\n", wanted->name,
        node->nic.usual_switch);
    scenario *s = arena_new(a, scenario);
    if (!scenario_load_text(a, parts, wanted->called, probe, NULL, 0, s, error)) return NULL;
    const bool adaptive = s->cluster.fabric.network_switch.adaptive_ratio > 0.0;
    return adaptive ? arena_format(a, "%s    routing: adaptive\n", text) : text;
}

static bool load_nodes(arena *a, const catalogue *parts, const cluster_named *wanted,
                       const cluster_named_places *places, const char *const *sets, uint32_t set_count,
                       scenario *out, sim_error *error)
{
    const uint32_t nodes = wanted->nodes ? wanted->nodes : 1;
    const char *alone = arena_format(a, "cluster:\n  node: %s\n", wanted->name), *fabric = "";
    scenario *one = arena_new(a, scenario);
    if (!scenario_load_text(a, parts, wanted->called, alone, NULL, 0, one, error)) return false;
    const node_def *node = &one->cluster.node;
    const bool together = nodes == 1 ||
                          (node->scale_up.kind == SCALE_UP_NVSWITCH && node->scale_up.domain_nodes >= nodes);
    if (!together || wanted->topology >= 0) fabric = fabric_text(a, parts, wanted, places, node, error);
    if (!fabric) return false;
    const char *text = arena_format(a, "%s  nodes: %u\n%s", alone, nodes, fabric);
    return scenario_load_text(a, parts, wanted->called, text, sets, set_count, out, error);
}

bool cluster_named_load(arena *a, const catalogue *parts, const cluster_named *wanted,
                        const cluster_named_places *places, const char *const *sets, uint32_t set_count,
                        scenario *out, sim_error *error)
{
    if (is_in(a, parts, "nodes", wanted->name))
        return load_nodes(a, parts, wanted, places, sets, set_count, out, error);
    if (!cluster_named_is_system(a, parts, wanted->name))
        return fail_unknown(a, parts, wanted->name, places->name, error);
    if (wanted->topology >= 0) {
        sim_fail(error, SIM_EXIT_INPUT, places->topology, "system \"%s\" has a fabric of its own",
                 wanted->name);
        return sim_hint(error, "cluster.fabric.topology=%s overrides it",
                        fabric_topology_words[wanted->topology]);
    }
    const char *text = arena_format(a, "cluster: %s\n", wanted->name);
    return scenario_load_text(a, parts, wanted->called, text, sets, set_count, out, error);
}
