// SPDX-License-Identifier: GPL-3.0-or-later
// The cluster of a scenario: what its keys make of the fabric, and every refusal whole.
#include "tests/support/scratch.h"

#include "models/network/routing.h"
#include "models/network/topology_facts.h"
#include "models/scenario.h"
#include "models/world.h"
#include "tests/support/loaded.h"
#include "tests/support/text.h"

#define BARE "node: { gpus: 0, nics: 1, rate: 400 Gb/s }"
#define BOX "{ ports: 8, port_rate: 400 Gb/s, delay: 100 ns, adaptive_ratio: 0.9 }"

// ---- what is refused, before or while the fabric is built

struct refusal {
    const char *name, *text, *want;
};
static const struct refusal refusals[] = {
    { "a key of another topology",
      "cluster:\n  " BARE "\n  nodes: 4\n  fabric: { topology: single-switch, switch: qm9700, spines: 2 }\n",
      "s.yaml:4:54: error: a fabric of topology single-switch has no \"spines\"\n"
      "    4 |   fabric: { topology: single-switch, switch: qm9700, spines: 2 }\n"
      "      |                                                      ^\n"
      "  hint: beside routing and transport it has: switch, cable, cable_set, link\n" },
    { "tiers of rails apart",
      "cluster:\n  node: dgx-h100\n  nodes: 4\n  fabric: { topology: rail-only, switch: qm9700, tiers: 2 }\n",
      "s.yaml:4:50: error: a fabric of topology rail-only has no \"tiers\"\n"
      "    4 |   fabric: { topology: rail-only, switch: qm9700, tiers: 2 }\n"
      "      |                                                  ^\n"
      "  hint: beside routing and transport it has: switch, cable, cable_set, link\n" },
    { "cables of a list have their own delay",
      "cluster:\n  " BARE "\n  nodes: 2\n  fabric: { topology: file, cable: 3 m, cables: [] }\n",
      "s.yaml:4:29: error: a fabric of topology file has no \"cable\"\n"
      "    4 |   fabric: { topology: file, cable: 3 m, cables: [] }\n"
      "      |                             ^\n"
      "  hint: beside routing and transport it has: cables\n" },
    { "xgft and tiers",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: fat-tree, switch: qm9700, tiers: 2, xgft: { m: 4, w: 1 } }\n",
      "s.yaml:4:59: error: xgft says all that tiers would\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, tiers: 2, xgft: { m: 4, w: 1 } }\n"
      "      |                                                           ^\n"
      "  hint: leave one of them out\n" },
    { "xgft of four tiers",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: fat-tree, switch: qm9700, xgft: { m: [2, 2, 2, 2], w: 1 } "
      "}\n",
      "s.yaml:4:57: error: a tree of 4 tiers is not built\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, xgft: { m: [2, 2, 2, 2], w: 1 } }\n"
      "      |                                                         ^\n"
      "  hint: m: at most 3 numbers\n" },
    { "xgft without parents",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: fat-tree, switch: qm9700, xgft: { m: [2, 2], w: 1 } }\n",
      "s.yaml:4:68: error: w has 1 numbers, but m has 2\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, xgft: { m: [2, 2], w: 1 } }\n"
      "      |                                                                    ^\n"
      "  hint: one of each for every tier of switches\n" },
    { "xgft of too many cables",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: fat-tree, switch: qm9700, xgft: { m: [4], w: [1], p: [1, 2] } }\n",
      "s.yaml:4:73: error: p has 2 numbers, but m has 1\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, xgft: { m: [4], w: [1], p: [1, 2] } }\n"
      "      |                                                                         ^\n"
      "  hint: one of each for every tier of switches, or p: 1\n" },
    { "half a child",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: fat-tree, switch: qm9700, xgft: { m: [4, 1.5], w: [1, 2] } "
      "}\n",
      "s.yaml:4:64: error: 1.5 is no whole number\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, xgft: { m: [4, 1.5], w: [1, 2] } }\n"
      "      |                                                                ^\n" },
    { "no ports that decide the shape",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: fat-tree, link: { rate: 400 Gb/s, delay: 0 ns } }\n",
      "s.yaml:4:13: error: this fabric needs a switch: its ports decide its shape\n"
      "    4 |   fabric: { topology: fat-tree, link: { rate: 400 Gb/s, delay: 0 ns } }\n"
      "      |             ^\n"
      "  hint: switch: qm9700\n" },
    { "no rates",
      "cluster:\n  " BARE "\n  nodes: 4\n  fabric: { topology: single-switch, link: { delay: 0 ns } }\n",
      "s.yaml:4:13: error: this fabric needs a switch: its ports, rates and delays\n"
      "    4 |   fabric: { topology: single-switch, link: { delay: 0 ns } }\n"
      "      |             ^\n"
      "  hint: switch: qm9700, or link: { rate: 400 Gb/s, delay: 300 ns }\n" },
    { "spines without leaves",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: fat-tree, spine_switch: qm9700, xgft: { m: 4, w: 1 }, link: "
      "{ rate: 4 Gb/s, delay: 0 ns } }\n",
      "s.yaml:4:13: error: the switches above are given, but not those of the leaves (switch)\n"
      "    4 |   fabric: { topology: fat-tree, spine_switch: qm9700, xgft: { m: 4, w: 1 }, link: { rate: 4 "
      "Gb/s, "
      "delay: 0 ns } }\n"
      "      |             ^\n"
      "  hint: switch: qm9700\n" },
    { "two delays",
      "cluster:\n  " BARE "\n  nodes: 4\n  fabric: { topology: single-switch, switch: qm9700, cable: 3 m, "
      "link: { delay: 0 ns } }\n",
      "s.yaml:4:66: error: link.delay stands for all delays, so cables have none\n"
      "    4 |   fabric: { topology: single-switch, switch: qm9700, cable: 3 m, link: { delay: 0 ns } }\n"
      "      |                                                                  ^\n"
      "  hint: leave link.delay or cable out\n" },
    { "no spines",
      "cluster:\n  " BARE "\n  nodes: 4\n  fabric: { topology: spine-leaf, switch: qm9700, uplinks: 4 }\n",
      "s.yaml:4:13: error: a spine-leaf needs the number of its spines\n"
      "    4 |   fabric: { topology: spine-leaf, switch: qm9700, uplinks: 4 }\n"
      "      |             ^\n"
      "  hint: spines: 4, uplinks: 32\n" },
    { "no cables", "cluster:\n  " BARE "\n  nodes: 4\n  fabric: { topology: file }\n",
      "s.yaml:4:13: error: a fabric of topology file needs its cables\n"
      "    4 |   fabric: { topology: file }\n"
      "      |             ^\n"
      "  hint: file: cables.csv, with the columns a, b, rate, delay\n" },
    { "four lengths",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: single-switch, switch: qm9700, cable: [1 m, 2 m, 3 m, 4 m] }\n",
      "s.yaml:4:54: error: there are 4 lengths of cable, but at most 3 tiers of switches\n"
      "    4 |   fabric: { topology: single-switch, switch: qm9700, cable: [1 m, 2 m, 3 m, 4 m] }\n"
      "      |                                                      ^\n"
      "  hint: cable: [NIC to leaf, leaf to spine, spine to core]\n" },
    { "three ratios",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: fat-tree, switch: qm9700, oversubscription: [1, 2, 3] }\n",
      "s.yaml:4:49: error: there are 3 oversubscriptions, but at most 2 tiers below others\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, oversubscription: [1, 2, 3] }\n"
      "      |                                                 ^\n"
      "  hint: oversubscription: [of leaves, of spines]\n" },
    { "less than one to one",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: fat-tree, switch: qm9700, oversubscription: 0.5 }\n",
      "s.yaml:4:67: error: cluster.fabric.oversubscription must be at least 1\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, oversubscription: 0.5 }\n"
      "      |                                                                   ^\n" },
    { "a cable that no kind reaches",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: fat-tree, switch: qm9700, cable: [3 m, 3 km] }\n",
      "s.yaml:4:49: error: no cable of set \"standard\" is 3000 m long\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, cable: [3 m, 3 km] }\n"
      "      |                                                 ^\n"
      "  hint: cable: at most 2000 m\n" },
    { "an MTU without a transport",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: single-switch, switch: qm9700, mtu: 4096 B }\n",
      "s.yaml:4:54: error: the NIC's payload_ratio holds for one MTU, which this does not change\n"
      "    4 |   fabric: { topology: single-switch, switch: qm9700, mtu: 4096 B }\n"
      "      |                                                      ^\n"
      "  hint: transport: infiniband, roce or tcp\n" },
    { "an MTU that RoCE has not",
      "cluster:\n  " BARE
      "\n  nodes: 4\n  fabric: { topology: single-switch, switch: qm9700, transport: roce, mtu: 9000 B }\n",
      "s.yaml:4:71: error: roce has no packets of 9000 bytes\n"
      "    4 |   fabric: { topology: single-switch, switch: qm9700, transport: roce, mtu: 9000 B }\n"
      "      |                                                                       ^\n"
      "  hint: mtu: 4096 B\n" },
    { "adaptive over a list",
      "cluster:\n  " BARE "\n  nodes: 2\n  fabric:\n    topology: file\n    routing: adaptive\n"
      "    cables: [{ a: node0/nic0, b: node1/nic0, rate: 1 Gb/s, delay: 0 ns }]\n",
      "s.yaml:6:5: error: adaptive routing is modelled for trees, not for lists of cables\n"
      "    6 |     routing: adaptive\n"
      "      |     ^\n"
      "  hint: routing: static or ecmp\n" },
    { "adaptive from two leaves",
      "cluster:\n  " BARE "\n  nodes: 2\n  fabric: { topology: fat-tree, switch: qm9700, xgft: { m: 2, w: 2 "
      "}, routing: adaptive }\n",
      "s.yaml:4:71: error: adaptive routing is modelled for NICs on one leaf; here they have 2\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, xgft: { m: 2, w: 2 }, routing: adaptive }\n"
      "      |                                                                       ^\n"
      "  hint: routing: static or ecmp\n" },
    { "a switch that cannot",
      "cluster:\n  " BARE
      "\n  nodes: 2\n  fabric: { topology: fat-tree, switch: sn4700, routing: adaptive }\n",
      "s.yaml:4:49: error: switch \"sn4700\" has no adaptive routing\n"
      "    4 |   fabric: { topology: fat-tree, switch: sn4700, routing: adaptive }\n"
      "      |                                                 ^\n"
      "  hint: routing: static or ecmp, or adaptive_ratio: 0.97 of the switch\n" },
    { "adaptive without switches",
      "cluster:\n  " BARE "\n  nodes: 2\n  fabric:\n    topology: fat-tree\n    xgft: { m: 2, w: 1 }\n"
      "    link: { rate: 1 Gb/s, delay: 0 ns }\n    routing: adaptive\n",
      "s.yaml:8:5: error: adaptive routing is as good as \"switch\" says, and this fabric names none\n"
      "    8 |     routing: adaptive\n"
      "      |     ^\n"
      "  hint: routing: static or ecmp, or switch: qm9700\n" },
    { "sums in an Ethernet switch",
      "cluster:\n  " BARE
      "\n  nodes: 2\n  fabric: { topology: single-switch, switch: sn3700, sharp: true }\n",
      "s.yaml:4:54: error: switch \"sn3700\" cannot sum what NICs send\n"
      "    4 |   fabric: { topology: single-switch, switch: sn3700, sharp: true }\n"
      "      |                                                      ^\n"
      "  hint: leave sharp out, or an InfiniBand switch with SHARP: qm9700\n" },
    { "sums below spines that cannot",
      "cluster:\n  " BARE "\n  nodes: 2\n  fabric: { topology: fat-tree, switch: qm9700, spine_switch: "
      "sn3700, sharp: true }\n",
      "s.yaml:4:71: error: switch \"sn3700\" cannot sum what NICs send\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, spine_switch: sn3700, sharp: true }\n"
      "      |                                                                       ^\n"
      "  hint: leave sharp out, or an InfiniBand switch with SHARP: qm9700\n" },
    { "sums over RoCE",
      "cluster:\n  " BARE
      "\n  nodes: 2\n  fabric: { topology: single-switch, switch: qm9700, transport: roce, sharp: true }\n",
      "s.yaml:4:71: error: over roce no switch sums what NICs send\n"
      "    4 |   fabric: { topology: single-switch, switch: qm9700, transport: roce, sharp: true }\n"
      "      |                                                                       ^\n"
      "  hint: leave sharp out, or transport: infiniband\n" },
    { "sums of switches that nobody names",
      "cluster:\n  " BARE
      "\n  nodes: 2\n  fabric: { topology: single-switch, link: { rate: 1 GB/s, delay: 1 us }, "
      "sharp: true }\n",
      "s.yaml:4:75: error: sums are of switches that can, and this fabric names none\n"
      "    4 |   fabric: { topology: single-switch, link: { rate: 1 GB/s, delay: 1 us }, sharp: true }\n"
      "      |                                                                           ^\n"
      "  hint: leave sharp out, or switch: qm9700, in a topology that has one\n" },
    { "RoCE under an InfiniBand switch",
      "cluster:\n  node: { name: host, gpus: 0, nics: 1, nic: connectx-7-roce }\n  nodes: 2\n"
      "  fabric: { topology: single-switch, switch: qm9700 }\n",
      "s.yaml:4:38: error: switch \"qm9700\" speaks infiniband, but NIC \"connectx-7-roce\" of node \"host\" "
      "ethernet\n"
      "    4 |   fabric: { topology: single-switch, switch: qm9700 }\n"
      "      |                                      ^\n"
      "  hint: switch: sn5600-400g, or another NIC, or its link_layer: infiniband\n" },
    { "InfiniBand under an Ethernet switch",
      "cluster:\n  node: { name: host, gpus: 0, nics: 1, nic: connectx-7 }\n  nodes: 2\n"
      "  fabric: { topology: single-switch, switch: sn5600-400g }\n",
      "s.yaml:4:38: error: switch \"sn5600-400g\" speaks ethernet, but NIC \"connectx-7\" of node \"host\" "
      "infiniband\n"
      "    4 |   fabric: { topology: single-switch, switch: sn5600-400g }\n"
      "      |                                      ^\n"
      "  hint: switch: qm9700, or another NIC, or its link_layer: ethernet\n" },
    { "InfiniBand under Ethernet spines",
      "cluster:\n  node: { name: host, gpus: 0, nics: 1, nic: { rate: 400 Gb/s, payload_ratio: 1, "
      "link_layer: infiniband } }\n"
      "  nodes: 2\n  fabric: { topology: fat-tree, switch: qm9700, spine_switch: sn5600-400g }\n",
      "s.yaml:4:49: error: switch \"sn5600-400g\" speaks ethernet, but NIC \"unnamed\" of node \"host\" "
      "infiniband\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, spine_switch: sn5600-400g }\n"
      "      |                                                 ^\n"
      "  hint: a spine_switch of infiniband, or a NIC with link_layer: ethernet\n" },
    { "spines of another kind than the NIC's usual switch",
      "cluster:\n  node: { name: host, gpus: 0, nics: 1, nic: connectx-7 }\n"
      "  nodes: 2\n  fabric: { topology: fat-tree, switch: qm9700, spine_switch: sn5600-400g }\n",
      "s.yaml:4:49: error: switch \"sn5600-400g\" speaks ethernet, but NIC \"connectx-7\" of node \"host\" "
      "infiniband\n"
      "    4 |   fabric: { topology: fat-tree, switch: qm9700, spine_switch: sn5600-400g }\n"
      "      |                                                 ^\n"
      "  hint: spine_switch: qm9700, or another NIC, or its link_layer: ethernet\n" },
    { "a NIC set to what its usual switch does not speak",
      "cluster:\n  node: { name: host, gpus: 0, nics: 1, nic: { base: connectx-7, link_layer: ethernet } }\n"
      "  nodes: 2\n  fabric: { topology: single-switch, switch: qm9700 }\n",
      "s.yaml:4:38: error: switch \"qm9700\" speaks infiniband, but NIC \"connectx-7\" of node \"host\" "
      "ethernet\n"
      "    4 |   fabric: { topology: single-switch, switch: qm9700 }\n"
      "      |                                      ^\n"
      "  hint: a switch of ethernet, or a NIC with link_layer: infiniband\n" },
    { "NICs that speak differently, where no switch is named",
      "cluster:\n  nodes:\n"
      "    - { node: { name: one, gpus: 0, nics: 1, nic: connectx-7 }, count: 1 }\n"
      "    - { node: { name: other, gpus: 0, nics: 1, nic: connectx-7-roce }, count: 1 }\n"
      "  fabric: { topology: single-switch, link: { rate: 1 GB/s, delay: 1 us } }\n",
      "s.yaml:2:3: error: NIC \"connectx-7-roce\" of node \"other\" speaks ethernet, but NIC \"connectx-7\" "
      "of "
      "node \"one\" infiniband\n"
      "    2 |   nodes:\n"
      "      |   ^\n"
      "  hint: NICs of one link_layer; any where nothing is to be said\n" },
    { "RoCE's packets through an InfiniBand switch",
      "cluster:\n  " BARE
      "\n  nodes: 2\n  fabric: { topology: single-switch, switch: qm9700, transport: roce }\n",
      "s.yaml:4:54: error: transport roce needs switches of ethernet, but \"qm9700\" speaks infiniband\n"
      "    4 |   fabric: { topology: single-switch, switch: qm9700, transport: roce }\n"
      "      |                                                      ^\n"
      "  hint: transport: nic, or switch: sn5600\n" },
    { "a transport that is none",
      "cluster:\n  " BARE
      "\n  nodes: 2\n  fabric: { topology: single-switch, switch: qm9700, transport: rocky }\n",
      "s.yaml:4:65: error: cluster.fabric.transport cannot be \"rocky\"\n"
      "    4 |   fabric: { topology: single-switch, switch: qm9700, transport: rocky }\n"
      "      |                                                                 ^\n"
      "  hint: did you mean \"roce\"? One of: nic, infiniband, roce, tcp\n" },
    { "an empty list of nodes", "cluster:\n  nodes: []\n",
      "s.yaml:2:3: error: cluster.nodes is an empty list\n"
      "    2 |   nodes: []\n"
      "      |   ^\n"
      "  hint: nodes: [{ node: dgx-h100, count: 8 }]\n" },
    { "a list beside a node", "cluster:\n  node: dgx-h100\n  nodes: [{ node: dgx-a100 }]\n",
      "s.yaml:2:3: error: unknown key \"node\" in cluster\n"
      "    2 |   node: dgx-h100\n"
      "      |   ^\n"
      "  hint: did you mean \"nodes\"?\n" },
    { "a kind of node that is wrong",
      "cluster:\n  nodes:\n    - { node: dgx-h100, count: 2 }\n    - { node: dgx-b100 }\n",
      "s.yaml:4:15: error: unknown node \"dgx-b100\"\n"
      "    4 |     - { node: dgx-b100 }\n"
      "      |               ^\n"
      "  hint: did you mean \"dgx-a100\"? nodes: a100-40gb-8x-16x100g, a100-40gb-8x-4x200g, "
      "a100-4x, a100-8x-16x100g, a100-8x-4x100g-opa, a100-8x-4x100g, a100-8x-4x200g, a100-pcie-8x, aws-p4d, "
      "dgx-2, "
      "dgx-a100-40gb, dgx-a100 and 15 more\n" },
    { "no fabric between kinds", "cluster:\n  nodes: [{ node: dgx-h100, count: 2 }, { node: dgx-a100 }]\n",
      "s.yaml:2:3: error: 3 nodes need a fabric\n"
      "    2 |   nodes: [{ node: dgx-h100, count: 2 }, { node: dgx-a100 }]\n"
      "      |   ^\n"
      "  hint: fabric: { topology: single-switch, switch: qm9700 }\n" },
    { "too many GPUs of all kinds",
      "cluster:\n  nodes: [{ node: dgx-h100, count: 125000 }, { node: dgx-a100 }]\n",
      "s.yaml:2:3: error: 1000008 GPUs are more than the 1,000,000 that a cluster may have\n"
      "    2 |   nodes: [{ node: dgx-h100, count: 125000 }, { node: dgx-a100 }]\n"
      "      |   ^\n"
      "  hint: fewer nodes\n" },
    { "too many nodes", "cluster:\n  nodes: [{ " BARE ", count: 1000000 }, { " BARE " }]\n",
      "s.yaml:2:75: error: the cluster has more than 1,000,000 nodes\n"
      "    2 | ... nodes: [{ node: { gpus: 0, nics: 1, rate: 400 Gb/s }, count: 1000000 }, { node: { gpus: "
      "0, "
      "nics: 1, rate: 400 Gb/s } }]\n"
      "      |                                                                             ^\n" },
    { "the builder's refusal, at the key",
      "cluster:\n  " BARE "\n  nodes: 5000\n  fabric: { topology: fat-tree, switch: qm9700, tiers: 2 }\n",
      "s.yaml:3:3: error: 5000 NICs need more leaves than a switch \"qm9700\" above them has ports (64)\n"
      "    3 |   nodes: 5000\n"
      "      |   ^\n"
      "  hint: at most 2048 NICs, tiers: 3, or more oversubscription\n" },
    { "file and cables",
      "cluster:\n  " BARE "\n  nodes: 2\n  fabric: { topology: file, file: c.csv, cables: [] }\n",
      "s.yaml:4:35: error: the cables are given twice: by file and by cables\n"
      "    4 |   fabric: { topology: file, file: c.csv, cables: [] }\n"
      "      |                                   ^\n"
      "  hint: leave one of them out\n" },
    { "a file that is no name", "cluster:\n  " BARE "\n  nodes: 2\n  fabric: { topology: file, file: [a] }\n",
      "s.yaml:4:35: error: cluster.fabric.file must be the name of a file\n"
      "    4 |   fabric: { topology: file, file: [a] }\n"
      "      |                                   ^\n"
      "  hint: file: cables.csv, with the columns a, b, rate, delay\n" },
    { "a key that is not known",
      "cluster:\n  " BARE "\n  nodes: 2\n  fabric: { topology: file, fiel: c.csv }\n",
      "s.yaml:4:29: error: unknown key \"fiel\" in cluster.fabric\n"
      "    4 |   fabric: { topology: file, fiel: c.csv }\n"
      "      |                             ^\n"
      "  hint: did you mean \"file\"?\n" },
};

