// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/hf_config.h"
#include "models/hf_fields.h"
#include "models/part_override.h"
#include "models/training/llm.h"
#include "sim/os.h"
#include "sim/words.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_SHOWN = 20 };

typedef struct model_keys { // a mapping that grows
    doc_pair *items;
    uint32_t count, capacity;
} model_keys;

typedef struct config_reading {
    arena *a;
    const doc_node *config;
    const hf_architecture *architecture;
    const doc_pair *called; // the field that names the architecture
    sim_error *error;
    model_keys model, latent;
    const doc_pair *dropout;        // the first dropout above zero; NULL: none
    bool says_dropout;              // some dropout was given
    const doc_pair *with, *without; // of those that must agree, one that says true and one that says false
} config_reading;

// ---- nodes

static doc_node *scalar_node(arena *a, const char *text, const sim_place *place)
{
    doc_node *node = arena_new(a, doc_node);
    *node = (doc_node){ .kind = DOC_SCALAR, .place = *place, .scalar = text, .unrolled = 1, .height = 1 };
    return node;
}

static doc_node *mapping_node(arena *a, const model_keys *keys, const sim_place *place)
{
    doc_node *node = arena_new(a, doc_node);
    *node = (doc_node){ .kind = DOC_MAPPING, .place = *place, .pairs = keys->items, .count = keys->count };
    node->unrolled = node->height = 1;
    for (uint32_t i = 0; i < keys->count; i++) {
        node->unrolled += keys->items[i].value->unrolled;
        if (node->height <= keys->items[i].value->height) node->height = keys->items[i].value->height + 1;
    }
    return node;
}

static const doc_pair *find_key(const model_keys *keys, const char *key)
{
    for (uint32_t i = 0; i < keys->count; i++)
        if (strcmp(keys->items[i].key, key) == 0) return &keys->items[i];
    return NULL;
}

static bool is_null(const doc_node *node)
{
    return node->kind == DOC_SCALAR && !node->quoted && strcmp(node->scalar, "null") == 0;
}

static bool number_of(const doc_node *node, double *value)
{
    char *end;
    if (node->kind != DOC_SCALAR || node->quoted) return false;
    *value = strtod(node->scalar, &end);
    return end != node->scalar && !*end;
}

// A value as it may be shown in a message.
static const char *shown(const config_reading *c, const doc_node *node)
{
    char buffer[WORDS_SHOWN_SIZE];
    if (node->kind != DOC_SCALAR) return document_kind_name(node->kind);
    return arena_text(c->a, words_show(buffer, node->scalar));
}

// ---- the architecture

static const hf_architecture *find_architecture(const char *name, bool by_type)
{
    for (size_t i = 0; i < hf_architecture_count; i++) {
        const hf_architecture *h = &hf_architectures[i];
        if (!by_type && strcmp(h->name, name) == 0) return h;
        for (size_t t = 0; by_type && t < HF_TYPES_MAX && h->types[t]; t++)
            if (strcmp(h->types[t], name) == 0) return h;
    }
    return NULL;
}

static bool refuse_unknown_architecture(const config_reading *c, const doc_node *name, bool by_type)
{
    const char *known[64];
    uint32_t count = 0;
    SIM_ASSERT(hf_architecture_count <= ARRAY_COUNT(known));
    for (size_t i = 0; i < hf_architecture_count; i++)
        if (!hf_architectures[i].refusal)
            known[count++] = by_type ? hf_architectures[i].types[0] : hf_architectures[i].name;
    sim_fail(c->error, SIM_EXIT_INPUT, &name->place, "the %s \"%s\" is not modelled in this version",
             by_type ? "model_type" : "architecture", shown(c, name));
    return words_hint(c->error, name->scalar, known, count, NAMES_SHOWN, "modelled");
}

// Also where "architectures" decides.
static bool check_type(const config_reading *c, const doc_node *type)
{
    if (is_null(type) || (type->kind == DOC_SCALAR && type->quoted)) return true;
    return sim_fail(c->error, SIM_EXIT_INPUT, &type->place,
                    "model_type is the name of one family of models, not %s",
                    type->kind == DOC_SCALAR ? shown(c, type) : document_kind_name(type->kind));
}

