// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/cluster_degraded.h"
#include "models/network/topology_build.h"
#include "sim/map.h"
#include "sim/words.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool check_ratio(const void *field, const doc_node *node, sim_error *error)
{
    const double least = 0.001;
    if (*(const double *)field >= least) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &node->place,
                    "a part of which less than a thousandth is left is down, not degraded") ||
           sim_hint(error, "0.001 to 1; parts that are down are faults, which are not modelled here");
}

typedef enum degraded_retry { RETRY_BY_TRANSPORT, RETRY_BY_LINK } degraded_retry;
static const char *const retry_words[] = { "transport", "link", NULL };

#define LOSS_MAX 0.5 // of packets, or of frames: what loses more is down

static bool check_loss(const void *field, const doc_node *node, sim_error *error)
{
    if (*(const double *)field <= LOSS_MAX) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &node->place,
                    "a link that loses more than half of its packets is down, not degraded") ||
           sim_hint(error,
                    "above 0, at most 0.5; parts that are down are faults, which are not modelled here");
}

#define RATIO(field_, key_, ...)                                                                             \
    BIND_NUMBER(degraded_entry, field_##_ratio, key_, .default_text = "1",                                   \
                BIND_SET_FLAG(degraded_entry, has.field_), BIND_AT_LEAST(0), BIND_AT_MOST(1),                \
                .check = check_ratio, __VA_ARGS__)
#define HAS(key_) BIND_SET_FLAG(degraded_entry, has.key_)
const bind_row degraded_binds[] = {
    BIND_TEXT(degraded_entry, gpu, "gpu", HAS(gpu),
              BIND_NOTE("\"node 3 gpu 5\" or \"gpu 29\"; beside it clock, memory or both")),
    BIND_TEXT(
        degraded_entry, nic, "nic", HAS(nic),
        BIND_NOTE(
            "\"node 2 nic 1\" or \"nic 17\": its cables into the network, both ways; beside it rate, loss or "
            "bit_error_rate")),
    BIND_TEXT(
        degraded_entry, link, "link", HAS(link),
        BIND_NOTE(
            "\"leaf 0 > spine 1\", or inside a node \"node 0 gpu 1 > node 0 nvswitch 0\"; beside it rate, "
            "loss or bit_error_rate")),
    RATIO(clock, "clock", BIND_NOTE("of a GPU: against that of a healthy one")),
    RATIO(memory, "memory", BIND_NOTE("of a GPU: rate of its memory against that of a healthy one")),
    RATIO(rate, "rate", BIND_NOTE("of a NIC or link: against that of a healthy one")),
    BIND_NUMBER(degraded_entry, loss, "loss", .default_text = "0", HAS(loss), BIND_ABOVE(0),
                .check = check_loss, BIND_NOTE("of a NIC or link: share of the packets that it loses")),
    BIND_NUMBER(degraded_entry, bit_error_rate, "bit_error_rate", .default_text = "0", HAS(bit_error_rate),
                BIND_ABOVE(0), BIND_AT_MOST(0.01),
                BIND_NOTE("of a NIC or link: share of the bits that are wrong behind the error correction")),
    BIND_ENUM(
        degraded_entry, retry, "retry", retry_words, HAS(retry),
        .default_text = "transport; link inside a node",
        BIND_NOTE("beside bit_error_rate: who sends damaged frames again, the transport or the link itself")),
    BIND_BOOL(degraded_entry, both, "both", HAS(both), .default_text = "false",
              BIND_NOTE("of a link: the way back is degraded as well")),
    BIND_U32(degraded_entry, index, "index", HAS(index), .default_text = "all of them",
             BIND_NOTE("of a link: which one of several parallel ones, counted from 0")),
    BIND_END,
};

// ---- a row by itself

typedef enum part_kind { PART_GPU, PART_NIC, PART_LINK, PART_KINDS } part_kind;
static const char *const part_names[PART_KINDS] = { "GPU", "NIC", "link" };
static const char *const part_keys[PART_KINDS] = { "clock, memory", "rate, loss, bit_error_rate, retry",
                                                   "rate, loss, bit_error_rate, retry, both, index" };
static const char *const part_examples[PART_KINDS] = { "clock: 0.9 or memory: 0.8",
                                                       "rate: 0.5, loss: 1e-4 or bit_error_rate: 1e-9",
                                                       "rate: 0.5, loss: 1e-4 or bit_error_rate: 1e-9" };

