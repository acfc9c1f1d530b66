// SPDX-License-Identifier: GPL-3.0-or-later
// Single values of a table: numbers with their sources, booleans, words, texts and curves.
#include "sim/bind_internal.h"
#include "sim/os.h"
#include "sim/words.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SHOWN_WORDS = 12,
    MOST_WORDS = 32 // of an enumeration
};

static bool fail(const bind_reading *k, const doc_node *node, const char *format)
{
    return sim_fail(k->error, SIM_EXIT_INPUT, &node->place, format, k->scope.path);
}

static bool fail_text(const bind_reading *k, const doc_node *node, const char *format, const char *text)
{
    char shown[WORDS_SHOWN_SIZE];
    return sim_fail(k->error, SIM_EXIT_INPUT, &node->place, format, k->scope.path, words_show(shown, text));
}

bool bind_fail_kind(const bind_reading *k, const doc_node *node, const char *wanted)
{
    return sim_fail(k->error, SIM_EXIT_INPUT, &node->place, "%s must be %s, not %s",
                    *k->scope.path ? k->scope.path : "the document", wanted, document_kind_name(node->kind));
}

bool bind_has_no_value(const doc_node *node)
{
    return document_is_null(node) || (node->kind == DOC_SCALAR && !node->quoted && !*node->scalar);
}

// ---- numbers

static bool is_bare(const bind_row *row)
{
    bool count = row->type == BIND_TYPE_U32 || row->type == BIND_TYPE_U64;
    return count || (row->type == BIND_TYPE_DOUBLE && row->unit == UNIT_NONE);
}

static bool want_number(const bind_reading *k, const doc_node *node, bool bare)
{
    if (node->kind != DOC_SCALAR) return bind_fail_kind(k, node, "a number");
    if (!bare || !node->quoted) return true;
    fail_text(k, node, "%s must be a number; \"%s\" in quotes is a text", node->scalar);
    return sim_hint(k->error, "leave the quotes out");
}

// A limit as the user would write it.
static const char *show_limit(const bind_row *row, double limit, char *buffer, size_t size)
{
    if (limit == 0.0) return "0";
    unit_kind unit = row->type == BIND_TYPE_U32 || row->type == BIND_TYPE_U64 ? UNIT_NONE : row->unit;
    return units_format(unit, limit, buffer, size);
}

static bool check_range(const bind_reading *k, const doc_node *node, double value)
{
    const bind_row *row = k->row;
    char limit[64];
    bool low = row->has_least && (row->above_least ? !(value > row->least) : !(value >= row->least));
    if (low)
        return sim_fail(k->error, SIM_EXIT_INPUT, &node->place, "%s must be %s %s", k->scope.path,
                        row->above_least ? "above" : "at least",
                        show_limit(row, row->least, limit, sizeof(limit)));
    if (row->has_greatest && !(value <= row->greatest))
        return sim_fail(k->error, SIM_EXIT_INPUT, &node->place, "%s must be at most %s", k->scope.path,
                        show_limit(row, row->greatest, limit, sizeof(limit)));
    return true;
}

static bool fits_into_32_bits(const bind_reading *k, const doc_node *node, uint64_t value)
{
    return value <= UINT32_MAX || sim_fail(k->error, SIM_EXIT_INPUT, &node->place, "%s must be at most %u",
                                           k->scope.path, UINT32_MAX);
}

// The value as a double too, for its range.
static bool parse_number(const bind_reading *k, const doc_node *node, void *field, double *value)
{
    const char *text = node->scalar;
    const sim_place *where = &node->place;
    sim_time ps;
    uint64_t whole;
    if (k->row->type == BIND_TYPE_DOUBLE) {
        if (!units_parse(k->row->unit, text, value, where, k->error)) return false;
        *(double *)field = *value;
        return true;
    }
    if (k->row->type == BIND_TYPE_TIME) {
        if (!units_parse_ps(text, &ps, where, k->error)) return false;
        *(sim_time *)field = ps;
        *value = units_s_from_ps(ps);
        return true;
    }
    const bool bytes = k->row->type == BIND_TYPE_BYTES;
    if (!(bytes ? units_parse_bytes : units_parse_count)(text, &whole, where, k->error)) return false;
    *value = (double)whole;
    if (k->row->type != BIND_TYPE_U32) {
        *(uint64_t *)field = whole;
        return true;
    }
    // The key's own limit, which is looked at later, is the one to name.
    if (!k->row->has_greatest && !fits_into_32_bits(k, node, whole)) return false;
    *(uint32_t *)field = (uint32_t)whole;
    return true;
}

