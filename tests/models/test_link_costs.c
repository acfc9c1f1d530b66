// SPDX-License-Identifier: GPL-3.0-or-later
// Costs of links and NICs, and the terms of a collective library, as catalogue data.
#include "tests/support/layouts.h"

#include "models/hardware/node.h"
#include "sim/array.h"
#include "tests/support/text.h"

typedef struct holder {
    node_def node;
    scale_up_costs link;
    nic_costs nic;
    collective_library library;
} holder;
static const bind_row holder_binds[] = {
    BIND_PART(holder, node, "node", "nodes", node_binds),
    BIND_PART(holder, link, "link", "link_costs", scale_up_costs_binds),
    BIND_PART(holder, nic, "nic", "nic_costs", nic_costs_binds),
    BIND_PART(holder, library, "library", "collectives", collective_library_binds),
    BIND_END,
};
static const catalogue real = { "models/catalogue" };

static bool read_text(arena *a, const char *text, holder *out, sim_error *error)
{
    document doc;
    bind_reader *reader = bind_reader_create(a, part_read, (void *)&real);
    return document_parse(a, "s.yaml", text, strlen(text), NULL, &doc, error) &&
           bind_read(reader, holder_binds, doc.root, "", out, error);
}

// Every node with several GPUs says what its links cost, and every NIC.
static void nodes_and_nics_have_costs(void **state)
{
    (void)state;
    arena *a = arena_create("costs");
    const char **names;
    const int nodes = catalogue_names(a, &real, "nodes", &names);
    assert_true(nodes > 20);
    for (int i = 0; i < nodes; i++) {
        node_def *node = arena_new(a, node_def);
        layouts_read(a, "models/catalogue", "nodes", names[i], node_binds, sizeof *node, node);
        assert_true(node->gpus < 2 || node->scale_up.has_costs);
        assert_true(node->nics == 0 || node->nic.has_costs);
        assert_true(node->scale_up.costs.nvls.channels == 0 || node->scale_up.kind == SCALE_UP_NVSWITCH);
    }
    const int nics = catalogue_names(a, &real, "nics", &names);
    assert_true(nics > 10);
    for (int i = 0; i < nics; i++) {
        nic_def *nic = arena_new(a, nic_def);
        layouts_read(a, "models/catalogue", "nics", names[i], nic_binds, sizeof *nic, nic);
        assert_true(nic->has_costs);
    }
    arena_destroy(a);
}

// What one site has set stands in its scenario.
static void costs_are_overridden(void **state)
{
    (void)state;
    arena *a = arena_create("costs");
    sim_error error = { 0 };
    holder *h = arena_new(a, holder);
    assert_true(read_text(a,
                          "node:\n  base: dgx-b200\n"
                          "  scale_up: { costs: { network_channels: 17, simple: { rate: 21.7 GB/s } } }\n"
                          "  nic: { base: connectx-7, costs: { base: slingshot, post: 913 ns } }\n",
                          h, &error));
    const scale_up_costs *link = &h->node.scale_up.costs;
    assert_string_equal(link->name, "nvlink5");
    assert_int_equal(link->network_channels, 17);
    assert_int_equal(link->channels, 32);
    assert_near(link->protocols[COSTS_SIMPLE].rate_Bps, 21.7e9, 1e-12);
    assert_int_equal(link->protocols[COSTS_SIMPLE].visible_ps, 2400000);
    assert_string_equal(h->node.nic.costs.name, "slingshot");
    assert_int_equal(h->node.nic.costs.post_ps, 913000);
    assert_int_equal(h->node.nic.costs.rendezvous.above_bytes, 4096);
    arena_destroy(a);
}

