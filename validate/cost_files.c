// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/cost_files.h"
#include "sim/document.h"
#include "validate/digits.h"
#include <math.h>
#include <string.h>

#define RATE(is_nic_, key_, struct_, field_, least_, most_)                                                  \
    {                                                                                                        \
        key_, is_nic_, UNIT_RATE, offsetof(struct_, field_), (least_)*1e9, (most_)*1e9, "GB/s", 1e-9         \
    }
#define TIME(is_nic_, key_, struct_, field_, least_, most_)                                                  \
    {                                                                                                        \
        key_, is_nic_, UNIT_TIME, offsetof(struct_, field_), (least_)*1e-6, (most_)*1e-6, "us", 1e6          \
    }
#define LINK_RATE(key_, field_) RATE(false, key_, scale_up_costs, field_, 2, 100)
#define LINK_TIME(key_, field_, least_, most_) TIME(false, key_, scale_up_costs, field_, least_, most_)
#define NIC_TIME(key_, field_, least_, most_) TIME(true, key_, nic_costs, field_, least_, most_)

// Curves feel only the sum of slice and visible: slice is not here, so that it keeps what its source says; of LL and LL128 the
// library states the sum, and visible is not here either.
const cost_field cost_fields[] = {
    LINK_RATE("ll.rate", protocols[COSTS_LL].rate_Bps),
    LINK_RATE("ll128.rate", protocols[COSTS_LL128].rate_Bps),
    LINK_RATE("simple.rate", protocols[COSTS_SIMPLE].rate_Bps),
    LINK_TIME("simple.visible", protocols[COSTS_SIMPLE].visible_ps, 0.1, 30),
    LINK_TIME("simple.ring_entry", protocols[COSTS_SIMPLE].ring_entry_ps, 0.05, 50),
    LINK_TIME("simple.tree_entry", protocols[COSTS_SIMPLE].tree_entry_ps, 0.05, 50),
    LINK_TIME("entry", entry_ps, 0.5, 60),
    LINK_RATE("nvls.rate", nvls.rate_Bps),
    LINK_TIME("nvls.loop", nvls.loop_ps, 0.2, 50),
    LINK_TIME("nvls_entry", nvls_entry_ps, 1, 120),
    LINK_RATE("nvls_tree.rate", nvls_tree.rate_Bps),
    LINK_TIME("nvls_tree.loop", nvls_tree.loop_ps, 0.2, 50),
    LINK_TIME("peers.chunk_cost", peers.chunk_ps, 0.05, 20),
    LINK_TIME("peers.entry", peers.entry_ps, 0.5, 100),
    LINK_TIME("peers.peer", peers.peer_ps, 0.02, 10),
    NIC_TIME("entry", entry_ps, 0.5, 60),
    NIC_TIME("ll.ring", hops[COSTS_LL].ring_ps, 0.2, 100),
    NIC_TIME("ll.tree", hops[COSTS_LL].tree_ps, 0.2, 100),
    NIC_TIME("ll128.ring", hops[COSTS_LL128].ring_ps, 0.2, 100),
    NIC_TIME("ll128.tree", hops[COSTS_LL128].tree_ps, 0.2, 100),
    NIC_TIME("simple.ring", hops[COSTS_SIMPLE].ring_ps, 1, 400),
    NIC_TIME("simple.tree", hops[COSTS_SIMPLE].tree_ps, 1, 400),
    NIC_TIME("message", message_ps, 0.01, 5),
    NIC_TIME("post", post_ps, 0.02, 20),
    { "line", true, UNIT_TIME, offsetof(nic_costs, line_ps), 0.05e-9, 100e-9, "ns", 1e9 },
    { "static_route_loss", true, UNIT_NONE, offsetof(nic_costs, static_route_loss), 0.01, 3, "", 1 },
    NIC_TIME("rendezvous.hop", rendezvous.hop_ps, 0.2, 100),
    NIC_TIME("rendezvous.thread", rendezvous.thread_ps, 0.2, 100),
    NIC_TIME("rendezvous.eager", rendezvous.eager_ps, 0.02, 20),
    NIC_TIME("peers.chunk_cost", peers.chunk_ps, 0.05, 40),
    NIC_TIME("peers.entry", peers.entry_ps, 0.5, 300),
    NIC_TIME("peers.all_to_all_entry", peers.all_to_all_entry_ps, 0.5, 300),
    NIC_TIME("peers.peer", peers.peer_ps, 0.02, 40),
};
const uint32_t cost_field_count = ARRAY_COUNT(cost_fields);

// ---- reading

typedef struct reading {
    arena *a;
    const catalogue *parts;
    cost_files *out;
    sim_error *error;
} reading;

uint32_t cost_files_class(const cost_files *files, bool is_nic, const char *name)
{
    for (uint32_t i = 0; i < files->classes.count; i++)
        if (files->classes.items[i].is_nic == is_nic && strcmp(files->classes.items[i].name, name) == 0)
            return i;
    return NO_ID;
}

static uint32_t number_at(const cost_files *files, uint32_t class, uint32_t field)
{
    for (uint32_t i = 0; i < files->numbers.count; i++)
        if (files->numbers.items[i].class == class && files->numbers.items[i].field == field) return i;
    return NO_ID;
}

uint32_t cost_files_number(const cost_files *files, uint32_t class, uint32_t field)
{
    for (uint32_t at = class; at != NO_ID; at = files->classes.items[at].base) {
        const uint32_t number = number_at(files, at, field);
        if (number != NO_ID) return number;
    }
    return NO_ID;
}

static const char *line_at(const char *text, uint32_t line)
{
    while (--line > 0)
        text = strchr(text, '\n') + 1;
    return text;
}

