// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "sim/array.h"
#include "sim/document.h"

// ---- a tree as one line of text: {a: 1, b: ["quoted", x]}

typedef struct line {
    char text[4096];
    size_t used;
} line;

static void put(line *l, const char *text)
{
    size_t length = strlen(text);
    assert_true(l->used + length < sizeof(l->text));
    memcpy(l->text + l->used, text, length + 1);
    l->used += length;
}

static void put_node(line *l, const doc_node *n)
{
    if (n->kind == DOC_SCALAR) {
        if (n->quoted) put(l, "\"");
        put(l, n->scalar);
        if (n->quoted) put(l, "\"");
        return;
    }
    put(l, n->kind == DOC_MAPPING ? "{" : "[");
    for (uint32_t i = 0; i < n->count; i++) {
        if (i) put(l, ", ");
        if (n->kind == DOC_MAPPING) {
            put(l, n->pairs[i].key);
            put(l, ": ");
        }
        put_node(l, n->kind == DOC_MAPPING ? n->pairs[i].value : n->items[i]);
    }
    put(l, n->kind == DOC_MAPPING ? "}" : "]");
}

static void assert_tree(const document *doc, const char *want)
{
    line l = { .used = 0 };
    put_node(&l, doc->root);
    assert_string_equal(l.text, want);
}

static void assert_message(const sim_error *error, const char *file, uint32_t at_line, uint32_t column,
                           const char *message, const char *hint)
{
    assert_string_equal(error->message, message);
    assert_string_equal(error->hint, hint);
    assert_string_equal(error->file, file);
    assert_int_equal(error->line, at_line);
    assert_int_equal(error->column, column);
    assert_int_equal(error->exit_code, SIM_EXIT_INPUT);
}

// ---- documents that are fine

struct tree_case {
    const char *name, *text, *want;
};
static const struct tree_case tree_cases[] = {
    { "a mapping", "a: 1\nb: x y\n", "{a: 1, b: x y}" },
    { "nested", "a:\n  b: [1, {c: 2}]\n  d:\n  - 3\n  - e: 4\n    f: 5\n",
      "{a: {b: [1, {c: 2}], d: [3, {e: 4, f: 5}]}}" },
    { "quotes are remembered", "a: \"1\"\nb: '2'\nc: 3\nd: |\n  4\n",
      "{a: \"1\", b: \"2\", c: 3, d: \"4\n\"}" },
    { "an empty value", "a:\nb: ~\n", "{a: , b: ~}" },
    { "an empty text", "a: ''", "{a: \"\"}" },
    { "empty containers", "a: {}\nb: []\n", "{a: {}, b: []}" },
    { "comments and an explicit document", "# c\n---\na: 1 # d\n...\n", "{a: 1}" },
    { "an alias shares its node", "a: &x {b: 1}\nc: *x\nd: [*x]\n", "{a: {b: 1}, c: {b: 1}, d: [{b: 1}]}" },
    { "an alias of a scalar", "a: &x 1\nb: *x\n", "{a: 1, b: 1}" },
    { "standard tags", "a: !!str 1\nb: !!int 2\nc: !!map {d: !!seq [3]}\ne: ! 4\n",
      "{a: \"1\", b: 2, c: {d: [3]}, e: \"4\"}" },
    { "quoted keys", "\"a\": 1\n'b': 2\n", "{a: 1, b: 2}" },
    { "a quoted merge key is a key", "\"<<\": 1\n", "{<<: 1}" },
    { "JSON", "{\"a\": [1, \"b\"], \"c\": null}", "{a: [1, \"b\"], c: null}" },
    { "a list at the top", "- 1\n- 2\n", "[1, 2]" },
    { "a byte order mark",
      "\xef\xbb\xbf"
      "a: 1\n",
      "{a: 1}" },
    { "carriage returns", "a: 1\r\nb: 2\r\n", "{a: 1, b: 2}" },
    { "many keys",
      "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\nh: 1\ni: 1\nj: 1\nk: 1\nl: 1\nm: 1\nn: 1\no: 1\np: 1\n"
      "q: 1\nr: 1\ns: 1\n",
      "{a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1, l: 1, m: 1, n: 1, o: 1, p: 1, q: "
      "1, r: 1, "
      "s: 1}" },
};

static void trees_are_read(void **state)
{
    const struct tree_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    assert_true(document_parse(a, "a.yaml", c->text, strlen(c->text), NULL, &doc, &error));
    assert_false(sim_failed(&error));
    assert_tree(&doc, c->want);
    arena_destroy(a);
}

// ---- documents that are refused

