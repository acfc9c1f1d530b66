// SPDX-License-Identifier: GPL-3.0-or-later
// Fabrics given cable by cable. Ends are NICs of the nodes and switches, which exist by being named. Any graph will do whose
// NICs all reach each other over switches; routes are shortest ones, by a table of distances between switches.
#include "models/network/topology_internal.h"
#include "sim/check.h"
#include "sim/map.h"
#include <inttypes.h>
#include <string.h>

typedef struct list_builder {
    topology *t;
    const listed_cable *cables;
    uint32_t count;
    const sim_place *where;
    vertex_id *ends; // 2 per cable
    sim_error *error;
} list_builder;

// "leaf3": the kind and number of a switch.
static bool switch_of(const char *text, vertex_kind *kind, uint32_t *number)
{
    for (vertex_kind k = VERTEX_LEAF; k <= VERTEX_CORE; k++) {
        const size_t length = strlen(vertex_kind_words[k]);
        if (strncmp(text, vertex_kind_words[k], length) != 0) continue;
        const char *digits = text + length + strspn(text + length, " ");
        const size_t count = strspn(digits, "0123456789");
        if (count == 0 || count > 9 || digits[count]) return false;
        *kind = k;
        *number = 0;
        for (size_t i = 0; i < count; i++)
            *number = *number * 10 + (uint32_t)(digits[i] - '0');
        return true;
    }
    return false;
}

static bool refuse_end(const list_builder *b, const char *text, const sim_place *where)
{
    sim_fail(b->error, SIM_EXIT_INPUT, where, "a cable cannot end at \"%.60s\"", text);
    return sim_hint(b->error,
                    "write node0/nic1, or leaf0, spine0, core0 for a switch; there are %" PRIu32
                    " nodes with %" PRIu32 " NICs",
                    b->t->nodes.count, b->t->nics.count);
}

static bool find_end(list_builder *b, map *switches, const char *text, const sim_place *where, vertex_id *out)
{
    topology *t = b->t;
    vertex_kind kind;
    uint32_t number, known;
    if (switch_of(text, &kind, &number)) {
        const uint64_t key = (uint64_t)kind << 32 | number;
        if (map_get(switches, key, &known)) {
            *out = known;
            return true;
        }
        if (map_count(switches) == LIST_SWITCHES_MAX)
            return sim_fail(b->error, SIM_EXIT_INPUT, where, "a list of cables joins at most %d switches",
                            LIST_SWITCHES_MAX);
        *out = topology_add_vertex(t, kind, NO_ID, number);
        map_set(switches, key, *out);
        return true;
    }
    sim_error none = { 0 };
    if (topology_find_vertex(t, text, NULL, out, &none) && t->vertices.items[*out].kind == VERTEX_NIC)
        return true;
    return refuse_end(b, text, where);
}

static bool find_ends(list_builder *b)
{
    map *switches = map_create(b->t->arena), *pairs = map_create(b->t->arena);
    for (uint32_t i = 0; i < b->count; i++) {
        const listed_cable *c = &b->cables[i];
        vertex_id *end = &b->ends[2 * (size_t)i];
        uint32_t first;
        if (!find_end(b, switches, c->a, c->where_a, &end[0]) ||
            !find_end(b, switches, c->b, c->where_b, &end[1]))
            return false;
        if (end[0] == end[1])
            return sim_fail(b->error, SIM_EXIT_INPUT, c->where_b, "a cable joins \"%.60s\" with itself",
                            c->a);
        const uint32_t low = end[0] < end[1] ? end[0] : end[1], high = end[0] < end[1] ? end[1] : end[0];
        if (map_get(pairs, (uint64_t)low << 32 | high, &first)) {
            const sim_place *place = b->cables[first].where;
            sim_fail(b->error, SIM_EXIT_INPUT, c->where, "the cable between %.60s and %.60s is listed twice",
                     c->a, c->b);
            return sim_hint(b->error, "it stands in line %u; parallel cables are one row with count: 2",
                            place ? place->line : 0);
        }
        map_set(pairs, (uint64_t)low << 32 | high, i);
    }
    return true;
}

