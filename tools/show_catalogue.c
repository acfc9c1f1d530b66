// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/words.h"
#include "tools/show.h"
#include <inttypes.h>

enum { NAMES_SHOWN = 12 };

typedef union part {
    gpu_def gpu;
    node_def node;
    nic_def nic;
    scale_up_costs link_costs;
    nic_costs nic_costs;
    switch_def network_switch;
    cable_set_def cable_set;
    cluster_def system;
    llm_def llm;
    collective_library collectives;
    kernel_set_def kernels;
} part;

typedef struct folder {
    const char *name;
    bind_row row; // as if a scenario named an entry
    // What its reader does besides; NULL: nothing.
    bool (*complete)(part *p, const bind_reader *r, sim_error *error);
    const char *(*describe)(arena *a, const part *p);
} folder;

// ---- one line of key facts

static const char *describe_gpu(arena *a, const part *p)
{
    const gpu_def *g = &p->gpu;
    const dtype type = g->peak_flops[DTYPE_BF16] > 0.0 ? DTYPE_BF16 : DTYPE_FP16; // before Ampere: no bf16
    return arena_format(a, "%s %s, %s at %s, %s", output_number(a, UNIT_FLOPS, g->peak_flops[type]),
                        dtype_words[type], output_bytes(a, (double)g->memory_bytes),
                        output_number(a, UNIT_RATE, g->memory_rate_Bps),
                        output_number(a, UNIT_POWER, g->power_W));
}

static const char *describe_node(arena *a, const part *p)
{
    static const char *const links[] = { "no links", "NVSwitch", "NVLink mesh", "PCIe" };
    const node_def *n = &p->node;
    const char *rate = n->scale_up.kind == SCALE_UP_NONE
                           ? ""
                           : arena_format(a, " %s", output_number(a, UNIT_RATE, n->scale_up.rate_Bps));
    const char *nics = n->nics ? arena_format(a, "%u x %s", n->nics, n->nic.name) : "no NICs";
    return arena_format(a, "%u x %s, %s%s, %s", n->gpus, n->gpu.name, links[n->scale_up.kind], rate, nics);
}

static const char *bits_per_s(arena *a, double rate_Bps)
{
    return arena_format(a, "%.4g Gb/s", rate_Bps * 8e-9);
}

static const char *describe_nic(arena *a, const part *p)
{
    return arena_format(a, "%s, payload %s", bits_per_s(a, p->nic.rate_Bps),
                        output_percent(a, p->nic.payload_ratio));
}

static const char *describe_link_costs(arena *a, const part *p)
{
    const scale_up_costs *c = &p->link_costs;
    return arena_format(a, "a CTA %s, %u channels, %u over nodes, NVLS on %u",
                        output_number(a, UNIT_RATE, c->protocols[COSTS_SIMPLE].rate_Bps), c->channels,
                        c->network_channels, c->nvls.channels);
}

static const char *describe_nic_costs(arena *a, const part *p)
{
    const nic_costs *c = &p->nic_costs;
    return arena_format(a, "a hop of a ring %s in LL, %s in Simple; %s per message of the host thread",
                        output_number(a, UNIT_TIME, units_s_from_ps(c->hops[COSTS_LL].ring_ps)),
                        output_number(a, UNIT_TIME, units_s_from_ps(c->hops[COSTS_SIMPLE].ring_ps)),
                        output_number(a, UNIT_TIME, units_s_from_ps(c->post_ps)));
}

static const char *describe_switch(arena *a, const part *p)
{
    return arena_format(a, "%u ports of %s, %s", p->network_switch.ports,
                        bits_per_s(a, p->network_switch.port_rate_Bps),
                        output_number(a, UNIT_TIME, units_s_from_ps(p->network_switch.delay_ps)));
}

static const char *describe_cables(arena *a, const part *p)
{
    const char *text = "";
    for (uint32_t i = 0; i < p->cable_set.kinds.count; i++) {
        const cable_kind_def *kind = &p->cable_set.kinds.items[i];
        text = arena_format(a, "%s%s%s to %s", text, i ? ", " : "", kind->name,
                            output_number(a, UNIT_LENGTH, kind->reach_m));
    }
    return text;
}

