// SPDX-License-Identifier: GPL-3.0-or-later
// T = latency + S / rate [s], per algorithm and protocol; NVIDIA/nccl src/graph/tuning.cc (ncclTopoTuneModel and
// ncclTopoGetAlgoTime) as of 2.30, numbers in catalogue/collectives. rates: what the search found (channels x rate of one),
// times the library's factors, under its caps; then algorithm rate per bus rate: n / steps for rings and NVLS, 1/2 for
// trees and SHARP. What the search finds inside a node is read off runs (link_costs: search), over nodes a rule (chunking.c).
// Rings never get the higher rate inside nodes; trees do, to two nodes.
#include "models/collective/tuner.h"
#include "models/collective/chunking.h"
#include "sim/check.h"
#include <math.h>
#include <stddef.h>

enum { NVLS_GRAPH_HEADS = 8 };

typedef struct ask {
    const collective_library *library;
    const collective_layout *layout;
    collective_kind kind;
    collective_protocol protocol;
    uint64_t bytes;
    double steps;           // of a ring
    network_search network; // over nodes
} ask;

// ---- what the search found

static const generation_caps *caps_of(const ask *a)
{
    return &a->library->tuning.generations[a->layout->link->generation];
}

static uint32_t class_of(uint32_t nodes)
{
    return nodes < NODE_CLASSES ? nodes - 1 : NODE_CLASSES - 1;
}

static double search_channels(const ask *a)
{
    return a->layout->nodes == 1 ? a->layout->link->search.channels : a->network.channels;
}

static double ring_channel_Bps(const ask *a)
{
    return a->layout->nodes == 1 ? a->layout->link->search.rate_Bps : a->network.rate_Bps;
}

static double tree_channel_Bps(const ask *a)
{
    return a->layout->nodes == 2 ? a->network.tree_rate_Bps : ring_channel_Bps(a);
}

static double ll_cap_Bps(const ask *a)
{
    const library_tuning *t = &a->library->tuning;
    const scale_up_costs *link = a->layout->link;
    const int row = a->layout->nodes == 1 ? link->generation : t->ll_row[link->host];
    return t->generations[row].ll.items[class_of(a->layout->nodes)];
}

static double post_s(const ask *a)
{
    if (a->layout->nodes == 1) return 0;
    const double one_s = units_s_from_ps(a->library->tuning.post_ps[a->layout->link->host]);
    return one_s * (a->protocol == PROTOCOL_SIMPLE ? 3 : 1);
}

static double hop_in_node_s(const ask *a, const protocol_terms *terms)
{
    return units_s_from_ps(terms->hop_ps[a->layout->link->through_host ? LINK_PCIE : LINK_NVLINK]);
}

// ---- one algorithm each

// Of the steps, as many as there are nodes but one (twice for an all-reduce) are charged the network's latency. Of ranks
// that stand alone in their nodes each hop leaves its node, and the library charges the tree's.
static double ring_s(const ask *a)
{
    const collective_layout *l = a->layout;
    const library_tuning *t = &a->library->tuning;
    const protocol_terms *terms = &a->library->ring[a->protocol];
    const double crossing = l->nodes == 1 ? 0 : (l->nodes - 1.0) * (a->kind == COLLECTIVE_ALL_REDUCE ? 2 : 1);
    const protocol_terms *network = l->ranks_per_node == 1 ? &t->tree[a->protocol] : terms;
    double latency_s = units_s_from_ps(terms->base_ps) +
                       (a->steps - crossing) * fmax(hop_in_node_s(a, terms), post_s(a)) +
                       crossing * units_s_from_ps(network->hop_ps[LINK_NETWORK]);
    double rate_Bps = search_channels(a) * ring_channel_Bps(a);
    if (a->protocol == PROTOCOL_LL) rate_Bps = fmin(ll_cap_Bps(a), rate_Bps * t->ring_ll_ratio);
    if (a->protocol == PROTOCOL_LL128)
        rate_Bps = fmin(rate_Bps * t->ring_ll128_ratio, search_channels(a) * caps_of(a)->ring_ll128_Bps);
    const double per_rank = (double)a->bytes / chunking_all_channels(a->library, l, ALGORITHM_RING) /
                            l->ranks;
    if (a->protocol == PROTOCOL_SIMPLE && l->nodes > 1 && a->kind == COLLECTIVE_ALL_REDUCE &&
        per_rank >= (double)t->plateau_bytes)
        latency_s *= caps_of(a)->plateau_ratio;
    return latency_s + (double)a->bytes / (rate_Bps * l->ranks / a->steps);
}

