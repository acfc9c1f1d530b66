// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/hardware/node.h"
#include "models/part.h"
#include "sim/array.h"
#include "tests/support/text.h"

struct spread_case {
    const char *name;
    uint32_t gpus, nics;
    uint32_t want[8];
};
static const struct spread_case spread_cases[] = {
    { "one NIC each", 8, 8, { 0, 1, 2, 3, 4, 5, 6, 7 } },
    { "two GPUs share a NIC", 8, 4, { 0, 0, 1, 1, 2, 2, 3, 3 } },
    { "all share one NIC", 4, 1, { 0, 0, 0, 0 } },
    { "shares that do not divide", 8, 3, { 0, 0, 0, 1, 1, 1, 2, 2 } },
    { "more NICs than GPUs", 3, 7, { 0, 2, 4 } },
};

static void nics_are_spread_in_order(void **state)
{
    const struct spread_case *c = *state;
    const node_def node = { .gpus = c->gpus, .nics = c->nics };
    uint32_t next = 0;
    for (uint32_t g = 0; g < c->gpus; g++) {
        assert_int_equal(node_nic_of_gpu(&node, g), c->want[g]);
        if (c->nics < c->gpus) {
            assert_int_equal(node_nics_of_gpu(&node, g), 1);
            continue;
        }
        assert_int_equal(c->want[g], next); // with more NICs than GPUs, each serves one
        next += node_nics_of_gpu(&node, g);
    }
    if (c->nics >= c->gpus) assert_int_equal(next, c->nics);
}

typedef struct rack {
    node_def node;
    switch_def hub;
} rack;
static const bind_row rack_binds[] = {
    BIND_PART(rack, node, "node", "nodes", node_binds),
    BIND_PART(rack, hub, "hub", "switches", switch_binds),
    BIND_END,
};

typedef struct fixture {
    arena *arena;
    catalogue catalogue;
    bind_reader *reader;
    rack rack;
    sim_error error;
} fixture;

static bool read_and_check(fixture *f, const char *text)
{
    f->arena = arena_create("node");
    assert_true(catalogue_find(f->arena, "models/catalogue", &f->catalogue, &f->error));
    f->reader = bind_reader_create(f->arena, part_read, &f->catalogue);
    document doc;
    assert_true(document_parse(f->arena, "s.yaml", text, strlen(text), NULL, &doc, &f->error));
    if (!bind_read(f->reader, rack_binds, doc.root, "", &f->rack, &f->error))
        sim_error_print(&f->error, stderr);
    assert_int_equal(f->error.exit_code, 0);
    return node_complete(&f->rack.node, f->reader, &f->error);
}

#define GPU "  gpu: h100-sxm\n"
#define HOST "  host_memory: 3 TB\n  power: 11.3 kW\n"

static void every_key_fills_its_field(void **state)
{
    (void)state;
    fixture f = { 0 };
    assert_true(
        read_and_check(&f, "node:\n"
                           "  name: odd\n"
                           "  gpus: 6\n" GPU
                           "  scale_up: { kind: mesh, rate: 433 GB/s, payload_ratio: 0.83, delay: 317 ns }\n"
                           "  nics: 3\n"
                           "  nic: { name: fast, rate: 370 Gb/s, payload_ratio: 0.93 }\n"
                           "  nic_pcie_rate: 53 GB/s\n" HOST
                           "hub: { name: wide, ports: 37, port_rate: 371 Gb/s, delay: 131 ns }\n"));
    const node_def *node = &f.rack.node;
    assert_string_equal(node->name, "odd");
    assert_int_equal(node->gpus, 6);
    assert_string_equal(node->gpu.name, "h100-sxm");
    assert_int_equal(node->scale_up.kind, SCALE_UP_MESH);
    assert_near(node->scale_up.rate_Bps, 433e9, 1e-9);
    assert_near(node->scale_up.payload_ratio, 0.83, 1e-9);
    assert_int_equal(node->scale_up.delay_ps, 317 * PS_PER_NS);
    assert_int_equal(node->nics, 3);
    assert_string_equal(node->nic.name, "fast");
    assert_near(node->nic.rate_Bps, 46.25e9, 1e-9);
    assert_near(node->nic.payload_ratio, 0.93, 1e-9);
    assert_near(node->nic_pcie_rate_Bps, 53e9, 1e-9);
    assert_int_equal(node->host_memory_bytes, UINT64_C(3000000000000));
    assert_near(node->power_W, 11.3e3, 1e-9);
    assert_string_equal(f.rack.hub.name, "wide");
    assert_int_equal(f.rack.hub.ports, 37);
    assert_near(f.rack.hub.port_rate_Bps, 46.375e9, 1e-9);
    assert_int_equal(f.rack.hub.delay_ps, 131 * PS_PER_NS);
    arena_destroy(f.arena);
}