static const char link_text[] =
    "link:\n"
    "  name: mine\n  generation: hopper\n  host: amd\n  through_host: true\n"
    "  ll: { rate: 1.1 GB/s, slice: 101 ns, visible: 102 ns, ring_entry: 103 ns, tree_entry: 104 ns, "
    "tree_hop: 105 ns }\n"
    "  ll128: { rate: 2.1 GB/s }\n"
    "  simple: { rate: 3.1 GB/s, slice: 301 ns }\n"
    "  entry: 4.3 us\n  channels: 23\n  network_channels: 13\n"
    "  nvls: { channels: 11, rate: 7.1 GB/s, loop: 2.9 us, chunk: 96 KiB, far_chunk: 48 KiB }\n"
    "  nvls_entry: 17.1 us\n"
    "  nvls_tree: { channels: 9, rate: 7.3 GB/s, loop: 3.1 us }\n"
    "  peers: { chunk: 511 KiB, network_chunk: 127 KiB, chunk_cost: 1.7 us, entry: 8.9 us, peer: 307 ns, "
    "channels: 31,\n"
    "           all_to_all_ratio: 0.93 }\n"
    "  search: { channels: 5, rate: 31 GB/s, nvls_rate: 47 GB/s, "
    "nvls_network_rate: 41 GB/s,\n"
    "            tree_channels: 7 }\n";

static void keys_of_links_fill_their_fields(void **state)
{
    (void)state;
    arena *a = arena_create("costs");
    sim_error error = { 0 };
    holder *h = arena_new(a, holder);
    assert_true(read_text(a, link_text, h, &error));
    const scale_up_costs *c = &h->link;
    assert_string_equal(c->name, "mine");
    assert_int_equal(c->generation, GENERATION_HOPPER);
    assert_int_equal(c->host, HOST_AMD);
    assert_true(c->through_host);
    const kernel_costs *ll = &c->protocols[COSTS_LL];
    assert_near(ll->rate_Bps, 1.1e9, 1e-12);
    assert_int_equal(ll->slice_ps, 101000);
    assert_int_equal(ll->visible_ps, 102000);
    assert_int_equal(ll->ring_entry_ps, 103000);
    assert_int_equal(ll->tree_entry_ps, 104000);
    assert_int_equal(ll->tree_hop_ps, 105000);
    assert_near(c->protocols[COSTS_LL128].rate_Bps, 2.1e9, 1e-12);
    assert_int_equal(c->protocols[COSTS_SIMPLE].slice_ps, 301000);
    assert_int_equal(c->entry_ps, 4300000);
    assert_int_equal(c->channels, 23);
    assert_int_equal(c->network_channels, 13);
    assert_int_equal(c->nvls.channels, 11);
    assert_near(c->nvls.rate_Bps, 7.1e9, 1e-12);
    assert_int_equal(c->nvls.loop_ps, 2900000);
    assert_int_equal(c->nvls.chunk_bytes, 98304);
    assert_int_equal(c->nvls.far_chunk_bytes, 49152);
    assert_int_equal(c->nvls_entry_ps, 17100000);
    assert_int_equal(c->nvls_tree.channels, 9);
    assert_int_equal(c->nvls_tree.chunk_bytes, 131072);
    assert_int_equal(c->peers.chunk_bytes, 523264);
    assert_int_equal(c->peers.network_chunk_bytes, 130048);
    assert_int_equal(c->peers.chunk_ps, 1700000);
    assert_int_equal(c->peers.entry_ps, 8900000);
    assert_int_equal(c->peers.peer_ps, 307000);
    assert_int_equal(c->peers.channels, 31);
    assert_near(c->peers.all_to_all_ratio, 0.93, 1e-12);
    assert_int_equal(c->search.channels, 5);
    assert_near(c->search.rate_Bps, 31e9, 1e-12);
    assert_near(c->search.nvls_rate_Bps, 47e9, 1e-12);
    assert_near(c->search.nvls_network_rate_Bps, 41e9, 1e-12);
    assert_int_equal(c->search.tree_channels, 7);
    arena_destroy(a);
}

