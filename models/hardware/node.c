// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/hardware/node.h"
#include "models/hardware/limits.h"

static const char *const scale_up_words[] = { "none", "nvswitch", "mesh", "pcie", NULL };

const bind_row scale_up_binds[] = {
    BIND_ENUM(scale_up_def, kind, "kind", scale_up_words, BIND_REQUIRED,
              BIND_NOTE("nvswitch; mesh: a link between each pair; pcie: through the host; none")),
    BIND_RATE(scale_up_def, rate_Bps, "rate", BIND_DEFAULT(0.0, "0 B/s"), BIND_AT_LEAST(0),
              BIND_AT_MOST(RATE_MAX_Bps), BIND_NOTE("of one GPU, per direction, to all peers together")),
    BIND_NUMBER(scale_up_def, payload_ratio, "payload_ratio", BIND_DEFAULT(1.0, "1"), BIND_ABOVE(0),
                BIND_AT_MOST(1), BIND_NOTE("share of rate that payload gets")),
    BIND_TIME(scale_up_def, delay_ps, "delay", BIND_DEFAULT(0.0, "0 ns"), BIND_AT_LEAST(0),
              BIND_AT_MOST(DELAY_MAX_S), BIND_NOTE("from GPU to GPU, of the first byte")),
    BIND_U32(scale_up_def, domain_nodes, "domain_nodes", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1),
             BIND_AT_MOST(4096),
             BIND_NOTE("nodes that follow one another and share the NVSwitches: trays of a rack")),
    BIND_PART(scale_up_def, costs, "costs", "link_costs", scale_up_costs_binds,
              BIND_SET_FLAG(scale_up_def, has_costs), .default_text = "by the GPU's architecture",
              BIND_NOTE("what collectives get out of the GPUs and these links: a name of the catalogue or a "
                        "mapping")),
    BIND_END,
};

static const bind_row pcie_binds[] = {
    BIND_U32(pcie_def, switches, "switches", BIND_DEFAULT(0, "0"), BIND_AT_MOST(1024),
             BIND_NOTE("PCIe switches, over which GPUs and NICs are spread in order; 0: they hang on the "
                       "sockets")),
    BIND_U32(pcie_def, sockets, "sockets", BIND_DEFAULT(1, "1"), BIND_AT_LEAST(1), BIND_AT_MOST(64),
             BIND_NOTE("CPUs, over which the switches are spread in order")),
    BIND_RATE(pcie_def, uplink_rate_Bps, "uplink_rate", BIND_DEFAULT(0.0, "0 B/s"), BIND_AT_LEAST(0),
              BIND_AT_MOST(RATE_MAX_Bps),
              BIND_NOTE("payload between a PCIe switch and its socket, per direction; required with "
                        "switches")),
    BIND_RATE(pcie_def, socket_rate_Bps, "socket_rate", BIND_DEFAULT(0.0, "0 B/s"), BIND_AT_LEAST(0),
              BIND_AT_MOST(RATE_MAX_Bps),
              BIND_NOTE("payload between two sockets, per direction; required with several")),
    BIND_TIME(pcie_def, delay_ps, "delay", BIND_DEFAULT(0.0, "0 ns"), BIND_AT_LEAST(0),
              BIND_AT_MOST(DELAY_MAX_S), BIND_NOTE("of one PCIe link and what is behind it")),
    BIND_TIME(pcie_def, socket_delay_ps, "socket_delay", BIND_DEFAULT(0.0, "0 ns"), BIND_AT_LEAST(0),
              BIND_AT_MOST(DELAY_MAX_S), BIND_NOTE("of a link between two sockets")),
    BIND_BOOL(pcie_def, gpudirect, "gpudirect", BIND_DEFAULT(1, "true"),
              BIND_NOTE("NICs read and write the GPUs' memory; false: through a socket")),
    BIND_END,
};