struct refuse_case {
    const char *name, *text;
    uint32_t line, column;
    const char *message, *hint;
};
#define TABS "indent with spaces, not with tabs"
static const struct refuse_case refuse_cases[] = {
    { "nothing", "", 0, 0, "the document is empty", "" },
    { "only a comment", "# nothing\n", 0, 0, "the document is empty", "" },
    { "only a byte order mark", "\xef\xbb\xbf", 0, 0, "the document is empty", "" },
    { "columns behind a byte order mark", "\xef\xbb\xbf{a: 1, a: 2}\n", 1, 8,
      "the key \"a\" is already given in line 1", "" },
    { "a control character behind a byte order mark",
      "\xef\xbb\xbf"
      "ab: \x01\n",
      1, 5, "the control character 0x01 is not allowed", "" },
    { "no YAML behind a byte order mark",
      "\xef\xbb\xbf"
      "ab: c: d\n",
      1, 6, "not valid YAML: mapping values are not allowed in this context",
      "a text that holds \": \" needs quotes" },
    { "an empty document", "---\n...\n", 0, 0, "the document is empty", "" },
    { "a duplicate key", "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", 5, 3,
      "the key \"c\" is already given in line 3", "" },
    { "a duplicate among many",
      "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\nh: 1\ni: 1\nj: 1\nk: 1\nl: 1\nm: 1\nn: 1\no: "
      "1\np: 1\nq: 1\nr: 1\nb: 1\n",
      19, 1, "the key \"b\" is already given in line 2", "" },
    { "a merge key", "a: &x {b: 1}\nc:\n  <<: *x\n", 3, 3, "merge keys (\"<<\") are not supported",
      "write the keys out, or move them to a file and use \"include: FILE\"" },
    { "a list as key", "a: 1\n? [b]\n: 1\n", 2, 3, "a key must be a plain or quoted word", "" },
    { "a mapping as key", "{a: 1}: 2\n", 1, 1, "a key must be a plain or quoted word", "" },
    { "an alias as key", "a: &x b\n*x : 2\n", 2, 1, "a key must be a plain or quoted word", "" },
    { "an anchor on a key", "&x a: b\n", 1, 1, "a key must be a plain or quoted word", "" },
    { "a tag on a key", "!!str a: b\n", 1, 1, "a key must be a plain or quoted word", "" },
    { "a key without text", "'': b\n", 1, 1, "a key must be a plain or quoted word", "" },
    { "a block as key", "? |\n  a\n: b\n", 1, 3, "a key must be a plain or quoted word", "" },
    { "a folded block as key", "? >\n  a\n: b\n", 1, 3, "a key must be a plain or quoted word", "" },
    { "a zero byte in a key", "\"a\\0b\": 1\n", 1, 1, "a key must be a plain or quoted word", "" },
    { "a zero byte in a text", "a: \"b\\0c\"\n", 1, 4, "a text cannot hold a zero byte", "" },
    { "an alias to nowhere", "a: 1\nb: *x\n", 2, 4, "the alias \"*x\" names no anchor above it", "" },
    { "an alias to another anchor", "a: &y 1\nb: *x\n", 2, 4, "the alias \"*x\" names no anchor above it",
      "" },
    { "an alias inside its anchor", "a: &x\n  b: [1, *x]\n", 2, 10,
      "the alias \"*x\" stands inside the value it names", "" },
    { "an anchor given twice", "a: &x 1\nb: &x 2\n", 2, 4, "the anchor \"x\" is already defined in line 1",
      "" },
    { "a strange tag", "a: !thing 1\n", 1, 4, "the tag \"!thing\" is not supported here",
      "leave the tag out" },
    { "binary", "a: !!binary aGk=\n", 1, 4, "the tag \"!!binary\" is not supported here",
      "leave the tag out" },
    { "a tagged list", "a: !!set [1]\n", 1, 4, "the tag \"!!set\" is not supported here",
      "leave the tag out" },
    { "a tagged mapping", "a: !!omap {b: 1}\n", 1, 4, "the tag \"!!omap\" is not supported here",
      "leave the tag out" },
    { "two documents", "a: 1\n---\nb: 2\n", 2, 1, "a second document begins here; a file holds one", "" },
    { "a control character", "a: 1\nbc: \x01\n", 2, 5, "the control character 0x01 is not allowed", "" },
    { "a program",
      "\x7f"
      "ELF",
      1, 1, "the control character 0x7F is not allowed", "" },
    { "Latin 1", "a: caf\xe9\nb: 1\n", 1, 7, "the text is not UTF-8 (invalid trailing UTF-8 octet)", "" },
    { "a cut character", "a: \xc3\xa9\r\nb:\r\xc3", 3, 1,
      "the text is not UTF-8 (incomplete UTF-8 octet sequence)", "" },
    { "UTF-16",
      "\xff\xfe"
      "a",
      1, 1, "the text is not UTF-8 (invalid leading UTF-8 octet)", "" },
    { "columns count characters", "\xc3\xa9\xc3\xa9: *x\n", 1, 5, "the alias \"*x\" names no anchor above it",
      "" },
    { "a tab", "a:\n\tb: 1\n", 2, 1,
      "not valid YAML: found character that cannot start any token while scanning for the next token", TABS },
    { "a tab behind other letters", "\xc3\xa9\xc3\xa9:\n\tb: 1\n", 2, 1,
      "not valid YAML: found character that cannot start any token while scanning for the next token", TABS },
    { "a colon in a text", "a: b: c\n", 1, 5,
      "not valid YAML: mapping values are not allowed in this context",
      "a text that holds \": \" needs quotes" },
    { "a key without colon", "a: 1\nb\nc: 2\n", 3, 1,
      "not valid YAML: could not find expected ':' while scanning a simple key that begins in line 2",
      "a key needs \": \" behind it" },
    { "wrong indentation", "a:\n  b: 1\n c: 2\n", 3, 2,
      "not valid YAML: did not find expected key while parsing a block mapping that begins in line 1",
      "check the indentation and the quotes here and in the line above" },
    { "an open brace", "a: {b: 1\nc: 2\n", 2, 2,
      "not valid YAML: did not find expected ',' or '}' while parsing a flow mapping that begins in line 1",
      "the entries of { } are separated by commas" },
    { "an open bracket", "a: [b\n", 1, 4,
      "not valid YAML: did not find expected ',' or ']' while parsing a flow sequence",
      "the entries of [ ] are separated by commas" },
    { "an open quote", "a: 1\nb: \"c\nd: 2\n", 2, 4,
      "not valid YAML: found unexpected end of stream while scanning a quoted scalar", "" },
    { "an unknown directive", "%YAML 3.0\n---\na: 1\n", 1, 1,
      "not valid YAML: found incompatible YAML document", "" },
    { "an include in memory", "a: 1\ninclude: b.yaml\n", 2, 10, "include is possible in files only", "" },
    { "an include without name", "include: {a: 1}\n", 1, 10,
      "include needs the name of a file, or a list of names", "" },
    { "an empty include", "include:\n", 1, 9, "include needs the name of a file, or a list of names", "" },
};

