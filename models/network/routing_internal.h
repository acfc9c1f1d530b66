// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/routing_internal.h: routing, cut by what is crossed: nodes, trees, lists of cables. For routing*.c only.
#pragma once
#include "models/network/fabric_state_internal.h"
#include "models/network/routing.h"
#include "models/network/topology_internal.h"

typedef struct route_key { // what a connection's choices depend on
    nic_id from, to;
    uint64_t hash; // ecmp
    bool single;   // adaptive: the links that static routing would take, not the bundles
} route_key;

static inline uint64_t routing_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// The finaliser of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014) over the
// run's key, the pair of NICs and the queue pair; each choice on the way mixes its own number in.
static inline uint64_t routing_hash(const fabric_policy *policy, nic_id from, nic_id to, uint32_t queue_pair)
{
    const uint64_t pair = routing_mix(policy->hash_key + ((uint64_t)from << 32 | to));
    return routing_mix(pair + (uint64_t)queue_pair * UINT64_C(0x9e3779b97f4a7c15));
}

// Uniform in 0 .. count - 1, by the high half of the product; the bias is below count / 2^64.
static inline uint32_t routing_pick(uint64_t hash, uint32_t choice, uint32_t count)
{
    const uint64_t mixed = routing_mix(hash + (choice + 1) * UINT64_C(0x9e3779b97f4a7c15));
    return (uint32_t)((unsigned __int128)mixed * count >> 64);
}

static inline bool routing_avoids(const fabric_state *state, link_id l)
{
    return state && state->avoided[l];
}

// routing_node.c: inside a node; counts, nothing is avoided.
uint32_t route_domain(const topology_node *from, uint32_t from_gpu, const topology_node *to, uint32_t to_gpu,
                      uint32_t *path);
// Between a GPU and a NIC of its node; 0: no links inside the node lead there.
uint32_t route_gpu_nic(const topology *t, const topology_node *node, uint32_t gpu, uint32_t nic, bool to_nic,
                       uint32_t *path);
// Between two NICs of a node with a PCIe tree.
uint32_t route_nic_nic(const topology_node *node, uint32_t from, uint32_t to, uint32_t *path);
// routing_tree.c, routing_list.c: between two NICs, not the same; ROUTE_NONE.
uint32_t route_tree(const topology *t, const fabric_state *state, const route_key *key, uint32_t *path);
uint32_t route_list(const topology *t, const fabric_state *state, const route_key *key, uint32_t *path);