static const char *describe_system(arena *a, const part *p)
{
    const cluster_def *c = &p->system;
    const char *nodes = c->nodes > 1 ? arena_format(a, "%u x ", c->nodes) : "";
    if (!c->fabric.given) return arena_format(a, "%s%s", nodes, c->node.name);
    return arena_format(a, "%s%s, %s of %s", nodes, c->node.name, fabric_topology_words[c->fabric.topology],
                        c->fabric.network_switch.name);
}

static const char *describe_llm(arena *a, const part *p)
{
    const llm_def *m = &p->llm;
    const uint64_t all = llm_parameters(m), active = llm_active_parameters(m);
    const char *few = active < all ? arena_format(a, " (%.4g active)", (double)active * 1e-9) : "";
    return arena_format(a,
                        "%.4g billion parameters%s, %u layers, hidden %" PRIu64 ", %u heads (%u key/value)",
                        (double)all * 1e-9, few, m->layers, m->hidden, m->heads, m->kv_heads);
}

static const char *describe_collectives(arena *a, const part *p)
{
    return arena_format(a, "terms of %s", p->collectives.name);
}

static const char *describe_kernels(arena *a, const part *p)
{
    const kernel_set_def *k = &p->kernels;
    const char *formats = "", *programs = "";
    for (uint32_t i = 0; i < k->products.count; i++)
        formats = arena_format(a, "%s%s%s", formats, i ? ", " : "", dtype_words[k->products.items[i].format]);
    for (int i = PROGRAM_FA1; i < PROGRAMS; i++)
        if (kernel_set_can_train(k, (attention_program)i))
            programs = arena_format(a, "%s%s%s", programs, *programs ? ", " : "", attention_program_words[i]);
    return arena_format(a, "products in %s; attention %s, flash is %s", formats,
                        *programs ? programs : "none", attention_program_words[k->flash]);
}

static bool complete_node(part *p, const bind_reader *r, sim_error *error)
{
    return node_complete(&p->node, r, error);
}

static bool complete_system(part *p, const bind_reader *r, sim_error *error)
{
    return node_complete(&p->system.node, r, error);
}

static bool complete_llm(part *p, const bind_reader *r, sim_error *error)
{
    return llm_complete(&p->llm, r, error);
}

#define ROW(key_, folder_, rows_, type_)                                                                     \
    {                                                                                                        \
        .type = BIND_TYPE_PART, .key = (key_), .folder = (folder_), .rows = (rows_), .size = sizeof(type_)   \
    }
static const folder folders[] = {
    { "gpus", ROW("gpu", "gpus", gpu_binds, gpu_def), NULL, describe_gpu },
    { "nodes", ROW("node", "nodes", node_binds, node_def), complete_node, describe_node },
    { "nics", ROW("nic", "nics", nic_binds, nic_def), NULL, describe_nic },
    { "link_costs", ROW("costs", "link_costs", scale_up_costs_binds, scale_up_costs), NULL,
      describe_link_costs },
    { "nic_costs", ROW("costs", "nic_costs", nic_costs_binds, nic_costs), NULL, describe_nic_costs },
    { "switches", ROW("switch", "switches", switch_binds, switch_def), NULL, describe_switch },
    { "cables", ROW("cable_set", "cables", cable_set_binds, cable_set_def), NULL, describe_cables },
    { "systems", ROW("cluster", "systems", cluster_binds, cluster_def), complete_system, describe_system },
    { "llms", ROW("model", "llms", llm_binds, llm_def), complete_llm, describe_llm },
    { "collectives", ROW("collectives", "collectives", collective_library_binds, collective_library), NULL,
      describe_collectives },
    { "kernels", ROW("kernels", "kernels", kernel_set_binds, kernel_set_def), NULL, describe_kernels },
};

// ---- reading