static bool load_and_build(loaded *l, const scratch_folder *folder, const char *text, const topology **fabric)
{
    *fabric = NULL;
    if (!loaded_read(l, folder, text, NULL, 0) || !scenario_check(&l->s, false, &l->error)) return false;
    *fabric = world_build_fabric(l->a, &l->s, &l->error);
    return *fabric;
}

static void refusal_prints(void **state)
{
    const struct refusal *c = *state;
    void *folder = NULL;
    loaded l;
    const topology *fabric;
    assert_int_equal(scratch_enter(&folder), 0);
    assert_false(load_and_build(&l, folder, c->text, &fabric));
    assert_int_equal(l.error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&l.error, c->want);
    arena_destroy(l.a);
    assert_int_equal(scratch_leave(&folder), 0);
}

// ---- files of cables: refused where they are wrong, in the file

#define FILE_FABRIC(name_) "cluster:\n  " BARE "\n  nodes: 3\n  fabric: { topology: file, file: " name_ " }\n"
struct file_refusal {
    const char *name, *file, *text, *want;
};
static const struct file_refusal file_refusals[] = {
    { "not there", NULL, NULL,
      "s.yaml:4:35: error: cannot read \"none.csv\": No such file or directory\n"
      "    4 |   fabric: { topology: file, file: none.csv }\n"
      "      |                                   ^\n"
      "  hint: paths are relative to the file that names them; file: cables.csv, with the columns a, b, "
      "rate, "
      "delay\n" },
    { "a cable twice", "c.csv",
      "a,b,rate,delay\nnode0/nic0,leaf0,400 Gb/s,15 ns\n\"leaf0\",node0/nic0,400 Gb/s,15 ns\n",
      "c.csv:3:1: error: the cable between leaf0 and node0/nic0 is listed twice\n"
      "    3 | \"leaf0\",node0/nic0,400 Gb/s,15 ns\n"
      "      | ^\n"
      "  hint: it stands in line 2; parallel cables are one row with count: 2\n" },
    { "an unknown end", "c.csv",
      "a,b,rate,delay\nnode0/nic0,leaf0,400 Gb/s,15 ns\nnode7/nic0,leaf0,400 Gb/s,15 ns\n",
      "c.csv:3:1: error: a cable cannot end at \"node7/nic0\"\n"
      "    3 | node7/nic0,leaf0,400 Gb/s,15 ns\n"
      "      | ^\n"
      "  hint: write node0/nic1, or leaf0, spine0, core0 for a switch; there are 3 nodes with 3 NICs\n" },
    { "islands", "c.csv",
      "a,b,rate,delay\nnode0/nic0,leaf0,400 Gb/s,15 ns\nnode1/nic0,leaf0,400 Gb/s,15 ns\nnode2/nic0,leaf1,1 "
      "Gb/s,1 us\n",
      "s.yaml:4:29: error: the fabric is not connected: no cables lead from node 0 nic 0 to node 2 nic 0\n"
      "    4 |   fabric: { topology: file, file: c.csv }\n"
      "      |                             ^\n" },
    { "a rate without a unit", "c.csv", "a,b,rate,delay\nnode0/nic0,leaf0,400,15 ns\n",
      "c.csv:2:18: error: a rate needs a unit, such as \"400 Gb/s\"\n"
      "    2 | node0/nic0,leaf0,400,15 ns\n"
      "      |                  ^\n" },
    { "no rate", "c.csv", "a,b,rate,delay\nnode0/nic0,leaf0,0 Gb/s,15 ns\n",
      "c.csv:2:18: error: cluster.fabric.cables[0].rate must be above 0\n"
      "    2 | node0/nic0,leaf0,0 Gb/s,15 ns\n"
      "      |                  ^\n" },
    { "a field too few", "c.csv", "a,b,rate,delay\nnode0/nic0,leaf0,400 Gb/s\n",
      "c.csv:2:18: error: this row has 3 fields, but the header names 4\n"
      "    2 | node0/nic0,leaf0,400 Gb/s\n"
      "      |                  ^\n" },
    { "an empty field", "c.csv", "a,b,rate,delay\nnode0/nic0,leaf0,400 Gb/s,\n",
      "c.csv:2:1: error: \"delay\" is missing in cluster.fabric.cables[0]\n"
      "    2 | node0/nic0,leaf0,400 Gb/s,\n"
      "      | ^\n"
      "  hint: delay: last byte in to last byte out, with the port behind it\n" },
    { "a column too many", "c.csv", "a,b,rate,delay,colour\nnode0/nic0,leaf0,400 Gb/s,1 ns,red\n",
      "c.csv:2:32: error: unknown key \"colour\" in cluster.fabric.cables[0]\n"
      "    2 | node0/nic0,leaf0,400 Gb/s,1 ns,red\n"
      "      |                                ^\n"
      "  hint: keys of cluster.fabric.cables[0]: a, b, rate, delay, count\n" },
    { "YAML that is no list", "c.yaml", "a: node0/nic0\n",
      "c.yaml:1:1: error: cluster.fabric.cables must be a list, not a mapping\n"
      "    1 | a: node0/nic0\n"
      "      | ^\n" },
};

