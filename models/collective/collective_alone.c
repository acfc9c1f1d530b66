// SPDX-License-Identifier: GPL-3.0-or-later
// Collectives that need not be played. Where nobody else moves on its links, a collective takes as long each time: from its
// last arrival on it is a fixed sequence of requests, and the network's times are integers that do not depend on when it began
// (network_is_steady). So it is played once, on a clock and a network of its own, and from then on only counted.
//
// Shapes inside nodes that differ only in the number of the node are played once for all of them: if the links of their paths
// have the same rates and delays and follow one another in the same order of ids, at the same distances, then the network
// does the same with both; even what it decides by the lesser id.
#include "models/collective/message_play.h"
#include "sim/hash.h"

ARRAY_OF(uint64_t, word_array);

typedef struct alone_place { // a shape that was played, and where its links lie
    uint32_t shape, next;    // next: with the same hash, or NO_ID
    uint64_t *words;
    uint32_t word_count;
} alone_place;

ARRAY_OF(alone_place, alone_place_array);

typedef struct alone_player {
    sim *sim;
    network *network;
    message_player *messages; // NULL in the streams grain
    uint16_t client;
    alone_place_array places;
    map *place_by_hash;
    word_array words; // scratch
    collectives *collectives;
    bool ended; // what was played last
} alone_player;

// ---- playing

static void on_delivered(void *owner, uint64_t tag, transfer_id id)
{
    alone_player *p = owner;
    (void)tag;
    (void)id;
    p->ended = true;
}

static void on_messages_end(void *owner, uint32_t tag)
{
    alone_player *p = owner;
    (void)tag;
    p->ended = true;
}

static void run(alone_player *p)
{
    const sim_outcome outcome = sim_run(p->sim, SIM_TIME_MAX);
    SIM_ASSERT(outcome == SIM_DRAINED && p->ended);
    p->ended = false;
}

static sim_time play(alone_player *p, uint32_t s)
{
    collectives *c = p->collectives;
    const shape *own = shape_at(c, s);
    const sim_time start_ps = sim_now(p->sim);
    if (own->requests == 0) return 0;
    if (c->options.grain == GRAIN_MESSAGES) {
        message_play(p->messages, s, 0);
        run(p);
    }
    for (uint32_t stage = 0; own->stages && stage < own->requests; stage++) {
        network_request request = shape_stream(c, own, stage);
        request.client = p->client;
        network_start(p->network, &request);
        run(p);
    }
    return sim_now(p->sim) - start_ps;
}

static alone_player *player_of(collectives *c)
{
    if (c->alone) return c->alone;
    alone_player *p = arena_new(c->arena, alone_player);
    *p = (alone_player){ .sim = c->options.alone, .collectives = c };
    p->network = network_create_like(c->arena, p->sim, c->network);
    p->client = network_add_client(p->network, on_delivered, p);
    const message_client client = { .ended = on_messages_end, .owner = p };
    if (c->options.grain == GRAIN_MESSAGES)
        p->messages = message_player_create(c, p->sim, p->network, &client);
    p->place_by_hash = map_create(c->arena);
    return c->alone = p;
}

// ---- equal places

static void add_word(collectives *c, uint64_t word)
{
    *array_push(&c->alone->words, c->arena) = word;
}

// Links by their distance from the first: as 64-bit numbers, so that a lesser id is a distance as well.
static bool add_path(collectives *c, const network_edge *edge, uint32_t *first)
{
    const topology *t = network_topology(c->network);
    uint32_t path[TOPOLOGY_PATH_MAX];
    const uint32_t links = topology_route(t, edge->from, edge->to, path);
    add_word(c, links);
    for (uint32_t i = 0; i < links; i++) {
        if (path[i] >= topology_link_count(t)) return false;
        const topology_link *link = topology_link_at(t, path[i]);
        if (link->class == LINK_NETWORK) return false;
        if (*first == NO_ID) *first = path[i];
        add_word(c, (uint64_t)path[i] - *first);
        add_word(c, link->rate_mBps);
        add_word(c, (uint64_t)link->delay_ps);
    }
    return true;
}

// Everything that the time depends on, as words. False: it leaves its node, where paths depend on more than the two ends.
static bool write_words(collectives *c, const shape *s)
{
    const plan *p = &shape_plan(c, s)->plan;
    uint32_t first = NO_ID;
    array_clear(&c->alone->words);
    add_word(c, s->plan);
    add_word(c, (uint64_t)s->pace.latency_ps);
    add_word(c, (uint64_t)s->pace.stream_ps);
    for (uint32_t stage = 0; s->stages && stage < s->requests; stage++) {
        add_word(c, (uint64_t)s->stages[stage].latency_ps);
        add_word(c, (uint64_t)s->stages[stage].stream_ps);
    }
    for (uint32_t e = 0; e < p->edge_count; e++) {
        add_word(c, s->edges[e].bytes);
        if (!add_path(c, &s->edges[e], &first)) return false;
    }
    return true;
}

static uint64_t hash_of(const word_array *words)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < words->count; i++)
        hash = hash_mix(hash ^ words->items[i]) + words->items[i];
    return hash;
}

// The place of the words; with_shape is played where it is new.
static const alone_place *find_place(collectives *c, uint32_t with_shape)
{
    alone_player *p = c->alone;
    const uint64_t hash = hash_of(&p->words);
    const size_t size = p->words.count * sizeof *p->words.items;
    uint32_t first = NO_ID;
    map_get(p->place_by_hash, hash, &first);
    for (uint32_t i = first; i != NO_ID; i = p->places.items[i].next) {
        const alone_place *place = &p->places.items[i];
        if (place->word_count == p->words.count && memcmp(place->words, p->words.items, size) == 0)
            return place;
    }
    alone_place *made = array_push(&p->places, c->arena);
    *made = (alone_place){ .shape = with_shape, .next = first, .word_count = p->words.count };
    made->words = arena_array(c->arena, uint64_t, made->word_count);
    memcpy(made->words, p->words.items, size);
    map_set(p->place_by_hash, hash, p->places.count - 1);
    return made;
}

// ---- what others call

bool collectives_know_alone(const collectives *c)
{
    return c->options.alone && network_is_steady(c->network);
}

sim_time collective_alone_ps(collectives *c, uint32_t s)
{
    shape *own = &c->shapes.items[s];
    SIM_ASSERT(s < c->shapes.count && collectives_know_alone(c));
    if (own->alone_ps != ALONE_UNKNOWN) return own->alone_ps;
    alone_player *p = player_of(c);
    const uint32_t like = write_words(c, own) ? find_place(c, s)->shape : s;
    own->alone_ps = like == s ? play(p, s) : shape_at(c, like)->alone_ps;
    return own->alone_ps;
}

void collective_record_alone(collectives *c, uint32_t s, sim_time start_ps, sim_time end_ps)
{
    const shape *own = shape_at(c, s);
    SIM_ASSERT(start_ps <= end_ps);
    collective_count_opened(c, s);
    collective_count_end(c, own, start_ps, end_ps);
    c->counters.messages += own->requests;
    c->counters.alone++;
}

void collective_carry_alone(collectives *c, uint32_t s, uint64_t times)
{
    const shape *own = shape_at(c, s);
    for (uint32_t r = 0; r < own->requests; r++) {
        const network_request request = c->options.grain == GRAIN_STREAMS ? shape_stream(c, own, r)
                                                                          : message_request(c, own, r);
        network_carry(c->network, &request, times);
    }
}