// Reads an entry as if a scenario said "gpu: NAME".
static bool read_part(arena *a, const catalogue *c, const folder *f, const char *name, part *out,
                      bind_reader **reader, sim_error *error)
{
    const bind_row rows[] = { f->row, BIND_END };
    doc_node value = { .kind = DOC_SCALAR, .quoted = true, .scalar = name, .unrolled = 1, .height = 1 };
    doc_pair pair = { .key = f->row.key, .value = &value };
    const doc_node mapping = { .kind = DOC_MAPPING, .pairs = &pair, .count = 1, .unrolled = 2, .height = 2 };
    *reader = bind_reader_create(a, part_read, (void *)c);
    return bind_read(*reader, rows, &mapping, "", out, error) &&
           (!f->complete || f->complete(out, *reader, error));
}

static bool list_names(arena *a, const catalogue *c, const folder *f, const char ***out, uint32_t *count,
                       sim_error *error)
{
    const int found = catalogue_names(a, c, f->name, out);
    *count = found > 0 ? (uint32_t)found : 0;
    return found >= 0 ||
           sim_fail(error, SIM_EXIT_INPUT, NULL, "cannot read the folder \"%s/%s\"", c->directory, f->name);
}

// ---- all entries

typedef struct entry {
    const char *folder, *name, *facts;
} entry;
ARRAY_OF(entry, entry_array);

static bool add_folder(arena *a, const catalogue *c, const folder *f, entry_array *out, sim_error *error)
{
    const char **found;
    uint32_t count;
    if (!list_names(a, c, f, &found, &count, error)) return false;
    for (uint32_t i = 0; i < count; i++) {
        part p;
        bind_reader *reader;
        if (!read_part(a, c, f, found[i], &p, &reader, error)) return false;
        *array_push(out, a) = (entry){ .folder = f->name, .name = found[i], .facts = f->describe(a, &p) };
    }
    return true;
}

static bool show_all(const show_request *q, const catalogue *c, sim_error *error)
{
    static const table_column columns[] = { { NULL, false }, { NULL, false } };
    arena *a = q->arena;
    entry_array entries = { 0 };
    for (uint32_t f = 0; f < ARRAY_COUNT(folders); f++)
        if (!add_folder(a, c, &folders[f], &entries, error)) return false;
    if (q->options->json) {
        json_writer j = json_make(stdout);
        json_object(&j, NULL);
        json_text(&j, "catalogue", c->directory);
        json_array(&j, "entries");
        for (uint32_t i = 0; i < entries.count; i++) {
            json_object(&j, NULL);
            json_text(&j, "folder", entries.items[i].folder);
            json_text(&j, "name", entries.items[i].name);
            json_text(&j, "facts", entries.items[i].facts);
            json_close(&j);
        }
        json_close(&j);
        json_close(&j);
        return true;
    }
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < entries.count; i++) {
        table_cell(&t, "%s/%s", entries.items[i].folder, entries.items[i].name);
        table_cell(&t, "%s", entries.items[i].facts);
    }
    printf("catalogue %s\n\n", c->directory);
    table_print(&t, "", stdout);
    return true;
}

// ---- one entry

// "gpu.memory" is called "memory" within the GPU's own entry.
static const char *key_within(const folder *f, const char *path)
{
    const size_t length = strlen(f->row.key);
    return strncmp(path, f->row.key, length) == 0 && path[length] == '.' ? path + length + 1 : path;
}

static void print_entry(arena *a, const folder *f, const char *name, const char *facts,
                        const bind_provenance_array *numbers)
{
    static const table_column columns[] = {
        { "key", false }, { "value", false }, { "grade", false }, { "source", false }
    };
    text_list sources = { 0 };
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < numbers->count; i++) {
        const bind_provenance *p = &numbers->items[i];
        uint32_t s = 0;
        while (p->source && s < sources.count && strcmp(sources.items[s], p->source) != 0)
            s++;
        if (p->source && s == sources.count) *array_push(&sources, a) = p->source;
        table_cell(&t, "%s", key_within(f, p->path));
        table_cell(&t, "%s", p->value);
        table_cell(&t, "%s", bind_grade_name(p->grade));
        table_cell(&t, "%s", p->source ? arena_format(a, "[%u]", s + 1) : "");
    }
    printf("%s/%s: %s\n\n", f->name, name, output_printable(a, facts));
    table_print(&t, "", stdout);
    printf("\n");
    for (uint32_t s = 0; s < sources.count; s++)
        printf("[%u] %s\n", s + 1, output_printable(a, sources.items[s]));
}

