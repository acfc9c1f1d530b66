// SPDX-License-Identifier: GPL-3.0-or-later
// All-reduce by a chain of the g GPUs of a node and a double binary tree of the N nodes, up and down:
//     T = T0 + 2 [(g - 1) (h + u/R) + ceil(log2 N) net] + (K - 1) stage     u = min(b, C)   K = b / C
//     Simple       net = hop + u m / B / (2 if N = 2 else 1)
//     LL, LL128    net = hop + u/R + u f m / B / (2 if N = 2 else 1) [+ lines of LL, read by the host thread]
//     stage = the longest of: u / cap, cap = tree cap of the library per search channel x those / 2 / channels (Simple);
//             2 u / R (LL, LL128); u f m / B x (1 if N = 2 else 2); 2 u f m / port; of LL over nodes 1.5 times the lines
//     b [bytes]: of one channel   m: channels   R, B (all NICs of a node), port [bytes/s]   h, hop [s]   f: wire per payload
// All channels cross the NICs together, so store and forward of a whole chunk is why trees are slow from 2 to 16 MiB. With
// two nodes the two trees use opposite directions; beyond, the busiest node sends twice what a rank holds.
// Source: fit to collectives.csv (chunk by chunk; caps of nccl-constants.csv are right within 12 %: 280 of 318 GB/s on one
// node, 171 of 180 on two, 96 of 98 beyond). Newer releases (2.30.7, one run) are 23 % faster over four nodes: not
// modelled. The tuner counts floor(log2 N) hops, the tree has ceil.
#include "models/collective/pace_internal.h"
#include <math.h>

typedef struct tree_terms {
    double channels, all_channels, unit_bytes, wire_ratio;
    double rate_Bps, lines_s;
} tree_terms;

static tree_terms terms_of(const pace_request *q)
{
    const collective_layout *l = q->layout;
    tree_terms t = { .channels = chunking_channels(q->library, l, ALGORITHM_TREE, q->protocol, q->bytes),
                     .all_channels = chunking_all_channels(q->library, l, ALGORITHM_TREE),
                     .wire_ratio = q->library->kernels.cuts[q->protocol].wire_ratio,
                     .rate_Bps = l->link->protocols[q->protocol].rate_Bps };
    const double share = (double)q->bytes / t.channels;
    t.unit_bytes = fmin(share, chunking_tree_chunk_bytes(q->library, l, q->protocol, share));
    if (l->nodes > 1 && q->protocol == PROTOCOL_LL)
        t.lines_s = units_s_from_ps(l->nic->line_ps) * t.wire_ratio * t.unit_bytes / 16 *
                    pace_channels_per_thread(l, t.channels);
    return t;
}

// One hop between nodes: u bytes of each channel at once.
static double network_s(const pace_request *q, const tree_terms *t)
{
    const collective_layout *l = q->layout;
    const double wire_bytes = t->unit_bytes * t->wire_ratio;
    double net_s = pace_network_hop_s(l, l->nic->hops[q->protocol].tree_ps) +
                   wire_bytes * t->channels / pace_nics_Bps(l) * (l->nodes == 2 ? 0.5 : 1) + t->lines_s +
                   pace_rendezvous_hop_s(l, wire_bytes);
    if (q->protocol != PROTOCOL_SIMPLE) net_s += t->unit_bytes / t->rate_Bps;
    return net_s;
}

static double stage_s(const pace_request *q, const tree_terms *t)
{
    const collective_layout *l = q->layout;
    const double wire_bytes = t->unit_bytes * t->wire_ratio;
    const generation_caps *caps = &q->library->tuning.generations[l->link->generation];
    const uint32_t class = l->nodes < NODE_CLASSES ? l->nodes - 1 : NODE_CLASSES - 1;
    const double cap_Bps = caps->tree.items[class] * l->link->search.tree_channels / 2 / t->all_channels;
    double stage_s = q->protocol == PROTOCOL_SIMPLE ? t->unit_bytes / cap_Bps
                                                    : 2 * t->unit_bytes / t->rate_Bps;
    if (l->ranks_per_node > 1) stage_s = fmax(stage_s, 2 * wire_bytes * t->channels / pace_link_Bps(l));
    if (l->nodes == 1) return stage_s;
    const double busiest = l->nodes == 2 ? 1 : 2;
    stage_s = fmax(stage_s, wire_bytes * t->channels / pace_nics_Bps(l) * busiest);
    return fmax(stage_s, 1.5 * t->lines_s);
}

collective_pace pace_tree(const pace_request *q)
{
    const collective_layout *l = q->layout;
    const kernel_costs *costs = &l->link->protocols[q->protocol];
    const tree_terms t = terms_of(q);
    const double hop_s = fmax(units_s_from_ps(costs->tree_hop_ps), units_s_from_ps(l->link_delay_ps)) +
                         t.unit_bytes / t.rate_Bps;
    const uint32_t g = l->nodes == 1 ? l->ranks : l->ranks_per_node;
    double fill_s = 2 * (g - 1) * hop_s;
    if (l->nodes > 1) fill_s += 2 * plan_doublings(l->nodes) * network_s(q, &t);
    const double units = (double)q->bytes / t.channels / t.unit_bytes, unit_s = stage_s(q, &t);
    const double entry_s = pace_entry_s(l) + units_s_from_ps(costs->tree_entry_ps);
    const double stream_s = fmin(units * unit_s, fill_s + (units - 1) * unit_s);
    collective_pace pace = pace_make(entry_s + fill_s + (units - 1) * unit_s - stream_s, stream_s);
    pace.channels = (uint32_t)t.channels;
    pace.chunk_bytes = pace.slice_bytes = (uint64_t)ceil(t.unit_bytes);
    pace.entry_ps = pace_ps(entry_s);
    pace.slices = 1;
    pace.slots = q->library->kernels.slots;
    pace.loops = units;
    return pace;
}