static void file_refusal_prints(void **state)
{
    const struct file_refusal *c = *state;
    void *folder = NULL;
    loaded l;
    const topology *fabric;
    char text[400];
    assert_int_equal(scratch_enter(&folder), 0);
    if (c->file) scratch_write(c->file, c->text);
    snprintf(text, sizeof text, FILE_FABRIC("%s"), c->file ? c->file : "none.csv");
    assert_false(load_and_build(&l, folder, text, &fabric));
    assert_error_prints(&l.error, c->want);
    arena_destroy(l.a);
    assert_int_equal(scratch_leave(&folder), 0);
}

// ---- what the keys make of the fabric

struct path_case {
    const char *name, *text;
    const char *from, *to;
    uint32_t links;
    double rate_Bps;
    sim_time delay_ps;
};
static const struct path_case path_cases[] = {
    { "link says rate and delay",
      "cluster:\n  " BARE
      "\n  nodes: 16\n  fabric:\n    topology: fat-tree\n    xgft: { m: [4, 4], w: [1, 4] }\n"
      "    link: { rate: 300 Gb/s, delay: 500 ns }\n",
      "0", "15", 4, 37.5e9, 4 * 500000 },
    { "a NIC is slower than link says",
      "cluster:\n  " BARE
      "\n  nodes: 16\n  fabric:\n    topology: fat-tree\n    xgft: { m: [4, 4], w: [1, 4] }\n"
      "    link: { rate: 800 Gb/s, delay: 0 ns }\n",
      "0", "15", 4, 50e9, 0 },
    // copper of 2 m: 10 ns; optics of 30 m: 150 + 100 ns; switches 100 ns each, three of them
    { "cables by tier",
      "cluster:\n  " BARE "\n  nodes: 16\n  fabric: { topology: fat-tree, switch: " BOX
      ", cable: [2 m, 30 m] }\n",
      "0", "15", 4, 50e9, 2 * 10000 + 2 * 250000 + 3 * 100000 },
    { "switches by tier",
      "cluster:\n  " BARE "\n  nodes: 16\n  fabric:\n    topology: fat-tree\n    switch: " BOX "\n"
      "    spine_switch: { ports: 8, port_rate: 100 Gb/s, delay: 700 ns }\n    cable: 0 m\n",
      "0", "15", 4, 12.5e9, 2 * 100000 + 700000 },
    { "headers of RoCE",
      "cluster:\n  " BARE "\n  nodes: 2\n  fabric:\n    topology: single-switch\n    switch: " BOX
      "\n    cable: 0 m\n"
      "    transport: roce\n    mtu: 1024 B\n",
      "0", "1", 2, 50e9 * 1024 / 1106, 100000 },
    { "no more than the NIC makes of its line",
      "cluster:\n  node: { gpus: 0, nics: 1, nic: { rate: 400 Gb/s, payload_ratio: 0.91 } }\n  nodes: 2\n  "
      "fabric:\n"
      "    topology: single-switch\n    switch: " BOX "\n    cable: 0 m\n    transport: infiniband\n",
      "0", "1", 2, 50e9 * 0.91, 100000 },
    { "what the NIC says holds for ports too",
      "cluster:\n  node: { gpus: 0, nics: 1, nic: { rate: 800 Gb/s, payload_ratio: 0.91 } }\n  nodes: 2\n  "
      "fabric:\n"
      "    topology: single-switch\n    switch: " BOX "\n    cable: 0 m\n",
      "0", "1", 2, 50e9 * 0.91, 100000 },
    { "adaptive: a bundle",
      "cluster:\n  " BARE "\n  nodes: 16\n  fabric: { topology: spine-leaf, switch: " BOX
      ", spines: 2, uplinks: 2,\n"
      "    routing: adaptive, cable: 0 m }\n",
      "0", "15", 4, 50e9, 3 * 100000 },
    { "kinds of nodes",
      "cluster:\n  nodes:\n    - { node: { gpus: 0, nics: 1, rate: 100 Gb/s }, count: 2 }\n    - { " BARE
      ", count: 3 }\n"
      "  fabric: { topology: single-switch, switch: " BOX ", cable: 0 m }\n",
      "node 1 nic 0", "node 4 nic 0", 2, 12.5e9, 100000 },
    { "a rack is one domain",
      "cluster:\n  node: { base: dgx-h100, nics: 0, scale_up: { kind: nvswitch, rate: 450 GB/s, "
      "payload_ratio: 0.5,\n"
      "    delay: 300 ns, domain_nodes: 4 } }\n  nodes: 4\n",
      "gpu 0", "gpu 31", 2, 225e9, 300000 },
    { "through sockets",
      "cluster:\n  node:\n    base: rtx4090-4x\n    scale_up: { kind: pcie, rate: 20 GB/s, delay: 0 ns }\n"
      "    pcie: { switches: 2, sockets: 2, uplink_rate: 18 GB/s, socket_rate: 15 GB/s, delay: 70 ns, "
      "socket_delay: 200 "
      "ns }\n",
      "gpu 0", "gpu 3", 5, 15e9, 4 * 70000 + 200000 },
};