// Of a number that cannot be held at all the key's own limit is said, where it is beyond that.
static bool fail_number(const bind_reading *k, const doc_node *node)
{
    const bind_row *row = k->row;
    const unit_kind unit = is_bare(row) ? UNIT_NONE : row->unit;
    sim_error unheld = *k->error, no_number = { 0 };
    double value;
    if (!units_parse(unit, node->scalar, &value, NULL, &no_number)) return false;
    sim_error_clear(k->error);
    if (check_range(k, node, value)) *k->error = unheld;
    if (value >= 0.0 || row->type == BIND_TYPE_DOUBLE || row->has_least) return false;
    sim_error_clear(k->error);
    return sim_fail(k->error, SIM_EXIT_INPUT, &node->place, "%s must be at least 0", k->scope.path);
}

static bool read_scalar_number(const bind_reading *k, const doc_node *node, void *field)
{
    double value;
    if (!want_number(k, node, is_bare(k->row))) return false;
    if (k->row->type == BIND_TYPE_TIME && k->row->words && !node->quoted &&
        strcmp(node->scalar, k->row->words[0]) == 0) {
        *(sim_time *)field = SIM_TIME_MAX;
        return true;
    }
    if (!parse_number(k, node, field, &value)) return fail_number(k, node);
    return check_range(k, node, value);
}

// ---- lists of numbers and curves

static bool read_numbers(const bind_reading *k, const doc_node *node, bind_numbers *numbers)
{
    const bool list = node->kind == DOC_SEQUENCE;
    if (!list && node->kind != DOC_SCALAR) return bind_fail_kind(k, node, "a number or a list of numbers");
    if (list && node->count == 0) return fail(k, node, "%s needs at least one number");
    numbers->count = list ? node->count : 1;
    numbers->items = arena_array(k->reader->arena, double, numbers->count);
    for (uint32_t i = 0; i < numbers->count; i++) {
        const doc_node *item = list ? node->items[i] : node;
        if (!want_number(k, item, k->row->unit == UNIT_NONE)) return false;
        if (!units_parse(k->row->unit, item->scalar, &numbers->items[i], &item->place, k->error))
            return fail_number(k, item);
        if (!check_range(k, item, numbers->items[i])) return false;
    }
    return true;
}

static bool read_coordinate(const bind_reading *k, unit_kind unit, const doc_node *node, double *value)
{
    return want_number(k, node, unit == UNIT_NONE) &&
           units_parse(unit, node->scalar, value, &node->place, k->error);
}

static bool read_points(const bind_reading *k, const doc_node *node, bind_points *points)
{
    if (node->kind != DOC_SEQUENCE) return bind_fail_kind(k, node, "a list of [x, y] pairs");
    if (node->count < 2)
        return sim_fail(k->error, SIM_EXIT_INPUT, &node->place, "%s needs at least two points",
                        k->scope.path);
    points->count = node->count;
    points->x = arena_array(k->reader->arena, double, node->count);
    points->y = arena_array(k->reader->arena, double, node->count);
    for (uint32_t i = 0; i < node->count; i++) {
        const doc_node *pair = node->items[i];
        if (pair->kind != DOC_SEQUENCE || pair->count != 2)
            return sim_fail(k->error, SIM_EXIT_INPUT, &pair->place, "%s[%u] must be a pair [x, y]",
                            k->scope.path, i);
        if (!read_coordinate(k, k->row->unit, pair->items[0], &points->x[i]) ||
            !read_coordinate(k, k->row->unit_y, pair->items[1], &points->y[i]))
            return false;
        if (i > 0 && !(points->x[i] > points->x[i - 1]))
            return sim_fail(k->error, SIM_EXIT_INPUT, &pair->items[0]->place,
                            "the x values of %s must rise: %s follows %s", k->scope.path,
                            pair->items[0]->scalar, node->items[i - 1]->items[0]->scalar);
    }
    return true;
}

// ---- sources

static bool read_source(const bind_reading *k, const doc_node *node, bind_origin *origin)
{
    if (node->kind != DOC_SCALAR || !*node->scalar) return fail(k, node, "%s: source must be a text");
    origin->source = node->scalar;
    return true;
}

static bool read_grade(const bind_reading *k, const doc_node *node, bind_origin *origin)
{
    const char *text = node->kind == DOC_SCALAR ? node->scalar : "";
    for (bind_grade grade = GRADE_MEASURED; grade <= GRADE_ASSUMED; grade++)
        if (strcmp(text, bind_grade_name(grade)) == 0) {
            origin->grade = grade;
            return true;
        }
    return fail(k, node, "%s: grade must be measured, vendor or assumed");
}

