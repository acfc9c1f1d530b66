// SPDX-License-Identifier: GPL-3.0-or-later
// Names of vertices and links, and the way back from a text to a vertex.
#include "models/network/topology_internal.h"
#include "sim/check.h"
#include "sim/words.h"
#include <inttypes.h>
#include <string.h>

char *topology_vertex_name(const topology *t, vertex_id v, char *buffer, size_t size)
{
    const topology_vertex *vertex = topology_vertex_at(t, v);
    const char *kind = vertex_kind_words[vertex->kind];
    if (vertex->node == NO_ID)
        snprintf(buffer, size, "%s %" PRIu32, kind, vertex->number);
    else
        snprintf(buffer, size, "node %" PRIu32 " %s %" PRIu32, vertex->node, kind, vertex->number);
    return buffer;
}

static char *bundle_name(const topology *t, uint32_t bundle, char *buffer, size_t size)
{
    static const char *const plural[] = { "leaves", "spines", "cores" };
    const bundle_members m = topology_bundle_members(t, bundle);
    const bool up = m.first % 2 == 0;
    const topology_link *first = &t->links.items[m.first],
                        *last = &t->links.items[m.first + 2 * (m.count - 1)];
    const topology_vertex *low = &t->vertices.items[up ? first->from : first->to],
                          *high = &t->vertices.items[up ? last->from : last->to];
    const uint32_t tier = (uint32_t)(low->kind - VERTEX_LEAF);
    char below[80];
    if (low == high)
        snprintf(below, sizeof below, "%s %" PRIu32, vertex_kind_words[low->kind], low->number);
    else
        snprintf(below, sizeof below, "%s %" PRIu32 " to %" PRIu32, plural[tier], low->number, high->number);
    snprintf(buffer, size, "%s > %s", up ? below : plural[tier + 1], up ? plural[tier + 1] : below);
    return buffer;
}

char *topology_link_name(const topology *t, uint32_t link_or_bundle, char *buffer, size_t size)
{
    if (link_or_bundle >= t->links.count) return bundle_name(t, link_or_bundle, buffer, size);
    const topology_link *link = topology_link_at(t, link_or_bundle);
    char from[80], to[80];
    snprintf(buffer, size, "%s > %s", topology_vertex_name(t, link->from, from, sizeof from),
             topology_vertex_name(t, link->to, to, sizeof to));
    return buffer;
}

// ---- from text to vertex

// "node 3 nic 1" as words and numbers: at most two of each.
typedef struct name_parts {
    char word[2][24];
    uint32_t number[2];
    uint32_t count; // pairs; 1 with an empty word for a bare number
} name_parts;

static const char *skip_between(const char *c)
{
    return c + strspn(c, " /\t");
}

static bool take_number(const char **c, uint32_t *number)
{
    const size_t digits = strspn(*c, "0123456789");
    *number = 0;
    if (digits == 0 || digits > 9) return false;
    for (size_t i = 0; i < digits; i++)
        *number = *number * 10 + (uint32_t)((*c)[i] - '0');
    *c += digits;
    return true;
}

static bool split_name(const char *text, name_parts *parts)
{
    const char *c = skip_between(text);
    memset(parts, 0, sizeof *parts);
    if (take_number(&c, &parts->number[0])) {
        parts->count = 1;
        return !*skip_between(c);
    }
    while (*c && parts->count < 2) {
        const size_t length = strspn(c, "abcdefghijklmnopqrstuvwxyz-");
        if (length == 0 || length >= sizeof parts->word[0]) return false;
        memcpy(parts->word[parts->count], c, length);
        c = skip_between(c + length);
        if (!take_number(&c, &parts->number[parts->count])) return false;
        parts->count++;
        c = skip_between(c);
    }
    return !*c && parts->count > 0;
}

static vertex_id find_outside_nodes(const topology *t, const char *word, uint32_t number)
{
    for (vertex_id v = t->vertices.count; v-- > 0;) { // switches of the network are the last
        const topology_vertex *vertex = &t->vertices.items[v];
        if (vertex->node == NO_ID && vertex->number == number &&
            strcmp(vertex_kind_words[vertex->kind], word) == 0)
            return v;
    }
    return NO_ID;
}

