// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "sim/array.h"
#include "sim/bind.h"
#include "sim/os.h"

// ---- a table with every kind of row

typedef struct thing {
    const char *name;
    double rate_Bps;
    uint64_t memory_bytes;
    bind_points curve;
} thing;

typedef struct item {
    uint32_t count;
    thing part;
} item;
ARRAY_OF(item, item_array);

typedef struct inner {
    bool given;
    uint32_t steps;
    const char *label;
    double share;
    uint32_t pair[2];
} inner;

typedef struct outer {
    inner first; // the struct, its flag and ... have one address
    bool flag;
    uint32_t count;
    uint64_t large;
    double ratio, wait_s, rate_Bps, speed_flops, power_W, clock_Hz, cable_m;
    sim_time delay_ps;
    uint64_t bucket_bytes;
    const char *text, *path;
    int shape;
    item_array items;
    bind_points curve;
    thing part;
    bool part_given;
} outer;

static const char *const shapes[] = { "fat-tree", "spine-leaf", "none", NULL };

// An extra check: 13 is an unlucky count.
static bool check_count(const void *field, const doc_node *node, sim_error *error)
{
    if (*(const uint32_t *)field != 13) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &node->place, "thirteen is refused");
}

static bool check_shape_of_part(const void *field, const doc_node *node, sim_error *error)
{
    const thing *t = field;
    if (t->rate_Bps != 666.0) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &node->place, "this rate is refused");
}

static const bind_row thing_binds[] = {
    BIND_TEXT(thing, name, "name", BIND_REQUIRED),
    BIND_RATE(thing, rate_Bps, "rate", BIND_REQUIRED, BIND_ABOVE(0)),
    BIND_BYTES(thing, memory_bytes, "memory", BIND_DEFAULT(2048, "2 KiB")),
    BIND_POINTS(thing, curve, "curve", UNIT_BYTES, UNIT_NONE),
    BIND_END,
};
static const bind_row item_binds[] = {
    BIND_U32(item, count, "count", BIND_REQUIRED, .check = check_count),
    BIND_PART(item, part, "part", "things", thing_binds),
    BIND_END,
};
static const bind_row pair_binds[] = {
    { .type = BIND_TYPE_U32, .key = "left", .offset = 0, BIND_DEFAULT(7, "7") },
    { .type = BIND_TYPE_U32, .key = "right", .offset = sizeof(uint32_t), BIND_DEFAULT(8, "8") },
    BIND_END,
};
static const bind_row inner_binds[] = {
    BIND_U32(inner, steps, "steps", BIND_DEFAULT(3, "3"), BIND_AT_LEAST(1), BIND_AT_MOST(1000),
             BIND_NOTE("how many")),
    BIND_TEXT(inner, label, "label", BIND_DEFAULT(0, "plain"), BIND_SET_FLAG(inner, given)),
    BIND_NUMBER(inner, share, "share", BIND_REQUIRED, BIND_ABOVE(0), BIND_AT_MOST(1),
                BIND_NOTE("of the whole")),
    BIND_STRUCT(inner, pair, "pair", pair_binds),
    BIND_END,
};
static const bind_row outer_binds[] = {
    BIND_STRUCT(outer, first, "first", inner_binds, BIND_SET_FLAG(outer, first.given)),
    BIND_BOOL(outer, flag, "flag", BIND_DEFAULT(1, "true")),
    BIND_U32(outer, count, "count"),
    BIND_U64(outer, large, "large", BIND_DEFAULT(5, "5")),
    BIND_NUMBER(outer, ratio, "ratio", BIND_AT_LEAST(0.25), BIND_AT_MOST(2.5)),
    BIND_SECONDS(outer, wait_s, "wait", BIND_AT_MOST(60)),
    BIND_RATE(outer, rate_Bps, "rate", BIND_DEFAULT(1.25e9, "10 Gb/s"), BIND_ABOVE(1e6)),
    BIND_FLOPS(outer, speed_flops, "speed"),
    BIND_POWER(outer, power_W, "power"),
    BIND_FREQUENCY(outer, clock_Hz, "clock"),
    BIND_LENGTH(outer, cable_m, "cable", BIND_AT_MOST(100e3)),
    BIND_TIME(outer, delay_ps, "delay", BIND_DEFAULT(1.3e-6, "1.3 us"), BIND_AT_LEAST(0)),
    BIND_BYTES(outer, bucket_bytes, "bucket", BIND_DEFAULT(160e6, "160 MB"), BIND_AT_LEAST(1)),
    BIND_TEXT(outer, text, "text"),
    BIND_PATH(outer, path, "path"),
    BIND_ENUM(outer, shape, "shape", shapes, BIND_DEFAULT(2, "none")),
    BIND_LIST(outer, items, "items", item_binds),
    BIND_POINTS(outer, curve, "curve", UNIT_NONE, UNIT_RATE),
    BIND_PART(outer, part, "part", "things", thing_binds, BIND_SET_FLAG(outer, part_given),
              .check = check_shape_of_part),
    BIND_LATER("storage", "not modelled in this version"),
    BIND_LATER("faults", "they come with the job simulation"),
    BIND_END,
};

// ---- a part reader: its owner is a document with a mapping of parts

static bool read_named_part(bind_reader *r, const bind_row *row, const doc_node *node, void *out,
                            sim_error *error)
{
    const document *parts = bind_reader_owner(r);
    if (node->kind == DOC_SCALAR) node = document_find(parts->root, node->scalar);
    assert_non_null(node);
    assert_string_equal(row->folder, "things");
    return bind_read_part(r, row, node, out, error);
}