bool bind_read_origin(const bind_reading *k, const doc_node *mapping, bind_origin *origin)
{
    const doc_node *source = document_find(mapping, "source"), *grade = document_find(mapping, "grade");
    return (!source || read_source(k, source, origin)) && (!grade || read_grade(k, grade, origin));
}

// { value: 80 GB, source: "...", grade: vendor }: returns the value.
static const doc_node *open_value(const bind_reading *k, const doc_node *mapping, bind_origin *origin)
{
    static const char hint[] = "a number with its source: { value: ..., source: \"...\", grade: measured }";
    for (uint32_t i = 0; i < mapping->count; i++) {
        const char *key = mapping->pairs[i].key;
        if (strcmp(key, "value") == 0 || bind_is_origin_key(key)) continue;
        char shown[WORDS_SHOWN_SIZE];
        sim_fail(k->error, SIM_EXIT_INPUT, &mapping->pairs[i].key_place, "unknown key \"%s\" in %s",
                 words_show(shown, key), k->scope.path);
        sim_hint(k->error, "%s", hint);
        return NULL;
    }
    const doc_node *value = document_find(mapping, "value");
    if (!value) {
        sim_fail(k->error, SIM_EXIT_INPUT, &mapping->place, "\"value\" is missing in %s", k->scope.path);
        sim_hint(k->error, "%s", hint);
        return NULL;
    }
    if (bind_has_no_value(value)) {
        sim_fail(k->error, SIM_EXIT_INPUT, &value->place, "%s has no value", k->scope.path);
        return NULL;
    }
    return bind_read_origin(k, mapping, origin) ? value : NULL;
}

static void record_provenance(const bind_reading *k, const doc_node *value, const void *field,
                              const bind_origin *origin)
{
    bind_reader *r = k->reader;
    const bind_record *record = bind_find_record(r, field, bind_field_size(k->row));
    SIM_ASSERT(record);
    const char *what = k->row->type == BIND_TYPE_POINTS ? "points" : "numbers";
    const char *text = value->kind == DOC_SCALAR ? value->scalar
                                                 : arena_format(r->arena, "%u %s", value->count, what);
    *array_push(&r->provenance, r->arena) = (bind_provenance){ .field = field,
                                                               .path = k->scope.path,
                                                               .value = text,
                                                               .source = origin->source,
                                                               .grade = origin->grade,
                                                               .place = value->place };
    r->records.items[record - r->records.items].provenance1 = r->provenance.count;
}

static bool read_number(const bind_reading *k, const doc_node *node, void *field, const doc_node **value)
{
    bind_origin origin = k->scope.origin;
    *value = node->kind == DOC_MAPPING ? open_value(k, node, &origin) : node;
    if (!*value) return false;
    bool fine = k->row->type == BIND_TYPE_POINTS    ? read_points(k, *value, field)
                : k->row->type == BIND_TYPE_NUMBERS ? read_numbers(k, *value, field)
                                                    : read_scalar_number(k, *value, field);
    if (fine) record_provenance(k, *value, field, &origin);
    return fine;
}

// ---- words and texts

static bool read_bool(const bind_reading *k, const doc_node *node, bool *value)
{
    static const char *const yes[] = {
        "yes", "Yes", "YES", "on", "On", "ON", "True", "TRUE", "y", "1", NULL
    };
    static const char *const no[] = {
        "no", "No", "NO", "off", "Off", "OFF", "False", "FALSE", "n", "0", NULL
    };
    if (node->kind != DOC_SCALAR) return bind_fail_kind(k, node, "true or false");
    bool is_true = strcmp(node->scalar, "true") == 0, is_false = strcmp(node->scalar, "false") == 0;
    *value = is_true;
    if ((is_true || is_false) && !node->quoted) return true;
    fail_text(k, node, "%s must be true or false, not \"%s\"", node->scalar);
    if (is_true || is_false) return sim_hint(k->error, "leave the quotes out");
    for (const char *const *word = yes; *word; word++)
        if (strcmp(node->scalar, *word) == 0) return sim_hint(k->error, "did you mean true?");
    for (const char *const *word = no; *word; word++)
        if (strcmp(node->scalar, *word) == 0) return sim_hint(k->error, "did you mean false?");
    return false;
}

static bool read_enum(const bind_reading *k, const doc_node *node, int *value)
{
    const char *const *words = k->row->words;
    if (node->kind != DOC_SCALAR) return bind_fail_kind(k, node, "a word");
    const char *offered[MOST_WORDS];
    uint32_t count = 0;
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], node->scalar) == 0) {
            *value = i;
            return true;
        }
        SIM_ASSERT(count < MOST_WORDS);
        if (!bind_word_is_later(k->row, (uint32_t)i)) offered[count++] = words[i];
    }
    fail_text(k, node, "%s cannot be \"%s\"", node->scalar);
    char list[512];
    words_list(list, sizeof(list), offered, count, SHOWN_WORDS);
    const char *nearest = words_nearest(node->scalar, offered, count);
    if (nearest) return sim_hint(k->error, "did you mean \"%s\"? One of: %s", nearest, list);
    return sim_hint(k->error, "one of: %s", list);
}