typedef struct row_key { // which parts have a key
    const char *key;
    bool given;
    const sim_place *place;
    uint32_t parts; // bits
} row_key;

#define KEY(key_, field_, parts_)                                                                            \
    {                                                                                                        \
#key_, e->has.key_, bind_place_of(r, &e->field_), parts_                                             \
    }

static bool check_row(const degraded_entry *e, const bind_reader *r, sim_error *error)
{
    const row_key parts[PART_KINDS] = { KEY(gpu, gpu, 1u << PART_GPU), KEY(nic, nic, 1u << PART_NIC),
                                        KEY(link, link, 1u << PART_LINK) };
    const uint32_t links = 1u << PART_NIC | 1u << PART_LINK;
    const row_key keys[] = { KEY(clock, clock_ratio, 1u << PART_GPU),
                             KEY(memory, memory_ratio, 1u << PART_GPU),
                             KEY(rate, rate_ratio, links),
                             KEY(loss, loss, links),
                             KEY(bit_error_rate, bit_error_rate, links),
                             KEY(retry, retry, links),
                             KEY(both, both, 1u << PART_LINK),
                             KEY(index, index, 1u << PART_LINK) };
    const row_key *part = NULL;
    for (uint32_t i = 0; i < PART_KINDS; i++) {
        if (!parts[i].given) continue;
        if (part)
            return sim_fail(error, SIM_EXIT_INPUT, parts[i].place,
                            "a row names one part, but this one names %s and %s", part->key, parts[i].key) ||
                   sim_hint(error, "a row for each of them");
        part = &parts[i];
    }
    if (!part)
        return sim_fail(error, SIM_EXIT_INPUT, bind_place_of(r, e), "no part is named that is degraded") ||
               sim_hint(error, "gpu: node 3 gpu 5, nic: node 2 nic 1, or link: leaf 0 > spine 1");
    const part_kind kind = (part_kind)(part - parts);
    for (uint32_t i = 0; i < ARRAY_COUNT(keys); i++)
        if (keys[i].given && !(keys[i].parts & part->parts))
            return sim_fail(error, SIM_EXIT_INPUT, keys[i].place, "a degraded %s has no \"%s\"",
                            part_names[kind], keys[i].key) ||
                   sim_hint(error, "it has: %s", part_keys[kind]);
    if (e->has.retry && !e->has.bit_error_rate)
        return sim_fail(error, SIM_EXIT_INPUT, bind_place_of(r, &e->retry),
                        "retry says who repairs damaged frames, but no bit_error_rate damages any") ||
               sim_hint(error, "bit_error_rate: 1e-9");
    if (e->has.clock || e->has.memory || e->has.rate || e->has.loss || e->has.bit_error_rate) return true;
    return sim_fail(error, SIM_EXIT_INPUT, part->place, "what is left of this %s is missing",
                    part_names[kind]) ||
           sim_hint(error, "%s", part_examples[kind]);
}

bool degraded_check(const degraded_entry_array *rows, const bind_reader *r, sim_error *error)
{
    for (uint32_t i = 0; i < rows->count; i++)
        if (!check_row(&rows->items[i], r, error)) return false;
    return true;
}

// ---- rows against the fabric

typedef struct degraded_reader {
    arena *arena;
    topology *topology;
    const bind_reader *reader;
    const fabric_def *fabric;
    map *gpus, *links; // those that a row before has named: the line of that row
    sim_error *error;
} degraded_reader;

// Notes a part that where names; refuses the second time.
static bool take(const degraded_reader *d, map *known, uint32_t id, const sim_place *where)
{
    uint32_t line;
    char name[192];
    if (!map_get(known, id, &line)) {
        map_set(known, id, where ? where->line : 0);
        return true;
    }
    return sim_fail(d->error, SIM_EXIT_INPUT, where, "%s is degraded twice",
                    known == d->gpus ? topology_vertex_name(d->topology, id, name, sizeof name)
                                     : topology_link_name(d->topology, id, name, sizeof name)) ||
           sim_hint(d->error, "one row for each part; this one has a row in line %" PRIu32, line);
}

// A bare number counts the parts of this kind through the cluster; elsewhere it would be a host.
static const char *counted_text(arena *a, const char *text, vertex_kind kind)
{
    const bool is_number = *text && strspn(text, "0123456789") == strlen(text);
    return is_number ? arena_format(a, "%s %s", vertex_kind_words[kind], text) : text;
}