static void trees_and_domains_fill_their_fields(void **state)
{
    (void)state;
    fixture f = { 0 };
    assert_true(read_and_check(
        &f, "node:\n  gpus: 4\n" GPU "  scale_up: { kind: nvswitch, rate: 433 GB/s, domain_nodes: 18 }\n"
            "  nics: 2\n  rate: 371 Gb/s\n  nic_pcie_rate: 53 GB/s\n"
            "  pcie: { switches: 4, sockets: 2, uplink_rate: 57 GB/s, socket_rate: 41 GB/s, delay: 113 ns,\n"
            "    socket_delay: 217 ns, gpudirect: false }\n" HOST));
    const node_def *node = &f.rack.node;
    assert_int_equal(node->scale_up.domain_nodes, 18);
    assert_near(node->nic.rate_Bps, 371e9 / 8, 1e-12);
    assert_near(node->nic.payload_ratio, 1.0, 0);
    assert_int_equal(node->pcie.switches, 4);
    assert_int_equal(node->pcie.sockets, 2);
    assert_near(node->pcie.uplink_rate_Bps, 57e9, 1e-12);
    assert_near(node->pcie.socket_rate_Bps, 41e9, 1e-12);
    assert_int_equal(node->pcie.delay_ps, 113 * PS_PER_NS);
    assert_int_equal(node->pcie.socket_delay_ps, 217 * PS_PER_NS);
    assert_false(node->pcie.gpudirect);
    arena_destroy(f.arena);
}

static void a_bare_host_needs_little(void **state)
{
    (void)state;
    fixture f = { 0 };
    assert_true(read_and_check(&f, "node: { gpus: 0, nics: 1, rate: 400 Gb/s }\n"));
    assert_int_equal(f.rack.node.gpus, 0);
    assert_near(f.rack.node.nic.rate_Bps, 50e9, 1e-12);
    arena_destroy(f.arena);
}

static void one_gpu_needs_no_links(void **state)
{
    (void)state;
    fixture f = { 0 };
    assert_true(read_and_check(&f, "node:\n  gpus: 1\n" GPU HOST));
    assert_int_equal(f.rack.node.scale_up.kind, SCALE_UP_NONE);
    assert_int_equal(f.rack.node.nics, 0);
    assert_string_equal(f.rack.node.name, "unnamed");
    arena_destroy(f.arena);
}