static void mistakes_are_refused(void **state)
{
    const struct refuse_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    assert_false(document_parse(a, "a.yaml", c->text, strlen(c->text), NULL, &doc, &error));
    assert_message(&error, "a.yaml", c->line, c->column, c->message, c->hint);
    arena_destroy(a);
}

// ---- limits

static void parse_fails(const char *text, uint32_t at_line, uint32_t column, const char *message)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    assert_false(document_parse(a, "a.yaml", text, strlen(text), NULL, &doc, &error));
    assert_message(&error, "a.yaml", at_line, column, message, "");
    arena_destroy(a);
}

static void depth_is_limited(void **state)
{
    (void)state;
    char text[400];
    for (int levels = 63; levels <= 64; levels++) {
        memset(text, '[', (size_t)levels);
        text[levels] = '1';
        memset(text + levels + 1, ']', (size_t)levels);
        text[2 * levels + 1] = 0;
        if (levels == 64) {
            parse_fails(text, 1, 65, "nested deeper than 64 levels");
            continue;
        }
        arena *a = arena_create("test");
        sim_error error = { 0 };
        document doc;
        assert_true(document_parse(a, "a.yaml", text, strlen(text), NULL, &doc, &error));
        assert_int_equal(doc.root->height, 64);
        assert_int_equal(doc.root->unrolled, 64);
        arena_destroy(a);
    }
    memset(text, '[', 100);
    text[100] = 0;
    parse_fails(text, 1, 65, "nested deeper than 64 levels");
    // an alias counts with what hangs below it: 34 levels below 31
    snprintf(text, sizeof text, "- &x %.*s1%.*s\n- %.*s*x%.*s\n", 33,
             "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 33, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", 30,
             "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 30, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    parse_fails(text, 2, 33, "nested deeper than 64 levels");
}

static void alias_bombs_are_refused(void **state)
{
    (void)state;
    parse_fails("a: &a [x,x,x,x,x,x,x,x,x,x]\n"
                "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
                "f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
                "g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n",
                // nine times 111,111 and the list itself are just 1,000,000: at the tenth *e
                6, 35, "aliases unroll to more than 1,000,000 nodes");
}

static void nodes_and_bytes_are_limited(void **state)
{
    (void)state;
    size_t count = DOCUMENT_NODES_MAX; // and the list itself: one too many
    char *text = malloc(2 * count + 2);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + 2 * i, i ? ",1" : "[1", 2);
    memcpy(text + 2 * count, "]", 2);
    parse_fails(text, 1, 2000000, "the document has more than 1,000,000 values");
    free(text);

    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    assert_false(document_parse(a, "a.yaml", "a", (size_t)DOCUMENT_BYTES_MAX + 1, NULL, &doc, &error));
    assert_message(&error, "a.yaml", 0, 0, "the text has 16777217 bytes; at most 16777216 are read", "");
    arena_destroy(a);
}

// ---- places