// What there is of this kind: in the node that the text names, if there is one, and in the cluster.
static bool hint_there(const degraded_reader *d, const char *text, vertex_kind kind)
{
    const char *word = vertex_kind_words[kind], *name = kind == VERTEX_GPU ? "GPUs" : "NICs";
    const uint32_t all = topology_count_kind(d->topology, kind);
    uint32_t node, number, here = 0;
    if (all == 0) return sim_hint(d->error, "the cluster has no %s", name);
    if (sscanf(text, " node %" SCNu32 "", &node) == 1) {
        vertex_id v;
        for (number = 0; number < all; number++, here++) {
            sim_error none = { 0 };
            const char *next = arena_format(d->arena, "node %" PRIu32 " %s %" PRIu32, node, word, number);
            if (!topology_find_vertex(d->topology, next, NULL, &v, &none)) break;
        }
    }
    if (here > 0) return sim_hint(d->error, "node %" PRIu32 " has %s 0 to %" PRIu32, node, name, here - 1);
    return sim_hint(d->error, "%s 0 to %" PRIu32 " counted through the cluster, or \"node 0 %s 0\"", name,
                    all - 1, word);
}

static bool find_kind(const degraded_reader *d, const char *text, vertex_kind kind, const sim_place *where,
                      vertex_id *out)
{
    char name[80];
    text = counted_text(d->arena, text, kind);
    if (!topology_find_vertex(d->topology, text, where, out, d->error)) return hint_there(d, text, kind);
    if (topology_vertex_at(d->topology, *out)->kind == kind) return true;
    sim_fail(d->error, SIM_EXIT_INPUT, where, "%s is no %s",
             topology_vertex_name(d->topology, *out, name, sizeof name), vertex_kind_words[kind]);
    return hint_there(d, text, kind);
}

static bool apply_gpu(const degraded_reader *d, const degraded_entry *e)
{
    const sim_place *where = bind_place_of(d->reader, &e->gpu);
    vertex_id v;
    return find_kind(d, e->gpu, VERTEX_GPU, where, &v) && take(d, d->gpus, v, where);
}

// Inside a node links repair themselves.
static bool is_inside(const degraded_reader *d, link_id l)
{
    return topology_link_at(d->topology, l)->class != LINK_NETWORK;
}

static bool check_damage(const degraded_reader *d, const degraded_entry *e, link_id l, bool repeats)
{
    const uint64_t frame_bytes = topology_frame_bytes(d->topology, l);
    const double damaged = frame_error_ratio(e->bit_error_rate, frame_bytes);
    const double lost = 1.0 - (1.0 - e->loss) * (1.0 - damaged);
    if (damaged <= LOSS_MAX && (repeats || lost <= LOSS_MAX)) return true;
    if (damaged <= LOSS_MAX)
        return sim_fail(
                   d->error, SIM_EXIT_INPUT, bind_place_of(d->reader, &e->loss),
                   "with its bit_error_rate it would lose %.0f %% of its packets: such a link is down, not "
                   "degraded",
                   100.0 * lost) ||
               sim_hint(d->error, "less of either");
    return sim_fail(d->error, SIM_EXIT_INPUT, bind_place_of(d->reader, &e->bit_error_rate),
                    "%.0f %% of the frames of %" PRIu64
                    " bytes would be damaged: such a link is down, not degraded",
                    100.0 * damaged, frame_bytes) ||
           sim_hint(d->error, "bit_error_rate: at most %.2g", LOSS_MAX / (8.0 * (double)frame_bytes));
}