static double correction(const ask *a, collective_protocol protocol)
{
    const bind_numbers *corrections = &a->library->tuning.corrections[protocol];
    uint32_t index = 0;
    for (uint64_t sixty_fourths = a->bytes / 64; sixty_fourths > 1; sixty_fourths /= 2)
        index++;
    return index < corrections->count ? corrections->items[index] : 1;
}

static double floor_log2(uint32_t nodes)
{
    uint32_t log = 0;
    while (nodes >>= 1)
        log++;
    return log;
}

static double tree_s(const ask *a)
{
    const collective_layout *l = a->layout;
    const library_tuning *t = &a->library->tuning;
    const protocol_terms *terms = &t->tree[a->protocol];
    const uint32_t class = class_of(l->nodes), g = l->nodes == 1 ? l->ranks : l->ranks_per_node;
    const double channels = search_channels(a);
    double rate_Bps = fmin(channels * tree_channel_Bps(a) * t->tree_ratio,
                           channels * caps_of(a)->tree.items[class]);
    if (a->protocol == PROTOCOL_LL) rate_Bps = fmin(rate_Bps * t->tree_ll_ratio, ll_cap_Bps(a));
    if (a->protocol == PROTOCOL_LL128)
        rate_Bps = fmin(rate_Bps * (l->nodes == 1 ? t->tree_ll128_node_ratio : t->tree_ll128_ratio),
                        channels * caps_of(a)->tree_ll128.items[class]);
    const double latency_s = units_s_from_ps(terms->base_ps) +
                             2 * ((g - 1) * hop_in_node_s(a, terms) +
                                  floor_log2(l->nodes) * units_s_from_ps(terms->hop_ps[LINK_NETWORK]));
    return latency_s + (double)a->bytes / (rate_Bps * 0.5 * correction(a, a->protocol));
}

// Heads share the buffer; reduction and broadcast overlap, a head's own share does not cross.
static double nvls_head_Bps(const ask *a)
{
    return a->layout->link->search.nvls_rate_Bps * caps_of(a)->nvls_ratio * (NVLS_GRAPH_HEADS - 1) /
           NVLS_GRAPH_HEADS * 2;
}

static double nvls_s(const ask *a)
{
    const nvls_terms *terms = &a->library->nvls;
    const double rate_Bps = NVLS_GRAPH_HEADS * nvls_head_Bps(a);
    return units_s_from_ps(terms->base_ps) + (double)a->bytes / (rate_Bps * a->layout->ranks / a->steps);
}

// Corrected as trees of Simple are, on Blackwell with x86 hosts.
static double nvls_tree_s(const ask *a)
{
    const collective_layout *l = a->layout;
    const nvls_tree_terms *terms = &a->library->tuning.nvls_tree;
    const double network_Bps = fmin(l->link->search.nvls_network_rate_Bps, a->network.rate_Bps) *
                               (l->nodes == 2 ? 2 : 1);
    double rate_Bps = fmin(fmin(nvls_head_Bps(a), network_Bps),
                           caps_of(a)->nvls_tree.items[class_of(l->nodes)]) *
                      NVLS_GRAPH_HEADS;
    if (l->link->generation == GENERATION_BLACKWELL && l->link->host != HOST_OTHER)
        rate_Bps *= correction(a, PROTOCOL_SIMPLE);
    const double latency_s = units_s_from_ps(terms->base_ps) + units_s_from_ps(terms->node_ps) +
                             2 * floor_log2(l->nodes) * units_s_from_ps(terms->network_ps);
    return latency_s + (double)a->bytes / (rate_Bps * l->ranks / a->steps);
}

static double collnet_s(const ask *a, bool direct)
{
    const collective_layout *l = a->layout;
    const collnet_terms *terms = direct ? &a->library->tuning.collnet_direct
                                        : &a->library->tuning.collnet_chain;
    const double others = l->ranks_per_node - 1.0;
    const double hop_s = units_s_from_ps(terms->hop_ps[l->link->through_host ? LINK_PCIE : LINK_NVLINK]);
    const double node_s = direct ? fmin(1, others) * hop_s + others * units_s_from_ps(terms->rank_ps)
                                 : others * hop_s;
    const double latency_s = units_s_from_ps(terms->base_ps) + 2 * node_s +
                             units_s_from_ps(terms->hop_ps[LINK_NETWORK]);
    double rate_Bps = search_channels(a) * tree_channel_Bps(a) * 0.5;
    if (direct) rate_Bps *= caps_of(a)->collnet_direct_ratio;
    return latency_s + (double)a->bytes / rate_Bps;
}