static void path_matches(void **state)
{
    const struct path_case *c = *state;
    void *folder = NULL;
    loaded l;
    const topology *fabric;
    vertex_id from, to;
    assert_int_equal(scratch_enter(&folder), 0);
    if (!load_and_build(&l, folder, c->text, &fabric)) sim_error_print(&l.error, stderr);
    assert_non_null(fabric);
    assert_true(topology_find_vertex(fabric, c->from, NULL, &from, &l.error));
    assert_true(topology_find_vertex(fabric, c->to, NULL, &to, &l.error));
    const path_facts facts = topology_path_facts(fabric, from, to);
    assert_int_equal(facts.links, c->links);
    assert_near((double)facts.rate_mBps / 1000.0, c->rate_Bps, 1e-9);
    assert_int_equal(facts.delay_ps, c->delay_ps);
    arena_destroy(l.a);
    assert_int_equal(scratch_leave(&folder), 0);
}

static void policy_is_as_written(void **state)
{
    loaded l, other;
    const topology *fabric;
#define POLICY(seed_)                                                                                        \
    "cluster:\n  " BARE "\n  nodes: 2\n  fabric: { topology: single-switch, switch: " BOX                    \
    ", routing: ecmp, queue_pairs: 4,\n    queue_pair_rate: 30 Gb/s, reroute: 250 ms }\nrun: { seed: " seed_ \
    " }\n"
    assert_true(load_and_build(&l, *state, POLICY("5"), &fabric));
    const fabric_policy p = *topology_policy(fabric);
    assert_int_equal(p.routing, ROUTING_ECMP);
    assert_int_equal(p.queue_pairs, 4);
    assert_true(p.queue_pair_cap_mBps == UINT64_C(3750000000000));
    assert_true(topology_connection_cap_mBps(fabric, 1) == UINT64_C(15000000000000));
    assert_true(topology_connection_cap_mBps(fabric, 6) == UINT64_C(22500000000000));
    assert_int_equal(p.reroute_ps, 250 * PS_PER_MS);
    assert_true(load_and_build(&other, *state, POLICY("6"), &fabric));
    assert_true(topology_policy(fabric)->hash_key != p.hash_key);
    arena_destroy(other.a);
    assert_true(load_and_build(&other, *state, POLICY("5"), &fabric));
    assert_true(topology_policy(fabric)->hash_key == p.hash_key);
    arena_destroy(other.a);
    arena_destroy(l.a);

    assert_true(load_and_build(&l, *state,
                               "cluster:\n  " BARE
                               "\n  nodes: 2\n  fabric: { topology: single-switch, switch: " BOX
                               ", reroute: never }\n",
                               &fabric));
    assert_true(topology_policy(fabric)->reroute_ps == SIM_TIME_MAX);
    assert_int_equal(topology_policy(fabric)->routing, ROUTING_STATIC);
    assert_true(topology_connection_cap_mBps(fabric, 3) == UINT64_MAX);
    arena_destroy(l.a);
}