static const char nic_text[] =
    "nic:\n"
    "  name: mine\n  entry: 6.7 us\n"
    "  ll: { ring: 2.1 us, tree: 2.2 us }\n  ll128: { ring: 3.1 us, tree: 3.2 us }\n  simple: { ring: 4.1 "
    "us, tree: 4.2 us }\n"
    "  message: 181 ns\n  post: 811 ns\n  line: 3 ns\n  ll128_allowed: false\n  search_limit: 17 GB/s\n"
    "  static_route_loss: 0.27\n"
    "  rendezvous: { above: 4097 B, hop: 6.1 us, thread: 7.1 us, eager_above: 193 B, eager: 1.2 us }\n"
    "  sharp: { chain: 0.61, direct: 0.62, far_direct: 0.63 }\n"
    "  peers: { chunk_cost: 2.7 us, entry: 23 us, all_to_all_entry: 19 us, peer: 3.3 us }\n";

static void keys_of_nics_fill_their_fields(void **state)
{
    (void)state;
    arena *a = arena_create("costs");
    sim_error error = { 0 };
    holder *h = arena_new(a, holder);
    assert_true(read_text(a, nic_text, h, &error));
    const nic_costs *c = &h->nic;
    assert_string_equal(c->name, "mine");
    assert_int_equal(c->entry_ps, 6700000);
    for (int p = 0; p < COSTS_PROTOCOLS; p++) {
        assert_int_equal(c->hops[p].ring_ps, 2100000 + p * 1000000);
        assert_int_equal(c->hops[p].tree_ps, 2200000 + p * 1000000);
    }
    assert_int_equal(c->message_ps, 181000);
    assert_int_equal(c->post_ps, 811000);
    assert_int_equal(c->line_ps, 3000);
    assert_false(c->ll128);
    assert_near(c->search_limit_Bps, 17e9, 1e-12);
    assert_near(c->static_route_loss, 0.27, 1e-12);
    assert_int_equal(c->rendezvous.above_bytes, 4097);
    assert_int_equal(c->rendezvous.hop_ps, 6100000);
    assert_int_equal(c->rendezvous.thread_ps, 7100000);
    assert_int_equal(c->rendezvous.eager_above_bytes, 193);
    assert_int_equal(c->rendezvous.eager_ps, 1200000);
    assert_near(c->sharp.chain_ratio, 0.61, 1e-12);
    assert_near(c->sharp.direct_ratio, 0.62, 1e-12);
    assert_near(c->sharp.far_direct_ratio, 0.63, 1e-12);
    assert_int_equal(c->peers.chunk_ps, 2700000);
    assert_int_equal(c->peers.entry_ps, 23000000);
    assert_int_equal(c->peers.all_to_all_entry_ps, 19000000);
    assert_int_equal(c->peers.peer_ps, 3300000);
    arena_destroy(a);
}

// What stands in arrays of the library, spot by spot.
static void library_fills_its_fields(void **state)
{
    (void)state;
    arena *a = arena_create("costs");
    const collective_library *l = layouts_library(a);
    assert_string_equal(l->name, "nccl-2.30");
    assert_int_equal(l->nvls.network_ps, 18000000);
    assert_int_equal(l->tuning.tree[PROTOCOL_LL128].hop_ps[LINK_NVLINK], 1250000);
    assert_int_equal(l->tuning.nvls_tree.network_ps, 20900000);
    assert_int_equal(l->tuning.collnet_direct.rank_ps, 400000);
    assert_int_equal(l->tuning.collnet_chain.hop_ps[LINK_NETWORK], 30000000);
    assert_int_equal(l->tuning.post_ps[HOST_AMD], 2000000);
    assert_int_equal(l->tuning.ll_row[HOST_AMD], GENERATION_AMPERE);
    assert_int_equal(l->tuning.ll_row[HOST_INTEL], GENERATION_VOLTA);
    assert_int_equal(l->tuning.corrections[PROTOCOL_SIMPLE].count, 24);
    assert_near(l->tuning.corrections[PROTOCOL_LL].items[12], 0.4, 1e-12);
    assert_near(l->tuning.search_rates.items[3], 48e9, 1e-12);
    assert_near(l->tuning.generations[GENERATION_BLACKWELL].tree.items[2], 24e9, 1e-12);
    assert_near(l->tuning.generations[GENERATION_HOPPER].nvls_tree.items[1], 57.7e9, 1e-12);
    assert_near(l->tuning.generations[GENERATION_VOLTA].plateau_ratio, 1.9, 1e-12);
    assert_int_equal(l->kernels.cuts[PROTOCOL_SIMPLE].ring_chunk_bytes, 2097152);
    assert_int_equal(l->kernels.cuts[PROTOCOL_LL128].threads, 640);
    assert_int_equal(l->kernels.most_part_bytes, 16777216);
    arena_destroy(a);
}

