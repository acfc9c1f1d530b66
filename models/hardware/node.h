// SPDX-License-Identifier: GPL-3.0-or-later
// models/hardware/node.h: one server as a definition: its GPUs, the links between them, its NICs. And NICs and switches,
// which are definitions only. Nothing assumes NIC i = GPU i: node_nic_of_gpu() says which NIC serves which GPU.
#pragma once
#include "models/hardware/gpu.h"

typedef struct nic_def {
    const char *name;
    double rate_Bps;      // of the line, per direction
    double payload_ratio; // share of the line rate that payload gets
} nic_def;

typedef struct switch_def {
    const char *name;
    uint32_t ports;
    double port_rate_Bps;
    sim_time delay_ps; // port to port
} switch_def;

typedef enum scale_up_kind { SCALE_UP_NONE, SCALE_UP_NVSWITCH, SCALE_UP_MESH, SCALE_UP_PCIE } scale_up_kind;
typedef struct scale_up_def { // the links between the GPUs of a node
    int kind; // scale_up_kind: "none", "nvswitch", "mesh" (direct links between all pairs), "pcie" (through the host)
    double rate_Bps;      // of one GPU, per direction, to all peers together
    double payload_ratio; // share that payload gets, as measured by peer-to-peer copies
    sim_time delay_ps;
} scale_up_def;

typedef struct node_def {
    const char *name;
    uint32_t gpus;
    gpu_def gpu;
    scale_up_def scale_up;
    uint32_t nics;
    nic_def nic;
    double nic_pcie_rate_Bps; // GPU to NIC, per direction
    uint64_t host_memory_bytes;
    double power_W; // of the whole node at full load
} node_def;

extern const bind_row nic_binds[], switch_binds[], scale_up_binds[], node_binds[];
// What the rows cannot say alone, refused at the key: several GPUs without links, links without a rate, NICs that are not
// described. Called once a node has been read.
bool node_check(const node_def *node, const bind_reader *r, sim_error *error);
// The NIC that serves a GPU: GPUs are spread over the NICs in order, g nics / gpus.
uint32_t node_nic_of_gpu(const node_def *node, uint32_t gpu);