static void files_are_read(void **state)
{
    loaded l;
    const topology *fabric;
    scratch_write("parts/c.csv", "a, b, rate, delay, count\n"
                                 "node0/nic0, leaf0, 400 Gb/s, 15 ns, 1\n"
                                 "node1/nic0, leaf1, 400 Gb/s, 15 ns,\n"
                                 "node2/nic0, leaf1, 100 Gb/s, 15 ns,\n"
                                 "leaf0, leaf1, 200 Gb/s, 1.5 us, 3\n");
    scratch_write("parts/cluster.yaml", "cluster:\n  fabric: { topology: file, file: c.csv }\n");
    const char *text = "include: parts/cluster.yaml\ncluster:\n  " BARE
                       "\n  nodes: 3\n"; // relative to the file that says so
    assert_true(load_and_build(&l, *state, text, &fabric));
    const path_facts facts = topology_path_facts(fabric, topology_nic_vertex(fabric, 0),
                                                 topology_nic_vertex(fabric, 1));
    assert_int_equal(facts.links, 3);
    assert_near((double)facts.rate_mBps, 25e12, 0);
    assert_int_equal(facts.delay_ps, 2 * 15000 + 1500000);
    assert_int_equal(topology_link_count(fabric), 12);
    assert_int_equal(l.s.document.included.count, 2); // neither may be an output
    assert_string_equal(l.s.document.included.items[1], "parts/c.csv");
    arena_destroy(l.a);

    scratch_write("c.yaml", "- { a: node0/nic0, b: node1/nic0, rate: 400 Gb/s, delay: 15 ns }\n"
                            "- { a: node2/nic0, b: node1/nic0, rate: 400 Gb/s, delay: 15 ns }\n"
                            "- { a: node0/nic0, b: node2/nic0, rate: 400 Gb/s, delay: 15 ns }\n");
    assert_true(load_and_build(&l, *state, FILE_FABRIC("c.yaml"), &fabric));
    assert_int_equal(topology_link_count(fabric), 6);
    arena_destroy(l.a);
}