static bool choose_architecture(config_reading *c)
{
    const doc_pair *list = document_find_pair(c->config, "architectures");
    const doc_pair *type = document_find_pair(c->config, "model_type");
    const bool by_type = !list || is_null(list->value);
    c->called = by_type ? type : list;
    if (!c->called) {
        sim_fail(c->error, SIM_EXIT_INPUT, &c->config->place,
                 "neither \"architectures\" nor \"model_type\" says which model this is");
        return sim_hint(c->error, "a config.json of Hugging Face has one of them");
    }
    if (type && !check_type(c, type->value)) return false;
    const doc_node *name = c->called->value;
    if (!by_type && name->kind == DOC_SEQUENCE && name->count == 1) name = name->items[0];
    if (name->kind != DOC_SCALAR || !name->quoted)
        return sim_fail(c->error, SIM_EXIT_INPUT, &name->place, "%s, not %s",
                        by_type ? "model_type is the name of one family of models"
                                : "architectures is a list of one name",
                        name->kind == DOC_SCALAR ? shown(c, name) : document_kind_name(name->kind));
    c->architecture = find_architecture(name->scalar, by_type);
    if (!c->architecture) return refuse_unknown_architecture(c, name, by_type);
    if (!c->architecture->refusal) return true;
    const doc_pair *at = document_find_pair(c->config, c->architecture->refused_at);
    sim_fail(c->error, SIM_EXIT_INPUT, at ? &at->key_place : &name->place,
             "%s has %s, which is not modelled in this version", name->scalar, c->architecture->refusal);
    return c->architecture->hint && sim_hint(c->error, "%s", c->architecture->hint);
}

// ---- one field

static bool add_key(config_reading *c, const char *key, const doc_pair *from, doc_node *value)
{
    static const char latent[] = "latent_attention.";
    const bool inner = strncmp(key, latent, sizeof latent - 1) == 0;
    model_keys *keys = inner ? &c->latent : &c->model;
    if (inner) key += sizeof latent - 1;
    if (find_key(keys, key))
        return sim_fail(c->error, SIM_EXIT_INPUT, &from->key_place, "\"%s\" says %s a second time", from->key,
                        key);
    *array_push(keys, c->a) = (doc_pair){ .key = key, .key_place = from->key_place, .value = value };
    return true;
}

static bool take_next(config_reading *c, const hf_field *f, const doc_pair *pair)
{
    double value;
    if (!number_of(pair->value, &value) || !(value >= 0 && value <= 1e6) || value != (double)(uint32_t)value)
        return sim_fail(c->error, SIM_EXIT_INPUT, &pair->value->place, "%s must be a whole number, not %s",
                        f->name, shown(c, pair->value));
    const char *text = arena_format(c->a, "%" PRIu32, (uint32_t)value + 1);
    return add_key(c, f->key, pair, scalar_node(c->a, text, &pair->value->place));
}

static bool take_activation(config_reading *c, const hf_field *f, const doc_pair *pair)
{
    static const struct {
        const char *name, *key;
        bool gated;
    } words[] = {
        { "silu", "swiglu", true },     { "swish", "swiglu", true },
        { "gelu", "gelu", false },      { "gelu_new", "gelu", false },
        { "gelu_fast", "gelu", false }, { "gelu_pytorch_tanh", "gelu", false },
        { "relu", "relu", false },      { "relu2", "squared_relu", false },
    };
    const doc_node *value = pair->value;
    for (size_t i = 0; value->quoted && i < ARRAY_COUNT(words); i++)
        if (strcmp(words[i].name, value->scalar) == 0 && words[i].gated == c->architecture->gated)
            return add_key(c, f->key, pair, scalar_node(c->a, words[i].key, &value->place));
    sim_fail(c->error, SIM_EXIT_INPUT, &value->place, "%s \"%s\" of %s is not modelled in this version",
             f->name, shown(c, value), c->architecture->name);
    return sim_hint(c->error, c->architecture->gated ? "modelled: silu" : "modelled: gelu, relu, relu2");
}

static bool take_dropout(config_reading *c, const hf_field *f, const doc_pair *pair)
{
    double value;
    if (!number_of(pair->value, &value) || !(value >= 0 && value <= 1))
        return sim_fail(c->error, SIM_EXIT_INPUT, &pair->value->place, "%s is a share from 0 to 1, not %s",
                        f->name, shown(c, pair->value));
    c->says_dropout = true;
    if (value > 0 && !c->dropout) c->dropout = pair;
    return true;
}

