// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/collective/pace_internal.h"
#include "sim/check.h"
#include <math.h>

_Static_assert((int)COSTS_LL == (int)PROTOCOL_LL && (int)COSTS_LL128 == (int)PROTOCOL_LL128 &&
                   (int)COSTS_SIMPLE == (int)PROTOCOL_SIMPLE && (int)COSTS_PROTOCOLS == (int)PROTOCOLS,
               "costs are kept by protocol");

// ---- what the algorithms share

double pace_soft_min(double a, double b, double power)
{
    const double less = fmin(a, b), more = fmax(a, b);
    if (isinf(more)) return less;
    return less * pow(1 + pow(less / more, power), -1 / power); // as above, without overflow
}

double pace_link_Bps(const collective_layout *layout)
{
    return (double)layout->link_mBps * 1e-3;
}

double pace_pair_Bps(const collective_layout *layout)
{
    return layout->pair_mBps > 0 ? (double)layout->pair_mBps * 1e-3 : pace_link_Bps(layout);
}

double pace_nics_Bps(const collective_layout *layout)
{
    return (double)layout->nic_mBps * 1e-3 * layout->nics_per_node;
}

// B / (1 + loss (1 - 1/N)) from four nodes on, with one queue pair and no adaptive routing: flows that meet on a link of the
// fabric (collectives.csv: MD1, rings .83, .80, .79, .79 of a tuned cluster's at 4, 8, 16, 32 nodes; loss .28). Trees, SHARP
// and sends do not show it.
double pace_routed_nics_Bps(const collective_layout *layout)
{
    const bool meets = layout->nodes >= STATIC_ROUTE_NODES && layout->queue_pairs == 1 && !layout->adaptive;
    const double loss = meets ? layout->nic->static_route_loss * (1 - 1.0 / layout->nodes) : 0;
    return pace_nics_Bps(layout) / (1 + loss);
}

double pace_entry_s(const collective_layout *layout)
{
    return units_s_from_ps(layout->nodes == 1 ? layout->link->entry_ps : layout->nic->entry_ps);
}

double pace_visible_s(const collective_layout *layout, collective_protocol protocol)
{
    const sim_time visible_ps = layout->link->protocols[protocol].visible_ps;
    return units_s_from_ps(visible_ps > layout->link_delay_ps ? visible_ps : layout->link_delay_ps);
}

double pace_network_hop_s(const collective_layout *layout, sim_time hop_ps)
{
    return units_s_from_ps(hop_ps > layout->net_delay_ps ? hop_ps : layout->net_delay_ps);
}

double pace_channels_per_thread(const collective_layout *layout, double channels)
{
    return fmax(1, channels / layout->ranks_per_node);
}

double pace_rendezvous_hop_s(const collective_layout *layout, double wire_bytes)
{
    const rendezvous_costs *r = &layout->nic->rendezvous;
    double hop_s = 0;
    if (r->above_bytes > 0 && wire_bytes > (double)r->above_bytes) hop_s += units_s_from_ps(r->hop_ps);
    if (r->eager_above_bytes > 0 && wire_bytes > (double)r->eager_above_bytes)
        hop_s += units_s_from_ps(r->eager_ps);
    return hop_s;
}

double pace_rendezvous_thread_s(const collective_layout *layout, double wire_bytes)
{
    const rendezvous_costs *r = &layout->nic->rendezvous;
    return r->above_bytes > 0 && wire_bytes > (double)r->above_bytes ? units_s_from_ps(r->thread_ps) : 0;
}

sim_time pace_ps(double seconds)
{
    return llround(fmin(seconds * 1e12, (double)PACE_LONGEST_PS));
}

collective_pace pace_make(double latency_s, double stream_s)
{
    return (collective_pace){ .latency_ps = pace_ps(fmax(latency_s, 0)), .stream_ps = pace_ps(stream_s) };
}

// ---- which algorithm

// A barrier is an all-reduce of one number, and nothing is as long as a byte.
static void settle(pace_request *request)
{
    const collective_layout *l = request->layout;
    SIM_ASSERT(request->kind < COLLECTIVE_KINDS && request->protocol < PROTOCOLS);
    SIM_ASSERT(l->link && l->nodes > 0 && l->ranks_per_node > 0 && l->ranks >= l->nodes);
    SIM_ASSERT(l->nodes == 1 || (l->nic && l->nic_mBps > 0 && l->nics_per_node > 0));
    SIM_ASSERT(l->ranks_per_node == 1 || l->link_mBps > 0);
    if (request->kind == COLLECTIVE_BARRIER) {
        request->kind = COLLECTIVE_ALL_REDUCE;
        request->bytes = sizeof(float);
    }
    if (request->bytes == 0) request->bytes = 1;
}

collective_pace pace_of(const collective_library *library, const collective_layout *layout,
                        collective_kind kind, collective_algorithm algorithm, collective_protocol protocol,
                        uint64_t bytes)
{
    if (layout->ranks == 1) return (collective_pace){ 0 };
    pace_request request = { library, layout, kind, protocol, bytes };
    settle(&request);
    switch (algorithm) {
    case ALGORITHM_RING:
        return kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE ? pace_pipe(&request)
                                                                         : pace_ring(&request);
    case ALGORITHM_TREE: return pace_tree(&request);
    case ALGORITHM_NVLS: return pace_nvls(&request);
    case ALGORITHM_NVLS_TREE: return pace_nvls_tree(&request);
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_COLLNET_CHAIN: return pace_collnet(&request, algorithm);
    case ALGORITHM_PAT: return pace_pat(&request);
    case ALGORITHM_RECURSIVE: return pace_recursive(&request);
    case ALGORITHM_HIERARCHICAL: return pace_hierarchical(&request);
    case ALGORITHM_SEND_RECV: return pace_send_recv(&request);
    case ALGORITHM_PAIRWISE: return pace_all_to_all(&request);
    case ALGORITHMS: break;
    }
    SIM_ASSERT(algorithm < ALGORITHMS);
    return (collective_pace){ 0 };
}

bool pace_has_steps(collective_algorithm algorithm)
{
    return algorithm == ALGORITHM_PAT || algorithm == ALGORITHM_RECURSIVE ||
           algorithm == ALGORITHM_HIERARCHICAL;
}

void pace_steps_of(const collective_library *library, const collective_layout *layout, collective_kind kind,
                   collective_algorithm algorithm, collective_protocol protocol, uint64_t bytes,
                   uint32_t count, step_pace *steps)
{
    pace_request request = { library, layout, kind, protocol, bytes };
    SIM_ASSERT(layout->ranks > 1 && pace_has_steps(algorithm));
    settle(&request);
    if (algorithm == ALGORITHM_PAT)
        pace_pat_steps(&request, count, steps);
    else if (algorithm == ALGORITHM_RECURSIVE)
        pace_recursive_steps(&request, count, steps);
    else
        pace_hierarchical_steps(&request, count, steps);
}
