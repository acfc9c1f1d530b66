// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/scratch.h"

#include "models/part.h"
#include "sim/array.h"
#include "tests/support/text.h"

// ---- parts of no hardware: a wheel; a cart that has wheels

typedef struct rim_def {
    double width_m, share_ratio;
} rim_def;
typedef struct wheel_def {
    const char *name;
    double rate_Bps;
    uint32_t spokes;
    rim_def rim;
    bind_points curve;
} wheel_def;
typedef struct cart_def {
    const char *name;
    wheel_def wheel;
    uint32_t wheels;
} cart_def;
typedef struct park {
    cart_def cart;
} park;

static const bind_row rim_binds[] = {
    BIND_LENGTH(rim_def, width_m, "width", BIND_REQUIRED, BIND_ABOVE(0)),
    BIND_NUMBER(rim_def, share_ratio, "share", BIND_DEFAULT(1, "1")),
    BIND_END,
};
static const bind_row wheel_binds[] = {
    BIND_TEXT(wheel_def, name, "name", BIND_REQUIRED),
    BIND_RATE(wheel_def, rate_Bps, "rate", BIND_REQUIRED, BIND_ABOVE(0)),
    BIND_U32(wheel_def, spokes, "spokes", BIND_REQUIRED, BIND_AT_LEAST(1)),
    BIND_STRUCT(wheel_def, rim, "rim", rim_binds, BIND_REQUIRED),
    BIND_POINTS(wheel_def, curve, "curve", UNIT_NONE, UNIT_NONE, BIND_REQUIRED),
    BIND_END,
};
static const bind_row cart_binds[] = {
    BIND_TEXT(cart_def, name, "name", BIND_REQUIRED),
    BIND_PART(cart_def, wheel, "wheel", "wheels", wheel_binds, BIND_REQUIRED),
    BIND_U32(cart_def, wheels, "wheels", BIND_REQUIRED),
    BIND_END,
};
static const bind_row park_binds[] = {
    BIND_PART(park, cart, "cart", "carts", cart_binds, BIND_REQUIRED),
    BIND_END,
};

struct file {
    const char *path, *text;
};
static const struct file files[] = {
    { "catalogue/wheels/oak.yaml", "name: oak\n"
                                   "source: \"Oak, 1743\"\n"
                                   "grade: vendor\n"
                                   "rate: 431 MB/s\n"
                                   "spokes: 11\n"
                                   "rim:\n"
                                   "  source: \"Rims, 1761\"\n"
                                   "  grade: measured\n"
                                   "  width: 37 mm\n"
                                   "  share: { value: 0.83, source: \"a guess\", grade: assumed }\n"
                                   "curve: [[3, 0.17], [7, 0.29]]\n" },
    { "catalogue/wheels/elm.yaml", "base: oak\n"
                                   "name: elm\n"
                                   "source: \"Elm, 1789\"\n"
                                   "grade: measured\n"
                                   "spokes: 13\n"
                                   "rim: { width: 41 mm }\n" },
    { "catalogue/wheels/round-a.yaml", "base: round-b\nname: round-a\n" },
    { "catalogue/wheels/round-b.yaml", "base: round-c\nname: round-b\n" },
    { "catalogue/wheels/round-c.yaml", "base: round-b\nname: round-c\n" },
    { "catalogue/wheels/list.yaml", "- 1\n" },
    { "catalogue/wheels/lost.yaml", "base: ash\nname: lost\n" },
    { "catalogue/wheels/notes.txt", "not a part\n" },
    { "catalogue/carts/gig.yaml", "name: gig\n"
                                  "source: \"Gigs, 1811\"\n"
                                  "grade: vendor\n"
                                  "wheel: oak\n"
                                  "wheels: 2\n" },
    { "catalogue/carts/fly.yaml", "name: fly\n"
                                  "source: \"Flies, 1823\"\n"
                                  "grade: measured\n"
                                  "wheel:\n"
                                  "  base: oak\n"
                                  "  rate: 439 MB/s\n"
                                  "wheels: 4\n" },
};

typedef struct fixture {
    arena *arena;
    catalogue catalogue;
    bind_reader *reader;
    sim_error error;
    park park;
} fixture;