// What a link can have depends on what it is, and in the network on the transport.
static bool check_faults(const degraded_reader *d, const degraded_entry *e, link_id l)
{
    const bool inside = is_inside(d, l), by_link = e->has.retry && e->retry == RETRY_BY_LINK;
    const char *class = link_class_words[topology_link_at(d->topology, l)->class];
    if (!e->has.loss && !e->has.bit_error_rate) return true;
    if (inside && (e->has.loss || (e->has.retry && !by_link)))
        return sim_fail(d->error, SIM_EXIT_INPUT,
                        e->has.loss ? bind_place_of(d->reader, &e->loss)
                                    : bind_place_of(d->reader, &e->retry),
                        "links of class %s lose nothing: they send damaged frames again themselves", class) ||
               sim_hint(d->error, "bit_error_rate: 1e-9, without loss, or with retry: link");
    if (inside) return check_damage(d, e, l, true);
    if (d->fabric->transport == 0)
        return sim_fail(d->error, SIM_EXIT_INPUT,
                        e->has.loss ? bind_place_of(d->reader, &e->loss)
                                    : bind_place_of(d->reader, &e->bit_error_rate),
                        "what a packet is and who sends it again depends on a transport, which the fabric "
                        "does not "
                        "name") ||
               sim_hint(d->error, "fabric.transport: infiniband, roce or tcp");
    if (!by_link || d->fabric->transport == 1 + TRANSPORT_INFINIBAND) return check_damage(d, e, l, by_link);
    return sim_fail(d->error, SIM_EXIT_INPUT, bind_place_of(d->reader, &e->retry),
                    "ports of Ethernet, which %s runs on, send no frame again",
                    transport_words[d->fabric->transport - 1]) ||
           sim_hint(d->error, "retry: transport, or fabric.transport: infiniband");
}

static bool apply_link(const degraded_reader *d, const degraded_entry *e, link_id l, bool both,
                       const sim_place *where)
{
    if (!take(d, d->links, l, where) || !check_faults(d, e, l)) return false;
    topology_degrade_link(d->topology, l, e->has.rate ? e->rate_ratio : 1.0);
    if (e->has.loss || e->has.bit_error_rate)
        topology_fault_link(d->topology, l,
                            &(link_fault_def){ .loss = e->loss,
                                               .bit_error_rate = e->bit_error_rate,
                                               .repeats = is_inside(d, l) || e->retry == RETRY_BY_LINK });
    return !both || apply_link(d, e, topology_link_back(l), false, where);
}

static bool apply_nic(const degraded_reader *d, const degraded_entry *e)
{
    const sim_place *where = bind_place_of(d->reader, &e->nic);
    vertex_id v;
    uint32_t count, cables = 0;
    char name[80];
    if (!find_kind(d, e->nic, VERTEX_NIC, where, &v)) return false;
    const link_id *links = topology_outgoing(d->topology, v, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (topology_link_at(d->topology, links[i])->class != LINK_NETWORK) continue;
        if (!apply_link(d, e, links[i], true, where)) return false;
        cables++;
    }
    if (cables > 0) return true;
    return sim_fail(d->error, SIM_EXIT_INPUT, where, "no cable leads from %s into a network",
                    topology_vertex_name(d->topology, v, name, sizeof name)) ||
           sim_hint(d->error, "links inside a node are degraded by link: node 0 gpu 0 > node 0 nic 0");
}

// The text around the first ">", which stands between the ends.
static bool find_ends(const degraded_reader *d, const char *text, const sim_place *where, vertex_id *from,
                      vertex_id *to)
{
    const char *arrow = strchr(text, '>');
    char shown[WORDS_SHOWN_SIZE];
    if (!arrow || (arrow > text && arrow[-1] == '<'))
        return sim_fail(d->error, SIM_EXIT_INPUT, where, "\"%s\" names no link", words_show(shown, text)) ||
               sim_hint(d->error, "link: leaf 0 > spine 1, and both: true for the way back as well");
    const char *left_end = arrow, *right = arrow + 1 + strspn(arrow + 1, " ");
    while (left_end > text && left_end[-1] == ' ')
        left_end--;
    const char *left = arena_text_n(d->arena, text, (size_t)(left_end - text));
    return topology_find_vertex(d->topology, left, where, from, d->error) &&
           topology_find_vertex(d->topology, right, where, to, d->error);
}

static bool apply_links(const degraded_reader *d, const degraded_entry *e)
{
    const sim_place *where = bind_place_of(d->reader, &e->link);
    vertex_id from, to;
    uint32_t count, parallel = 0;
    char name[192];
    if (!find_ends(d, e->link, where, &from, &to)) return false;
    const link_id *links = topology_outgoing(d->topology, from, &count);
    link_id last = NO_ID;
    for (uint32_t i = 0; i < count; i++) {
        if (topology_link_at(d->topology, links[i])->to != to) continue;
        last = links[i];
        const bool meant = !e->has.index || e->index == parallel;
        parallel++;
        if (meant && !apply_link(d, e, links[i], e->both, where)) return false;
    }
    if (parallel == 0) return topology_refuse_pair(d->topology, from, to, where, d->error);
    if (!e->has.index || e->index < parallel) return true;
    sim_fail(d->error, SIM_EXIT_INPUT, bind_place_of(d->reader, &e->index), "there %s %" PRIu32 " link%s %s",
             parallel == 1 ? "is" : "are", parallel, parallel == 1 ? "" : "s",
             topology_link_name(d->topology, last, name, sizeof name));
    return sim_hint(d->error, "index: 0 to %" PRIu32 "; left out: all of them", parallel - 1);
}

