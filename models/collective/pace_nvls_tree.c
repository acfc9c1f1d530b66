// SPDX-License-Identifier: GPL-3.0-or-later
// All-reduce in the NVSwitches of several domains, joined by double binary trees of their heads. Stages of a loop: scatter,
// reduce, hops up, hops down, broadcast and gather:
//     T = T0 + 3 t + 2 ceil(log2 N) hop + (loops - 1) max(t, t_n)
//     t = c + b/R   t_n = m (b/h load / B + load x message)   load = 1 for two domains, 2 for more (busiest of the double tree)
//     hop = L + t_n / (2 load) + [N > 2] m t_op
//     b [bytes]: of one channel per loop   m: channels   h: heads   B [bytes/s]: of one head's NICs   t_op [s]: half a post
// Bound by NVLS with two nodes of H100, by the NICs with two of B200; 8 NICs / 2 with four and more, whatever the GPU.
// Source: fit to collectives.csv: two nodes within 3 % from 32 MiB on, 7 % at 16, 24 % at 8; the term of the host thread
// was chosen with the curve of eight nodes in sight, and with 24 channels there it is 200 us short.
#include "models/collective/pace_internal.h"
#include <math.h>

// From so many on, the smaller of the largest chunks (nccl-constants.csv: nvlstree_max_chunk).
enum { FAR_NODES = 4 };

collective_pace pace_nvls_tree(const pace_request *q)
{
    const collective_layout *l = q->layout;
    const nvls_costs *nvls = &l->link->nvls_tree;
    const uint32_t heads = chunking_heads(l),
                   channels = chunking_all_channels(q->library, l, ALGORITHM_NVLS_TREE);
    const double share = (double)q->bytes / channels;
    const uint64_t most = l->nodes < FAR_NODES ? nvls->chunk_bytes : nvls->far_chunk_bytes;
    const uint64_t chunk = chunking_nvls_tree_chunk_bytes(share, heads, most);
    const double loop_bytes = fmin(share, (double)(heads * chunk)), loops = share / loop_bytes;
    const double node_s = units_s_from_ps(nvls->loop_ps) + loop_bytes / nvls->rate_Bps;
    const double load = l->nodes == 2 ? 1 : 2;
    const double head_Bps = pace_routed_nics_Bps(l) / heads;
    const double net_s = channels * load *
                         (loop_bytes / heads / head_Bps + units_s_from_ps(l->nic->message_ps));
    const double post_s = l->nodes > 2 ? channels * units_s_from_ps(l->nic->post_ps) / 2 : 0;
    const double hop_s = pace_network_hop_s(l, l->nic->hops[PROTOCOL_SIMPLE].tree_ps) + net_s / (2 * load) +
                         post_s;
    const double loop_s = fmax(node_s, net_s);
    const double fill_s = 3 * node_s + 2 * plan_doublings(l->nodes) * hop_s;
    const double stream_s = fmin(loops * loop_s, fill_s + (loops - 1) * loop_s);
    collective_pace pace = pace_make(pace_entry_s(l) + fill_s + (loops - 1) * loop_s - stream_s, stream_s);
    pace.entry_ps = pace_ps(pace_entry_s(l));
    pace.channels = channels;
    pace.chunk_bytes = pace.slice_bytes = chunk;
    pace.slices = 1;
    pace.slots = q->library->kernels.slots;
    pace.loops = loops;
    return pace;
}
