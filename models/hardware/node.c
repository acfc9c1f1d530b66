// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/hardware/node.h"
#include "sim/check.h"

// Far beyond any hardware, and well inside what the integers of the fabric hold.
#define RATE_MAX_Bps 1e15
#define DELAY_MAX_S 1.0
#define HOST_MEMORY_MAX_BYTES 1e18
#define POWER_LEAST_W 1.0
#define POWER_MAX_W 1e6

static const char *const scale_up_words[] = { "none", "nvswitch", "mesh", "pcie", NULL };

const bind_row nic_binds[] = {
    BIND_TEXT(nic_def, name, "name", BIND_DEFAULT(0, "unnamed"),
              BIND_NOTE("what it is called in tables and messages")),
    BIND_RATE(nic_def, rate_Bps, "rate", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(RATE_MAX_Bps),
              BIND_NOTE("of the line, per direction")),
    BIND_NUMBER(nic_def, payload_ratio, "payload_ratio", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(1),
                BIND_NOTE("share of the line rate that payload gets")),
    BIND_END,
};

const bind_row switch_binds[] = {
    BIND_TEXT(switch_def, name, "name", BIND_DEFAULT(0, "unnamed"),
              BIND_NOTE("what it is called in tables and messages")),
    BIND_U32(switch_def, ports, "ports", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1e6),
             BIND_NOTE("of port_rate each")),
    BIND_RATE(switch_def, port_rate_Bps, "port_rate", BIND_REQUIRED, BIND_ABOVE(0),
              BIND_AT_MOST(RATE_MAX_Bps), BIND_NOTE("of one port, per direction")),
    BIND_TIME(switch_def, delay_ps, "delay", BIND_REQUIRED, BIND_AT_LEAST(0), BIND_AT_MOST(DELAY_MAX_S),
              BIND_NOTE("port to port")),
    BIND_END,
};

const bind_row scale_up_binds[] = {
    BIND_ENUM(scale_up_def, kind, "kind", scale_up_words, BIND_REQUIRED,
              BIND_NOTE("nvswitch; mesh: a link between each pair; pcie: through the host; none")),
    BIND_RATE(scale_up_def, rate_Bps, "rate", BIND_DEFAULT(0.0, "0 B/s"), BIND_AT_LEAST(0),
              BIND_AT_MOST(RATE_MAX_Bps), BIND_NOTE("of one GPU, per direction, to all peers together")),
    BIND_NUMBER(scale_up_def, payload_ratio, "payload_ratio", BIND_DEFAULT(1.0, "1"), BIND_ABOVE(0),
                BIND_AT_MOST(1), BIND_NOTE("share of rate that payload gets")),
    BIND_TIME(scale_up_def, delay_ps, "delay", BIND_DEFAULT(0.0, "0 ns"), BIND_AT_LEAST(0),
              BIND_AT_MOST(DELAY_MAX_S), BIND_NOTE("from GPU to GPU, of the first byte")),
    BIND_END,
};

const bind_row node_binds[] = {
    BIND_TEXT(node_def, name, "name", BIND_DEFAULT(0, "unnamed"),
              BIND_NOTE("what it is called in tables and messages")),
    BIND_U32(node_def, gpus, "gpus", BIND_REQUIRED, BIND_AT_LEAST(1), BIND_AT_MOST(1024),
             BIND_NOTE("how many")),
    BIND_PART(node_def, gpu, "gpu", "gpus", gpu_binds, BIND_REQUIRED,
              BIND_NOTE("all of them: a name of the catalogue or a mapping")),
    BIND_STRUCT(node_def, scale_up, "scale_up", scale_up_binds, BIND_NOTE("the links between its GPUs")),
    BIND_U32(node_def, nics, "nics", BIND_DEFAULT(0, "0"), BIND_AT_MOST(1024),
             BIND_NOTE("ports of the compute network; GPU g is served by NIC g x nics / gpus")),
    BIND_PART(node_def, nic, "nic", "nics", nic_binds,
              BIND_NOTE("all of them: a name of the catalogue or a mapping; required with nics")),
    BIND_RATE(node_def, nic_pcie_rate_Bps, "nic_pcie_rate", BIND_DEFAULT(0.0, "0 B/s"), BIND_AT_LEAST(0),
              BIND_AT_MOST(RATE_MAX_Bps),
              BIND_NOTE("payload between a GPU and its NIC, per direction; required with nics")),
    BIND_BYTES(node_def, host_memory_bytes, "host_memory", BIND_REQUIRED, BIND_ABOVE(0),
               BIND_AT_MOST(HOST_MEMORY_MAX_BYTES), BIND_NOTE("of the host's CPUs")),
    BIND_POWER(node_def, power_W, "power", BIND_REQUIRED, BIND_AT_LEAST(POWER_LEAST_W),
               BIND_AT_MOST(POWER_MAX_W), BIND_NOTE("of the whole node at full load")),
    BIND_END,
};

bool node_check(const node_def *node, const bind_reader *r, sim_error *error)
{
    if (node->gpus > 1 && node->scale_up.kind == SCALE_UP_NONE) {
        sim_fail(error, SIM_EXIT_INPUT, bind_place_of(r, &node->scale_up),
                 "a node with %u GPUs needs links between them (scale_up)", node->gpus);
        return sim_hint(error, "scale_up.kind: nvswitch, mesh or pcie");
    }
    if (node->scale_up.kind != SCALE_UP_NONE && !(node->scale_up.rate_Bps > 0.0)) {
        sim_fail(error, SIM_EXIT_INPUT, bind_place_of(r, &node->scale_up.rate_Bps),
                 "the links between the GPUs of node \"%s\" need a rate above zero", node->name);
        return sim_hint(error, "scale_up.rate: of one GPU, per direction, such as 450 GB/s");
    }
    if (!node->nics) return true;
    if (!(node->nic.rate_Bps > 0.0)) {
        sim_fail(error, SIM_EXIT_INPUT, bind_place_of(r, &node->nics),
                 "node \"%s\" has %u NICs but does not say which (nic)", node->name, node->nics);
        return sim_hint(error, "nic: connectx-7");
    }
    if (!(node->nic_pcie_rate_Bps > 0.0)) {
        sim_fail(error, SIM_EXIT_INPUT, bind_place_of(r, &node->nics),
                 "node \"%s\" has NICs but no rate between a GPU and its NIC (nic_pcie_rate)", node->name);
        return sim_hint(error, "nic_pcie_rate: 55.4 GB/s");
    }
    return true;
}

uint32_t node_nic_of_gpu(const node_def *node, uint32_t gpu)
{
    SIM_ASSERT(node->nics > 0 && gpu < node->gpus);
    return (uint32_t)((uint64_t)gpu * node->nics / node->gpus);
}