static void add_links(list_builder *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        const listed_cable *c = &b->cables[i];
        topology_link link = { .from = b->ends[2 * (size_t)i],
                               .to = b->ends[2 * (size_t)i + 1],
                               .class = LINK_NETWORK,
                               .rate_mBps = c->rate_mBps,
                               .delay_ps = c->delay_ps };
        for (uint32_t e = 0; e < 2; e++) { // a NIC may be slower than what it is cabled to
            const topology_vertex *end = topology_vertex_at(b->t, e ? link.to : link.from);
            if (end->node == NO_ID) continue;
            const uint64_t most_mBps = b->t->nodes.items[end->node].nic_rate_mBps;
            if (most_mBps > 0 && most_mBps < link.rate_mBps) link.rate_mBps = most_mBps;
        }
        for (uint32_t k = 0; k < c->count; k++)
            topology_add_cable(b->t, &link);
    }
}

// ---- do all NICs reach each other?

static uint32_t root_of(uint32_t *parent, uint32_t v)
{
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

// The parts that switches fall into when only cables between switches count, and which parts each NIC is cabled to: NICs
// reach each other if they share a part or a cable, for no NIC passes on what is not its own.
typedef struct part_cable {
    vertex_id nic;
    uint32_t part;
} part_cable;
ARRAY_OF(part_cable, part_cable_array);

static bool joined(const list_builder *b, const part_cable_array *parts, const uint32_t *starts, nic_id x,
                   nic_id y)
{
    for (uint32_t i = starts[x]; i < starts[x + 1]; i++)
        for (uint32_t j = starts[y]; j < starts[y + 1]; j++)
            if (parts->items[i].part == parts->items[j].part) return true;
    const vertex_id v = b->t->nics.items[x].vertex, w = b->t->nics.items[y].vertex;
    for (uint32_t i = 0; i < b->count; i++) {
        const vertex_id *end = &b->ends[2 * (size_t)i];
        if ((end[0] == v && end[1] == w) || (end[0] == w && end[1] == v)) return true;
    }
    return false;
}

static bool same_parts(const part_cable_array *parts, const uint32_t *starts, nic_id x, nic_id y)
{
    const uint32_t count = starts[x + 1] - starts[x];
    if (count == 0 || count != starts[y + 1] - starts[y]) return false;
    for (uint32_t i = 0; i < count; i++)
        if (parts->items[starts[x] + i].part != parts->items[starts[y] + i].part) return false;
    return true;
}

static bool refuse_apart(const list_builder *b, nic_id x, nic_id y)
{
    char first[80], second[80];
    const topology *t = b->t;
    return sim_fail(b->error, SIM_EXIT_INPUT, b->where,
                    "the fabric is not connected: no cables lead from %s to %s",
                    topology_vertex_name(t, t->nics.items[x].vertex, first, sizeof first),
                    topology_vertex_name(t, t->nics.items[y].vertex, second, sizeof second));
}

// Fills starts (per NIC) and parts, in the order of NICs.
static void gather_parts(const list_builder *b, uint32_t *starts, part_cable_array *parts)
{
    topology *t = b->t;
    uint32_t *parent = arena_array(t->arena, uint32_t, t->vertices.count);
    for (vertex_id v = 0; v < t->vertices.count; v++)
        parent[v] = v;
    for (uint32_t i = 0; i < b->count; i++) {
        const vertex_id x = b->ends[2 * (size_t)i], y = b->ends[2 * (size_t)i + 1];
        if (t->vertices.items[x].node != NO_ID || t->vertices.items[y].node != NO_ID) continue;
        parent[root_of(parent, x)] = root_of(parent, y);
    }
    for (uint32_t pass = 0; pass < 2; pass++) { // count, then fill
        for (uint32_t i = 0; i < 2 * b->count; i++) {
            const vertex_id x = b->ends[i], y = b->ends[i ^ 1];
            if (t->vertices.items[x].node == NO_ID || t->vertices.items[y].node != NO_ID) continue;
            const nic_id nic = topology_nic_of(t, x);
            if (pass == 0)
                starts[nic + 1]++;
            else
                parts->items[starts[nic]++] = (part_cable){ .nic = x, .part = root_of(parent, y) };
        }
        if (pass == 1) break;
        for (nic_id n = 0; n < t->nics.count; n++)
            starts[n + 1] += starts[n];
        if (starts[t->nics.count] > 0) array_reserve(parts, t->arena, starts[t->nics.count]);
    }
    for (nic_id n = t->nics.count; n > 0; n--) // each start has moved to the next one's
        starts[n] = starts[n - 1];
    starts[0] = 0;
}

// NICs with equal parts are alike, so one of each kind is compared with all others; those with a cable to another NIC are
// kinds of their own.
static bool check_reach(const list_builder *b)
{
    topology *t = b->t;
    const uint32_t nics = t->nics.count;
    part_cable_array parts = { 0 };
    uint32_t *starts = arena_array(t->arena, uint32_t, (size_t)nics + 1), kinds = 0;
    nic_id *kind = arena_array(t->arena, nic_id, nics);
    bool *direct = arena_array(t->arena, bool, nics);
    gather_parts(b, starts, &parts);
    for (uint32_t i = 0; i < 2 * b->count; i++)
        if (t->vertices.items[b->ends[i]].node != NO_ID && t->vertices.items[b->ends[i ^ 1]].node != NO_ID)
            direct[topology_nic_of(t, b->ends[i])] = true;
    for (nic_id n = 0; n < nics; n++) {
        uint32_t k = 0;
        while (k < kinds && (direct[n] || direct[kind[k]] || !same_parts(&parts, starts, kind[k], n)))
            k++;
        if (k < kinds) continue;
        for (k = 0; k < kinds; k++)
            if (!joined(b, &parts, starts, kind[k], n)) return refuse_apart(b, kind[k], n);
        kind[kinds++] = n;
    }
    return true;
}

// ---- distances

void list_fill_distances(const topology *t, const uint8_t *avoided, uint8_t *distance)
{
    const topology_list *list = &t->list;
    const uint32_t n = list->switches;
    uint32_t queue[LIST_SWITCHES_MAX];
    memset(distance, LIST_FAR, (size_t)n * n);
    for (uint32_t source = 0; source < n; source++) {
        uint8_t *row = distance + (size_t)source * n;
        uint32_t filled = 1;
        queue[0] = source;
        row[source] = 0;
        for (uint32_t next = 0; next < filled; next++) {
            uint32_t links;
            const link_id *out = topology_outgoing(t, list->first_switch + queue[next], &links);
            for (uint32_t i = 0; i < links; i++) {
                const uint32_t to = t->links.items[out[i]].to - list->first_switch; // a NIC's wraps round
                if (to >= n || row[to] != LIST_FAR || (avoided && avoided[out[i]])) continue;
                if (row[queue[next]] + 1 >= LIST_FAR) continue;
                row[to] = (uint8_t)(row[queue[next]] + 1);
                queue[filled++] = to;
            }
        }
    }
}

bool list_check_lengths(const topology *t, const sim_place *where, sim_error *error)
{
    const uint32_t n = t->list.switches;
    for (size_t i = 0; i < (size_t)n * n; i++) {
        const uint8_t hops = t->list.distance[i];
        if (hops == LIST_FAR || hops <= LIST_HOPS_MAX) continue;
        char first[80], second[80];
        return sim_fail(
            error, SIM_EXIT_INPUT, where,
            "from %s to %s it is %u cables; a path has at most %d between switches",
            topology_vertex_name(t, t->list.first_switch + (uint32_t)(i / n), first, sizeof first),
            topology_vertex_name(t, t->list.first_switch + (uint32_t)(i % n), second, sizeof second), hops,
            LIST_HOPS_MAX);
    }
    return true;
}

bool topology_add_cables(topology *t, const listed_cable *cables, uint32_t count, const sim_place *where,
                         sim_error *error)
{
    SIM_ASSERT(!t->sealed && t->shape == SHAPE_NO_NETWORK && count <= UINT32_MAX / 4);
    list_builder b = { .t = t, .cables = cables, .count = count, .where = where, .error = error };
    b.ends = arena_array(t->arena, vertex_id, 2 * (size_t)count);
    t->list.first_switch = t->vertices.count;
    if (!find_ends(&b)) return false;
    t->list.switches = t->vertices.count - t->list.first_switch;
    if (!check_reach(&b)) return false;
    add_links(&b);
    t->shape = SHAPE_LIST;
    return true;
}