static bool take_bias(config_reading *c, const hf_field *f, const doc_pair *pair)
{
    const doc_node *value = pair->value;
    const bool yes = !value->quoted && value->kind == DOC_SCALAR && strcmp(value->scalar, "true") == 0;
    const bool no = !value->quoted && value->kind == DOC_SCALAR && strcmp(value->scalar, "false") == 0;
    if (!yes && !no)
        return sim_fail(c->error, SIM_EXIT_INPUT, &value->place, "%s is true or false, not %s", f->name,
                        shown(c, value));
    *(yes ? &c->with : &c->without) = pair;
    return true;
}

static bool is_only(const doc_node *value, const char *only)
{
    double have, want;
    const size_t length = strlen(only);
    if (*only == '[') {
        if (value->kind != DOC_SEQUENCE || (length == 2 && value->count)) return false;
        for (uint32_t i = 0; i < value->count; i++) {
            const doc_node *item = value->items[i];
            if (item->kind != DOC_SCALAR || strlen(item->scalar) != length - 2 ||
                memcmp(item->scalar, only + 1, length - 2) != 0)
                return false;
        }
        return true;
    }
    const doc_node wanted = { .kind = DOC_SCALAR, .scalar = only };
    if (number_of(value, &have) && number_of(&wanted, &want)) return have == want;
    return value->kind == DOC_SCALAR && !value->quoted && strcmp(value->scalar, only) == 0;
}

static bool check_only(const config_reading *c, const hf_field *f, const doc_pair *pair)
{
    if (is_only(pair->value, f->only)) return true;
    return sim_fail(c->error, SIM_EXIT_INPUT, &pair->value->place,
                    "%s: %s: %s is not modelled in this version", f->name, shown(c, pair->value), f->key);
}

static bool take_field(config_reading *c, const hf_field *f, const doc_pair *pair)
{
    double value;
    if (f->use == HF_UNUSED || is_null(pair->value)) return true;
    switch (f->use) {
    case HF_TAKE: return add_key(c, f->key, pair, pair->value);
    case HF_COUNT:
        if (number_of(pair->value, &value) && value == 0) return true;
        return add_key(c, f->key, pair, pair->value);
    case HF_NEXT: return take_next(c, f, pair);
    case HF_ACTIVATION: return take_activation(c, f, pair);
    case HF_DROPOUT: return take_dropout(c, f, pair);
    case HF_BIAS: return take_bias(c, f, pair);
    case HF_ONLY: return check_only(c, f, pair);
    case HF_SAME: // once all have been taken
    case HF_UNUSED:
    case HF_END: break;
    }
    return true;
}

// ---- all fields