// ---- kinds of nodes, and jobs on them

#define KINDS                                                                                                \
    "cluster:\n  nodes: [{ " BARE                                                                            \
    ", count: 2 }, { node: dgx-h100, count: 3 }, { node: dgx-h100, count: 1 },\n"                            \
    "    { node: dgx-a100, count: 2 }]\n  fabric: { topology: fat-tree, switch: qm9700 }\n"
#define JOB                                                                                                  \
    "model: { name: wee, layers: 6, hidden: 64, heads: 8, kv_heads: 4, ffn: 96, vocabulary: 100,\n"          \
    "  max_sequence: 128, activation: gelu, norm: layernorm, position: rope }\ntraining: { global_batch: "   \
    "96 }\n"

static void kinds_follow_one_another(void **state)
{
    loaded l;
    const topology *fabric;
    assert_true(load_and_build(&l, *state, KINDS, &fabric));
    const cluster_def *c = &l.s.cluster;
    assert_int_equal(c->nodes, 8);
    assert_int_equal(cluster_gpus(c), 48);
    assert_int_equal(cluster_gpus_alike(c), 32); // equal by what they are, not by where they were written
    assert_string_equal(c->node.name, "dgx-h100");
    assert_string_equal(cluster_node_at(c, 1)->name, "unnamed");
    assert_string_equal(cluster_node_at(c, 5)->name, "dgx-h100");
    assert_string_equal(cluster_node_at(c, 6)->name, "dgx-a100");
    assert_string_equal(cluster_node_of_gpu(c, 32)->name, "dgx-a100");
    assert_int_equal(topology_node_count(fabric), 8);
    assert_int_equal(topology_nic_count(fabric), 2 + 6 * 8);
    char name[100];
    assert_string_equal(topology_vertex_name(fabric, topology_gpu_vertex(fabric, 0), name, sizeof name),
                        "node 2 gpu 0");
    arena_destroy(l.a);
}

