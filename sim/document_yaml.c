// SPDX-License-Identifier: GPL-3.0-or-later
// libyaml's events to nodes. libyaml's composer is not used: it unrolls nothing, but it keeps no text, knows no limits and
// accepts duplicate keys.
#include "sim/array.h"
#include "sim/document_build.h"
#include <string.h>
#include <yaml.h>

ARRAY_OF(doc_node *, node_array);

typedef struct open_node { // a list or mapping whose end has not been read
    doc_node *node;
    node_array items;
    doc_pairs pairs;
    bool has_key; // pending holds a key that waits for its value
    doc_pair pending;
} open_node;

typedef struct builder {
    doc_load *load;
    const doc_source *source;
    sim_error *error;
    uint32_t outer_depth; // levels above the root
    open_node open[DOCUMENT_DEPTH_MAX];
    uint32_t open_count;
    doc_node *root;
    text_map *anchors; // name to index in anchored
    node_array anchored;
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_event;
} builder;

static sim_place place_of(const builder *b, const yaml_mark_t *mark)
{
    const doc_source *s = b->source;
    uint32_t offset = mark->line == 0 ? s->start_column : 0;
    return (sim_place){ .file = s->file,
                        .line = (uint32_t)mark->line + 1,
                        .column = (uint32_t)mark->column + 1 + offset,
                        .text = s->text,
                        .text_length = s->length };
}

static bool fail(const builder *b, const char *message)
{
    sim_place place = place_of(b, &b->event.start_mark);
    return sim_fail(b->error, SIM_EXIT_INPUT, &place, "%s", message);
}

// ---- what libyaml refuses

// libyaml gives bytes it cannot decode by their offset alone.
static sim_place place_of_offset(const builder *b, size_t offset)
{
    const doc_source *s = b->source;
    yaml_mark_t mark = { 0 };
    for (size_t i = s->start; i < s->start + offset && i < s->length; i++) {
        unsigned char c = (unsigned char)s->text[i];
        bool new_line = c == '\n' ? i == s->start || s->text[i - 1] != '\r' : c == '\r';
        if (new_line) {
            mark.line++;
            mark.column = 0;
        } else if (c != '\n' && (c & 0xC0) != 0x80) {
            mark.column++;
        }
    }
    return place_of(b, &mark);
}

static bool fail_reader(const builder *b)
{
    const yaml_parser_t *p = &b->parser;
    size_t offset = p->problem_offset;
    // A character that goes on wrongly is shown where it begins.
    if (strcmp(p->problem, "invalid trailing UTF-8 octet") == 0)
        while (offset > 0 && ((unsigned char)b->source->text[b->source->start + offset] & 0xC0) != 0xC0)
            offset--;
    sim_place place = place_of_offset(b, offset);
    if (strcmp(p->problem, "control characters are not allowed") == 0)
        return sim_fail(b->error, SIM_EXIT_INPUT, &place, "the control character 0x%02X is not allowed",
                        (unsigned)p->problem_value);
    return sim_fail(b->error, SIM_EXIT_INPUT, &place, "the text is not UTF-8 (%s)", p->problem);
}

// The byte at which a mark points; libyaml's index counts characters.
static size_t byte_of(const doc_source *s, const yaml_mark_t *mark)
{
    size_t at = s->start, left = mark->index;
    for (; at < s->length; at++)
        if (((unsigned char)s->text[at] & 0xC0) != 0x80 && left-- == 0) break;
    return at;
}

// What usually lies behind a problem of libyaml, which knows only what it was looking for.
static bool hint_syntax(const builder *b, const yaml_mark_t *mark)
{
    static const struct {
        const char *problem, *hint;
    } hints[] = {
        { "mapping values are not allowed in this context", "a text that holds \": \" needs quotes" },
        { "could not find expected ':'", "a key needs \": \" behind it" },
        { "did not find expected key", "check the indentation and the quotes here and in the line above" },
        { "did not find expected ',' or '}'", "the entries of { } are separated by commas" },
        { "did not find expected ',' or ']'", "the entries of [ ] are separated by commas" },
    };
    const yaml_parser_t *p = &b->parser;
    size_t at = byte_of(b->source, mark);
    if (at < b->source->length && b->source->text[at] == '\t')
        return sim_hint(b->error, "indent with spaces, not with tabs");
    for (size_t i = 0; i < ARRAY_COUNT(hints); i++)
        if (strcmp(p->problem, hints[i].problem) == 0) return sim_hint(b->error, "%s", hints[i].hint);
    return false;
}