static const hf_field *find_field(const hf_architecture *h, const char *name)
{
    for (size_t t = 0; t < HF_TABLES_MAX && h->fields[t]; t++)
        for (const hf_field *f = h->fields[t]; f->use != HF_END; f++)
            if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

static bool refuse_field(const config_reading *c, const doc_pair *pair)
{
    char field[WORDS_SHOWN_SIZE];
    const hf_architecture *h = c->architecture;
    text_list known = { 0 };
    for (size_t t = 0; t < HF_TABLES_MAX && h->fields[t]; t++)
        for (const hf_field *f = h->fields[t]; f->use != HF_END; f++)
            if (f->use != HF_UNUSED) *array_push(&known, c->a) = f->name;
    sim_fail(c->error, SIM_EXIT_INPUT, &pair->key_place, "%s is not known to have a field \"%s\"", h->name,
             words_show(field, pair->key));
    return words_hint(c->error, pair->key, known.items, known.count, NAMES_SHOWN, "fields that are used");
}

static bool take_fields(config_reading *c)
{
    for (uint32_t i = 0; i < c->config->count; i++) {
        const doc_pair *pair = &c->config->pairs[i];
        const hf_field *f = find_field(c->architecture, pair->key);
        if (!f) return refuse_field(c, pair);
        if (!take_field(c, f, pair)) return false;
    }
    return true;
}

// Some field that becomes the same key, with a value.
static bool is_said(const config_reading *c, const hf_field *wanted)
{
    const hf_architecture *h = c->architecture;
    for (size_t t = 0; t < HF_TABLES_MAX && h->fields[t]; t++)
        for (const hf_field *f = h->fields[t]; f->use != HF_END; f++) {
            if (strcmp(f->key, wanted->key) != 0) continue;
            const doc_node *value = document_find(c->config, f->name);
            if (value && (f->use == HF_ONLY || !is_null(value))) return true;
        }
    return false;
}

static bool check_required(const config_reading *c)
{
    const hf_architecture *h = c->architecture;
    for (size_t t = 0; t < HF_TABLES_MAX && h->fields[t]; t++)
        for (const hf_field *f = h->fields[t]; f->use != HF_END; f++) {
            if (!f->required || is_said(c, f)) continue;
            const doc_node *null = document_find(c->config, f->name);
            sim_fail(c->error, SIM_EXIT_INPUT, null ? &null->place : &c->config->place, "\"%s\" %s", f->name,
                     null ? "has no value" : "is missing");
            return sim_hint(c->error, "a config.json of %s says it", h->name);
        }
    return true;
}

static bool check_same(const config_reading *c)
{
    const hf_architecture *h = c->architecture;
    for (size_t t = 0; t < HF_TABLES_MAX && h->fields[t]; t++)
        for (const hf_field *f = h->fields[t]; f->use != HF_END; f++) {
            const doc_pair *pair = document_find_pair(c->config, f->name);
            if (f->use != HF_SAME || !pair || is_null(pair->value)) continue;
            const doc_pair *other = find_key(&c->model, f->key);
            double here, there;
            if (number_of(pair->value, &here) && number_of(other->value, &there) && here == there) continue;
            return sim_fail(c->error, SIM_EXIT_INPUT, &pair->value->place,
                            "%s %s other than %s %s is not modelled in this version", f->name,
                            shown(c, pair->value), f->key, shown(c, other->value));
        }
    return true;
}

// ---- what follows from several fields, or from none

static bool add_biases(config_reading *c)
{
    if (c->with && c->without)
        return sim_fail(c->error, SIM_EXIT_INPUT, &c->with->value->place,
                        "%s without %s: biases in half of a layer are not modelled in this version",
                        c->with->key, c->without->key);
    if (c->with) return add_key(c, "bias", c->with, c->with->value);
    return true;
}

static bool add_dropout(config_reading *c)
{
    if (!c->says_dropout) return true;
    const doc_pair *from = c->dropout ? c->dropout : c->called;
    return add_key(c, "dropout", from, scalar_node(c->a, c->dropout ? "true" : "false", &from->value->place));
}

static bool add_fixed(config_reading *c)
{
    for (size_t i = 0; i < HF_FIXED_MAX && c->architecture->fixed[i].key; i++) {
        const hf_fixed *f = &c->architecture->fixed[i];
        if (find_key(&c->model, f->key)) continue;
        if (!add_key(c, f->key, c->called, scalar_node(c->a, f->value, &c->called->value->place)))
            return false;
    }
    return true;
}

// Where hidden is no such number, binding says so before it looks at ffn.
static bool add_ffn(config_reading *c)
{
    double hidden;
    const doc_pair *from = find_key(&c->model, "hidden");
    if (!c->architecture->ffn_4h || find_key(&c->model, "ffn")) return true;
    if (!number_of(from->value, &hidden) || !(hidden >= 1 && hidden <= 1e6) || hidden != (uint32_t)hidden)
        return add_key(c, "ffn", from, from->value);
    const char *text = arena_format(c->a, "%" PRIu32, 4 * (uint32_t)hidden);
    return add_key(c, "ffn", from, scalar_node(c->a, text, &from->value->place));
}

static bool add_latent(config_reading *c)
{
    if (!c->latent.count) return true;
    const doc_pair from = c->latent.items[0];
    return add_key(c, "latent_attention", &from, mapping_node(c->a, &c->latent, &from.key_place));
}

bool hf_config_read(arena *a, const document *config, doc_node **model, sim_error *error)
{
    config_reading c = { .a = a, .config = config->root, .error = error };
    if (config->root->kind != DOC_MAPPING)
        return sim_fail(error, SIM_EXIT_INPUT, &config->root->place, "a config.json is a mapping, not %s",
                        document_kind_name(config->root->kind));
    if (!choose_architecture(&c) || !take_fields(&c) || !check_required(&c) || !check_same(&c) ||
        !add_biases(&c) || !add_dropout(&c) || !add_ffn(&c) || !add_latent(&c) || !add_fixed(&c))
        return false;
    *model = mapping_node(a, &c.model, &config->root->place);
    return true;
}

// ---- in a scenario

// "some/Llama-3.1-8B/config.json" is Llama-3.1-8B, "phi-4.config.json" and "phi-4.json" are phi-4.
static const char *name_of(arena *a, const char *path)
{
    static const char *const ends[] = { ".json", ".txt", ".config" };
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    if (slash && strcmp(base, "config.json") == 0) {
        const char *start = slash;
        while (start > path && start[-1] != '/')
            start--;
        if (start < slash && strncmp(start, "..", 2) != 0)
            return arena_text_n(a, start, (size_t)(slash - start));
    }
    size_t length = strlen(base);
    for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
        const size_t end = strlen(ends[i]);
        if (length > end && memcmp(base + length - end, ends[i], end) == 0) length -= end;
    }
    return arena_text_n(a, base, length);
}

