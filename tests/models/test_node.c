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
    for (uint32_t g = 0; g < c->gpus; g++)
        assert_int_equal(node_nic_of_gpu(&node, g), c->want[g]);
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
    struct CMUnitTest tests[ROWS + 2] = { [ROWS] = cmocka_unit_test(every_key_fills_its_field),
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