static double pat_s(const ask *a)
{
    const collective_layout *l = a->layout;
    const pat_terms *terms = &a->library->tuning.pat;
    const double latency_s = units_s_from_ps(terms->base_ps) +
                             floor_log2(l->nodes) * units_s_from_ps(terms->network_ps) * terms->hop_ratio +
                             l->ranks * units_s_from_ps(terms->rank_ps);
    const double rate_Bps = search_channels(a) * ring_channel_Bps(a) * terms->rate_ratio;
    return latency_s + (double)a->bytes / (rate_Bps * l->ranks / a->steps);
}

// ---- what there is

const char *tuner_lacks(const collective_library *library, const collective_layout *l,
                        collective_algorithm algorithm)
{
    const scale_up_costs *link = l->link;
    switch (algorithm) {
    case ALGORITHM_NVLS:
        if (!l->nvswitch || !l->nvls || link->nvls.channels == 0)
            return "NVLS needs an NVSwitch that can sum";
        return l->nodes > 1 ? "NVLS joins the GPUs of one NVLink domain; over several it is nvls-tree" : NULL;
    case ALGORITHM_NVLS_TREE:
        if (!l->nvswitch || !l->nvls || link->nvls_tree.channels == 0)
            return "NVLS trees need NVSwitches that can sum";
        return l->nodes == 1 ? "NVLS trees join NVLink domains, and there is one" : NULL;
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_COLLNET_CHAIN:
        if (l->nodes == 1) return "CollNet sums in the network's switches, and there is one node";
        if (!l->sharp || !(l->nic->sharp.chain_ratio > 0))
            return "CollNet needs InfiniBand switches with SHARP";
        if (algorithm == ALGORITHM_COLLNET_CHAIN) return NULL;
        if (l->ranks_per_node > 1 && !l->nvswitch) return "CollNet Direct needs an NVSwitch";
        return l->ranks_per_node > library->tuning.collnet_direct.most_ranks_per_node
                   ? "CollNet Direct has no more ranks in a node than 8"
                   : NULL;
    case ALGORITHM_PAT: return l->ranks_per_node > 1 || l->nodes == 1 ? "PAT needs one GPU per node" : NULL;
    case ALGORITHM_HIERARCHICAL:
        return l->nodes == 1 || l->ranks_per_node == 1 ? "a hierarchy needs several nodes of several GPUs"
                                                       : NULL;
    case ALGORITHM_RING:
    case ALGORITHM_TREE:
    case ALGORITHM_RECURSIVE:
    case ALGORITHM_SEND_RECV:
    case ALGORITHM_PAIRWISE: return NULL;
    case ALGORITHMS: break;
    }
    SIM_ASSERT(algorithm < ALGORITHMS);
    return NULL;
}

static bool is_all_to_all(collective_kind kind)
{
    return kind == COLLECTIVE_ALL_TO_ALL || kind == COLLECTIVE_ALL_TO_ALL_UNEQUAL;
}

static bool is_scatter_or_gather(collective_kind kind)
{
    return kind == COLLECTIVE_REDUCE_SCATTER || kind == COLLECTIVE_ALL_GATHER;
}

bool tuner_has(const collective_library *library, const collective_layout *l, collective_kind kind,
               collective_algorithm algorithm)
{
    if (tuner_lacks(library, l, algorithm)) return false;
    if (kind == COLLECTIVE_SEND_RECV) return algorithm == ALGORITHM_SEND_RECV;
    if (is_all_to_all(kind)) return algorithm == ALGORITHM_PAIRWISE;
    const bool reduces = kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_BARRIER;
    switch (algorithm) {
    case ALGORITHM_RING: return true;
    case ALGORITHM_TREE:
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE:
    case ALGORITHM_COLLNET_CHAIN: return reduces;
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_RECURSIVE:
    case ALGORITHM_HIERARCHICAL: return reduces || is_scatter_or_gather(kind);
    case ALGORITHM_PAT: return is_scatter_or_gather(kind);
    case ALGORITHM_SEND_RECV:
    case ALGORITHM_PAIRWISE:
    case ALGORITHMS: break;
    }
    return false;
}

// ---- the choice

static bool is_simple_only(collective_algorithm algorithm)
{
    return algorithm != ALGORITHM_RING && algorithm != ALGORITHM_TREE;
}

static double steps_of(collective_kind kind, uint32_t ranks)
{
    if (kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_BARRIER) return 2 * (ranks - 1.0);
    return is_scatter_or_gather(kind) ? ranks - 1.0 : ranks;
}