static const char parts_text[] = "fast:\n"
                                 "  name: fast\n"
                                 "  source: \"data sheet, \\\"2022\\\"\"\n"
                                 "  grade: vendor\n"
                                 "  rate: 450 GB/s\n"
                                 "  memory: { value: 80 GB, source: measured here, grade: measured }\n"
                                 "plain:\n"
                                 "  name: plain\n"
                                 "  rate: 1 B/s\n";

typedef struct fixture {
    arena *a;
    document parts;
    bind_reader *reader;
    document doc;
    outer value;
    sim_error error;
} fixture;

static bool read_text(fixture *f, const char *text)
{
    *f = (fixture){ .a = arena_create("test") };
    memset(&f->value, 0x5a, sizeof f->value); // what is not bound away would show
    assert_true(
        document_parse(f->a, "parts.yaml", parts_text, strlen(parts_text), NULL, &f->parts, &f->error));
    assert_true(document_parse(f->a, "conf/a.yaml", text, strlen(text), NULL, &f->doc, &f->error));
    f->reader = bind_reader_create(f->a, read_named_part, &f->parts);
    return bind_read(f->reader, outer_binds, f->doc.root, "", &f->value, &f->error);
}

static void read_fine(fixture *f, const char *text)
{
    bool fine = read_text(f, text);
    if (!fine) sim_error_print(&f->error, stderr);
    assert_true(fine);
}

// ---- what is read

static void every_kind_is_read(void **state)
{
    (void)state;
    fixture f;
    read_fine(&f, "first: { steps: 17, label: \"3\", share: 37.5 %, pair: { right: 9 } }\n"
                  "flag: false\ncount: 4294967295\nlarge: 18446744073709551615\nratio: 0.75\nwait: 2.5 ms\n"
                  "rate: \"400 Gb/s\"\nspeed: 989.4 TFLOP/s\npower: 10.2 kW\nclock: 1.98 GHz\ncable: 30 m\n"
                  "delay: 1.7 ns\nbucket: 25 MiB\ntext: 70b\npath: sub/x.csv\nshape: \"spine-leaf\"\n"
                  "items:\n- count: 3\n- { count: 4, part: fast }\n"
                  "curve: [[1, 2 GB/s], [3.5, 1 GB/s], [4, 3 B/s]]\n"
                  "part: plain\n");
    const outer *o = &f.value;
    assert_true(o->first.given);
    assert_int_equal(o->first.steps, 17);
    assert_string_equal(o->first.label, "3");
    assert_near(o->first.share, 0.375, 0.0);
    assert_int_equal(o->first.pair[0], 7);
    assert_int_equal(o->first.pair[1], 9);
    assert_false(o->flag);
    assert_true(o->count == UINT32_MAX && o->large == UINT64_MAX);
    assert_near(o->ratio, 0.75, 0.0);
    assert_near(o->wait_s, 2.5e-3, 0.0);
    assert_near(o->rate_Bps, 50e9, 0.0);
    assert_near(o->speed_flops, 989.4e12, 0.0);
    assert_near(o->power_W, 10200.0, 0.0);
    assert_near(o->clock_Hz, 1.98e9, 0.0);
    assert_near(o->cable_m, 30.0, 0.0);
    assert_true(o->delay_ps == 1700 && o->bucket_bytes == 26214400);
    assert_string_equal(o->text, "70b");
    assert_string_equal(o->path, "conf/sub/x.csv");
    assert_int_equal(o->shape, 1);
    assert_int_equal(o->items.count, 2);
    assert_int_equal(o->items.items[0].count, 3);
    assert_null(o->items.items[0].part.name);
    assert_true(o->items.items[0].part.memory_bytes == 2048);
    assert_int_equal(o->items.items[1].count, 4);
    assert_string_equal(o->items.items[1].part.name, "fast");
    assert_near(o->items.items[1].part.rate_Bps, 450e9, 0.0);
    assert_int_equal(o->curve.count, 3);
    assert_near(o->curve.x[1], 3.5, 0.0);
    assert_near(o->curve.y[2], 3.0, 0.0);
    assert_true(o->part_given);
    assert_string_equal(o->part.name, "plain");
    arena_destroy(f.a);
}

static void check_defaults(const char *text)
{
    fixture f;
    read_fine(&f, text);
    const outer *o = &f.value;
    assert_false(o->first.given);
    assert_int_equal(o->first.steps, 3); // also inside a struct that is not written, required keys or not
    assert_string_equal(o->first.label, "plain");
    assert_near(o->first.share, 0.0, 0.0);
    assert_int_equal(o->first.pair[1], 8);
    assert_true(o->flag);
    assert_int_equal(o->count, 0);
    assert_true(o->large == 5 && o->delay_ps == 1300000 && o->bucket_bytes == 160000000);
    assert_near(o->rate_Bps, 1.25e9, 0.0);
    assert_null(o->text);
    assert_null(o->path);
    assert_int_equal(o->shape, 2);
    assert_int_equal(o->items.count, 0);
    assert_int_equal(o->curve.count, 0);
    assert_false(o->part_given);
    assert_true(o->part.memory_bytes == 2048);
    assert_int_equal(bind_reader_provenance(f.reader)->count, 0);
    arena_destroy(f.a);
}