static vertex_id find_inside(const topology *t, const name_parts *parts)
{
    if (parts->number[0] >= t->nodes.count) return NO_ID;
    const topology_node *node = &t->nodes.items[parts->number[0]];
    const uint32_t i = parts->number[1];
    if (strcmp(parts->word[1], "gpu") == 0) return i < node->gpus ? node->first_gpu + i : NO_ID;
    if (strcmp(parts->word[1], "nic") == 0) return i < node->nics ? node->first_nic + i : NO_ID;
    if (strcmp(parts->word[1], "pcie-switch") == 0)
        return i < node->pcie_switches ? node->first_pcie + i : NO_ID;
    if (strcmp(parts->word[1], "cpu") == 0 && node->sockets > 0)
        return i < node->sockets ? node->first_socket + i : NO_ID;
    if (node->hub == NO_ID || i > 0 || t->vertices.items[node->hub].node == NO_ID) return NO_ID;
    return strcmp(vertex_kind_words[t->vertices.items[node->hub].kind], parts->word[1]) == 0 ? node->hub
                                                                                             : NO_ID;
}

static vertex_id find_parts(const topology *t, const name_parts *parts)
{
    const uint32_t number = parts->number[0];
    if (parts->count == 2) return strcmp(parts->word[0], "node") == 0 ? find_inside(t, parts) : NO_ID;
    if (!*parts->word[0] || strcmp(parts->word[0], "nic") == 0)
        return number < t->nics.count ? t->nics.items[number].vertex : NO_ID;
    if (strcmp(parts->word[0], "gpu") == 0)
        return number < t->gpus.count ? t->gpus.items[number].vertex : NO_ID;
    return find_outside_nodes(t, parts->word[0], number);
}

bool topology_find_vertex(const topology *t, const char *text, const sim_place *where, vertex_id *out,
                          sim_error *error)
{
    name_parts parts;
    char shown[WORDS_SHOWN_SIZE], list[256];
    int length;
    *out = split_name(text, &parts) ? find_parts(t, &parts) : NO_ID;
    if (*out != NO_ID) return true;
    sim_fail(error, SIM_EXIT_INPUT, where, "there is no \"%s\" in the fabric", words_show(shown, text));
    length = snprintf(list, sizeof list, "%" PRIu32 " nodes", t->nodes.count);
    for (vertex_kind kind = 0; kind < VERTEX_KINDS; kind++)
        if (t->kind_counts[kind] > 0 && (size_t)length < sizeof list)
            length += snprintf(list + length, sizeof list - (size_t)length, ", %" PRIu32 " x %s",
                               t->kind_counts[kind], vertex_kind_words[kind]);
    return sim_hint(
        error, "write \"gpu 3\", \"node 2 nic 1\", \"leaf 0\" or a host's number, counted from 0: %s", list);
}

bool topology_refuse_pair(const topology *t, vertex_id from, vertex_id to, const sim_place *where,
                          sim_error *error)
{
    enum { SHOWN_MAX = 12 };
    char from_name[80], to_name[80], names[SHOWN_MAX][80], list[SHOWN_MAX * 82];
    const char *words[SHOWN_MAX];
    uint32_t count;
    const link_id *links = topology_outgoing(t, from, &count);
    const uint32_t shown = count < SHOWN_MAX ? count : SHOWN_MAX;
    for (uint32_t i = 0; i < shown; i++)
        words[i] = topology_vertex_name(t, t->links.items[links[i]].to, names[i], sizeof names[i]);
    topology_vertex_name(t, from, from_name, sizeof from_name);
    topology_vertex_name(t, to, to_name, sizeof to_name);
    sim_fail(error, SIM_EXIT_INPUT, where, "there is no link from %s to %s", from_name, to_name);
    return sim_hint(error, "from %s links lead to %s%s", from_name,
                    words_list(list, sizeof list, words, shown, shown), count > shown ? ", ..." : "");
}
