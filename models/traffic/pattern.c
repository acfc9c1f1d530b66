// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/traffic/pattern.h"
#include <inttypes.h>

const char *const pattern_words[] = { "ring",    "perm",  "permrand", "permk", "a2a",
                                      "a2arand", "churn", "incast",   NULL };

typedef unsigned __int128 u128;

bool pattern_is_loop(pattern_kind kind)
{
    return kind == PATTERN_RING || kind == PATTERN_CHURN;
}

bool pattern_has_rounds(pattern_kind kind)
{
    return kind == PATTERN_PERMK || kind == PATTERN_CHURN;
}

static bool has_random_sizes(pattern_kind kind)
{
    return kind == PATTERN_PERMRAND || kind == PATTERN_PERMK || kind == PATTERN_A2ARAND ||
           kind == PATTERN_CHURN;
}

bool pattern_has_draws(pattern_kind kind)
{
    return kind == PATTERN_PERM || has_random_sizes(kind);
}

// ---- draws

uint64_t pattern_next(pattern_stream *s)
{
    uint64_t z = s->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void pattern_permute(pattern_stream *s, uint32_t hosts, uint32_t *to)
{
    for (uint32_t i = 0; i < hosts; i++)
        to[i] = i;
    for (uint32_t i = hosts - 1; i >= 1; i--) {
        const uint32_t j = (uint32_t)(pattern_next(s) % i), kept = to[i];
        to[i] = to[j];
        to[j] = kept;
    }
}

uint64_t pattern_size(pattern_stream *s, uint64_t bytes)
{
    return bytes / 2 + pattern_next(s) % (bytes + 1);
}

pattern_stream pattern_churn_stream(const pattern_def *p, uint32_t host)
{
    return (pattern_stream){ .state = p->seed * 1000003 + host };
}

traffic_flow pattern_churn_next(const pattern_def *p, pattern_stream *s, uint32_t hosts, uint32_t host)
{
    uint32_t to = (uint32_t)(pattern_next(s) % (hosts - 1));
    if (to >= host) to++;
    return (traffic_flow){ .from = host, .to = to, .bytes = pattern_size(s, p->bytes) };
}

uint64_t pattern_ring_steps(uint32_t hosts)
{
    return 2 * ((uint64_t)hosts - 1);
}

uint64_t pattern_ring_chunk_bytes(const pattern_def *p, uint32_t hosts)
{
    return p->bytes / hosts;
}

// ---- checks

static u128 count_of(const pattern_def *p, uint32_t hosts)
{
    switch (p->kind) {
    case PATTERN_RING: return (u128)hosts * pattern_ring_steps(hosts);
    case PATTERN_PERM:
    case PATTERN_PERMRAND: return hosts;
    case PATTERN_PERMK:
    case PATTERN_CHURN: return (u128)hosts * p->rounds;
    case PATTERN_A2A:
    case PATTERN_A2ARAND: return (u128)hosts * (hosts - 1);
    case PATTERN_INCAST: return hosts - 1;
    case PATTERN_KINDS: break;
    }
    SIM_ASSERT(p->kind < PATTERN_KINDS);
    return 0;
}

uint64_t pattern_flow_count(const pattern_def *p, uint32_t hosts)
{
    const u128 count = count_of(p, hosts);
    SIM_ASSERT(count <= TRAFFIC_LOOP_MAX);
    return (uint64_t)count;
}

static bool check_count(const pattern_def *p, uint32_t hosts, sim_error *error)
{
    const u128 count = count_of(p, hosts);
    const bool loop = pattern_is_loop(p->kind);
    const uint32_t most = loop ? TRAFFIC_LOOP_MAX : TRAFFIC_LIST_MAX;
    if (count <= most) return true;
    const double shown = (double)count;
    sim_fail(error, SIM_EXIT_INPUT, NULL,
             "%s among %" PRIu32 " hosts is %.15g flows, more than the %" PRIu32 " that are %s",
             pattern_words[p->kind], hosts, shown, most,
             loop ? "played one after another" : "held in memory at once");
    if (pattern_has_rounds(p->kind)) return sim_hint(error, "--rounds %" PRIu32, most / hosts);
    return sim_hint(error, "a smaller fabric, or another --pattern");
}

static bool check_bytes(const pattern_def *p, uint32_t hosts, sim_error *error)
{
    if (!p->bytes) return sim_fail(error, SIM_EXIT_INPUT, NULL, "--size must be above zero");
    const uint64_t each = p->kind == PATTERN_RING ? pattern_ring_chunk_bytes(p, hosts) : p->bytes;
    if (!each) {
        sim_fail(error, SIM_EXIT_INPUT, NULL,
                 "a ring of %" PRIu32 " hosts cuts the buffer into as many chunks, and %" PRIu64
                 " B leave none a byte",
                 hosts, p->bytes);
        return sim_hint(error, "--size '%" PRIu32 " B' or more", hosts);
    }
    // Of random sizes the largest is floor(B / 2) + B.
    const u128 largest = has_random_sizes(p->kind) ? (u128)each + each / 2 : each;
    if (largest <= TRAFFIC_BYTES_MAX / count_of(p, hosts)) return true;
    return sim_fail(error, SIM_EXIT_INPUT, NULL,
                    "the flows of %s would move more than the %" PRIu64 " bytes that can be counted",
                    pattern_words[p->kind], TRAFFIC_BYTES_MAX) ||
           sim_hint(error, "a smaller --size");
}

bool pattern_check(const pattern_def *p, uint32_t hosts, sim_error *error)
{
    SIM_ASSERT(p->kind < PATTERN_KINDS);
    if (hosts < 2)
        return sim_fail(error, SIM_EXIT_INPUT, NULL,
                        "%s needs at least two hosts, but the fabric has %" PRIu32, pattern_words[p->kind],
                        hosts);
    if (p->rounds == 0) return sim_fail(error, SIM_EXIT_INPUT, NULL, "--rounds must be at least 1");
    if (p->rounds > 1 && !pattern_has_rounds(p->kind)) {
        sim_fail(error, SIM_EXIT_INPUT, NULL, "%s has no rounds", pattern_words[p->kind]);
        return sim_hint(error, "--rounds goes with --pattern permk and churn");
    }
    return check_count(p, hosts, error) && check_bytes(p, hosts, error);
}

// ---- lists

static void add(traffic_flow_array *out, uint32_t from, uint32_t to, uint64_t bytes)
{
    SIM_ASSERT(out->count < out->capacity);
    out->items[out->count++] = (traffic_flow){ .from = from, .to = to, .bytes = bytes };
}

static void add_permutations(arena *a, pattern_stream *s, uint32_t hosts, const pattern_def *p,
                             traffic_flow_array *out)
{
    uint32_t *to = arena_array(a, uint32_t, hosts);
    for (uint64_t round = 0; round < p->rounds; round++) {
        pattern_permute(s, hosts, to);
        for (uint32_t i = 0; i < hosts; i++)
            add(out, i, to[i], p->bytes);
    }
}

static void add_all_pairs(uint32_t hosts, const pattern_def *p, traffic_flow_array *out)
{
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t j = 0; j < hosts; j++)
            if (i != j) add(out, i, j, p->bytes);
}