static bool read_text(fixture *f, const char *text)
{
    document doc;
    assert_true(document_parse(f->arena, "s.yaml", text, strlen(text), NULL, &doc, &f->error));
    return bind_read(f->reader, park_binds, doc.root, "", &f->park, &f->error);
}

static int begin(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->arena = arena_create("part");
    f->catalogue.directory = "catalogue";
    f->reader = bind_reader_create(f->arena, part_read, &f->catalogue);
    *state = f;
    return 0;
}

static int end(void **state)
{
    fixture *f = *state;
    arena_destroy(f->arena);
    free(f);
    return 0;
}

static const bind_provenance *provenance(const fixture *f, const void *field)
{
    const bind_provenance_array *all = bind_reader_provenance(f->reader);
    const bind_provenance *found = NULL;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].field == field) found = &all->items[i];
    return found;
}

static void assert_origin(const fixture *f, const void *field, const char *source, bind_grade grade)
{
    const bind_provenance *p = provenance(f, field);
    assert_non_null(p);
    if (source) {
        assert_non_null(p->source);
        assert_string_equal(p->source, source);
    } else {
        assert_null(p->source);
    }
    assert_int_equal(p->grade, grade);
}

// ---- what is read

static void a_name_is_looked_up(void **state)
{
    fixture *f = *state;
    assert_true(read_text(f, "cart: gig\n"));
    const cart_def *cart = &f->park.cart;
    assert_string_equal(cart->name, "gig");
    assert_int_equal(cart->wheels, 2);
    assert_string_equal(cart->wheel.name, "oak");
    assert_near(cart->wheel.rate_Bps, 431e6, 1e-9);
    assert_int_equal(cart->wheel.spokes, 11);
    assert_near(cart->wheel.rim.width_m, 0.037, 1e-9);
    assert_near(cart->wheel.rim.share_ratio, 0.83, 1e-9);
    assert_int_equal(cart->wheel.curve.count, 2);
    assert_near(cart->wheel.curve.y[1], 0.29, 1e-9);
    assert_origin(f, &cart->wheels, "Gigs, 1811", GRADE_VENDOR);
    assert_origin(f, &cart->wheel.rate_Bps, "Oak, 1743", GRADE_VENDOR);
    assert_origin(f, &cart->wheel.rim.width_m, "Rims, 1761", GRADE_MEASURED);
    assert_origin(f, &cart->wheel.rim.share_ratio, "a guess", GRADE_ASSUMED);
}

static void a_mapping_is_the_part(void **state)
{
    fixture *f = *state;
    assert_true(read_text(
        f,
        "cart:\n"
        "  name: own\n"
        "  wheels: 3\n"
        "  wheel: { name: tin, rate: 7 kB/s, spokes: 5, rim: { width: 2 m }, curve: [[1, 2], [3, 4]] }\n"));
    assert_string_equal(f->park.cart.wheel.name, "tin");
    assert_near(f->park.cart.wheel.rate_Bps, 7e3, 1e-9);
    assert_near(f->park.cart.wheel.rim.share_ratio, 1.0, 1e-9);
    assert_origin(f, &f->park.cart.wheel.rate_Bps, NULL, GRADE_NONE);
}

static void a_base_of_the_catalogue_keeps_its_sources(void **state)
{
    fixture *f = *state;
    assert_true(read_text(f, "cart: { name: own, wheels: 3, wheel: elm }\n"));
    const wheel_def *elm = &f->park.cart.wheel;
    assert_string_equal(elm->name, "elm");
    assert_near(elm->rate_Bps, 431e6, 1e-9);
    assert_int_equal(elm->spokes, 13);
    assert_near(elm->rim.width_m, 0.041, 1e-9);
    assert_near(elm->rim.share_ratio, 0.83, 1e-9);
    assert_origin(f, &elm->rate_Bps, "Oak, 1743", GRADE_VENDOR);
    assert_origin(f, &elm->spokes, "Elm, 1789", GRADE_MEASURED);
    assert_origin(f, &elm->rim.width_m, "Elm, 1789", GRADE_MEASURED);
    assert_origin(f, &elm->rim.share_ratio, "a guess", GRADE_ASSUMED);
    assert_origin(f, &elm->curve, "Oak, 1743", GRADE_VENDOR);
}