static void places_are_kept(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    static const char given[] = "a: &x\n  - b: \"c\"\nd: {e: 1, f: *x}\n";
    assert_true(document_parse(a, "a.yaml", given, strlen(given), NULL, &doc, &error));
    const doc_node *list = document_find(doc.root, "a"), *d = document_find(doc.root, "d");
    assert_int_equal(doc.root->place.line, 1);
    assert_int_equal(list->place.line, 1); // an anchor belongs to its value
    assert_int_equal(list->place.column, 4);
    const doc_node *b = document_find(list->items[0], "b");
    assert_int_equal(b->place.line, 2);
    assert_int_equal(b->place.column, 8);
    assert_string_equal(b->place.file, "a.yaml");
    assert_string_equal(b->place.text, given);
    assert_int_equal(b->place.text_length, strlen(given));
    assert_int_equal(d->pairs[1].key_place.line, 3);
    assert_int_equal(d->pairs[1].key_place.column, 11);
    assert_ptr_equal(d->pairs[1].value, list);
    assert_int_equal(doc.root->unrolled, 9); // root, a, item, b, d, e, and a again with its two
    assert_int_equal(doc.root->height, 5);   // root, d, f, item, b
    assert_null(document_find(doc.root, "z"));
    assert_null(document_find(list, "b"));
    assert_string_equal(document_kind_name(DOC_SCALAR), "a single value");
    assert_string_equal(document_kind_name(DOC_SEQUENCE), "a list");
    assert_string_equal(document_kind_name(DOC_MAPPING), "a mapping");
    arena_destroy(a);
}

// ---- includes

static void load_tree(const char *path, const char *want)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    bool fine = document_load(a, path, &doc, &error);
    if (!fine) sim_error_print(&error, stderr);
    assert_true(fine);
    assert_tree(&doc, want);
    assert_string_equal(doc.file, path);
    arena_destroy(a);
}

static void load_fails(const char *path, const char *file, uint32_t at_line, uint32_t column,
                       const char *message)
{
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    assert_false(document_load(a, path, &doc, &error));
    assert_message(&error, file, at_line, column, message, "");
    arena_destroy(a);
}

static void includes_are_merged(void **state)
{
    (void)state;
    scratch_write("top.yaml", "b: {x: 9}\ninclude: parts/base.yaml\nz: 5\n");
    scratch_write("parts/base.yaml", "a: 1\nb: {w: 2, x: 3}\nc: [4]\n");
    load_tree("top.yaml", "{a: 1, b: {w: 2, x: 9}, c: [4], z: 5}");
    // a list: later files win over earlier ones; a list replaces a list
    scratch_write("two.yaml", "include: [parts/base.yaml, parts/over.yaml]\nb: {v: 8}\n");
    scratch_write("parts/over.yaml", "c: [7, 8]\nb: {x: {y: 6}}\n");
    load_tree("two.yaml", "{a: 1, b: {w: 2, x: {y: 6}, v: 8}, c: [7, 8]}");
    // anywhere, relative to the file that names it, and from one file to the next
    scratch_write("deep.yaml", "p:\n  q:\n    include: parts/more/next.yaml\n");
    scratch_write("parts/more/next.yaml", "include: '../base.yaml'\na: 11\n");
    load_tree("deep.yaml", "{p: {q: {a: 11, b: {w: 2, x: 3}, c: [4]}}}");
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    assert_true(document_load(a, "deep.yaml", &doc, &error));
    assert_int_equal(doc.included.count, 2);
    assert_string_equal(doc.included.items[0], "parts/more/../base.yaml");
    assert_string_equal(doc.included.items[1], "parts/more/next.yaml");
    arena_destroy(a);
    // an alias to a mapping with an include
    scratch_write("alias.yaml", "p: &x {include: parts/over.yaml}\nq: *x\n");
    load_tree("alias.yaml", "{p: {c: [7, 8], b: {x: {y: 6}}}, q: {c: [7, 8], b: {x: {y: 6}}}}");
    // the same file twice is no circle
    scratch_write("twice.yaml", "p: {include: parts/over.yaml}\nq: {include: parts/over.yaml}\n");
    load_tree("twice.yaml", "{p: {c: [7, 8], b: {x: {y: 6}}}, q: {c: [7, 8], b: {x: {y: 6}}}}");
    scratch_write("none.yaml", "include: []\na: 1\n");
    load_tree("none.yaml", "{a: 1}");
}

static void included_places_are_their_own(void **state)
{
    (void)state;
    scratch_write("top.yaml", "include: base.yaml\nb: 2\n");
    scratch_write("base.yaml", "\na: 1\nb: 1\n");
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    assert_true(document_load(a, "top.yaml", &doc, &error));
    assert_string_equal(doc.root->pairs[0].key_place.file, "base.yaml");
    assert_int_equal(doc.root->pairs[0].key_place.line, 2);
    assert_string_equal(doc.root->pairs[0].value->place.text, "\na: 1\nb: 1\n");
    assert_string_equal(doc.root->pairs[1].key_place.file, "top.yaml");
    assert_int_equal(doc.root->pairs[1].key_place.line, 2);
    // from memory, relative to a folder
    static const char text[] = "include: base.yaml\n";
    assert_true(document_parse(a, "memory", text, strlen(text), ".", &doc, &error));
    assert_tree(&doc, "{a: 1, b: 1}");
    arena_destroy(a);
}