static void defaults_fill_the_rest(void **state)
{
    (void)state;
    check_defaults("{}\n");
}

static void null_is_as_if_not_written(void **state)
{
    (void)state;
    check_defaults("first: null\nflag: ~\ncount: ~\nlarge: null\ndelay: null\nrate: ~\ntext: null\n"
                   "path: ~\nshape: null\nitems: null\ncurve: ~\npart: null\n");
}

static void paths_are_relative_to_their_file(void **state)
{
    (void)state;
    fixture f;
    read_fine(&f, "path: /abs/x\n");
    assert_string_equal(f.value.path, "/abs/x");
    assert_true(document_set(f.a, &f.doc, "path=y.csv", &f.error));
    assert_true(bind_read(f.reader, outer_binds, f.doc.root, "", &f.value, &f.error));
    assert_string_equal(f.value.path, "y.csv");
    arena_destroy(f.a);
}

// ---- what is refused

struct refuse_case {
    const char *text;
    uint32_t line, column;
    const char *message, *hint;
};
#define LONG64 "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp"
#define LONG512 LONG64 LONG64 LONG64 LONG64 LONG64 LONG64 LONG64 LONG64
#define LONG4096 LONG512 LONG512 LONG512 LONG512 LONG512 LONG512 LONG512 LONG512
#define VALUE_HINT "a number with its source: { value: ..., source: \"...\", grade: measured }"
static const struct refuse_case refuse_cases[] = {
    { "count: 1\nraet: 1 B/s\n", 2, 1, "unknown key \"raet\"", "did you mean \"rate\"?" },
    { "zzz: 1\n", 1, 1, "unknown key \"zzz\"",
      "keys: first, flag, count, large, ratio, wait, rate, speed, power, clock, cable, delay and 7 more" },
    { "first: { shar: 1 }\n", 1, 10, "unknown key \"shar\" in first", "did you mean \"share\"?" },
    { "first: { zzz: 1 }\n", 1, 10, "unknown key \"zzz\" in first",
      "keys of first: steps, label, share, pair" },
    { "items: [{ count: 1 }, { cuont: 1 }]\n", 1, 25, "unknown key \"cuont\" in items[1]",
      "did you mean \"count\"?" },
    { "source: here\n", 1, 1, "unknown key \"source\"",
      "keys: first, flag, count, large, ratio, wait, rate, speed, power, clock, cable, delay and 7 more" },
    { "first: { grade: vendor, share: 1 }\n", 1, 10, "unknown key \"grade\" in first",
      "keys of first: steps, label, share, pair" },
    { "storage: 1\n", 1, 1, "storage: not modelled in this version", "" },
    { "faults: 1\n", 1, 1, "faults: not modelled in this version", "they come with the job simulation" },
    { "first: { steps: 1 }\n", 1, 8, "\"share\" is missing in first", "share: of the whole" },
    { "part: { name: x }\n", 1, 7, "\"rate\" is missing in part", "" },
    { "- 1\n", 1, 1, "the document must be a mapping, not a list", "" },
    { "~\n", 1, 1, "the document must be a mapping, not a single value", "" },
    { "first: [1]\n", 1, 8, "first must be a mapping, not a list", "" },
    { "first: 1\n", 1, 8, "first must be a mapping, not a single value", "" },
    { "first:\n", 1, 7, "first has no value", "" },
    { "count:\n", 1, 7, "count has no value", "" },
    { "first: { share: null }\n", 1, 17, "first.share has no value", "" },
    { "items: [~]\n", 1, 9, "items[0] has no value", "" },
    { "count: [1]\n", 1, 8, "count must be a number, not a list", "" },
    { "count: \"1\"\n", 1, 8, "count must be a number; \"1\" in quotes is a text", "leave the quotes out" },
    { "ratio: '1'\n", 1, 8, "ratio must be a number; \"1\" in quotes is a text", "leave the quotes out" },
    { "count: 2.5\n", 1, 8, "2.5 is not a whole number", "" },
    { "count: -1\n", 1, 8, "count must be at least 0", "" },
    { "count: 4294967296\n", 1, 8, "count must be at most 4294967295", "" },
    { "large: 18446744073709551616\n", 1, 8, "\"18446744073709551616\" is out of range", "" },
    { "large: 1e-3\n", 1, 8, "1e-3 is not a whole number", "" },
    { "ratio: .nan\n", 1, 8, "\".nan\" is not a number", "a number is written like \"12\"" },
    { "ratio: 0.2\n", 1, 8, "ratio must be at least 0.25", "" },
    { "ratio: 2.6\n", 1, 8, "ratio must be at most 2.500", "" },
    { "first: { share: 0 }\n", 1, 17, "first.share must be above 0", "" },
    { "first: { share: 1.1 }\n", 1, 17, "first.share must be at most 1", "" },
    { "first: { share: 1, steps: 0 }\n", 1, 27, "first.steps must be at least 1", "" },
    { "first: { share: 1, steps: 1001 }\n", 1, 27, "first.steps must be at most 1000", "" },
    { "rate: 8 Mb/s\n", 1, 7, "rate must be above 1.000 MB/s", "" },
    { "rate: 400\n", 1, 7, "a rate needs a unit, such as \"400 Gb/s\"", "" },
    { "wait: 2 min\n", 1, 7, "wait must be at most 1.000 min", "" },
    { "cable: 101 km\n", 1, 8, "cable must be at most 100.0 km", "" },
    { "delay: -1 ps\n", 1, 8, "delay must be at least 0", "" },
    { "delay: 0.5 ps\n", 1, 8, "0.5 ps is not a whole number of picoseconds", "" },
    { "bucket: 0 B\n", 1, 9, "bucket must be at least 1 B", "" },
    { "bucket: 5\n", 1, 9, "a size needs a unit, such as \"80 GB\"", "" },
    { "flag: yes\n", 1, 7, "flag must be true or false, not \"yes\"", "did you mean true?" },
    { "flag: off\n", 1, 7, "flag must be true or false, not \"off\"", "did you mean false?" },
    { "flag: maybe\n", 1, 7, "flag must be true or false, not \"maybe\"", "" },
    { "flag: \"true\"\n", 1, 7, "flag must be true or false, not \"true\"", "leave the quotes out" },
    { "flag: []\n", 1, 7, "flag must be true or false, not a list", "" },
    { "shape: fat-three\n", 1, 8, "shape cannot be \"fat-three\"",
      "did you mean \"fat-tree\"? One of: fat-tree, spine-leaf, none" },
    { "shape: torus\n", 1, 8, "shape cannot be \"torus\"", "one of: fat-tree, spine-leaf, none" },
    { "shape: {}\n", 1, 8, "shape must be a word, not a mapping", "" },
    { "text: { a: 1 }\n", 1, 7, "text must be a text, not a mapping", "" },
    { "path: [x]\n", 1, 7, "path must be the name of a file, not a list", "" },
    { "path: ''\n", 1, 7, "path must be the name of a file", "" },
    { "path: " LONG4096 "\n", 1, 7,
      "path: the path of \"pppppppppppppppppppppppppppppppppppppppp...\" is too long", "" },
    { "items: { count: 1 }\n", 1, 8, "items must be a list, not a mapping", "" },
    { "items: [1]\n", 1, 9, "items[0] must be a mapping, not a single value", "" },
    { "items: [{ count: 13 }]\n", 1, 18, "thirteen is refused", "" },
    { "items: [{ count: { value: 13 } }]\n", 1, 27, "thirteen is refused", "" },
    { "curve: 5\n", 1, 8, "curve must be a list of [x, y] pairs, not a single value", "" },
    { "curve: [[1, 2 B/s]]\n", 1, 8, "curve needs at least two points", "" },
    { "curve: [[1, 2 B/s], [2]]\n", 1, 21, "curve[1] must be a pair [x, y]", "" },
    { "curve: [1, [2, 3 B/s]]\n", 1, 9, "curve[0] must be a pair [x, y]", "" },
    { "curve: [[1, 2 B/s], [1.0, 2 B/s]]\n", 1, 22, "the x values of curve must rise: 1.0 follows 1", "" },
    { "curve: [[1, 2], [2, 2 B/s]]\n", 1, 13, "a rate needs a unit, such as \"400 Gb/s\"", "" },
    { "curve: [[1, []], [2, 2 B/s]]\n", 1, 13, "curve must be a number, not a list", "" },
    { "curve: [['1', 2 B/s], [2, 2 B/s]]\n", 1, 10, "curve must be a number; \"1\" in quotes is a text",
      "leave the quotes out" },
    { "part: { name: x, rate: 666 B/s }\n", 1, 7, "this rate is refused", "" },
    { "rate: { valeu: 1 B/s }\n", 1, 9, "unknown key \"valeu\" in rate", VALUE_HINT },
    { "rate: { source: x }\n", 1, 7, "\"value\" is missing in rate", VALUE_HINT },
    { "rate: { value: }\n", 1, 16, "rate has no value", "" },
    { "rate: { value: 1 GB/s, source: [x] }\n", 1, 32, "rate: source must be a text", "" },
    { "rate: { value: 1 GB/s, source: '' }\n", 1, 32, "rate: source must be a text", "" },
    { "rate: { value: 1 GB/s, grade: sure }\n", 1, 31, "rate: grade must be measured, vendor or assumed",
      "" },
    { "rate: { value: 1 GB/s, grade: {} }\n", 1, 31, "rate: grade must be measured, vendor or assumed", "" },
    { "part: { source: {}, name: x, rate: 1 B/s }\n", 1, 17, "part: source must be a text", "" },
};