static bool fail_syntax(const builder *b)
{
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return sim_fail(b->error, SIM_EXIT_INPUT, &(sim_place){ .file = b->source->file },
                        "out of memory while reading");
    if (p->error == YAML_READER_ERROR) return fail_reader(b);
    SIM_ASSERT((p->error == YAML_SCANNER_ERROR || p->error == YAML_PARSER_ERROR) && p->problem);
    // What never ends is best shown where it begins.
    bool at_end = p->context && byte_of(b->source, &p->problem_mark) == b->source->length;
    const yaml_mark_t *mark = at_end ? &p->context_mark : &p->problem_mark;
    sim_place place = place_of(b, mark);
    if (!p->context)
        sim_fail(b->error, SIM_EXIT_INPUT, &place, "not valid YAML: %s", p->problem);
    else if (at_end || p->context_mark.line == p->problem_mark.line)
        sim_fail(b->error, SIM_EXIT_INPUT, &place, "not valid YAML: %s %s", p->problem, p->context);
    else
        sim_fail(b->error, SIM_EXIT_INPUT, &place, "not valid YAML: %s %s that begins in line %u", p->problem,
                 p->context, place_of(b, &p->context_mark).line);
    return hint_syntax(b, mark);
}

// ---- what we refuse

static bool check_tag(const builder *b, const yaml_char_t *tag, const char *const *known)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    if (!tag) return true;
    const char *text = (const char *)tag;
    for (; *known; known++)
        if (strcmp(text, *known) == 0) return true;
    bool standard = strncmp(text, prefix, sizeof(prefix) - 1) == 0;
    sim_place place = place_of(b, &b->event.start_mark);
    sim_fail(b->error, SIM_EXIT_INPUT, &place, "the tag \"%s%s\" is not supported here", standard ? "!!" : "",
             standard ? text + sizeof(prefix) - 1 : text);
    return sim_hint(b->error, "leave the tag out");
}

static bool add_anchor(builder *b, const yaml_char_t *anchor, doc_node *node)
{
    if (!anchor) return true;
    const char *name = (const char *)anchor;
    uint32_t index;
    if (!b->anchors) b->anchors = text_map_create(b->load->arena);
    if (text_map_get(b->anchors, name, &index)) {
        sim_place place = place_of(b, &b->event.start_mark);
        return sim_fail(b->error, SIM_EXIT_INPUT, &place, "the anchor \"%s\" is already defined in line %u",
                        name, b->anchored.items[index]->place.line);
    }
    text_map_set(b->anchors, name, b->anchored.count);
    *array_push(&b->anchored, b->load->arena) = node;
    return true;
}

static bool is_word(const yaml_event_t *e)
{
    if (e->type != YAML_SCALAR_EVENT || e->data.scalar.anchor || e->data.scalar.tag) return false;
    yaml_scalar_style_t style = e->data.scalar.style;
    return style != YAML_LITERAL_SCALAR_STYLE && style != YAML_FOLDED_SCALAR_STYLE &&
           e->data.scalar.length > 0 && !memchr(e->data.scalar.value, 0, e->data.scalar.length);
}

static bool take_key(builder *b, open_node *in)
{
    const yaml_event_t *e = &b->event;
    if (!is_word(e)) return fail(b, "a key must be a plain or quoted word");
    const char *key = (const char *)e->data.scalar.value;
    sim_place place = place_of(b, &e->start_mark);
    if (strcmp(key, "<<") == 0 && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        sim_fail(b->error, SIM_EXIT_INPUT, &place, "merge keys (\"<<\") are not supported");
        return sim_hint(b->error, "write the keys out, or move them to a file and use \"include: FILE\"");
    }
    const doc_pair *first = doc_pairs_find(&in->pairs, key);
    if (first)
        return sim_fail(b->error, SIM_EXIT_INPUT, &place, "the key \"%s\" is already given in line %u", key,
                        first->key_place.line);
    in->pending = (doc_pair){ .key = arena_text_n(b->load->arena, key, e->data.scalar.length),
                              .key_place = place };
    in->has_key = true;
    return true;
}

// ---- the tree

static bool wants_key(const builder *b)
{
    const open_node *in = b->open_count ? &b->open[b->open_count - 1] : NULL;
    return in && in->node->kind == DOC_MAPPING && !in->has_key;
}

// Puts a finished node where it belongs.
static bool add_value(builder *b, doc_node *node, const sim_place *where)
{
    if (b->open_count == 0) {
        b->root = node;
        return true;
    }
    open_node *in = &b->open[b->open_count - 1];
    if (!doc_node_count_child(in->node, b->outer_depth + b->open_count, node, where, b->error)) return false;
    if (in->node->kind == DOC_SEQUENCE) {
        *array_push(&in->items, b->load->arena) = node;
    } else {
        in->pending.value = node;
        doc_pairs_add(&in->pairs, b->load->arena, &in->pending);
        in->has_key = false;
    }
    return true;
}