// "OPTConfig {": what Python prints of a configuration.
static bool hint_printed(const document *config, sim_error *error)
{
    const char *text = config->text ? config->text : "";
    const size_t word = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    if (word == 0 || text[word + strspn(text + word, " ")] != '{') return false;
    return sim_hint(error, "as Python prints it: JSON begins with the brace behind \"%.*s\"",
                    word < 40 ? (int)word : 40, text);
}

static bool read_file(arena *a, document *main, const doc_pair *hf, doc_node **model, sim_error *error)
{
    char directory[OS_PATH_SIZE], path[OS_PATH_SIZE];
    const doc_node *file = hf->value;
    document config;
    if (file->kind != DOC_SCALAR || !*file->scalar) {
        sim_fail(error, SIM_EXIT_INPUT, &file->place, "model.hf must be the name of a file");
        return sim_hint(error, "hf: config.json");
    }
    if (!os_directory_of(directory, sizeof directory, file->place.file) ||
        !os_join_path(path, sizeof path, directory, file->scalar))
        return sim_fail(error, SIM_EXIT_INPUT, &file->place, "the path of this file is too long");
    if (!document_load_json(a, path, &file->place, &config, error)) return hint_printed(&config, error);
    *array_push(&main->included, a) = arena_text(a, path);
    if (!hf_config_read(a, &config, model, error)) return false;
    model_keys keys = { 0 };
    for (uint32_t i = 0; i < (*model)->count; i++)
        *array_push(&keys, a) = (*model)->pairs[i];
    *array_push(&keys, a) = (doc_pair){ .key = "name",
                                        .key_place = hf->key_place,
                                        .value = scalar_node(a, name_of(a, path), &file->place) };
    *model = mapping_node(a, &keys, &(*model)->place);
    return true;
}

// The mapping but for one key, or with another value for it.
static doc_node *with_value(arena *a, const doc_node *mapping, const char *key, doc_node *value)
{
    model_keys keys = { 0 };
    for (uint32_t i = 0; i < mapping->count; i++) {
        doc_pair pair = mapping->pairs[i];
        if (strcmp(pair.key, key) == 0) {
            if (!value) continue;
            pair.value = value;
        }
        *array_push(&keys, a) = pair;
    }
    return mapping_node(a, &keys, &mapping->place);
}

bool hf_config_inline(arena *a, document *doc, sim_error *error)
{
    doc_node *given = document_find(doc->root, "model"), *model;
    const doc_pair *hf = given ? document_find_pair(given, "hf") : NULL;
    if (!hf) return true;
    const doc_pair *base = document_find_pair(given, "base");
    if (base) {
        sim_fail(error, SIM_EXIT_INPUT, &hf->key_place, "the model is given twice: by base and by hf");
        return sim_hint(error, "leave one of them out");
    }
    if (!read_file(a, doc, hf, &model, error)) return false;
    const doc_node *own = with_value(a, given, "hf", NULL);
    doc_node *all = arena_new(a, doc_node);
    *all = *part_override(a, llm_binds, model, own);
    all->place = given->place;
    doc->root = with_value(a, doc->root, "model", all);
    return true;
}