static void mistakes_are_refused(void **state)
{
    const struct refuse_case *c = *state;
    fixture f;
    assert_false(read_text(&f, c->text));
    assert_string_equal(f.error.message, c->message);
    assert_string_equal(f.error.hint, c->hint);
    assert_string_equal(f.error.file, "conf/a.yaml");
    assert_int_equal(f.error.line, c->line);
    assert_int_equal(f.error.column, c->column);
    assert_int_equal(f.error.exit_code, SIM_EXIT_INPUT);
    arena_destroy(f.a);
}

static void parts_without_reader_are_mappings(void **state)
{
    (void)state;
    fixture f;
    read_fine(&f, "part: { name: x, rate: 2 B/s }\n");
    bind_reader *r = bind_reader_create(f.a, NULL, NULL);
    assert_true(bind_read(r, outer_binds, f.doc.root, "", &f.value, &f.error));
    assert_near(f.value.part.rate_Bps, 2.0, 0.0);
    assert_true(document_set(f.a, &f.doc, "part=fast", &f.error));
    assert_false(bind_read(r, outer_binds, f.doc.root, "", &f.value, &f.error));
    assert_string_equal(f.error.message, "part must be a mapping, not a single value");
    assert_ptr_equal(bind_reader_arena(r), f.a);
    arena_destroy(f.a);
}