static bool take_scalar(builder *b)
{
    static const char *const known[] = { "!",           YAML_STR_TAG,  YAML_INT_TAG, YAML_FLOAT_TAG,
                                         YAML_BOOL_TAG, YAML_NULL_TAG, NULL };
    const yaml_event_t *e = &b->event;
    const char *tag = (const char *)e->data.scalar.tag;
    sim_place place = place_of(b, &e->start_mark);
    if (!check_tag(b, e->data.scalar.tag, known)) return false;
    if (memchr(e->data.scalar.value, 0, e->data.scalar.length))
        return fail(b, "a text cannot hold a zero byte");
    doc_node *node = doc_node_create(b->load, DOC_SCALAR, &place, b->error);
    if (!node) return false;
    node->scalar = arena_text_n(b->load->arena, (const char *)e->data.scalar.value, e->data.scalar.length);
    bool said_text = tag && (strcmp(tag, "!") == 0 || strcmp(tag, YAML_STR_TAG) == 0);
    node->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || said_text;
    return add_anchor(b, e->data.scalar.anchor, node) && add_value(b, node, &place);
}

static bool take_alias(builder *b)
{
    const char *name = (const char *)b->event.data.alias.anchor;
    sim_place place = place_of(b, &b->event.start_mark);
    uint32_t index;
    if (!b->anchors || !text_map_get(b->anchors, name, &index))
        return sim_fail(b->error, SIM_EXIT_INPUT, &place, "the alias \"*%s\" names no anchor above it", name);
    doc_node *node = b->anchored.items[index];
    for (uint32_t i = 0; i < b->open_count; i++)
        if (b->open[i].node == node)
            return sim_fail(b->error, SIM_EXIT_INPUT, &place,
                            "the alias \"*%s\" stands inside the value it names", name);
    return add_value(b, node, &place);
}

static bool open_container(builder *b, doc_kind kind, const yaml_char_t *anchor)
{
    sim_place place = place_of(b, &b->event.start_mark);
    if (b->outer_depth + b->open_count == DOCUMENT_DEPTH_MAX)
        return sim_fail(b->error, SIM_EXIT_INPUT, &place, "nested deeper than %d levels", DOCUMENT_DEPTH_MAX);
    doc_node *node = doc_node_create(b->load, kind, &place, b->error);
    if (!node) return false;
    b->open[b->open_count++] = (open_node){ .node = node };
    return add_anchor(b, anchor, node);
}

static bool close_container(builder *b)
{
    open_node *closed = &b->open[b->open_count - 1];
    doc_node *node = closed->node;
    node->items = closed->items.items;
    node->pairs = closed->pairs.items;
    node->count = node->kind == DOC_SEQUENCE ? closed->items.count : closed->pairs.count;
    if (document_find(node, "include") &&
        !doc_include(b->load, b->source, node, b->outer_depth + b->open_count, b->error))
        return false;
    b->open_count--;
    return add_value(b, node, &node->place);
}

static bool take_event(builder *b)
{
    static const char *const list_tags[] = { "!", YAML_SEQ_TAG, NULL };
    static const char *const mapping_tags[] = { "!", YAML_MAP_TAG, NULL };
    const yaml_event_t *e = &b->event;
    switch (e->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT: return true;
    case YAML_DOCUMENT_START_EVENT:
        return b->root ? fail(b, "a second document begins here; a file holds one") : true;
    case YAML_ALIAS_EVENT: return wants_key(b) ? take_key(b, &b->open[b->open_count - 1]) : take_alias(b);
    case YAML_SCALAR_EVENT: return wants_key(b) ? take_key(b, &b->open[b->open_count - 1]) : take_scalar(b);
    case YAML_SEQUENCE_START_EVENT:
        if (wants_key(b)) return take_key(b, &b->open[b->open_count - 1]);
        return check_tag(b, e->data.sequence_start.tag, list_tags) &&
               open_container(b, DOC_SEQUENCE, e->data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
        if (wants_key(b)) return take_key(b, &b->open[b->open_count - 1]);
        return check_tag(b, e->data.mapping_start.tag, mapping_tags) &&
               open_container(b, DOC_MAPPING, e->data.mapping_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return close_container(b);
    }
    return false;
}

static bool build(void *owner)
{
    builder *b = owner;
    const doc_source *s = b->source;
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const yaml_char_t *)s->text + s->start, s->length - s->start);
    for (bool more = true; more;) {
        if (!yaml_parser_parse(&b->parser, &b->event)) return fail_syntax(b);
        b->has_event = true;
        more = b->event.type != YAML_STREAM_END_EVENT;
        bool fine = take_event(b);
        yaml_event_delete(&b->event);
        b->has_event = false;
        if (!fine) return false;
    }
    if (!b->root || doc_node_is_empty(b->root))
        return sim_fail(b->error, SIM_EXIT_INPUT, &(sim_place){ .file = s->file }, "the document is empty");
    return true;
}

static void clean(void *owner)
{
    builder *b = owner;
    if (b->has_event) yaml_event_delete(&b->event);
    yaml_parser_delete(&b->parser);
}

bool doc_read_yaml(doc_load *load, const doc_source *source, uint32_t depth, doc_node **root,
                   sim_error *error)
{
    builder b = { .load = load, .source = source, .error = error, .outer_depth = depth - 1 };
    if (!yaml_parser_initialize(&b.parser)) return fail_syntax(&b);
    if (!arena_guard(load->arena, build, clean, &b)) return false; // libyaml's memory is not in the arena
    *root = b.root;
    return true;
}