// What was measured of oak is only assumed of a wheel that starts from it so; its own numbers keep their grade.
static void a_base_may_be_only_assumed(void **state)
{
    fixture *f = *state;
    assert_true(read_text(f, "cart:\n"
                             "  base: gig\n"
                             "  wheel:\n"
                             "    base: elm\n"
                             "    base_grade: assumed\n"
                             "    spokes: { value: 17, source: \"counted\", grade: measured }\n"));
    const cart_def *cart = &f->park.cart;
    assert_near(cart->wheel.rate_Bps, 431e6, 1e-9);
    assert_origin(f, &cart->wheels, "Gigs, 1811", GRADE_VENDOR);
    assert_origin(f, &cart->wheel.spokes, "counted", GRADE_MEASURED);
    assert_origin(f, &cart->wheel.rate_Bps, "Oak, 1743", GRADE_ASSUMED);
    assert_origin(f, &cart->wheel.rim.width_m, "Elm, 1789", GRADE_ASSUMED);
    assert_origin(f, &cart->wheel.rim.share_ratio, "a guess", GRADE_ASSUMED);
    assert_origin(f, &cart->wheel.curve, "Oak, 1743", GRADE_ASSUMED);
}

static void an_override_takes_no_source(void **state)
{
    fixture *f = *state;
    assert_true(read_text(
        f, "cart:\n"
           "  base: gig\n"
           "  wheel: { base: elm, spokes: 17, rim: { share: 0.71 }, curve: [[5, 0.31], [9, 0.37]] }\n"));
    const cart_def *cart = &f->park.cart;
    assert_string_equal(cart->name, "gig");
    assert_int_equal(cart->wheels, 2);
    assert_int_equal(cart->wheel.spokes, 17);
    assert_near(cart->wheel.rim.width_m, 0.041, 1e-9);
    assert_near(cart->wheel.rim.share_ratio, 0.71, 1e-9);
    assert_near(cart->wheel.curve.x[0], 5.0, 1e-9);
    assert_origin(f, &cart->wheels, "Gigs, 1811", GRADE_VENDOR);
    assert_origin(f, &cart->wheel.spokes, NULL, GRADE_NONE);
    assert_origin(f, &cart->wheel.rim.share_ratio, NULL, GRADE_NONE);
    assert_origin(f, &cart->wheel.rim.width_m, "Elm, 1789", GRADE_MEASURED);
    assert_origin(f, &cart->wheel.curve, NULL, GRADE_NONE);
    assert_origin(f, &cart->wheel.rate_Bps, "Oak, 1743", GRADE_VENDOR);
}

// What the base names is the base of what overrides it.
static void a_part_of_a_base_is_overridden_by_key(void **state)
{
    fixture *f = *state;
    assert_true(read_text(f, "cart: { base: gig, wheel: { rate: 433 MB/s } }\n"));
    assert_near(f->park.cart.wheel.rate_Bps, 433e6, 1e-9);
    assert_int_equal(f->park.cart.wheel.spokes, 11);
    assert_true(read_text(f, "cart: { base: fly, wheel: { spokes: 19 } }\n"));
    assert_near(f->park.cart.wheel.rate_Bps, 439e6, 1e-9);
    assert_int_equal(f->park.cart.wheel.spokes, 19);
    assert_near(f->park.cart.wheel.rim.width_m, 0.037, 1e-9);
    assert_true(read_text(f, "cart: { base: fly, wheel: elm }\n"));
    assert_near(f->park.cart.wheel.rate_Bps, 431e6, 1e-9);
    assert_int_equal(f->park.cart.wheel.spokes, 13);
}

// The source of a cart covers the number it gives for its wheel, and nothing that the wheel says itself.
static void a_mapping_covers_the_parts_in_it(void **state)
{
    fixture *f = *state;
    assert_true(read_text(f, "cart: fly\n"));
    const cart_def *cart = &f->park.cart;
    assert_origin(f, &cart->wheel.rate_Bps, "Flies, 1823", GRADE_MEASURED);
    assert_origin(f, &cart->wheel.spokes, "Oak, 1743", GRADE_VENDOR);
    assert_origin(f, &cart->wheel.rim.width_m, "Rims, 1761", GRADE_MEASURED);
    assert_true(read_text(f, "cart: { base: fly, wheels: 5 }\n"));
    assert_origin(f, &cart->wheel.rate_Bps, "Flies, 1823", GRADE_MEASURED);
    assert_origin(f, &cart->wheels, NULL, GRADE_NONE);
}

