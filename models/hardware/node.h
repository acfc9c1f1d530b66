// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/node.h: one server as a definition: its GPUs, the links between them, its NICs, its PCIe tree. A bare host
// has no GPUs. Nothing assumes NIC i = GPU i: node_nic_of_gpu() says which NICs serve which GPU.
#pragma once
#include "models/hardware/gpu.h"
#include "models/hardware/network_gear.h"

typedef enum scale_up_kind { SCALE_UP_NONE, SCALE_UP_NVSWITCH, SCALE_UP_MESH, SCALE_UP_PCIE } scale_up_kind;
typedef struct scale_up_def { // the links between the GPUs of a node
    int kind; // scale_up_kind: "none", "nvswitch", "mesh" (direct links between all pairs), "pcie" (through the host)
    double rate_Bps;      // of one GPU, per direction, to all peers together
    double payload_ratio; // share that payload gets, as measured by peer-to-peer copies
    sim_time delay_ps;
    uint32_t domain_nodes; // nodes whose GPUs share the NVSwitches (trays of a rack)
    bool has_costs;
    scale_up_costs costs; // what a collective library gets out of the GPUs and their links
} scale_up_def;

// PCIe switches under CPU sockets. Devices and switches are spread over what is above them in order: device d of n hangs on
// switch d switches / n, switch s on socket s sockets / switches. Sockets are linked pair by pair.
typedef struct pcie_def {
    bool given;             // otherwise each GPU has a link of its own to its NIC
    uint32_t switches;      // 0: devices hang on the sockets
    uint32_t sockets;       // >= 1
    double uplink_rate_Bps; // of a switch to its socket
    double socket_rate_Bps; // between two sockets
    sim_time delay_ps;      // of one link of PCIe
    sim_time socket_delay_ps;
    bool gpudirect; // false: what a GPU sends through a NIC passes the memory of a socket
} pcie_def;

typedef struct node_def {
    const char *name;
    uint32_t gpus;
    bool has_gpu, has_nic;
    gpu_def gpu;
    scale_up_def scale_up;
    uint32_t nics;
    nic_def nic;
    double nic_rate_Bps;      // "rate": a NIC of this payload rate instead of a described one
    double nic_pcie_rate_Bps; // GPU to NIC, per direction; with a PCIe tree: of each device
    pcie_def pcie;
    uint64_t host_memory_bytes;
    double power_W; // of the whole node at full load
} node_def;

extern const bind_row scale_up_binds[], node_binds[];
// What the rows cannot say alone, refused at the key: several GPUs without links, links without a rate, NICs that are not
// described. Fills nic from "rate". Called once a node has been read.
bool node_complete(node_def *node, const bind_reader *r, sim_error *error);
// The NICs that serve a GPU: GPUs are spread over the NICs in order, from g nics / gpus on; with more NICs than GPUs up to
// (g + 1) nics / gpus, otherwise one.
uint32_t node_nic_of_gpu(const node_def *node, uint32_t gpu);
uint32_t node_nics_of_gpu(const node_def *node, uint32_t gpu); // how many