double tuner_predicted_s(const collective_library *library, const collective_layout *layout,
                         collective_kind kind, collective_algorithm algorithm, collective_protocol protocol,
                         uint64_t bytes)
{
    if (!tuner_has(library, layout, kind, algorithm)) return INFINITY;
    if (is_simple_only(algorithm) && protocol != PROTOCOL_SIMPLE) return INFINITY;
    ask a = { .library = library,
              .layout = layout,
              .kind = kind == COLLECTIVE_BARRIER ? COLLECTIVE_ALL_REDUCE : kind,
              .protocol = protocol,
              .bytes = bytes,
              .steps = steps_of(kind, layout->ranks) };
    if (layout->nodes > 1) a.network = chunking_network_search(library, layout);
    switch (algorithm) {
    case ALGORITHM_RING: return ring_s(&a);
    case ALGORITHM_TREE: return tree_s(&a);
    case ALGORITHM_NVLS: return layout->ranks < library->nvls.least_ranks ? INFINITY : nvls_s(&a);
    case ALGORITHM_NVLS_TREE:
        return layout->ranks_per_node < library->nvls.least_ranks ? INFINITY : nvls_tree_s(&a);
    case ALGORITHM_COLLNET_DIRECT: return kind == COLLECTIVE_ALL_REDUCE ? collnet_s(&a, true) : INFINITY;
    case ALGORITHM_COLLNET_CHAIN: return collnet_s(&a, false);
    case ALGORITHM_PAT: return pat_s(&a);
    case ALGORITHM_RECURSIVE:    // not NCCL's: only if it is named
    case ALGORITHM_HIERARCHICAL: // likewise
    case ALGORITHM_SEND_RECV:    // has no formula
    case ALGORITHM_PAIRWISE:     // likewise
    case ALGORITHMS: break;
    }
    return INFINITY;
}

static bool may_ll128(const collective_layout *layout)
{
    return !layout->link->through_host && (layout->nodes == 1 || layout->nic->ll128);
}

// What NCCL runs where an algorithm is named that has no such kind: its own choice; of NVLS over nodes the tree for two of
// them and rings beyond (collectives.csv, runs that asked for NVLS).
static int stands_for(const collective_library *library, const collective_layout *l, collective_kind kind,
                      int forced)
{
    if (forced == ALGORITHM_AUTO || tuner_has(library, l, kind, (collective_algorithm)forced)) return forced;
    const bool asks_nvls = forced == ALGORITHM_NVLS;
    if (asks_nvls && l->nodes == 2 && tuner_has(library, l, kind, ALGORITHM_NVLS_TREE))
        return ALGORITHM_NVLS_TREE;
    return asks_nvls && tuner_has(library, l, kind, ALGORITHM_RING) ? ALGORITHM_RING : ALGORITHM_AUTO;
}

collective_choice tuner_choose(const collective_library *library, const collective_layout *layout,
                               collective_kind kind, uint64_t bytes, int forced_algorithm,
                               int forced_protocol)
{
    SIM_ASSERT(kind < COLLECTIVE_KINDS && forced_algorithm >= ALGORITHM_AUTO &&
               forced_algorithm < ALGORITHMS);
    SIM_ASSERT(forced_protocol >= PROTOCOL_AUTO && forced_protocol < PROTOCOLS);
    const int wanted = stands_for(library, layout, kind, forced_algorithm);
    collective_choice best = { .protocol = PROTOCOL_SIMPLE, .predicted_s = INFINITY };
    best.algorithm = kind == COLLECTIVE_SEND_RECV ? ALGORITHM_SEND_RECV
                     : is_all_to_all(kind)        ? ALGORITHM_PAIRWISE
                     : wanted != ALGORITHM_AUTO   ? (collective_algorithm)wanted
                                                  : ALGORITHM_RING;
    if (layout->ranks == 1) best.predicted_s = 0;
    if (layout->ranks == 1) return best;
    for (int algorithm = 0; algorithm < ALGORITHMS; algorithm++) {
        if (wanted != ALGORITHM_AUTO && algorithm != wanted) continue;
        for (int protocol = 0; protocol < PROTOCOLS; protocol++) {
            if (forced_protocol == PROTOCOL_AUTO
                    ? protocol == PROTOCOL_LL128 && !may_ll128(layout)
                    : protocol != forced_protocol &&
                          !(is_simple_only((collective_algorithm)algorithm) && wanted == algorithm))
                continue;
            const double predicted_s = tuner_predicted_s(
                library, layout, kind, (collective_algorithm)algorithm, (collective_protocol)protocol, bytes);
            if (isinf(predicted_s) || predicted_s > best.predicted_s) continue;
            best = (collective_choice){ .algorithm = (collective_algorithm)algorithm,
                                        .protocol = (collective_protocol)protocol,
                                        .predicted_s = predicted_s };
        }
    }
    return best;
}