// ---- places

static void assert_place(const sim_place *place, const char *file, uint32_t line, uint32_t column)
{
    assert_non_null(place);
    assert_string_equal(place->file, file);
    assert_int_equal(place->line, line);
    assert_int_equal(place->column, column);
}

static void places_are_known(void **state)
{
    (void)state;
    fixture f;
    read_fine(&f, "items:\n- count: 3\n- count: 4\n  part: fast\nfirst:\n  share: 1\n  pair: { right: 4 }\n"
                  "part: { name: y, rate: 2 B/s }\n");
    const bind_reader *r = f.reader;
    outer *o = &f.value;
    const char *file = "conf/a.yaml";
    // first, first.given and first.pair's left are told apart by their type
    assert_place(bind_place_of(r, &o->first), file, 5, 1);
    assert_place(bind_place_of(r, &o->first.share), file, 6, 3);
    assert_place(bind_place_of(r, &o->first.steps), file, 6, 3); // not written: the mapping
    assert_place(bind_place_of(r, &o->first.pair), file, 7, 3);
    assert_place(bind_place_of(r, &o->first.pair[0]), file, 7, 9);
    assert_place(bind_place_of(r, &o->first.pair[1]), file, 7, 11);
    assert_place(bind_place_of(r, &o->items), file, 1, 1);
    assert_place(bind_place_of(r, &o->items.items[1]), file, 3, 3);
    assert_place(bind_place_of(r, &o->items.items[1].count), file, 3, 3);
    assert_place(bind_place_of(r, &o->items.items[1].part), file, 4, 3);
    assert_place(bind_place_of(r, &o->items.items[1].part.rate_Bps), "parts.yaml", 5, 3);
    assert_place(bind_place_of(r, &o->items.items[0].part), file, 2, 3);
    assert_place(bind_place_of(r, &o->part), file, 8, 1);
    assert_place(bind_place_of(r, &o->part.name), file, 8, 9);
    assert_place(bind_place_of(r, &o->delay_ps), file, 1, 1);                     // a default
    assert_place(bind_place_of(r, (const char *)&o->part.rate_Bps), file, 8, 18); // through another type
    assert_null(bind_place_of(r, &f.doc));
    arena_destroy(f.a);
}

// ---- provenance

static void assert_provenance(const bind_reader *r, uint32_t index, const void *field, const char *path,
                              const char *value, const char *source, bind_grade grade)
{
    const bind_provenance *p = &bind_reader_provenance(r)->items[index];
    assert_ptr_equal(p->field, field);
    assert_string_equal(p->path, path);
    assert_string_equal(p->value, value);
    if (source)
        assert_string_equal(p->source, source);
    else
        assert_null(p->source);
    assert_int_equal(p->grade, grade);
}

static void sources_are_recorded(void **state)
{
    (void)state;
    fixture f;
    read_fine(
        &f, "count: 4\nrate: { value: 3 GB/s, source: x, grade: assumed }\ntext: t\nflag: true\n"
            "items: [{ count: 2, part: fast }]\n"
            "part: { source: mine, name: y, rate: 2 B/s, memory: { value: 1 B, grade: measured }, curve: [[1 "
            "B, 2], [2 B, 3]] }\n");
    const bind_reader *r = f.reader;
    assert_int_equal(bind_reader_provenance(r)->count, 8);
    assert_provenance(r, 0, &f.value.count, "count", "4", NULL, GRADE_NONE);
    assert_provenance(r, 1, &f.value.rate_Bps, "rate", "3 GB/s", "x", GRADE_ASSUMED);
    const item *first = &f.value.items.items[0];
    assert_provenance(r, 2, &first->count, "items[0].count", "2", NULL, GRADE_NONE);
    assert_provenance(r, 3, &first->part.rate_Bps, "items[0].part.rate", "450 GB/s", "data sheet, \"2022\"",
                      GRADE_VENDOR);
    assert_provenance(r, 4, &first->part.memory_bytes, "items[0].part.memory", "80 GB", "measured here",
                      GRADE_MEASURED);
    assert_provenance(r, 5, &f.value.part.rate_Bps, "part.rate", "2 B/s", "mine", GRADE_NONE);
    assert_provenance(r, 6, &f.value.part.memory_bytes, "part.memory", "1 B", "mine", GRADE_MEASURED);
    assert_provenance(r, 7, &f.value.part.curve, "part.curve", "2 points", "mine", GRADE_NONE);
    assert_int_equal(bind_reader_provenance(r)->items[1].place.line, 2);
    assert_int_equal(bind_reader_provenance(r)->items[1].place.column, 16);

    assert_string_equal(bind_grade_name(GRADE_NONE), "");
    arena_destroy(f.a);
}

// A part inside a part that is given in place inherits; a named one does not. A struct inside a part inherits too.
typedef struct rack {
    thing named, inline_part;
    struct {
        double power_W;
    } cooling;
} rack;
static const bind_row cooling_binds[] = {
    { .type = BIND_TYPE_DOUBLE, .key = "power", .unit = UNIT_POWER },
    BIND_END,
};
static const bind_row rack_binds[] = {
    BIND_PART(rack, named, "named", "things", thing_binds),
    BIND_PART(rack, inline_part, "inline", "things", thing_binds),
    BIND_STRUCT(rack, cooling, "cooling", cooling_binds),
    BIND_END,
};
typedef struct hall {
    rack rack;
} hall;
static const bind_row hall_binds[] = {
    BIND_PART(hall, rack, "rack", "things", rack_binds),
    BIND_END,
};

