// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/traffic/link_change.h"
#include "models/traffic/flow.h"
#include "sim/words.h"
#include <inttypes.h>
#include <stdlib.h>

const char *const link_change_words[] = { "down", "degrade", "up", NULL };

enum { NAME_SIZE = 192 };

// A part of the text without the blanks around it.
typedef struct piece {
    const char *begin, *end;
} piece;

typedef struct change_reader {
    arena *a;
    const topology *topology;
    const sim_place *where;
    const char *text;
    sim_error *error;
} change_reader;

// Columns count characters; names of parts are ASCII, and what else stands before a place is quoted as far as it goes.
static sim_place place_of(const change_reader *r, const char *at)
{
    sim_place place = *r->where;
    place.column += (uint32_t)(at - r->text);
    return place;
}

#define REFUSE(at_, ...) (place = place_of(r, (at_)), sim_fail(r->error, SIM_EXIT_INPUT, &place, __VA_ARGS__))

static piece trim(const char *begin, const char *end)
{
    while (begin < end && *begin == ' ')
        begin++;
    while (begin < end && end[-1] == ' ')
        end--;
    return (piece){ begin, end };
}

static const char *text_of(const change_reader *r, const piece *p)
{
    return arena_text_n(r->a, p->begin, (size_t)(p->end - p->begin));
}

// ---- links

static bool find_end(const change_reader *r, const piece *p, vertex_id *out)
{
    const sim_place place = place_of(r, p->begin);
    return topology_find_vertex(r->topology, text_of(r, p), &place, out, r->error);
}

static bool add_links(const change_reader *r, vertex_id from, vertex_id to, const link_change *change,
                      link_change_array *out)
{
    uint32_t count, found = 0;
    const link_id *links = topology_outgoing(r->topology, from, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (topology_link_at(r->topology, links[i])->to != to) continue;
        link_change *added = array_push(out, r->a);
        *added = *change;
        added->link = links[i];
        found++;
    }
    return found > 0;
}

static bool read_link(const change_reader *r, const piece *p, const link_change *change,
                      link_change_array *out)
{
    sim_place place;
    vertex_id from, to;
    const char *arrow = memchr(p->begin, '>', (size_t)(p->end - p->begin));
    if (!arrow)
        return REFUSE(p->begin, "a link is missing") ||
               sim_hint(r->error, "\"leaf 0 > spine 3 @ 1 ms\", or <> for both directions of the cable");
    const bool both = arrow > p->begin && arrow[-1] == '<';
    const piece left = trim(p->begin, both ? arrow - 1 : arrow), right = trim(arrow + 1, p->end);
    if (!find_end(r, &left, &from) || !find_end(r, &right, &to)) return false;
    if (!add_links(r, from, to, change, out)) {
        place = place_of(r, p->begin);
        return topology_refuse_pair(r->topology, from, to, &place, r->error);
    }
    if (both) add_links(r, to, from, change, out); // every cable has both
    return true;
}

// ---- times and ratios

static bool read_time(const change_reader *r, const piece *p, sim_time *time_ps)
{
    sim_place place = place_of(r, p->begin);
    if (!units_parse_ps(text_of(r, p), time_ps, &place, r->error)) return false;
    if (*time_ps < 0) return REFUSE(p->begin, "the time is negative");
    return *time_ps <= TRAFFIC_START_MAX_PS ||
           REFUSE(p->begin, "the time is later than the 53 days after which nothing may start");
}

static bool read_ratio(const change_reader *r, link_change_kind kind, const char *equals, double *ratio)
{
    sim_place place;
    if (kind != LINK_DEGRADES) {
        *ratio = kind == LINK_RETURNS ? 1.0 : 0.0;
        return !equals || REFUSE(equals, "--%s takes no ratio", link_change_words[kind]) ||
               sim_hint(r->error, "--degrade \"leaf 0 > spine 3 @ 1 ms = 25 %%\"");
    }
    if (!equals)
        return REFUSE(r->text, "what is left of the rate is missing") ||
               sim_hint(r->error, "\"leaf 0 > spine 3 @ 1 ms = 25 %%\"");
    const piece p = trim(equals + 1, r->text + strlen(r->text));
    place = place_of(r, p.begin);
    if (!units_parse(UNIT_NONE, text_of(r, &p), ratio, &place, r->error)) return false;
    return (*ratio >= 0.0 && *ratio <= 1.0) ||
           REFUSE(p.begin, "what is left of the rate lies between 0 and 1");
}

bool link_change_parse(arena *a, const topology *t, link_change_kind kind, const char *text,
                       const sim_place *where, link_change_array *out, sim_error *error)
{
    const change_reader reader = { .a = a, .topology = t, .where = where, .text = text, .error = error },
                        *r = &reader;
    sim_place place;
    link_change change = { 0 };
    const char *end = text + strlen(text), *at = strchr(text, '@');
    const char *equals = at ? strchr(at, '=') : NULL;
    if (!at) return REFUSE(end, "the time is missing") || sim_hint(error, "\"leaf 0 > spine 3 @ 1 ms\"");
    const piece link = trim(text, at), time = trim(at + 1, equals ? equals : end);
    return read_time(r, &time, &change.time_ps) && read_ratio(r, kind, equals, &change.ratio) &&
           read_link(r, &link, &change, out);
}

// ---- order

static int compare(const void *a, const void *b)
{
    const link_change *left = a, *right = b;
    if (left->time_ps != right->time_ps) return left->time_ps < right->time_ps ? -1 : 1;
    return left->link < right->link ? -1 : left->link > right->link;
}

bool link_change_order(const topology *t, link_change_array *changes, sim_error *error)
{
    if (changes->count) qsort(changes->items, changes->count, sizeof(*changes->items), compare);
    for (uint32_t i = 1; i < changes->count; i++) {
        // Two that tie are refused, so that no order of theirs can show.
        if (compare(&changes->items[i - 1], &changes->items[i]) != 0) continue;
        char name[NAME_SIZE], time[64];
        topology_link_name(t, changes->items[i].link, name, sizeof(name));
        return sim_fail(
            error, SIM_EXIT_INPUT, NULL, "link %s changes twice at %s", name,
            units_format(UNIT_TIME, units_s_from_ps(changes->items[i].time_ps), time, sizeof(time)));
    }
    return true;
}
