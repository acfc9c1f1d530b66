// SPDX-License-Identifier: GPL-3.0-or-later
// The smallest network: one switch, a cable from every NIC.
#include "models/network/topology_internal.h"
#include "sim/check.h"
#include <inttypes.h>

bool topology_add_single_switch(topology *t, const single_switch_def *def, const sim_place *where,
                                sim_error *error)
{
    SIM_ASSERT(!t->sealed && t->shape == SHAPE_NO_NETWORK);
    SIM_ASSERT(def->cable_delay_ps >= 0 && def->switch_delay_ps >= 0);
    uint32_t nics = t->nic_vertices.count, nodes = t->nodes.count;
    for (node_id n = 0; nodes > 1 && n < nodes; n++) {
        if (t->nodes.items[n].nics > 0) continue;
        sim_fail(error, SIM_EXIT_INPUT, where,
                 "node %" PRIu32 " has no NIC, so it cannot reach the other %" PRIu32 " nodes", n, nodes - 1);
        return sim_hint(error, "give the node at least one NIC, or use one node");
    }
    if (def->ports > 0 && nics > def->ports) {
        sim_fail(error, SIM_EXIT_INPUT, where,
                 "%" PRIu32 " NICs do not fit a single switch of %" PRIu32 " ports", nics, def->ports);
        return sim_hint(error, "at most %" PRIu32 " NICs; take fewer nodes or a switch with more ports",
                        def->ports);
    }
    if (nics == 0) return true;
    vertex_id leaf = topology_add_vertex(t, VERTEX_LEAF, NO_ID, 0);
    t->shape = SHAPE_SINGLE_SWITCH;
    t->network_base = t->links.count;
    for (nic_id i = 0; i < nics; i++) {
        topology_link up = { .from = t->nic_vertices.items[i],
                             .to = leaf,
                             .class = LINK_NETWORK,
                             .rate_mBps = def->rate_mBps,
                             .delay_ps = def->cable_delay_ps };
        link_id there = topology_add_cable(t, &up);
        // Port to port is charged once per crossing of the switch: on the way in.
        t->links.items[there].delay_ps += def->switch_delay_ps;
    }
    return true;
}