static void sources_are_inherited(void **state)
{
    (void)state;
    static const char text[] = "rack:\n"
                               "  source: floor plan\n"
                               "  grade: assumed\n"
                               "  named: plain\n"
                               "  inline: { name: x, rate: 3 B/s, grade: vendor }\n"
                               "  cooling: { grade: measured, power: 4 kW }\n";
    fixture f;
    read_fine(&f, "{}");
    hall h;
    assert_true(document_parse(f.a, "h.yaml", text, strlen(text), NULL, &f.doc, &f.error));
    assert_true(bind_read(f.reader, hall_binds, f.doc.root, "", &h, &f.error));
    assert_int_equal(bind_reader_provenance(f.reader)->count, 3);
    assert_provenance(f.reader, 0, &h.rack.named.rate_Bps, "rack.named.rate", "1 B/s", NULL, GRADE_NONE);
    assert_provenance(f.reader, 1, &h.rack.inline_part.rate_Bps, "rack.inline.rate", "3 B/s", "floor plan",
                      GRADE_VENDOR);
    assert_provenance(f.reader, 2, &h.rack.cooling.power_W, "rack.cooling.power", "4 kW", "floor plan",
                      GRADE_MEASURED);
    arena_destroy(f.a);
}

// ---- writing

static char *write_value(const bind_reader *r, const outer *value, int indent)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = os_open_memory(&text, &length);
    assert_non_null(out);
    bind_write(r, outer_binds, value, indent, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void written_text_is_as_expected(void **state)
{
    (void)state;
    fixture f;
    read_fine(&f, "first: { share: 0.1 }\nitems: [{ count: 2, part: fast }, { count: 3 }]\nrate: 3.3 GB/s\n"
                  "curve: [[1, 2 B/s], [3, 4 B/s]]\n");
    char *text = write_value(f.reader, &f.value, 2);
    assert_string_equal(
        text, "  first:\n"
              "    steps: 3\n"
              "    label: \"plain\"\n"
              "    share: 0.1\n"
              "    pair:\n"
              "      left: 7\n"
              "      right: 8\n"
              "  flag: true\n"
              "  large: 5\n"
              "  rate: 3.3e+09 B/s\n"
              "  delay: 1300000 ps\n"
              "  bucket: 160000000 B\n"
              "  shape: none\n"
              "  items:\n"
              "    -\n"
              "      count: 2\n"
              "      part:\n"
              "        name: \"fast\"\n"
              "        rate: { value: 4.5e+11 B/s, source: \"data sheet, \\\"2022\\\"\", grade: vendor }\n"
              "        memory: { value: 80000000000 B, source: \"measured here\", grade: measured }\n"
              "    -\n"
              "      count: 3\n"
              "  curve: [[1, 2 B/s], [3, 4 B/s]]\n");
    free(text);
    arena_destroy(f.a);
}

static void assert_same_thing(const thing *a, const thing *b)
{
    assert_int_equal(a->name != NULL, b->name != NULL);
    if (a->name) assert_string_equal(a->name, b->name);
    assert_memory_equal(&a->rate_Bps, &b->rate_Bps, sizeof a->rate_Bps);
    assert_true(a->memory_bytes == b->memory_bytes);
    assert_int_equal(a->curve.count, b->curve.count);
    for (uint32_t i = 0; i < a->curve.count; i++)
        assert_true(a->curve.x[i] == b->curve.x[i] && a->curve.y[i] == b->curve.y[i]);
}

static void assert_same(const outer *a, const outer *b)
{
    assert_int_equal(a->first.given, b->first.given);
    assert_int_equal(a->first.steps, b->first.steps);
    assert_string_equal(a->first.label, b->first.label);
    assert_memory_equal(&a->first.share, &b->first.share, sizeof a->first.share);
    assert_memory_equal(a->first.pair, b->first.pair, sizeof a->first.pair);
    assert_int_equal(a->flag, b->flag);
    assert_int_equal(a->count, b->count);
    assert_true(a->large == b->large && a->delay_ps == b->delay_ps && a->bucket_bytes == b->bucket_bytes);
    assert_memory_equal(&a->ratio, &b->ratio, 7 * sizeof(double)); // ratio to cable_m
    assert_int_equal(a->text != NULL, b->text != NULL);
    if (a->text) assert_string_equal(a->text, b->text);
    assert_int_equal(a->path != NULL, b->path != NULL);
    if (a->path) assert_string_equal(a->path, b->path);
    assert_int_equal(a->shape, b->shape);
    assert_int_equal(a->items.count, b->items.count);
    for (uint32_t i = 0; i < a->items.count; i++) {
        assert_int_equal(a->items.items[i].count, b->items.items[i].count);
        assert_same_thing(&a->items.items[i].part, &b->items.items[i].part);
    }
    assert_int_equal(a->part_given, b->part_given);
    assert_same_thing(&a->part, &b->part);
}

static const char *const round_trips[] = {
    "{}\n",
    "items: []\n",
    "first: { share: 0.1, steps: 999, label: '' }\nflag: false\ncount: 0\nlarge: "
    "18446744073709551615\nratio: 0.3\n"
    "wait: 1.7 ms\nrate: 33.3 Gb/s\nspeed: 989.4 TFLOP/s\npower: 7.77 mW\nclock: 1.98 GHz\ncable: -0.1 m\n"
    "delay: 9223372036854775807 ps\nbucket: 18446744073709551615 B\nshape: fat-tree\npath: /x/y z.csv\n"
    "curve: [[-1e-300, 2 B/s], [0.1, 2.5 TB/s]]\n"
    "part: { name: \"a\", rate: 1 B/s, curve: { value: [[1 B, 0.1], [3 GiB, 0.7]], source: s } }\n"
    "items: [{ count: 1 }, { count: 2, part: { name: z, source: \"q: #\", rate: 1 MB/s } }]\n",
    "text: \"quotes \\\" and \\\\, tab\\t, line\\n, bell\\a, nel\\N, del\\x7F, bom\\uFEFF, ls\\L, e\\xE9, "
    "snowman "
    "\\u2603, clef \\U0001D11E, last\\uFFFF: # - {}\"\n",
    "text: \"true\"\n",
    "text: ''\n",
};

static void what_is_written_reads_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(round_trips); i++) {
        fixture f, g;
        read_fine(&f, round_trips[i]);
        char *text = write_value(f.reader, &f.value, 0);
        read_fine(&g, text);
        assert_same(&f.value, &g.value);
        char *again = write_value(g.reader, &g.value, 0);
        assert_string_equal(again, text);
        free(text);
        free(again);
        arena_destroy(f.a);
        arena_destroy(g.a);
    }
}