void pattern_draw(arena *a, const pattern_def *p, uint32_t hosts, traffic_flow_array *out)
{
    SIM_ASSERT(out->count == 0 && !pattern_is_loop(p->kind));
    pattern_stream s = { .state = p->seed };
    array_reserve(out, a, pattern_flow_count(p, hosts));
    switch (p->kind) {
    case PATTERN_PERM:
    case PATTERN_PERMRAND:
    case PATTERN_PERMK: add_permutations(a, &s, hosts, p, out); break;
    case PATTERN_A2A:
    case PATTERN_A2ARAND: add_all_pairs(hosts, p, out); break;
    case PATTERN_INCAST:
        for (uint32_t i = 1; i < hosts; i++)
            add(out, i, 0, p->bytes);
        break;
    case PATTERN_RING:
    case PATTERN_CHURN:
    case PATTERN_KINDS: break;
    }
    for (uint32_t i = 0; i < out->count && has_random_sizes(p->kind); i++)
        out->items[i].bytes = pattern_size(&s, p->bytes);
    SIM_ASSERT(out->count == pattern_flow_count(p, hosts));
}

const char *pattern_describe(arena *a, const pattern_def *p)
{
    char size[32];
    units_format(UNIT_BYTES, (double)p->bytes, size, sizeof(size));
    const char *rounds = pattern_has_rounds(p->kind) ? arena_format(a, " of %" PRIu64 " round%s", p->rounds,
                                                                    p->rounds == 1 ? "" : "s")
                                                     : "";
    const char *seed = pattern_has_draws(p->kind) ? arena_format(a, ", seed %" PRIu64, p->seed) : "";
    return arena_format(a, "%s%s, %s%s%s%s", pattern_words[p->kind], rounds,
                        has_random_sizes(p->kind) ? "about " : "", size,
                        p->kind == PATTERN_RING ? " in all" : " each", seed);
}