// ---- what is refused

struct refusal {
    const char *name, *text, *want;
};
#define WHEELS "wheels: elm, list, lost, oak, round-a, round-b, round-c"
static const struct refusal refusals[] = {
    { "unknown name, one near", "cart: gigg\n",
      "s.yaml:1:7: error: unknown cart \"gigg\"\n"
      "    1 | cart: gigg\n"
      "      |       ^\n"
      "  hint: did you mean \"gig\"? carts: fly, gig\n" },
    { "unknown name, none near", "cart: 0123456789\n",
      "s.yaml:1:7: error: unknown cart \"0123456789\"\n"
      "    1 | cart: 0123456789\n"
      "      |       ^\n"
      "  hint: carts: fly, gig\n" },
    { "unknown base", "cart: { base: gigs }\n",
      "s.yaml:1:15: error: unknown cart \"gigs\"\n"
      "    1 | cart: { base: gigs }\n"
      "      |               ^\n"
      "  hint: did you mean \"gig\"? carts: fly, gig\n" },
    { "a path is no name", "cart: ../carts/gig\n",
      "s.yaml:1:7: error: cart \"../carts/gig\" is not a name of the catalogue\n"
      "    1 | cart: ../carts/gig\n"
      "      |       ^\n"
      "  hint: carts: fly, gig\n" },
    { "a list", "cart: [gig]\n",
      "s.yaml:1:7: error: cart is a name of the catalogue or a mapping, not a list\n"
      "    1 | cart: [gig]\n"
      "      |       ^\n" },
    { "a base that is a mapping", "cart: { base: { name: gig } }\n",
      "s.yaml:1:15: error: base is a name of the catalogue, not a mapping\n"
      "    1 | cart: { base: { name: gig } }\n"
      "      |               ^\n" },
    { "a better grade than the base's", "cart: { base: gig, base_grade: measured }\n",
      "s.yaml:1:32: error: base_grade is assumed, or is left out\n"
      "    1 | cart: { base: gig, base_grade: measured }\n"
      "      |                                ^\n"
      "  hint: without it the numbers of the base keep their grades\n" },
    { "bases in a circle", "cart: { base: gig, wheel: round-a }\n",
      "catalogue/wheels/round-c.yaml:1:7: error: the bases of wheel \"round-b\" run in a circle: round-b -> "
      "round-c -> round-b\n"
      "    1 | base: round-b\n"
      "      |       ^\n" },
    { "unknown base in the catalogue", "cart: { base: gig, wheel: lost }\n",
      "catalogue/wheels/lost.yaml:1:7: error: unknown wheel \"ash\"\n"
      "    1 | base: ash\n"
      "      |       ^\n"
      "  hint: " WHEELS "\n" },
    { "a file that is a list", "cart: { base: gig, wheel: list }\n",
      "catalogue/wheels/list.yaml:1:1: error: a part of the catalogue is a mapping, not a list\n"
      "    1 | - 1\n"
      "      | ^\n" },
};

static void refused(void **state)
{
    const struct refusal *c = *state;
    fixture f = { .arena = arena_create("part"), .catalogue = { "catalogue" } };
    f.reader = bind_reader_create(f.arena, part_read, &f.catalogue);
    assert_false(read_text(&f, c->text));
    assert_int_equal(f.error.exit_code, SIM_EXIT_INPUT);
    assert_error_prints(&f.error, c->want);
    arena_destroy(f.arena);
}

static void a_catalogue_without_the_folder(void **state)
{
    fixture *f = *state;
    f->catalogue.directory = "catalogue/wheels";
    assert_false(read_text(f, "cart: gig\n"));
    assert_error_prints(&f->error, "s.yaml:1:7: error: unknown cart \"gig\"\n"
                                   "    1 | cart: gig\n"
                                   "      |       ^\n"
                                   "  hint: the catalogue catalogue/wheels has no carts\n");
}

// ---- names, and where the catalogue is