struct refusal {
    const char *name, *text, *want;
};
static const struct refusal refusals[] = {
    { "costs that are not there", "link: nvlink44\n",
      "s.yaml:1:7: error: unknown link \"nvlink44\"\n"
      "    1 | link: nvlink44\n"
      "      |       ^\n"
      "  hint: did you mean \"nvlink4\"? link_costs: nvl72, nvlink2, nvlink3, nvlink4-mesh, nvlink4, "
      "nvlink5, pcie, xgmi\n" },
    { "a generation that is not there", "link: { base: nvlink4, generation: hoper }\n",
      "s.yaml:1:36: error: link.generation cannot be \"hoper\"\n"
      "    1 | link: { base: nvlink4, generation: hoper }\n"
      "      |                                    ^\n"
      "  hint: did you mean \"hopper\"? One of: volta, ampere, hopper, blackwell\n" },
    { "more channels than NCCL has", "link: { base: nvlink4, channels: 65 }\n",
      "s.yaml:1:34: error: link.channels must be at most 64\n"
      "    1 | link: { base: nvlink4, channels: 65 }\n"
      "      |                                  ^\n" },
    { "a hop that is missing", "nic: { name: x, ll: { ring: 1 us } }\n",
      "s.yaml:1:21: error: \"tree\" is missing in nic.ll\n"
      "    1 | nic: { name: x, ll: { ring: 1 us } }\n"
      "      |                     ^\n"
      "  hint: tree: of a chunk of a tree, from end to end, beside its bytes\n" },
    { "two node classes",
      "library:\n  base: nccl-2.30\n  tuning: { generations: { hopper: { ll: [1 GB/s, 2 GB/s] } } }\n",
      "s.yaml:3:42: error: 2 numbers where three are needed\n"
      "    3 |   tuning: { generations: { hopper: { ll: [1 GB/s, 2 GB/s] } } }\n"
      "      |                                          ^\n"
      "  hint: [in one node, over two nodes, over more]\n" },
    { "rates of the search that rise",
      "library:\n  base: nccl-2.30\n  tuning: { search_rates: [2 GB/s, 3 GB/s] }\n",
      "s.yaml:3:36: error: the rates of the search must fall: each is tried after the one before\n"
      "    3 |   tuning: { search_rates: [2 GB/s, 3 GB/s] }\n"
      "      |                                    ^\n" },
};

static void refuses_what_it_cannot_use(void **state)
{
    const struct refusal *r = *state;
    arena *a = arena_create("costs");
    sim_error error = { 0 };
    assert_false(read_text(a, r->text, arena_new(a, holder), &error));
    assert_error_prints(&error, r->want);
    arena_destroy(a);
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(refusals) + 5] = {
        cmocka_unit_test(nodes_and_nics_have_costs),       cmocka_unit_test(costs_are_overridden),
        cmocka_unit_test(keys_of_links_fill_their_fields), cmocka_unit_test(keys_of_nics_fill_their_fields),
        cmocka_unit_test(library_fills_its_fields),
    };
    for (size_t i = 0; i < ARRAY_COUNT(refusals); i++)
        tests[5 + i] = (struct CMUnitTest){ refusals[i].name, refuses_what_it_cannot_use, NULL, NULL,
                                            (void *)&refusals[i] };
    return cmocka_run_group_tests_name("link costs", tests, NULL, NULL);
}
