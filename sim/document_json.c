// SPDX-License-Identifier: GPL-3.0-or-later
// Strict JSON (RFC 8259) to the same tree, for files that other programs wrote. YAML is not a superset in practice: libyaml
// refuses surrogate pairs, long keys and some tabs, and takes comments, quotes and bare words that JSON has not; a key called
// "include" is a key like any other here. NaN, Infinity and -Infinity, which Python writes, are kept as words.
#include "sim/document_build.h"
#include "sim/words.h"
#include <string.h>

typedef struct json_text {
    doc_load *load;
    const doc_source *source;
    sim_error *error;
    size_t at;
    uint32_t line, column; // of at, from 1; columns count characters
    uint32_t depth;        // of the value that is being read, from 1
} json_text;

static sim_place here(const json_text *j)
{
    const doc_source *s = j->source;
    return (sim_place){
        .file = s->file, .line = j->line, .column = j->column, .text = s->text, .text_length = s->length
    };
}

static int peek(const json_text *j)
{
    return j->at < j->source->length ? (unsigned char)j->source->text[j->at] : -1;
}

static void step(json_text *j)
{
    const unsigned char c = (unsigned char)j->source->text[j->at++];
    if (c == '\n') {
        j->line++;
        j->column = 1;
    } else if ((c & 0xC0) != 0x80) {
        j->column++;
    }
}

static void skip_blanks(json_text *j)
{
    for (int c = peek(j); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(j))
        step(j);
}

static bool fail_at(const json_text *j, const sim_place *place, const char *what)
{
    return sim_fail(j->error, SIM_EXIT_INPUT, place, "not valid JSON: %s", what);
}

// What stands here instead of what is wanted.
static bool fail_wanted(const json_text *j, const char *wanted)
{
    char shown[WORDS_SHOWN_SIZE], found[8] = "";
    const sim_place place = here(j);
    if (peek(j) < 0)
        return sim_fail(j->error, SIM_EXIT_INPUT, &place,
                        "not valid JSON: %s is missing at the end of the text", wanted);
    const size_t length = words_character_length(j->source->text + j->at, j->source->length - j->at);
    memcpy(found, j->source->text + j->at, length ? length : 1);
    return sim_fail(j->error, SIM_EXIT_INPUT, &place, "not valid JSON: here stands \"%s\" instead of %s",
                    words_show(shown, found), wanted);
}

static bool skip(json_text *j, char c)
{
    if (peek(j) != c) return false;
    step(j);
    return true;
}

static bool take(json_text *j, char c, const char *wanted)
{
    return skip(j, c) || fail_wanted(j, wanted);
}

// ---- texts

static int hexadecimal(int c)
{
    if ('0' <= c && c <= '9') return c - '0';
    if ('a' <= c && c <= 'f') return c - 'a' + 10;
    return 'A' <= c && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool take_four(json_text *j, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = hexadecimal(peek(j));
        if (digit < 0) return fail_wanted(j, "one of the four hexadecimal digits behind \\u");
        *code = *code << 4 | (uint32_t)digit;
        step(j);
    }
    return true;
}