static void jobs_have_one_kind_of_gpu(void **state)
{
    loaded l;
    assert_true(loaded_read(&l, *state, KINDS JOB "plan: { gpus: 32 }\n", NULL, 0));
    assert_true(scenario_check(&l.s, true, &l.error));
    arena_destroy(l.a);
    assert_true(loaded_read(&l, *state, KINDS JOB "plan: { gpus: 33 }\n", NULL, 0));
    assert_false(scenario_check(&l.s, true, &l.error));
    assert_error_prints(&l.error,
                        "s.yaml:8:9: error: 33 GPUs are of several kinds, which one job cannot have in this "
                        "version: h100-sxm, then a100-sxm-80gb\n"
                        "    8 | plan: { gpus: 33 }\n"
                        "      |         ^\n"
                        "  hint: plan.gpus: at most 32\n");
    arena_destroy(l.a);
    assert_true(loaded_read(&l, *state, KINDS JOB, NULL, 0));
    assert_false(scenario_check(&l.s, true, &l.error));
    assert_string_equal(l.error.message,
                        "GPUs of several kinds in one job are not modelled in this version: h100-sxm, "
                        "then a100-sxm-80gb");
    assert_int_equal(l.error.line, 2);
    arena_destroy(l.a);
    assert_true(loaded_read(&l, *state, "cluster: { " BARE " }\n" JOB, NULL, 0));
    assert_false(scenario_check(&l.s, true, &l.error));
    assert_string_equal(l.error.message, "the cluster has no GPUs, so nothing trains on it");
    arena_destroy(l.a);
}