const bind_row node_binds[] = {
    BIND_TEXT(node_def, name, "name", BIND_DEFAULT(0, "unnamed"),
              BIND_NOTE("what it is called in tables and messages")),
    BIND_U32(node_def, gpus, "gpus", BIND_REQUIRED, BIND_AT_MOST(1024),
             BIND_NOTE("how many; 0: a bare host")),
    BIND_PART(node_def, gpu, "gpu", "gpus", gpu_binds, BIND_SET_FLAG(node_def, has_gpu),
              BIND_NOTE("all of them: a name of the catalogue or a mapping; required with gpus")),
    BIND_STRUCT(node_def, scale_up, "scale_up", scale_up_binds, BIND_NOTE("the links between its GPUs")),
    BIND_U32(node_def, nics, "nics", BIND_DEFAULT(0, "0"), BIND_AT_MOST(1024),
             BIND_NOTE("ports of the compute network; GPU g is served by NIC g x nics / gpus")),
    BIND_PART(node_def, nic, "nic", "nics", nic_binds, BIND_SET_FLAG(node_def, has_nic),
              BIND_NOTE("all of them: a name of the catalogue or a mapping; required with nics")),
    BIND_RATE(node_def, nic_rate_Bps, "rate", BIND_DEFAULT(0.0, "0 B/s"), BIND_AT_LEAST(0),
              BIND_AT_MOST(RATE_MAX_Bps), BIND_NOTE("payload rate of each cable of a NIC, instead of nic")),
    BIND_RATE(node_def, nic_pcie_rate_Bps, "nic_pcie_rate", BIND_DEFAULT(0.0, "0 B/s"), BIND_AT_LEAST(0),
              BIND_AT_MOST(RATE_MAX_Bps),
              BIND_NOTE("payload between a GPU and its NIC, per direction; required with nics and GPUs")),
    BIND_STRUCT(node_def, pcie, "pcie", pcie_binds, BIND_SET_FLAG(node_def, pcie.given),
                BIND_NOTE("the tree through which GPUs, NICs and CPUs share PCIe; left out: each GPU has a "
                          "link of its own to its NIC")),
    BIND_BYTES(node_def, host_memory_bytes, "host_memory", BIND_ABOVE(0), BIND_AT_MOST(HOST_MEMORY_MAX_BYTES),
               BIND_NOTE("of the host's CPUs; required with GPUs")),
    BIND_POWER(node_def, power_W, "power", BIND_AT_LEAST(POWER_LEAST_W), BIND_AT_MOST(POWER_MAX_W),
               BIND_NOTE("of the whole node at full load; required with GPUs")),
    BIND_END,
};

// sim_fail() at the key that filled field.
#define REFUSE(field_, ...) sim_fail(error, SIM_EXIT_INPUT, bind_place_of(r, &(field_)), __VA_ARGS__)

static bool check_gpus(const node_def *node, const bind_reader *r, sim_error *error)
{
    if (!node->has_gpu)
        return REFUSE(node->gpus, "node \"%s\" has %u GPUs but does not say which (gpu)", node->name,
                      node->gpus) ||
               sim_hint(error, "gpu: h100-sxm");
    if (!node->host_memory_bytes)
        return REFUSE(node->host_memory_bytes, "node \"%s\" needs the memory of its host (host_memory)",
                      node->name) ||
               sim_hint(error, "host_memory: 2 TB");
    if (!(node->power_W > 0.0))
        return REFUSE(node->power_W, "node \"%s\" needs its power at full load (power)", node->name) ||
               sim_hint(error, "power: 10.2 kW");
    return true;
}

static bool check_scale_up(const node_def *node, const bind_reader *r, sim_error *error)
{
    const scale_up_def *s = &node->scale_up;
    if (node->gpus > 1 && s->kind == SCALE_UP_NONE)
        return REFUSE(*s, "a node with %u GPUs needs links between them (scale_up)", node->gpus) ||
               sim_hint(error, "scale_up.kind: nvswitch, mesh or pcie");
    if (node->gpus == 0 && s->kind != SCALE_UP_NONE)
        return REFUSE(*s, "node \"%s\" has no GPUs that links could join", node->name) ||
               sim_hint(error, "leave scale_up out");
    if (s->kind != SCALE_UP_NONE && !(s->rate_Bps > 0.0))
        return REFUSE(s->rate_Bps, "the links between the GPUs of node \"%s\" need a rate above zero",
                      node->name) ||
               sim_hint(error, "scale_up.rate: of one GPU, per direction, such as 450 GB/s");
    if (s->domain_nodes > 1 && s->kind != SCALE_UP_NVSWITCH)
        return REFUSE(s->domain_nodes, "only NVSwitches are shared by several nodes (domain_nodes)") ||
               sim_hint(error, "scale_up.kind: nvswitch");
    if (s->kind == SCALE_UP_PCIE && node->pcie.given && s->delay_ps > 0)
        return REFUSE(s->delay_ps, "with a PCIe tree, the delay from GPU to GPU is that of its links") ||
               sim_hint(error, "pcie.delay: of one link");
    return true;
}