bool degraded_apply(arena *a, const cluster_def *c, topology *t, const bind_reader *r, sim_error *error)
{
    const degraded_entry_array *rows = &c->degraded;
    const degraded_reader d = { .arena = a,
                                .topology = t,
                                .reader = r,
                                .fabric = &c->fabric,
                                .gpus = map_create(a),
                                .links = map_create(a),
                                .error = error };
    bool fine = true;
    for (uint32_t i = 0; fine && i < rows->count; i++) {
        const degraded_entry *e = &rows->items[i];
        fine = e->has.gpu ? apply_gpu(&d, e) : e->has.nic ? apply_nic(&d, e) : apply_links(&d, e);
    }
    return fine;
}

// ---- what a job has no use for

// Of a row that degraded_apply() let pass.
static vertex_id vertex_named(arena *a, const topology *t, const char *text, vertex_kind kind)
{
    sim_error error = { 0 };
    vertex_id v;
    const bool found = topology_find_vertex(t, counted_text(a, text, kind), NULL, &v, &error);
    SIM_ASSERT(found);
    return v;
}

static bool node_is_idle(const topology *t, vertex_id v, const degraded_users *users)
{
    const node_id node = topology_vertex_at(t, v)->node;
    return node != NO_ID && !users->nodes[node];
}

// Of the network, links of nodes that take part may carry something as soon as there are two of them.
static bool link_is_idle(arena *a, const topology *t, const char *text, const degraded_users *users)
{
    const degraded_reader d = { .arena = a, .topology = (topology *)t, .error = &(sim_error){ 0 } };
    vertex_id from, to;
    const bool found = find_ends(&d, text, NULL, &from, &to);
    SIM_ASSERT(found);
    const topology_vertex *x = topology_vertex_at(t, from), *y = topology_vertex_at(t, to);
    const bool of_network = x->kind >= VERTEX_LEAF || y->kind >= VERTEX_LEAF;
    return node_is_idle(t, from, users) || node_is_idle(t, to, users) ||
           (of_network && users->node_count == 1);
}

static bool is_idle(arena *a, const topology *t, const degraded_entry *e, const degraded_users *users)
{
    if (e->has.gpu) return !users->gpus[topology_gpu_of(t, vertex_named(a, t, e->gpu, VERTEX_GPU))];
    if (e->has.nic)
        return users->node_count == 1 || node_is_idle(t, vertex_named(a, t, e->nic, VERTEX_NIC), users);
    return link_is_idle(a, t, e->link, users);
}

void degraded_warn_of_idle(arena *a, const degraded_entry_array *rows, const topology *t,
                           const degraded_users *users, text_list *out)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        const degraded_entry *e = &rows->items[i];
        if (!is_idle(a, t, e, users)) continue;
        const char *key = e->has.gpu ? "gpu" : e->has.nic ? "nic" : "link";
        const char *text = e->has.gpu ? e->gpu : e->has.nic ? e->nic : e->link;
        *array_push(out, a) = arena_format(
            a, "degraded %s \"%s\" changes nothing, for the job does not use it", key, text);
    }
}

gpu_health degraded_gpus(arena *a, const degraded_entry_array *rows, const topology *t)
{
    const uint32_t gpus = topology_gpu_count(t);
    double *clock = arena_array(a, double, gpus), *memory = arena_array(a, double, gpus);
    for (gpu_id g = 0; g < gpus; g++)
        clock[g] = memory[g] = 1.0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const degraded_entry *e = &rows->items[i];
        if (!e->has.gpu) continue;
        const gpu_id gpu = topology_gpu_of(t, vertex_named(a, t, e->gpu, VERTEX_GPU));
        if (e->has.clock) clock[gpu] = e->clock_ratio;
        if (e->has.memory) memory[gpu] = e->memory_ratio;
    }
    return (gpu_health){ .clock_ratio = clock, .memory_ratio = memory };
}
