// SPDX-License-Identifier: GPL-3.0-or-later
// models/network/fabric_state.h: what changes in a fabric while a run goes on: links that are down, links at another rate, and
// what routing knows of it. Owned by a network engine, one per run; the topology stays as it was built.
//
// A link that goes down stands still at once (fabric_set_up). Routes go on leading over it until routing has converged and the
// engine says so (fabric_set_avoided); then the first live alternative is taken, and none is unreachable. A cable has two
// links, which fail together or apart as the engine wants.
#pragma once
#include "models/network/topology.h"

typedef struct fabric_state fabric_state;
fabric_state *
fabric_state_create(arena *a, const topology *t); // everything up, at its rate; allocates all it ever needs
const topology *fabric_state_topology(const fabric_state *s);

void fabric_set_up(fabric_state *s, link_id l, bool up);
void fabric_set_avoided(fabric_state *s, link_id l,
                        bool avoided); // for lists of cables a search over the fabric
// Of the rate it was built with: 0 and above; the rate is rounded to the nearest 1 mB/s, once.
void fabric_set_rate_ratio(fabric_state *s, link_id l, double ratio);

bool fabric_is_up(const fabric_state *s, link_id l);
bool fabric_is_avoided(const fabric_state *s, link_id l);
uint32_t fabric_avoided_count(const fabric_state *s);
uint32_t fabric_down_count(const fabric_state *s);
// Of a link: its rate, 0 while down. Of a bundle: the rates of its members that are up, times the share that adaptive
// routing fills: as if what is left of two bundles always matched. Where the live links up and down end at unlike switches,
// less can pass than that, and the result is early; where none match, routing finds no path. Cost: of a bundle, its members.
uint64_t fabric_capacity_mBps(const fabric_state *s, uint32_t link_or_bundle);