static void print_entry_json(const folder *f, const char *name, const char *facts,
                             const bind_provenance_array *numbers)
{
    json_writer j = json_make(stdout);
    json_object(&j, NULL);
    json_text(&j, "folder", f->name);
    json_text(&j, "name", name);
    json_text(&j, "facts", facts);
    json_array(&j, "numbers");
    for (uint32_t i = 0; i < numbers->count; i++) {
        const bind_provenance *p = &numbers->items[i];
        json_object(&j, NULL);
        json_text(&j, "key", key_within(f, p->path));
        json_text(&j, "value", p->value);
        json_text(&j, "grade", p->grade == GRADE_NONE ? NULL : bind_grade_name(p->grade));
        json_text(&j, "source", p->source);
        json_close(&j);
    }
    json_close(&j);
    json_close(&j);
}

static const folder *folder_called(const char *text, size_t length)
{
    for (uint32_t f = 0; f < ARRAY_COUNT(folders); f++)
        if (strlen(folders[f].name) == length && memcmp(folders[f].name, text, length) == 0)
            return &folders[f];
    return NULL;
}

static bool refuse_unknown(const char *wanted, const char *slash, sim_error *error)
{
    const char *known[ARRAY_COUNT(folders)];
    char name[64], shown[WORDS_SHOWN_SIZE];
    if (!slash) {
        sim_fail(error, SIM_EXIT_INPUT, NULL, "\"%s\" is no entry of the catalogue",
                 words_show(shown, wanted));
        return sim_hint(error, "an entry is FOLDER/NAME, such as gpus/h100-sxm");
    }
    for (uint32_t f = 0; f < ARRAY_COUNT(folders); f++)
        known[f] = folders[f].name;
    const size_t length = (size_t)(slash - wanted), most = sizeof(name) - 1;
    snprintf(name, sizeof(name), "%.*s", (int)(length < most ? length : most), wanted);
    sim_fail(error, SIM_EXIT_INPUT, NULL, "the catalogue has no folder \"%s\"", name);
    return words_hint(error, name, known, ARRAY_COUNT(known), ARRAY_COUNT(known), "folders");
}

// "gpus", "gpus/": the folder alone.
static bool refuse_folder(arena *a, const catalogue *c, const folder *f, sim_error *error)
{
    const char **known;
    char list[800];
    uint32_t count;
    if (!list_names(a, c, f, &known, &count, error)) return false;
    sim_fail(error, SIM_EXIT_INPUT, NULL, "\"%s\" is a folder of the catalogue, not an entry", f->name);
    return sim_hint(error, "FOLDER/NAME; %s: %s", f->name,
                    count ? words_list(list, sizeof(list), known, count, NAMES_SHOWN) : "none");
}

static bool show_one(const show_request *q, const catalogue *c, sim_error *error)
{
    const char *slash = strchr(q->entry, '/');
    const size_t length = slash ? (size_t)(slash - q->entry) : strlen(q->entry);
    const folder *f = folder_called(q->entry, length);
    if (!f) return refuse_unknown(q->entry, slash, error);
    if (!slash || !slash[1]) return refuse_folder(q->arena, c, f, error);
    part p;
    bind_reader *reader;
    if (!read_part(q->arena, c, f, slash + 1, &p, &reader, error)) return false;
    const char *facts = f->describe(q->arena, &p);
    if (q->options->json)
        print_entry_json(f, slash + 1, facts, bind_reader_provenance(reader));
    else
        print_entry(q->arena, f, slash + 1, facts, bind_reader_provenance(reader));
    return true;
}

bool show_catalogue(const show_request *q, sim_error *error)
{
    catalogue c;
    if (q->options->sets.count)
        return sim_fail(error, SIM_EXIT_INPUT, NULL,
                        "--set overrides keys of a scenario; the catalogue has none");
    if (!catalogue_find(q->arena, q->options->catalogue, &c, error)) return false;
    return q->entry ? show_one(q, &c, error) : show_all(q, &c, error);
}
