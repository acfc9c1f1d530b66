// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/message_play.h: plays the plans of shapes message by message on a network, with the costs of the library's
// kernels for each slice (collective_pace). A transfer is what one step sends over one edge, whatever its rings, or an act of a
// switch that sums.
//     inside a node   the sender's lane copies: slice_ps, then the bytes at the kernels' rate or at what the network gives;
//                     visible_ps later the receiver may use it
//     between nodes   the sender's lane copies to the NIC; the NIC sends the transfers of an edge in their order, each for
//                     nic_ps at least; network_hop_ps later the receiver may use it
// A lane begins the next transfer of its edge when it has copied the one before, has received what it passes on, and the slice
// that was `slots` earlier on that edge (twice as many through a NIC) has been passed on, and visible_ps have gone by since.
// Beside others the copy takes as long as its bytes do at what is left: other channels of the lane move in the time that a
// slice takes beside its bytes. Algorithms without such costs have theirs from message_shape.c.
// Nothing is allocated while one is played a second time.
#pragma once
#include "models/collective/collective_internal.h"

typedef struct message_client {
    void (*moved)(void *owner, uint32_t tag, uint32_t transfer,
                  sim_time start_ps); // received; NULL: nobody asks
    void (*ended)(void *owner, uint32_t tag);
    void *owner;
} message_client;

// On a network of its own or that of the collectives; c has the shapes and their plans.
message_player *message_player_create(collectives *c, sim *s, network *n, const message_client *client);
void message_play(message_player *p, uint32_t shape, uint32_t tag); // from now on