static void wrong_includes_are_refused(void **state)
{
    (void)state;
    scratch_write("a.yaml", "x: 1\ninclude: b.yaml\n");
    scratch_write("b.yaml", "include: c/d.yaml\n");
    scratch_write("c/d.yaml", "y:\n  include: ../b.yaml\n");
    load_fails("a.yaml", "c/d.yaml", 2, 12, "files include each other: b.yaml -> c/d.yaml -> b.yaml");
    scratch_write("self.yaml", "include: ./self.yaml\n");
    load_fails("self.yaml", "self.yaml", 1, 10, "files include each other: self.yaml -> self.yaml");
    scratch_write("gone.yaml", "include: nowhere.yaml\n");
    load_fails("gone.yaml", "gone.yaml", 1, 10, "cannot read \"nowhere.yaml\": No such file or directory");
    scratch_write("list.yaml", "- 1\n");
    scratch_write("lists.yaml", "include: list.yaml\n");
    load_fails("lists.yaml", "lists.yaml", 1, 10,
               "\"list.yaml\" holds a list; an included file must hold a mapping");
    scratch_write("bad.yaml", "a: *x\n");
    scratch_write("bads.yaml", "include: [bad.yaml]\n");
    load_fails("bads.yaml", "bad.yaml", 1, 4, "the alias \"*x\" names no anchor above it");
    scratch_write("items.yaml", "include: [[bad.yaml]]\n");
    load_fails("items.yaml", "items.yaml", 1, 11, "include needs the name of a file, or a list of names");
    load_fails("nowhere.yaml", "", 0, 0, "cannot read \"nowhere.yaml\": No such file or directory");
}

static void long_paths_are_refused(void **state)
{
    (void)state;
    char text[5000], path[4200];
    memset(path, 'p', sizeof path);
    path[4190] = 0;
    snprintf(text, sizeof text, "include: %s\n", path);
    scratch_write("long.yaml", text);
    load_fails("long.yaml", "long.yaml", 1, 10,
               "the path of \"pppppppppppppppppppppppppppppppppppppppp...\" is longer than 4096 bytes");
    path[4189] = '/';
    load_fails(path, "", 0, 0, "the path of a file is longer than 4096 bytes");
}

