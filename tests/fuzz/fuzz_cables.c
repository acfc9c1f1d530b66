// SPDX-License-Identifier: GPL-3.0-or-later
// Lists of cables as CSV (or YAML, behind a byte 'Y'): what is read is refused with a place or becomes a fabric in which every
// NIC reaches every other, also once a link of the path has died, where there is another.
#include "models/cluster.h"
#include "models/network/routing.h"
#include "models/network/topology_build.h"
#include "sim/csv.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

enum { NODES = 4, NICS = 2, TEXT_MAX = 1 << 16 };

typedef struct holder {
    cable_entry_array cables;
} holder;
static const bind_row holder_binds[] = { BIND_LIST(holder, cables, "cables", cable_binds), BIND_END };

static bool read_cables(arena *a, const char *text, size_t length, holder *out, const bind_reader **reader,
                        sim_error *error)
{
    document doc;
    if (length > 0 && text[0] == 'Y') {
        if (!document_parse(a, "fuzz", text + 1, length - 1, NULL, &doc, error)) return false;
    } else {
        csv_reader *csv = csv_open_text(a, "fuzz", text, length, error);
        if (!csv || !csv_document(csv, &doc, error)) return false;
    }
    doc_pair pair = { .key = "cables", .key_place = doc.root->place, .value = doc.root };
    const doc_node root = { .kind = DOC_MAPPING, .place = doc.root->place, .pairs = &pair, .count = 1 };
    bind_reader *r = bind_reader_create(a, NULL, NULL);
    *reader = r;
    return bind_read(r, holder_binds, &root, "", out, error);
}

static topology *build(arena *a, const holder *h, const bind_reader *r, sim_error *error)
{
    const node_wiring wiring = { .nics = NICS };
    topology *t = topology_create(a);
    for (uint32_t n = 0; n < NODES; n++)
        topology_add_node(t, &wiring);
    listed_cable *cables = arena_array(a, listed_cable, h->cables.count);
    for (uint32_t i = 0; i < h->cables.count; i++) {
        const cable_entry *e = &h->cables.items[i];
        cables[i] = (listed_cable){ .a = e->a,
                                    .b = e->b,
                                    .rate_mBps = units_mBps_from_Bps(e->rate_Bps),
                                    .delay_ps = e->delay_ps,
                                    .count = e->count,
                                    .where = bind_place_of(r, e),
                                    .where_a = bind_place_of(r, &e->a),
                                    .where_b = bind_place_of(r, &e->b) };
    }
    if (!topology_add_cables(t, cables, h->cables.count, NULL, error)) return NULL;
    topology_seal(t);
    return topology_check(t, NULL, error) ? t : NULL;
}

static void check_path(const topology *t, const fabric_state *s, vertex_id from, vertex_id to)
{
    uint32_t path[TOPOLOGY_PATH_MAX];
    const uint32_t links = route_find(t, s, from, to, 0, path);
    if (links == ROUTE_NONE) {
        SIM_ASSERT(s);
        return;
    }
    SIM_ASSERT(links > 0 && links <= TOPOLOGY_PATH_MAX);
    for (uint32_t i = 0; i < links; i++) {
        SIM_ASSERT(topology_link_at(t, path[i])->from == from);
        SIM_ASSERT(!s || !fabric_is_avoided(s, path[i]));
        from = topology_link_at(t, path[i])->to;
    }
    SIM_ASSERT(from == to);
}

static void check_paths(arena *a, const topology *t)
{
    fabric_state *s = fabric_state_create(a, t);
    for (uint32_t round = 0; round < 2; round++) {
        for (nic_id x = 0; x < NODES * NICS; x++)
            for (nic_id y = 0; y < NODES * NICS; y++)
                if (x != y)
                    check_path(t, round ? s : NULL, topology_nic_vertex(t, x), topology_nic_vertex(t, y));
        uint32_t path[TOPOLOGY_PATH_MAX];
        topology_route(t, topology_nic_vertex(t, 0), topology_nic_vertex(t, NODES * NICS - 1), path);
        fabric_set_avoided(s, path[0], true);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_MAX) return 0;
    arena *a = arena_create("fuzz");
    SIM_ASSERT(a);
    sim_error error = { 0 };
    holder h = { 0 };
    const bind_reader *reader = NULL;
    const topology *t = NULL;
    if (read_cables(a, (const char *)data, size, &h, &reader, &error)) t = build(a, &h, reader, &error);
    if (t) check_paths(a, t);
    SIM_ASSERT((t != NULL) == (error.exit_code == 0));
    SIM_ASSERT(t || (error.exit_code == SIM_EXIT_INPUT && error.message[0]));
    arena_destroy(a);
    return 0;
}