static void what_was_filled_later_is_written(void **state)
{
    (void)state;
    fixture f;
    read_fine(&f, "{}\n");
    f.value.count = 12; // neither written nor with a default, but a check filled it
    char *text = write_value(f.reader, &f.value, 0);
    assert_non_null(strstr(text, "count: 12\n"));
    assert_null(strstr(text, "first"));
    assert_null(strstr(text, "part"));
    free(text);
    // without a reader there are no sources, and a flag says what was written
    f.value.part = (thing){ .name = "x\x80", .rate_Bps = 2.0 };
    f.value.part_given = true;
    text = write_value(NULL, &f.value, 0);
    assert_non_null(strstr(text, "part:\n  name: \"x\\x80\"\n  rate: 2 B/s\n"));
    assert_null(strstr(text, "first"));
    free(text);
    arena_destroy(f.a);
}

static void empty_mappings_are_written(void **state)
{
    (void)state;
    static const bind_row none[] = { BIND_LATER("storage", "later"), BIND_END };
    static const bind_row box[] = {
        { .type = BIND_TYPE_STRUCT, .key = "box", .rows = none, .size = 4, .required = true },
        BIND_END,
    };
    char *text = NULL;
    size_t length = 0;
    uint32_t value = 0;
    FILE *out = os_open_memory(&text, &length);
    assert_non_null(out);
    bind_write(NULL, none, &value, 2, out);
    bind_write(NULL, box, &value, 0, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "  {}\nbox: {}\n");
    free(text);
}

// ---- lists of numbers, and times without end

typedef struct lists {
    bind_numbers lengths_m, counts;
    sim_time delay_ps;
} lists;
static const char *const no_end[] = { "never", NULL };
static const bind_row lists_binds[] = {
    BIND_NUMBERS(lists, lengths_m, "lengths", UNIT_LENGTH, BIND_DEFAULT(5.0, "5 m"), BIND_ABOVE(0),
                 BIND_AT_MOST(1000)),
    BIND_NUMBERS(lists, counts, "counts", UNIT_NONE),
    BIND_TIME(lists, delay_ps, "delay", BIND_DEFAULT(1.0, "1 s"), BIND_AT_MOST(60), .words = no_end),
    BIND_END,
};

static bool read_lists(arena *a, const char *text, lists *out, bind_reader **reader, sim_error *error)
{
    document doc;
    *reader = bind_reader_create(a, NULL, NULL);
    return document_parse(a, "t.yaml", text, strlen(text), NULL, &doc, error) &&
           bind_read(*reader, lists_binds, doc.root, "", out, error);
}

static void numbers_and_times_without_end_are_read(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    bind_reader *reader;
    lists l;
    assert_true(read_lists(a, "lengths: { value: [3 m, 30 cm], source: s, grade: vendor }\ndelay: never\n",
                           &l, &reader, &error));
    assert_int_equal(l.lengths_m.count, 2);
    assert_near(l.lengths_m.items[0], 3.0, 0);
    assert_near(l.lengths_m.items[1], 0.3, 1e-12);
    assert_int_equal(l.counts.count, 0);
    assert_true(l.delay_ps == SIM_TIME_MAX);
    assert_string_equal(bind_reader_provenance(reader)->items[0].value, "2 numbers");
    char *text = NULL;
    size_t length = 0;
    FILE *out = os_open_memory(&text, &length);
    bind_write(reader, lists_binds, &l, 0, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text,
                        "lengths: { value: [3 m, 0.3 m], source: \"s\", grade: vendor }\ndelay: never\n");
    free(text);

    assert_true(read_lists(a, "counts: 7\n", &l, &reader, &error));
    assert_int_equal(l.lengths_m.count, 1);
    assert_near(l.lengths_m.items[0], 5.0, 0);
    assert_int_equal(l.counts.count, 1);
    assert_near(l.counts.items[0], 7.0, 0);
    assert_int_equal(l.delay_ps, PS_PER_S);
    out = os_open_memory(&text, &length);
    bind_write(reader, lists_binds, &l, 0, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "lengths: 5 m\ncounts: 7\ndelay: 1000000000000 ps\n");
    free(text);
    arena_destroy(a);
}