static void includes_are_limited(void **state)
{
    (void)state;
    char name[32], text[64];
    for (int i = 0; i < 18; i++) { // 17 files are included one by the other
        snprintf(name, sizeof name, "%d.yaml", i);
        snprintf(text, sizeof text, "include: %d.yaml\n", i + 1);
        scratch_write(name, text);
    }
    scratch_write("18.yaml", "a: 1\n");
    load_fails("0.yaml", "16.yaml", 1, 10, "files include each other more than 16 deep");
    load_tree("2.yaml", "{a: 1}");

    // each file names the next one four times: m2.yaml stands for 85 files, the fourth is one too many
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "m%d.yaml", i);
        snprintf(text, sizeof text, "include: [m%d.yaml, m%d.yaml, m%d.yaml, m%d.yaml]\n", i + 1, i + 1,
                 i + 1, i + 1);
        scratch_write(name, text);
    }
    scratch_write("m5.yaml", "a: 1\n");
    load_fails("m0.yaml", "m1.yaml", 1, 38, "more than 256 files are included");

    // 40 levels below 30
    char deep[300];
    snprintf(deep, sizeof deep, "x: %.*s1%.*s\n", 40, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 40,
             "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    scratch_write("deep.yaml", deep);
    snprintf(deep, sizeof deep, "x: %.*s{include: deep.yaml}%.*s\n", 30,
             "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 30, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    scratch_write("deeper.yaml", deep);
    load_fails("deeper.yaml", "deep.yaml", 1, 36, "nested deeper than 64 levels");
}

static void large_files_are_refused(void **state)
{
    (void)state;
    FILE *file = fopen("large.yaml", "wb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 200000000, SEEK_SET), 0); // a hole
    assert_int_equal(fputc('\n', file), '\n');
    assert_int_equal(fclose(file), 0);
    load_fails("large.yaml", "", 0, 0,
               "cannot read \"large.yaml\": it is 200.0 MB; at most 16.8 MB are read");
}

// ---- memory

// libyaml's allocations go through here: the n-th one from now on fails.
static uint64_t yaml_allocations_left = UINT64_MAX;
void *yaml_malloc(size_t size);
void *yaml_realloc(void *old, size_t size);

static bool yaml_may_allocate(void)
{
    if (yaml_allocations_left == 0) return false;
    yaml_allocations_left--;
    return true;
}

void *yaml_malloc(size_t size)
{
    return yaml_may_allocate() ? malloc(size ? size : 1) : NULL;
}

void *yaml_realloc(void *old, size_t size)
{
    return yaml_may_allocate() ? realloc(old, size ? size : 1) : NULL;
}

static const char memory_text[] = "include: base.yaml\na: &x [1, 2, {b: \"c\"}]\nd: *x\ne: {f: g}\n";

static void memory_of_libyaml_may_end(void **state)
{
    (void)state;
    scratch_write("base.yaml", "e: {h: i}\n");
    bool fine = false;
    uint64_t failed = 0;
    for (uint64_t n = 0; !fine; n++) {
        arena *a = arena_create("test");
        sim_error error = { 0 };
        document doc;
        yaml_allocations_left = n;
        fine = document_parse(a, "a.yaml", memory_text, strlen(memory_text), ".", &doc, &error);
        yaml_allocations_left = UINT64_MAX;
        if (!fine) {
            const char *file = strcmp(error.file, "base.yaml") == 0 ? "base.yaml" : "a.yaml";
            assert_message(&error, file, 0, 0, "out of memory while reading", "");
            failed++;
        }
        arena_destroy(a);
    }
    assert_true(failed > 20);
}

// Every allocation of the arena fails once; the leak checker looks at what libyaml and the file reader held.
static void memory_of_the_arena_may_end(void **state)
{
    (void)state;
    scratch_write("base.yaml", "e: {h: i}\n");
    scratch_write("top.yaml", memory_text);
    volatile bool fine = false;
    volatile uint64_t failed = 0;
    for (volatile uint64_t n = 1; !fine; n++) {
        arena *volatile a = arena_create("test");
        sim_error error = { 0 };
        document doc;
        jmp_buf escape;
        if (setjmp(escape)) {
            failed++;
            assert_ptr_equal(arena_escape(a), &escape);
        } else {
            arena_set_escape(a, &escape);
            arena_fail_after(a, n);
            assert_true(document_load(a, "top.yaml", &doc, &error));
            fine = true;
        }
        arena_destroy(a);
    }
    assert_true(failed > 20);
}

// ---- --set

struct set_case {
    const char *name, *argument, *want; // want: the tree
    uint32_t column;                    // of a refusal
    const char *message, *hint;
};
static const char set_text[] = "plan: &p {tensor: 8, data: 2}\nlist: [{count: 1}, 5]\nempty:\nother: *p\n";
#define FORM "a setting is a path, \"=\" and a value, such as plan.data=4"
static const struct set_case set_cases[] = {
    { "a value is replaced, and the alias keeps its own", "plan.data=4",
      "{plan: {tensor: 8, data: 4}, list: [{count: 1}, 5], empty: , other: {tensor: 8, data: 2}}", 0, "",
      "" },
    { "a value is added", "plan.pipe=3",
      "{plan: {tensor: 8, data: 2, pipe: 3}, list: [{count: 1}, 5], empty: , other: {tensor: 8, data: 2}}", 0,
      "", "" },
    { "an item", "list[0].count=7",
      "{plan: {tensor: 8, data: 2}, list: [{count: 7}, 5], empty: , other: {tensor: 8, data: 2}}", 0, "",
      "" },
    { "a whole item", "list[1]=[a]",
      "{plan: {tensor: 8, data: 2}, list: [{count: 1}, [a]], empty: , other: {tensor: 8, data: 2}}", 0, "",
      "" },
    { "mappings are made on the way", "new.a.b=x",
      "{plan: {tensor: 8, data: 2}, list: [{count: 1}, 5], empty: , other: {tensor: 8, data: 2}, new: {a: "
      "{b: x}}}",
      0, "", "" },
    { "an empty value becomes a mapping", "empty.a=1",
      "{plan: {tensor: 8, data: 2}, list: [{count: 1}, 5], empty: {a: 1}, other: {tensor: 8, data: 2}}", 0,
      "", "" },
    { "a mapping as value", "plan={a: 1}",
      "{plan: {a: 1}, list: [{count: 1}, 5], empty: , other: {tensor: 8, data: 2}}", 0, "", "" },
    { "a quoted value", "plan.data=\"4\"",
      "{plan: {tensor: 8, data: \"4\"}, list: [{count: 1}, 5], empty: , other: {tensor: 8, data: 2}}", 0, "",
      "" },
    { "a value with an equals sign and a space", "plan.data= a=b c",
      "{plan: {tensor: 8, data: a=b c}, list: [{count: 1}, 5], empty: , other: {tensor: 8, data: 2}}", 0, "",
      "" },
    { "no value", "plan.data", NULL, 10, "\"=\" and a value are missing", FORM },
    { "an empty value", "plan.data=", NULL, 11, "a value is missing behind \"=\"", FORM },
    { "spaces as value", "plan.data=  ", NULL, 11, "a value is missing behind \"=\"", FORM },
    { "no path", "=4", NULL, 1, "a key is missing in the path", FORM },
    { "a key is missing", "plan..data=4", NULL, 6, "a key is missing in the path", FORM },
    { "a point at the end", "plan.=4", NULL, 6, "a key is missing in the path", FORM },
    { "an index first", "[0]=4", NULL, 1, "a key is missing in the path", FORM },
    { "an index without number", "list[x]=4", NULL, 5, "a list's item is written as a number in [ ]", FORM },
    { "an index without end", "list[1=4", NULL, 5, "a list's item is written as a number in [ ]", FORM },
    { "an enormous index", "list[12345678901]=4", NULL, 5, "a list's item is written as a number in [ ]",
      FORM },
    { "a word behind an index", "list[0]count=4", NULL, 8, "\".\", \"[\" or \"=\" is missing here", FORM },
    { "through a scalar", "plan.data.x=4", NULL, 11, "plan.data is a single value, not a mapping", "" },
    { "an index into a scalar", "plan.data[0]=4", NULL, 10, "plan.data is a single value, not a list", "" },
    { "an index into a mapping", "plan[0]=4", NULL, 5, "plan is a mapping, not a list", "" },
    { "a key of a list", "list.count=4", NULL, 6, "list is a list, not a mapping",
      "say which item: list[0]" },
    { "an index into nothing", "new[0]=4", NULL, 4, "new is not given, not a list", "" },
    { "beyond the end", "list[2]=4", NULL, 5, "list has 2 items; there is no [2]",
      "items are counted from 0" },
    { "a wrong value", "plan.data=[1", NULL, 11,
      "not valid YAML: did not find expected ',' or ']' while parsing a flow sequence",
      "the entries of [ ] are separated by commas" },
    { "an alias to the document", "plan.data=*p", NULL, 11, "the alias \"*p\" names no anchor above it", "" },
    { "only a comment", "plan.data=#4", NULL, 0, "the document is empty", "" },
    { "an include", "plan={include: a.yaml}", NULL, 16, "include is possible in files only", "" },
    { "characters are counted", "pl\xc3\xa4n.x=*p", NULL, 8, "the alias \"*p\" names no anchor above it",
      "" },
    { "too deep for a path",
      "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a."
      "a.a.a.a.a."
      "a.a.a.a.a.a.a.a.a=1",
      NULL, 128, "the path is deeper than a document can be", FORM },
    { "too deep for a document",
      "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a."
      "a.a.a.a.a."
      "a.a.a.a.a.a.a.a=1",
      NULL, 127, "nested deeper than 64 levels", "" },
};

static void keys_are_set(void **state)
{
    const struct set_case *c = *state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    assert_true(document_parse(a, "a.yaml", set_text, strlen(set_text), NULL, &doc, &error));
    char argument[256]; // which need not live on
    snprintf(argument, sizeof argument, "%s", c->argument);
    bool fine = document_set(a, &doc, argument, &error);
    memset(argument, '?', sizeof argument - 1);
    if (!c->want) {
        assert_false(fine);
        assert_message(&error, "--set", c->column > 0, c->column, c->message, c->hint);
        assert_tree(
            &doc,
            "{plan: {tensor: 8, data: 2}, list: [{count: 1}, 5], empty: , other: {tensor: 8, data: 2}}");
    } else {
        assert_true(fine);
        assert_tree(&doc, c->want);
    }
    arena_destroy(a);
}

static void set_values_have_places(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    assert_true(document_parse(a, "a.yaml", set_text, strlen(set_text), NULL, &doc, &error));
    assert_true(document_set(a, &doc, "plan.data=fast", &error));
    assert_true(document_set(a, &doc, "plan.new.deep=3", &error));
    const doc_node *plan = document_find(doc.root, "plan");
    const doc_pair *data = &plan->pairs[1];
    assert_string_equal(data->key_place.file, "--set");
    assert_int_equal(data->key_place.column, 6);
    assert_int_equal(data->value->place.column, 11);
    assert_string_equal(data->value->place.text, "plan.data=fast");
    assert_string_equal(plan->place.file, "a.yaml");
    assert_int_equal(plan->height, 3);
    assert_int_equal(doc.root->unrolled, 14);
    sim_fail(&error, SIM_EXIT_INPUT, &data->value->place, "no number");
    assert_string_equal(error.line_text, "plan.data=fast");
    assert_int_equal(error.caret, 11);
    // a document that is a list
    sim_error_clear(&error);
    assert_true(document_parse(a, "b.yaml", "- 1\n", 4, NULL, &doc, &error));
    assert_false(document_set(a, &doc, "plan=1", &error));
    assert_message(&error, "--set", 1, 1, "the document is a list, not a mapping", "");
    sim_error_clear(&error);
    // what is set must fit with the rest: 1 + 123,455 + 777,778 + 88,889 = 990,123 nodes, and 9,878 more
    static const char full[] =
        "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
        "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
        "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
        "f: [*e,*e,*e,*e,*e,*e,*e]\ng: [*d,*d,*d,*d,*d,*d,*d,*d]\n";
    assert_true(document_parse(a, "b.yaml", full, strlen(full), NULL, &doc, &error));
    assert_int_equal(doc.root->unrolled, 990123);
    enum { MORE = 9877 };
    static char argument[2 * MORE + 4];
    for (size_t i = 0; i < MORE; i++)
        memcpy(argument + 2 + 2 * i, i ? ",1" : "[1", 2);
    memcpy(argument, "h=", 2);
    memcpy(argument + 2 + 2 * MORE, "]", 2);
    assert_false(document_set(a, &doc, argument, &error));
    assert_message(&error, "--set", 1, 1, "aliases unroll to more than 1,000,000 nodes", "");
    arena_destroy(a);
}

static bool is_model(const void *owner, const char *path, size_t length)
{
    assert_string_equal(owner, "an owner");
    return (length == 5 && memcmp(path, "model", 5) == 0) ||
           (length == 12 && memcmp(path, "list[1].part", 12) == 0);
}

// Names that stand for mappings are opened, once, and keep their place; an alias elsewhere stays a name.
static void names_are_opened(void **state)
{
    static const char text[] = "model: &m small\nother: *m\nplan: {data: 2}\nlist: [1, {part: x}]\n";
    static const char *const sets[] = { "model.layers=16", "model.ffn.size=3", "list[1].part.size=4" };
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    document doc;
    assert_true(document_parse(a, "a.yaml", text, strlen(text), NULL, &doc, &error));
    for (size_t i = 0; i < ARRAY_COUNT(sets); i++)
        assert_true(document_set_opening(a, &doc, sets[i], is_model, "an owner", &error));
    assert_tree(&doc, "{model: {base: small, layers: 16, ffn: {size: 3}}, other: small, plan: {data: 2}, "
                      "list: [1, {part: {base: x, size: 4}}]}");
    const doc_node *model = document_find(doc.root, "model");
    assert_string_equal(model->place.file, "a.yaml");
    assert_int_equal(model->place.column, 8);
    assert_string_equal(model->pairs[0].value->place.file, "a.yaml");
    assert_int_equal(model->pairs[0].value->place.column, 8);
    assert_int_equal(model->pairs[1].key_place.column, 7);
    assert_int_equal(model->height, 3);
    assert_int_equal(doc.root->unrolled, 15);
    assert_false(document_set_opening(a, &doc, "plan.data.x=4", is_model, "an owner", &error));
    assert_message(&error, "--set", 1, 11, "plan.data is a single value, not a mapping", "");
    sim_error_clear(&error);
    assert_false(document_set_opening(a, &doc, "model[0]=4", is_model, "an owner", &error));
    assert_message(&error, "--set", 1, 6, "model is a mapping, not a list", "");
    arena_destroy(a);
}

int main(void)
{
    enum {
        TREES = ARRAY_COUNT(tree_cases),
        REFUSED = ARRAY_COUNT(refuse_cases),
        SET = ARRAY_COUNT(set_cases)
    };
    enum { PLAIN = 14 };
    struct CMUnitTest tests[TREES + REFUSED + SET + PLAIN] = {
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(alias_bombs_are_refused),
        cmocka_unit_test(nodes_and_bytes_are_limited),
        cmocka_unit_test(places_are_kept),
        cmocka_unit_test(set_values_have_places),
        cmocka_unit_test(names_are_opened),
        cmocka_unit_test_setup_teardown(includes_are_merged, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(included_places_are_their_own, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(wrong_includes_are_refused, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(long_paths_are_refused, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(includes_are_limited, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(large_files_are_refused, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(memory_of_libyaml_may_end, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(memory_of_the_arena_may_end, scratch_enter, scratch_leave),
    };
    struct CMUnitTest *next = tests + PLAIN;
    for (size_t i = 0; i < TREES; i++)
        *next++ = (struct CMUnitTest){ .name = tree_cases[i].name,
                                       .test_func = trees_are_read,
                                       .initial_state = (void *)&tree_cases[i] };
    for (size_t i = 0; i < REFUSED; i++)
        *next++ = (struct CMUnitTest){ .name = refuse_cases[i].name,
                                       .test_func = mistakes_are_refused,
                                       .initial_state = (void *)&refuse_cases[i] };
    for (size_t i = 0; i < SET; i++)
        *next++ = (struct CMUnitTest){ .name = set_cases[i].name,
                                       .test_func = keys_are_set,
                                       .initial_state = (void *)&set_cases[i] };
    return cmocka_run_group_tests_name("document", tests, NULL, NULL);
}