static void names_are_sorted(void **state)
{
    fixture *f = *state;
    const char **names;
    assert_int_equal(catalogue_names(f->arena, &f->catalogue, "wheels", &names), 7);
    static const char *const want[] = { "elm", "list", "lost", "oak", "round-a", "round-b", "round-c" };
    for (size_t i = 0; i < ARRAY_COUNT(want); i++)
        assert_string_equal(names[i], want[i]);
    assert_int_equal(catalogue_names(f->arena, &f->catalogue, "engines", &names), -1);
}

static void the_catalogue_is_found(void **state)
{
    fixture *f = *state;
    catalogue found = { NULL };
    unsetenv("WINDTUNNEL_CATALOGUE");
    assert_true(catalogue_find(f->arena, "catalogue", &found, &f->error));
    assert_string_equal(found.directory, "catalogue");
    assert_true(catalogue_find(f->arena, NULL, &found, &f->error)); // that of the source tree
    const char **names;
    assert_true(catalogue_names(f->arena, &found, "gpus", &names) > 0);

    assert_int_equal(setenv("WINDTUNNEL_CATALOGUE", "catalogue/wheels", 1), 0);
    assert_true(catalogue_find(f->arena, NULL, &found, &f->error));
    assert_string_equal(found.directory, "catalogue/wheels");
    assert_true(catalogue_find(f->arena, "catalogue", &found, &f->error));
    assert_string_equal(found.directory, "catalogue");

    assert_int_equal(setenv("WINDTUNNEL_CATALOGUE", "catalogue/engines", 1), 0);
    assert_false(catalogue_find(f->arena, NULL, &found, &f->error));
    assert_error_prints(&f->error, "windtunnel: error: the catalogue \"catalogue/engines\" that "
                                   "WINDTUNNEL_CATALOGUE names is not a directory\n");
    sim_error_clear(&f->error);
    assert_int_equal(setenv("WINDTUNNEL_CATALOGUE", "", 1), 0);
    assert_true(catalogue_find(f->arena, NULL, &found, &f->error));

    assert_false(catalogue_find(f->arena, "catalogue/wheels/oak.yaml", &found, &f->error));
    assert_error_prints(&f->error,
                        "windtunnel: error: the catalogue \"catalogue/wheels/oak.yaml\" is not a directory\n"
                        "  hint: a catalogue is a directory that holds gpus, kernels, nodes, link_costs, "
                        "nics, nic_costs, switches, "
                        "cables, systems, "
                        "llms, collectives\n");
    unsetenv("WINDTUNNEL_CATALOGUE");
}

// ---- a catalogue in a temporary directory, which becomes the current one

static void *place; // not the group's state, which would stand in for that of each row

static int write_catalogue(void **state)
{
    (void)state;
    if (scratch_enter(&place) != 0) return -1;
    for (size_t i = 0; i < ARRAY_COUNT(files); i++)
        scratch_write(files[i].path, files[i].text);
    return 0;
}

static int remove_catalogue(void **state)
{
    (void)state;
    return scratch_leave(&place);
}

int main(void)
{
    enum { FIRST = 9, ROWS = ARRAY_COUNT(refusals) };
    struct CMUnitTest tests[FIRST + ROWS] = {
        cmocka_unit_test_setup_teardown(a_name_is_looked_up, begin, end),
        cmocka_unit_test_setup_teardown(a_mapping_is_the_part, begin, end),
        cmocka_unit_test_setup_teardown(a_base_of_the_catalogue_keeps_its_sources, begin, end),
        cmocka_unit_test_setup_teardown(an_override_takes_no_source, begin, end),
        cmocka_unit_test_setup_teardown(a_base_may_be_only_assumed, begin, end),
        cmocka_unit_test_setup_teardown(a_part_of_a_base_is_overridden_by_key, begin, end),
        cmocka_unit_test_setup_teardown(a_mapping_covers_the_parts_in_it, begin, end),
        cmocka_unit_test_setup_teardown(a_catalogue_without_the_folder, begin, end),
        cmocka_unit_test_setup_teardown(names_are_sorted, begin, end),
        cmocka_unit_test_setup_teardown(the_catalogue_is_found, begin, end),
    };
    for (size_t i = 0; i < ROWS; i++)
        tests[FIRST + i] = (struct CMUnitTest){ .name = refusals[i].name,
                                                .test_func = refused,
                                                .initial_state = (void *)&refusals[i] };
    return cmocka_run_group_tests_name("part", tests, write_catalogue, remove_catalogue);
}