static bool take_number(reading *r, const document *doc, uint32_t class, uint32_t field)
{
    const char *key = cost_fields[field].key, *dot = strchr(key, '.');
    const doc_node *in = doc->root;
    if (dot) in = document_find(in, arena_format(r->a, "%.*s", (int)(dot - key), key));
    const char *leaf = dot ? dot + 1 : key;
    const doc_pair *pair = in ? document_find_pair(in, leaf) : NULL;
    if (!pair) return true;
    const doc_node *grade = document_find(pair->value, "grade");
    if (grade && strcmp(grade->scalar, "vendor") == 0) return true;
    const sim_place *place = &pair->key_place;
    const char *start = line_at(doc->text, place->line), *from = start + strspn(start, " ");
    if (pair->value->place.line != place->line || strncmp(from, leaf, strlen(leaf)) != 0)
        return sim_fail(r->error, SIM_EXIT_INPUT, place, "\"%s\" does not stand alone on its line", key) ||
               sim_hint(r->error, "a fitted number is written over its line");
    *array_push(&r->out->numbers, r->a) = (cost_number){ class, field, place->line };
    return true;
}

static bool take_class(reading *r, bool is_nic, const char *name)
{
    document doc;
    const char *folder = is_nic ? "nic_costs" : "link_costs";
    const char *path = arena_format(r->a, "%s/%s/%s.yaml", r->parts->directory, folder, name);
    cost_class class = { .name = name, .is_nic = is_nic, .base = NO_ID };
    if (cost_files_class(r->out, is_nic, name) != NO_ID) return true;
    if (!document_load(r->a, path, &doc, r->error)) return false;
    class.text = doc.text;
    const doc_node *base = document_find(doc.root, "base");
    if (base && !take_class(r, is_nic, base->scalar)) return false;
    if (base) class.base = cost_files_class(r->out, is_nic, base->scalar);
    *array_push(&r->out->classes, r->a) = class;
    for (uint32_t i = 0; i < cost_field_count; i++)
        if (cost_fields[i].is_nic == is_nic && !take_number(r, &doc, r->out->classes.count - 1, i))
            return false;
    return true;
}

bool cost_files_read(arena *a, const catalogue *parts, cost_files *out, sim_error *error)
{
    reading r = { .a = a, .parts = parts, .out = out, .error = error };
    *out = (cost_files){ 0 };
    for (int is_nic = 0; is_nic < 2; is_nic++) {
        const char **names;
        const int count = catalogue_names(a, parts, is_nic ? "nic_costs" : "link_costs", &names);
        if (count < 0)
            return sim_fail(error, SIM_EXIT_INPUT, NULL, "%s has no costs of links and NICs",
                            parts->directory);
        for (int i = 0; i < count; i++)
            if (!take_class(&r, is_nic, names[i])) return false;
    }
    return true;
}

// ---- numbers

double cost_field_get(const cost_field *field, const void *costs)
{
    const char *at = (const char *)costs + field->offset;
    return field->unit == UNIT_TIME ? (double)*(const sim_time *)(const void *)at * 1e-12
                                    : *(const double *)(const void *)at;
}

void cost_field_set(const cost_field *field, void *costs, double value)
{
    char *at = (char *)costs + field->offset;
    if (field->unit == UNIT_TIME)
        *(sim_time *)(void *)at = llround(value * 1e12);
    else
        *(double *)(void *)at = value;
}

// Times are whole picoseconds, of which some have fewer than six digits.
const char *cost_field_text(arena *a, const cost_field *field, double value, double *read)
{
    sim_error error = { 0 };
    double written = digits_six(value);
    if (field->unit == UNIT_TIME) written = round(written * 1e12) * 1e-12;
    const char *space = *field->written_as ? " " : "";
    const char *text = arena_format(a, "%.6g%s%s", written * field->per_base, space, field->written_as);
    const bool good = units_parse(field->unit, text, read, NULL, &error);
    SIM_ASSERT(good);
    return text;
}

// ---- writing

static const char *number_line(arena *a, const cost_field *field, const char *old, const cost_fit *fit)
{
    const char *dot = strchr(field->key, '.'), *leaf = dot ? dot + 1 : field->key;
    double read;
    return arena_format(a,
                        "%.*s%s: { value: %s, source: \"collectives.csv, fitted by validate/fit_collectives: "
                        "%s\", grade: measured } # [%.3g, %.3g]\n",
                        (int)strspn(old, " "), old, leaf, cost_field_text(a, field, fit->value, &read),
                        fit->runs, fit->low * field->per_base, fit->high * field->per_base);
}

static const cost_fit *fit_on_line(const cost_files *files, uint32_t class, uint32_t line,
                                   const cost_fit *fits, const cost_field **field)
{
    for (uint32_t i = 0; i < files->numbers.count; i++) {
        const cost_number *n = &files->numbers.items[i];
        if (n->class != class || n->line != line || !fits[i].fitted) continue;
        *field = &cost_fields[n->field];
        return &fits[i];
    }
    return NULL;
}

const char *cost_files_text(arena *a, const cost_files *files, uint32_t class, const cost_fit *fits)
{
    const char *text = "", *from = files->classes.items[class].text;
    for (uint32_t line = 1; *from; line++) {
        const char *end = strchr(from, '\n');
        const size_t length = end ? (size_t)(end - from) + 1 : strlen(from);
        const cost_field *field;
        const cost_fit *fit = fit_on_line(files, class, line, fits, &field);
        text = fit ? arena_format(a, "%s%s", text, number_line(a, field, from, fit))
                   : arena_format(a, "%s%.*s", text, (int)length, from);
        from += length;
    }
    return text;
}