static bool check_nics(const node_def *node, const bind_reader *r, sim_error *error)
{
    if (!node->nics && (node->has_nic || node->nic_rate_Bps > 0.0)) return true; // no NIC of this kind
    if (node->has_nic && node->nic_rate_Bps > 0.0)
        return REFUSE(node->nic_rate_Bps, "node \"%s\" names its NICs and gives them another rate",
                      node->name) ||
               sim_hint(error, "leave nic or rate out");
    if (node->nics && !node->has_nic && !(node->nic_rate_Bps > 0.0))
        return REFUSE(node->nics, "node \"%s\" has %u NICs but does not say which (nic)", node->name,
                      node->nics) ||
               sim_hint(error, "nic: connectx-7");
    if (node->nics && node->gpus && !(node->nic_pcie_rate_Bps > 0.0))
        return REFUSE(node->nics,
                      "node \"%s\" has NICs but no rate between a GPU and its NIC (nic_pcie_rate)",
                      node->name) ||
               sim_hint(error, "nic_pcie_rate: 55.4 GB/s");
    return true;
}

static bool check_pcie(const node_def *node, const bind_reader *r, sim_error *error)
{
    const pcie_def *p = &node->pcie;
    if (!p->given) return true;
    if (!node->gpus)
        return REFUSE(*p, "node \"%s\" has no GPUs that a PCIe tree could join", node->name) ||
               sim_hint(error, "leave pcie out");
    if (!(node->nic_pcie_rate_Bps > 0.0))
        return REFUSE(*p, "the PCIe tree of node \"%s\" needs the rate of a device (nic_pcie_rate)",
                      node->name) ||
               sim_hint(error, "nic_pcie_rate: 55.4 GB/s");
    if ((p->switches > 0) != (p->uplink_rate_Bps > 0.0))
        return REFUSE(p->uplink_rate_Bps, "uplink_rate is that of PCIe switches: %s",
                      p->switches ? "they need one" : "there are none") ||
               sim_hint(error, p->switches ? "uplink_rate: 55.4 GB/s" : "switches: 2");
    if ((p->sockets > 1) != (p->socket_rate_Bps > 0.0))
        return REFUSE(p->socket_rate_Bps, "socket_rate is that between sockets: %s",
                      p->sockets > 1 ? "they need one" : "there is one") ||
               sim_hint(error, p->sockets > 1 ? "socket_rate: 40 GB/s" : "sockets: 2");
    if (p->switches && p->switches < p->sockets)
        return REFUSE(p->sockets, "%u PCIe switches leave sockets without any", p->switches) ||
               sim_hint(error, "sockets: %u", p->switches);
    return true;
}

bool node_complete(node_def *node, const bind_reader *r, sim_error *error)
{
    if (node->gpus && !check_gpus(node, r, error)) return false;
    if (!check_scale_up(node, r, error) || !check_nics(node, r, error) || !check_pcie(node, r, error))
        return false;
    if (node->has_nic || !(node->nic_rate_Bps > 0.0)) return true;
    node->nic.name = "unnamed";
    node->nic.rate_Bps = node->nic_rate_Bps;
    node->nic.payload_ratio = 1.0;
    return true;
}

uint32_t node_nic_of_gpu(const node_def *node, uint32_t gpu)
{
    SIM_ASSERT(node->nics > 0 && gpu < node->gpus);
    return (uint32_t)((uint64_t)gpu * node->nics / node->gpus);
}

uint32_t node_nics_of_gpu(const node_def *node, uint32_t gpu)
{
    SIM_ASSERT(gpu < node->gpus);
    const uint32_t from = (uint32_t)((uint64_t)gpu * node->nics / node->gpus);
    const uint32_t to = (uint32_t)((uint64_t)(gpu + 1) * node->nics / node->gpus);
    return to > from ? to - from : 1;
}