// Behind "\u": one character, of which those above U+FFFF are written as a pair of surrogates.
static bool take_code(json_text *j, const sim_place *start, uint32_t *code)
{
    uint32_t low = 0;
    if (!take_four(j, code)) return false;
    if (*code == 0) return fail_at(j, start, "a text cannot hold a zero byte");
    if (*code < 0xD800 || *code > 0xDFFF) return true;
    const bool is_high = *code <= 0xDBFF && skip(j, '\\') && skip(j, 'u');
    if (is_high && !take_four(j, &low)) return false;
    if (!is_high || low < 0xDC00 || low > 0xDFFF) return fail_at(j, start, "half of a pair of surrogates");
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static char *put_code(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = { 0, 0xC0, 0xE0, 0xF0 };
    *out++ = (char)(first[more] | (code >> (6 * more)));
    for (int i = more - 1; i >= 0; i--)
        *out++ = (char)(0x80 | ((code >> (6 * i)) & 0x3F));
    return out;
}

static bool take_escape(json_text *j, char **out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const sim_place start = here(j);
    uint32_t code;
    step(j); // the backslash
    const int c = peek(j);
    const char *name = c > 0 ? strchr(names, c) : NULL;
    if (name) {
        *(*out)++ = values[name - names];
        step(j);
        return true;
    }
    if (c != 'u') return fail_wanted(j, "an escape: one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
    step(j);
    if (!take_code(j, &start, &code)) return false;
    *out = put_code(*out, code);
    return true;
}

static bool take_character(json_text *j, char **out)
{
    const char *text = j->source->text + j->at;
    const size_t length = words_character_length(text, j->source->length - j->at);
    const sim_place place = here(j);
    if ((unsigned char)*text < 0x20)
        return sim_fail(j->error, SIM_EXIT_INPUT, &place,
                        "not valid JSON: the control character 0x%02X stands in a text", (unsigned)*text);
    if (length == 0) return fail_at(j, &place, "the text is not UTF-8");
    memcpy(*out, text, length);
    *out += length;
    for (size_t i = 0; i < length; i++)
        step(j);
    return true;
}

// An escape is never shorter than what it stands for, so the text as it is written has room for what it says.
static bool take_text(json_text *j, const char **out)
{
    const sim_place start = here(j);
    step(j); // the quote
    size_t end = j->at;
    while (end < j->source->length && j->source->text[end] != '"')
        end += j->source->text[end] == '\\' ? 2 : 1;
    if (end >= j->source->length) return fail_at(j, &start, "this text does not end");
    char *text = arena_alloc_array(j->load->arena, 1, end - j->at + 1, 1), *next = text;
    while (peek(j) != '"')
        if (!(peek(j) == '\\' ? take_escape(j, &next) : take_character(j, &next))) return false;
    step(j);
    *next = 0;
    *out = text;
    return true;
}

// ---- numbers and words

static bool is_digit(int c)
{
    return '0' <= c && c <= '9';
}

static bool take_digits(json_text *j)
{
    if (!is_digit(peek(j))) return fail_wanted(j, "a digit");
    while (is_digit(peek(j)))
        step(j);
    return true;
}

// -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
static bool take_number(json_text *j)
{
    if (peek(j) == '0') {
        step(j);
        const sim_place place = here(j);
        if (is_digit(peek(j))) return fail_at(j, &place, "a number does not begin with 0");
    } else if (!take_digits(j)) {
        return false;
    }
    if (peek(j) == '.') {
        step(j);
        if (!take_digits(j)) return false;
    }
    if (peek(j) != 'e' && peek(j) != 'E') return true;
    step(j);
    if (peek(j) == '+' || peek(j) == '-') step(j);
    return take_digits(j);
}

static bool take_word(json_text *j)
{
    static const char *const words[] = { "true", "false", "null", "NaN", "Infinity" };
    const char *text = j->source->text + j->at;
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        const size_t length = strlen(words[i]);
        if (j->source->length - j->at < length || memcmp(text, words[i], length) != 0) continue;
        for (size_t k = 0; k < length; k++)
            step(j);
        return true;
    }
    return fail_wanted(j, "a value");
}

// ---- values

static doc_node *take_value(json_text *j);

static doc_node *take_scalar(json_text *j)
{
    const sim_place place = here(j);
    const size_t start = j->at;
    doc_node *node = doc_node_create(j->load, DOC_SCALAR, &place, j->error);
    if (!node) return NULL;
    node->quoted = peek(j) == '"';
    if (node->quoted) return take_text(j, &node->scalar) ? node : NULL;
    if (peek(j) == '-') step(j);
    const bool number = is_digit(peek(j));
    const bool is_minus_alone = !number && j->at > start && peek(j) != 'I'; // -Infinity is a word
    if (is_minus_alone) fail_wanted(j, "a digit");
    if (is_minus_alone || !(number ? take_number(j) : take_word(j))) return NULL;
    node->scalar = arena_text_n(j->load->arena, j->source->text + start, j->at - start);
    return node;
}

ARRAY_OF(doc_node *, json_items);

// Behind an item: does another follow? A trailing comma is found where that should stand.
static bool take_comma(json_text *j, char end, bool *more)
{
    skip_blanks(j);
    *more = peek(j) == ',';
    if (*more) {
        step(j);
        skip_blanks(j);
        return true;
    }
    return take(j, end, end == ']' ? "\",\" or \"]\"" : "\",\" or \"}\"");
}

static bool take_items(json_text *j, doc_node *list)
{
    json_items items = { 0 };
    for (bool more = true; more;) {
        doc_node *item = take_value(j);
        if (!item || !doc_node_count_child(list, j->depth, item, &item->place, j->error)) return false;
        *array_push(&items, j->load->arena) = item;
        if (!take_comma(j, ']', &more)) return false;
    }
    list->items = items.items;
    list->count = items.count;
    return true;
}

static bool take_key(json_text *j, const doc_pairs *pairs, doc_pair *pair)
{
    char shown[WORDS_SHOWN_SIZE];
    pair->key_place = here(j);
    if (peek(j) != '"') return fail_wanted(j, "a key in double quotes");
    if (!take_text(j, &pair->key)) return false;
    const doc_pair *first = doc_pairs_find(pairs, pair->key);
    if (first)
        return sim_fail(j->error, SIM_EXIT_INPUT, &pair->key_place,
                        "the key \"%s\" is already given in line %u", words_show(shown, pair->key),
                        first->key_place.line);
    skip_blanks(j);
    return take(j, ':', "\":\" behind a key");
}

static bool take_pairs(json_text *j, doc_node *mapping)
{
    doc_pairs pairs = { 0 };
    for (bool more = true; more;) {
        doc_pair pair = { 0 };
        if (!take_key(j, &pairs, &pair) || !(pair.value = take_value(j)) ||
            !doc_node_count_child(mapping, j->depth, pair.value, &pair.key_place, j->error))
            return false;
        doc_pairs_add(&pairs, j->load->arena, &pair);
        if (!take_comma(j, '}', &more)) return false;
    }
    mapping->pairs = pairs.items;
    mapping->count = pairs.count;
    return true;
}

static doc_node *take_container(json_text *j, doc_kind kind)
{
    const sim_place place = here(j);
    const char end = kind == DOC_SEQUENCE ? ']' : '}';
    if (j->depth == DOCUMENT_DEPTH_MAX) {
        sim_fail(j->error, SIM_EXIT_INPUT, &place, "nested deeper than %d levels", DOCUMENT_DEPTH_MAX);
        return NULL;
    }
    doc_node *node = doc_node_create(j->load, kind, &place, j->error);
    if (!node) return NULL;
    step(j);
    skip_blanks(j);
    if (skip(j, end)) return node;
    j->depth++;
    const bool fine = kind == DOC_SEQUENCE ? take_items(j, node) : take_pairs(j, node);
    j->depth--;
    return fine ? node : NULL;
}

static doc_node *take_value(json_text *j)
{
    skip_blanks(j);
    if (peek(j) == '{') return take_container(j, DOC_MAPPING);
    if (peek(j) == '[') return take_container(j, DOC_SEQUENCE);
    return take_scalar(j);
}

bool doc_read_json(doc_load *load, const doc_source *source, doc_node **root, sim_error *error)
{
    json_text j = { .load = load, .source = source, .error = error, .line = 1, .column = 1 };
    j.at = source->start;
    *root = take_value(&j);
    if (!*root) return false;
    skip_blanks(&j);
    return peek(&j) < 0 || fail_wanted(&j, "the end of the text");
}
