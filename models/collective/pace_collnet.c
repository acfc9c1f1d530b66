// SPDX-License-Identifier: GPL-3.0-or-later
// All-reduce in the network's switches (SHARP):
//     T = latency + max(S / (share x B), 2 (g-1)/g S / port)     S [bytes]   B [bytes/s]: of all NICs of a node
//     direct: latency = base + 2 (min(1, g-1) hop + (g-1) rank) + network     chain: base + 2 (g-1) hop + network
// Flat with the number of nodes. The shares were measured at 4 GiB and more (collectives.csv: together-slinky0512: Chain .71,
// Direct .78 to four nodes, .72 beyond); no size below is published, so the latency is what the library's tuner believes and
// stands untested. An all-gather or a reduce-scatter gains nothing and is as long as by rings of Simple (one cluster: the ring
// is 15 to 20 % faster).
#include "models/collective/pace_internal.h"
#include <math.h>

enum { FAR_NODES = 4 }; // Direct gets less beyond

collective_pace pace_collnet(const pace_request *q, collective_algorithm algorithm)
{
    if (q->kind != COLLECTIVE_ALL_REDUCE) {
        pace_request by_ring = *q;
        by_ring.protocol = PROTOCOL_SIMPLE;
        return pace_ring(&by_ring);
    }
    const collective_layout *l = q->layout;
    const bool direct = algorithm == ALGORITHM_COLLNET_DIRECT;
    const sharp_costs *sharp = &l->nic->sharp;
    const collnet_terms *terms = direct ? &q->library->tuning.collnet_direct
                                        : &q->library->tuning.collnet_chain;
    const double others = l->ranks_per_node - 1.0;
    const double hop_s = units_s_from_ps(terms->hop_ps[l->link->through_host ? LINK_PCIE : LINK_NVLINK]);
    const double node_s = direct ? fmin(1, others) * hop_s + others * units_s_from_ps(terms->rank_ps)
                                 : others * hop_s;
    const double latency_s = units_s_from_ps(terms->base_ps) + 2 * node_s +
                             pace_network_hop_s(l, terms->hop_ps[LINK_NETWORK]);
    const double ratio = !direct                 ? sharp->chain_ratio
                         : l->nodes <= FAR_NODES ? sharp->direct_ratio
                                                 : sharp->far_direct_ratio;
    double stream_s = (double)q->bytes / (pace_nics_Bps(l) * ratio);
    if (others > 0) // what a GPU hands on of the lanes that it does not head, up and down
        stream_s = fmax(stream_s, 2 * others / l->ranks_per_node * (double)q->bytes / pace_link_Bps(l));
    collective_pace pace = pace_make(latency_s, stream_s);
    pace.entry_ps = terms->base_ps;
    pace.channels = chunking_all_channels(q->library, l, algorithm);
    pace.chunk_bytes = pace.slice_bytes = q->bytes / pace.channels + 1; // no chunks of NCCL's are modelled
    pace.slices = 1;
    pace.slots = q->library->kernels.slots;
    pace.loops = 1;
    return pace;
}
