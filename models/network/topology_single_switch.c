// SPDX-License-Identifier: GPL-3.0-or-later
// The smallest network: one switch, a cable from every NIC.
#include "models/network/topology_internal.h"
#include <inttypes.h>

bool topology_add_single_switch(topology *t, const single_switch_def *def, const sim_place *where,
                                sim_error *error)
{
    const fabric_tier tier = { .ports = def->ports,
                               .port_rate_mBps = def->rate_mBps,
                               .switch_delay_ps = def->switch_delay_ps,
                               .cable_delay_ps = def->cable_delay_ps };
    const fabric_places places = { .at = { [FABRIC_TOPOLOGY] = where, [FABRIC_NODES] = where } };
    const uint32_t nics = t->nics.count;
    if (!topology_check_nics(t, &places, error)) return false;
    if (tier.ports > 0 && nics > tier.ports) {
        sim_fail(error, SIM_EXIT_INPUT, where,
                 "%" PRIu32 " NICs do not fit a single switch of %" PRIu32 " ports", nics, tier.ports);
        return sim_hint(error, "at most %" PRIu32 " NICs; take fewer nodes or a switch with more ports",
                        tier.ports);
    }
    if (nics == 0) return true;
    const tree_shape shape = {
        .tiers = 1, .children = { nics }, .parents = { 1 }, .cables = { 1 }, .leaves = 1
    };
    return topology_add_tree(t, &shape, &tier, NULL, &places, error);
}