struct refusal {
    const char *name, *text, *want;
};
static const struct refusal refusals[] = {
    { "several GPUs without links", "node:\n  gpus: 4\n" GPU "  scale_up: { kind: none }\n" HOST,
      "s.yaml:4:3: error: a node with 4 GPUs needs links between them (scale_up)\n"
      "    4 |   scale_up: { kind: none }\n"
      "      |   ^\n"
      "  hint: scale_up.kind: nvswitch, mesh or pcie\n" },
    { "links without a rate", "node:\n  name: slow\n  gpus: 4\n" GPU "  scale_up: { kind: pcie }\n" HOST,
      "s.yaml:5:13: error: the links between the GPUs of node \"slow\" need a rate above zero\n"
      "    5 |   scale_up: { kind: pcie }\n"
      "      |             ^\n"
      "  hint: scale_up.rate: of one GPU, per direction, such as 450 GB/s\n" },
    { "NICs that are not described", "node:\n  name: mute\n  gpus: 1\n" GPU "  nics: 2\n" HOST,
      "s.yaml:5:3: error: node \"mute\" has 2 NICs but does not say which (nic)\n"
      "    5 |   nics: 2\n"
      "      |   ^\n"
      "  hint: nic: connectx-7\n" },
    { "GPUs that are not named",
      "node:\n  name: blank\n  gpus: 2\n  scale_up: { kind: mesh, rate: 3 GB/s }\n" HOST,
      "s.yaml:3:3: error: node \"blank\" has 2 GPUs but does not say which (gpu)\n"
      "    3 |   gpus: 2\n"
      "      |   ^\n"
      "  hint: gpu: h100-sxm\n" },
    { "a host without memory", "node:\n  name: poor\n  gpus: 1\n" GPU "  power: 3 kW\n",
      "s.yaml:2:3: error: node \"poor\" needs the memory of its host (host_memory)\n"
      "    2 |   name: poor\n"
      "      |   ^\n"
      "  hint: host_memory: 2 TB\n" },
    { "a host without power", "node:\n  name: cold\n  gpus: 1\n" GPU "  host_memory: 3 TB\n",
      "s.yaml:2:3: error: node \"cold\" needs its power at full load (power)\n"
      "    2 |   name: cold\n"
      "      |   ^\n"
      "  hint: power: 10.2 kW\n" },
    { "links between no GPUs",
      "node:\n  name: void\n  gpus: 0\n  scale_up: { kind: nvswitch, rate: 3 GB/s }\n",
      "s.yaml:4:3: error: node \"void\" has no GPUs that links could join\n"
      "    4 |   scale_up: { kind: nvswitch, rate: 3 GB/s }\n"
      "      |   ^\n"
      "  hint: leave scale_up out\n" },
    { "a mesh over several nodes",
      "node:\n  gpus: 2\n" GPU "  scale_up: { kind: mesh, rate: 3 GB/s, domain_nodes: 2 }\n" HOST,
      "s.yaml:4:41: error: only NVSwitches are shared by several nodes (domain_nodes)\n"
      "    4 |   scale_up: { kind: mesh, rate: 3 GB/s, domain_nodes: 2 }\n"
      "      |                                         ^\n"
      "  hint: scale_up.kind: nvswitch\n" },
    { "two delays between GPUs",
      "node:\n  gpus: 2\n" GPU
      "  scale_up: { kind: pcie, rate: 3 GB/s, delay: 1 us }\n  nic_pcie_rate: 3 GB/s\n"
      "  pcie: { sockets: 1 }\n" HOST,
      "s.yaml:4:41: error: with a PCIe tree, the delay from GPU to GPU is that of its links\n"
      "    4 |   scale_up: { kind: pcie, rate: 3 GB/s, delay: 1 us }\n"
      "      |                                         ^\n"
      "  hint: pcie.delay: of one link\n" },
    { "NICs named and given another rate",
      "node:\n  name: twice\n  gpus: 0\n  nics: 2\n  nic: connectx-7\n  rate: 3 GB/s\n",
      "s.yaml:6:3: error: node \"twice\" names its NICs and gives them another rate\n"
      "    6 |   rate: 3 GB/s\n"
      "      |   ^\n"
      "  hint: leave nic or rate out\n" },
    { "a PCIe tree of a bare host",
      "node:\n  name: bare\n  gpus: 0\n  nics: 1\n  rate: 3 GB/s\n  pcie: { sockets: 1 }\n",
      "s.yaml:6:3: error: node \"bare\" has no GPUs that a PCIe tree could join\n"
      "    6 |   pcie: { sockets: 1 }\n"
      "      |   ^\n"
      "  hint: leave pcie out\n" },
    { "a PCIe tree without rates", "node:\n  name: flat\n  gpus: 1\n" GPU "  pcie: { sockets: 1 }\n" HOST,
      "s.yaml:5:3: error: the PCIe tree of node \"flat\" needs the rate of a device (nic_pcie_rate)\n"
      "    5 |   pcie: { sockets: 1 }\n"
      "      |   ^\n"
      "  hint: nic_pcie_rate: 55.4 GB/s\n" },
    { "PCIe switches without uplinks",
      "node:\n  gpus: 1\n" GPU "  nic_pcie_rate: 3 GB/s\n  pcie: { switches: 2 }\n" HOST,
      "s.yaml:5:9: error: uplink_rate is that of PCIe switches: they need one\n"
      "    5 |   pcie: { switches: 2 }\n"
      "      |         ^\n"
      "  hint: uplink_rate: 55.4 GB/s\n" },
    { "uplinks without PCIe switches",
      "node:\n  gpus: 1\n" GPU "  nic_pcie_rate: 3 GB/s\n  pcie: { uplink_rate: 3 GB/s }\n" HOST,
      "s.yaml:5:11: error: uplink_rate is that of PCIe switches: there are none\n"
      "    5 |   pcie: { uplink_rate: 3 GB/s }\n"
      "      |           ^\n"
      "  hint: switches: 2\n" },
    { "sockets without a link",
      "node:\n  gpus: 1\n" GPU "  nic_pcie_rate: 3 GB/s\n  pcie: { sockets: 2 }\n" HOST,
      "s.yaml:5:9: error: socket_rate is that between sockets: they need one\n"
      "    5 |   pcie: { sockets: 2 }\n"
      "      |         ^\n"
      "  hint: socket_rate: 40 GB/s\n" },
    { "a link of one socket",
      "node:\n  gpus: 1\n" GPU "  nic_pcie_rate: 3 GB/s\n  pcie: { socket_rate: 3 GB/s }\n" HOST,
      "s.yaml:5:11: error: socket_rate is that between sockets: there is one\n"
      "    5 |   pcie: { socket_rate: 3 GB/s }\n"
      "      |           ^\n"
      "  hint: sockets: 2\n" },
    { "more sockets than switches",
      "node:\n  gpus: 1\n" GPU "  nic_pcie_rate: 3 GB/s\n"
      "  pcie: { switches: 1, sockets: 2, uplink_rate: 3 GB/s, socket_rate: 3 GB/s }\n" HOST,
      "s.yaml:5:24: error: 1 PCIe switches leave sockets without any\n"
      "    5 |   pcie: { switches: 1, sockets: 2, uplink_rate: 3 GB/s, socket_rate: 3 GB/s }\n"
      "      |                        ^\n"
      "  hint: sockets: 1\n" },
    { "NICs that no GPU reaches", "node:\n  name: far\n  gpus: 1\n" GPU "  nics: 2\n  nic: connectx-6\n" HOST,
      "s.yaml:5:3: error: node \"far\" has NICs but no rate between a GPU and its NIC (nic_pcie_rate)\n"
      "    5 |   nics: 2\n"
      "      |   ^\n"
      "  hint: nic_pcie_rate: 55.4 GB/s\n" },
};