// ---- the resolved scenario

static void resolved_is_a_fixed_point(const scratch_folder *folder, const char *text)
{
    loaded l, again;
    if (!loaded_read(&l, folder, text, NULL, 0) || !scenario_check(&l.s, false, &l.error))
        sim_error_print(&l.error, stderr);
    const char *resolved = scenario_resolved(&l.s, l.a, &l.error);
    assert_non_null(resolved);
    if (!loaded_read(&again, folder, resolved, NULL, 0) || !scenario_check(&again.s, false, &again.error))
        sim_error_print(&again.error, stderr);
    assert_string_equal(scenario_resolved(&again.s, again.a, &again.error), resolved);
    assert_int_equal(again.s.cluster.nodes, l.s.cluster.nodes);
    arena_destroy(l.a);
    arena_destroy(again.a);
}

static void resolved_fabrics_read_back(void **state)
{
    resolved_is_a_fixed_point(*state, KINDS);
    for (size_t i = 0; i < ARRAY_COUNT(path_cases); i++)
        resolved_is_a_fixed_point(*state, path_cases[i].text);
    scratch_write("c.csv", "a,b,rate,delay\nnode0/nic0,node1/nic0,400 Gb/s,15 ns\n");
    resolved_is_a_fixed_point(*state, "cluster:\n  " BARE
                                      "\n  nodes: 2\n  fabric: { topology: file, file: c.csv }\n");
}

// ---- assumptions

static uint32_t assumptions_of(const scratch_folder *folder, const char *fabric, const char *path)
{
    loaded l;
    char text[400];
    uint32_t count = 0;
    snprintf(text, sizeof text,
             "cluster:\n  " BARE "\n  nodes: 2\n  fabric: { topology: fat-tree, switch: qm9700%s }\n",
             fabric);
    assert_true(loaded_read(&l, folder, text, NULL, 0));
    const bind_provenance_array *all = bind_reader_provenance(l.s.reader);
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].grade == GRADE_ASSUMED && cluster_rests_on(&l.s.cluster, all->items[i].field))
            count += strcmp(all->items[i].path, path) == 0;
    arena_destroy(l.a);
    return count;
}

static void only_what_is_used_is_assumed(void **state)
{
    static const char adaptive[] = "cluster.fabric.switch.adaptive_ratio",
                      active[] = "cluster.fabric.cable_set.kinds[1].end_delay",
                      optics[] = "cluster.fabric.cable_set.kinds[2].end_delay";
    assert_int_equal(assumptions_of(*state, "", "cluster.fabric.switch.delay"), 1);
    assert_int_equal(assumptions_of(*state, "", adaptive), 0);
    assert_int_equal(assumptions_of(*state, ", routing: adaptive", adaptive), 1);
    assert_int_equal(assumptions_of(*state, "", active), 1); // 5 m
    assert_int_equal(assumptions_of(*state, "", optics), 0);
    assert_int_equal(assumptions_of(*state, ", cable: [3 m, 30 m]", active), 0);
    assert_int_equal(assumptions_of(*state, ", cable: [3 m, 30 m]", optics), 1);
}

int main(void)
{
    enum { R = ARRAY_COUNT(refusals), F = ARRAY_COUNT(file_refusals), P = ARRAY_COUNT(path_cases) };
    struct CMUnitTest tests[R + F + P + 6];
    size_t n = 0;
    for (size_t i = 0; i < R; i++)
        tests[n++] = (struct CMUnitTest){ refusals[i].name, refusal_prints, NULL, NULL,
                                          (void *)&refusals[i] };
    for (size_t i = 0; i < F; i++)
        tests[n++] = (struct CMUnitTest){ file_refusals[i].name, file_refusal_prints, NULL, NULL,
                                          (void *)&file_refusals[i] };
    for (size_t i = 0; i < P; i++)
        tests[n++] = (struct CMUnitTest){ path_cases[i].name, path_matches, NULL, NULL,
                                          (void *)&path_cases[i] };
#define IN_SCRATCH(test_)                                                                                    \
    (struct CMUnitTest) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)
    tests[n++] = IN_SCRATCH(policy_is_as_written);
    tests[n++] = IN_SCRATCH(files_are_read);
    tests[n++] = IN_SCRATCH(kinds_follow_one_another);
    tests[n++] = IN_SCRATCH(jobs_have_one_kind_of_gpu);
    tests[n++] = IN_SCRATCH(resolved_fabrics_read_back);
    tests[n++] = IN_SCRATCH(only_what_is_used_is_assumed);
    SIM_ASSERT(n == ARRAY_COUNT(tests));
    return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