static void lists_of_numbers_are_refused(void **state)
{
    (void)state;
    static const struct refuse_case cases[] = {
        { "lengths: []\n", 1, 10, "lengths needs at least one number", "" },
        { "lengths: [3 m, 0 m]\n", 1, 16, "lengths must be above 0", "" },
        { "lengths: [3 m, 2 km]\n", 1, 16, "lengths must be at most 1.000 km", "" },
        { "counts: [1, [2]]\n", 1, 13, "counts must be a number, not a list", "" },
        { "counts: { value: { a: 1 } }\n", 1, 18,
          "counts must be a number or a list of numbers, not a mapping", "" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        arena *a = arena_create("test");
        sim_error error = { 0 };
        bind_reader *reader;
        lists l;
        assert_false(read_lists(a, cases[i].text, &l, &reader, &error));
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.column, cases[i].column);
        arena_destroy(a);
    }
}

// ---- the list of keys

static void collect_key(void *owner, const char *path, const bind_row *row)
{
    char *list = owner;
    size_t used = strlen(list);
    snprintf(list + used, 2000 - used, "%s%s ", path, row->type == BIND_TYPE_LATER ? "*" : "");
}

static void keys_are_listed(void **state)
{
    (void)state;
    char list[2000] = "";
    bind_list_keys(outer_binds, "", collect_key, list);
    assert_string_equal(
        list, "first first.steps first.label first.share first.pair first.pair.left first.pair.right flag "
              "count large ratio wait rate speed power clock cable delay bucket text path shape items "
              "items[].count items[].part items[].part.name items[].part.rate items[].part.memory "
              "items[].part.curve curve part part.name part.rate part.memory part.curve storage* faults* ");
    list[0] = 0;
    bind_list_keys(pair_binds, "a.b", collect_key, list);
    assert_string_equal(list, "a.b.left a.b.right ");
}

static const bind_row *find(const char *path)
{
    return bind_find_path(outer_binds, path, strlen(path));
}

static void rows_are_found_by_their_paths(void **state)
{
    (void)state;
    assert_string_equal(find("first.pair.right")->key, "right");
    assert_int_equal(find("part")->type, BIND_TYPE_PART);
    assert_int_equal(bind_find_path(outer_binds, "part.memory=3 GB", 4)->type, BIND_TYPE_PART);
    assert_string_equal(find("items[12].part.memory")->key, "memory");
    assert_int_equal(find("items[12]")->type, BIND_TYPE_LIST);
    assert_null(find(""));
    assert_null(find("par"));
    assert_null(find("parts"));
    assert_null(find("part.colour"));
    assert_null(find("count.x"));
    assert_null(bind_find_path(NULL, "part", 4));
}

// What is missing gets defaults where it is allowed to be missing, also inside a part; what is there is checked.
static void keys_may_be_missing(void **state)
{
    (void)state;
    static const char *const texts[] = { "part: { name: y }\n", "part: { memory: 3 s }\n",
                                         "part: { nmae: y }\n" };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        arena *a = arena_create("test");
        sim_error error = { 0 };
        document doc;
        outer out;
        assert_true(document_parse(a, "a.yaml", texts[i], strlen(texts[i]), NULL, &doc, &error));
        bind_reader *r = bind_reader_create(a, NULL, NULL);
        assert_false(bind_read(r, outer_binds, doc.root, "", &out, &error));
        sim_error_clear(&error);
        bind_reader_allow_missing(r);
        assert_int_equal(bind_read(r, outer_binds, doc.root, "", &out, &error), i == 0);
        if (i == 0) assert_string_equal(out.part.name, "y");
        arena_destroy(a);
    }
}

int main(void)
{
    enum { REFUSED = ARRAY_COUNT(refuse_cases), PLAIN = 15 };
    struct CMUnitTest tests[REFUSED + PLAIN] = {
        cmocka_unit_test(every_kind_is_read),
        cmocka_unit_test(defaults_fill_the_rest),
        cmocka_unit_test(null_is_as_if_not_written),
        cmocka_unit_test(paths_are_relative_to_their_file),
        cmocka_unit_test(parts_without_reader_are_mappings),
        cmocka_unit_test(places_are_known),
        cmocka_unit_test(sources_are_recorded),
        cmocka_unit_test(sources_are_inherited),
        cmocka_unit_test(written_text_is_as_expected),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(what_was_filled_later_is_written),
        cmocka_unit_test(empty_mappings_are_written),
        cmocka_unit_test(numbers_and_times_without_end_are_read),
        cmocka_unit_test(lists_of_numbers_are_refused),
        cmocka_unit_test(keys_are_listed),
        cmocka_unit_test(rows_are_found_by_their_paths),
        cmocka_unit_test(keys_may_be_missing),
    };
    struct CMUnitTest *next = tests + PLAIN;
    for (size_t i = 0; i < REFUSED; i++)
        *next++ = (struct CMUnitTest){ .name = refuse_cases[i].message,
                                       .test_func = mistakes_are_refused,
                                       .initial_state = (void *)&refuse_cases[i] };
    return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