static void refused(void **state)
{
    const struct refusal *c = *state;
    fixture f = { 0 };
    assert_false(read_and_check(&f, c->text));
    assert_int_equal(f.error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&f.error, c->want);
    arena_destroy(f.arena);
}

int main(void)
{
    enum { SPREADS = ARRAY_COUNT(spread_cases), REFUSALS = ARRAY_COUNT(refusals), ROWS = SPREADS + REFUSALS };
    struct CMUnitTest tests[ROWS + 4] = { [ROWS + 2] = cmocka_unit_test(trees_and_domains_fill_their_fields),
                                          [ROWS + 3] = cmocka_unit_test(a_bare_host_needs_little),
                                          [ROWS] = cmocka_unit_test(every_key_fills_its_field),
                                          [ROWS + 1] = cmocka_unit_test(one_gpu_needs_no_links) };
    for (size_t i = 0; i < SPREADS; i++)
        tests[i] = (struct CMUnitTest){ .name = spread_cases[i].name,
                                        .test_func = nics_are_spread_in_order,
                                        .initial_state = (void *)&spread_cases[i] };
    for (size_t i = 0; i < REFUSALS; i++)
        tests[SPREADS + i] = (struct CMUnitTest){ .name = refusals[i].name,
                                                  .test_func = refused,
                                                  .initial_state = (void *)&refusals[i] };
    return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