static bool read_text(const bind_reading *k, const doc_node *node, const char **value)
{
    if (node->kind != DOC_SCALAR) return bind_fail_kind(k, node, "a text");
    *value = arena_text(k->reader->arena, node->scalar);
    return true;
}

// The name of a file, relative to the file it stands in.
static bool read_path(const bind_reading *k, const doc_node *node, const char **value)
{
    char directory[OS_PATH_SIZE], path[OS_PATH_SIZE];
    if (node->kind != DOC_SCALAR) return bind_fail_kind(k, node, "the name of a file");
    if (!*node->scalar) return fail(k, node, "%s must be the name of a file");
    if (!os_directory_of(directory, sizeof(directory), node->place.file) ||
        !os_join_path(path, sizeof(path), directory, node->scalar))
        return fail_text(k, node, "%s: the path of \"%s\" is too long", node->scalar);
    *value = arena_text(k->reader->arena, path);
    return true;
}

// ---- any of them

static bool read_kind(const bind_reading *k, const doc_node *node, void *field, const doc_node **value)
{
    *value = node;
    switch (k->row->type) {
    case BIND_TYPE_BOOL: return read_bool(k, node, field);
    case BIND_TYPE_U32:
    case BIND_TYPE_U64:
    case BIND_TYPE_DOUBLE:
    case BIND_TYPE_TIME:
    case BIND_TYPE_BYTES:
    case BIND_TYPE_NUMBERS:
    case BIND_TYPE_POINTS: return read_number(k, node, field, value);
    case BIND_TYPE_TEXT: return read_text(k, node, field);
    case BIND_TYPE_PATH: return read_path(k, node, field);
    case BIND_TYPE_ENUM: return read_enum(k, node, field);
    case BIND_TYPE_STRUCT:
    case BIND_TYPE_LIST:
    case BIND_TYPE_PART:
    case BIND_TYPE_LATER:
    case BIND_TYPE_END: break;
    }
    SIM_ASSERT(false && "a table's row of another kind");
    return false;
}

bool bind_read_value(const bind_reading *k, const doc_node *node, void *field)
{
    const doc_node *value;
    return read_kind(k, node, field, &value) && (!k->row->check || k->row->check(field, value, k->error));
}

bool bind_check_whole(const void *field, const doc_node *node, sim_error *error)
{
    const bind_numbers *numbers = field;
    for (uint32_t i = 0; i < numbers->count; i++) {
        if (numbers->items[i] == floor(numbers->items[i])) continue;
        const doc_node *item = node->kind == DOC_SEQUENCE ? node->items[i] : node;
        return sim_fail(error, SIM_EXIT_INPUT, &item->place, "%s is no whole number", item->scalar);
    }
    return true;
}

void bind_set_default(const bind_row *row, void *field, arena *a)
{
    double number = row->default_number;
    if (!row->has_default) {
        if (row->type == BIND_TYPE_TEXT && row->default_text)
            *(const char **)field = arena_text(a, row->default_text);
        return;
    }
    switch (row->type) {
    case BIND_TYPE_BOOL: *(bool *)field = number != 0.0; return;
    case BIND_TYPE_U32: *(uint32_t *)field = (uint32_t)number; return;
    case BIND_TYPE_U64:
    case BIND_TYPE_BYTES: *(uint64_t *)field = (uint64_t)number; return;
    case BIND_TYPE_DOUBLE: *(double *)field = number; return;
    case BIND_TYPE_TIME: *(sim_time *)field = (sim_time)llround(number * (double)PS_PER_S); return;
    case BIND_TYPE_ENUM: *(int *)field = (int)number; return;
    case BIND_TYPE_TEXT: *(const char **)field = arena_text(a, row->default_text); return;
    case BIND_TYPE_NUMBERS: {
        bind_numbers *numbers = field;
        *numbers = (bind_numbers){ .items = arena_array(a, double, 1), .count = 1 };
        numbers->items[0] = number;
        return;
    }
    case BIND_TYPE_PATH:
    case BIND_TYPE_STRUCT:
    case BIND_TYPE_LIST:
    case BIND_TYPE_POINTS:
    case BIND_TYPE_PART:
    case BIND_TYPE_LATER:
    case BIND_TYPE_END: break;
    }
    SIM_ASSERT(false && "a row of this kind has no default");
}
