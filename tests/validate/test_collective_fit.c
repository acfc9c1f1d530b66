// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers of classes of links and NICs from measured collectives: what is put in comes out, the catalogue's are those of a fit,
// and only their lines change.
#include "tests/support/scratch.h"

#include "validate/collective_fit.h"
#include <math.h>

static void read_published(arena *a, cost_data *out)
{
    sim_error error = { 0 };
    const catalogue parts = { "models/catalogue" };
    assert_int_equal(unsetenv("WINDTUNNEL_VALIDATE"), 0);
    if (!collective_fit_read(a, "validate/measured", &parts, out, &error)) fail_msg("%s", error.message);
}

static uint32_t number_of(const cost_data *data, const char *class, const char *key)
{
    const uint32_t c = cost_files_class(&data->files, true, class);
    for (uint32_t n = 0; n < data->files.numbers.count; n++) {
        const cost_number *number = &data->files.numbers.items[n];
        if (number->class == c && strcmp(cost_fields[number->field].key, key) == 0) return n;
    }
    fail_msg("%s has no %s", class, key);
    return NO_ID;
}

// Times that the model itself gives with other numbers, as if they had been measured.
static void what_is_put_in_comes_out(void **state)
{
    static const struct {
        const char *key;
        double us;
    } put[] = { { "entry", 5.5 },          { "ll.tree", 4.25 },           { "line", 0.011 },
                { "rendezvous.hop", 9.0 }, { "rendezvous.thread", 6.25 }, { "simple.tree", 20.0 } };
    arena *a = arena_create("fit");
    cost_data data;
    (void)state;
    read_published(a, &data);
    for (uint32_t i = 0; i < data.setups.count; i++)
        for (size_t k = 0; k < ARRAY_COUNT(put); k++) {
            const uint32_t n = number_of(&data, "slingshot", put[k].key);
            cost_setup *s = data.setups.items[i];
            if (s->nic_class == data.files.numbers.items[n].class)
                cost_field_set(&cost_fields[data.files.numbers.items[n].field], &s->nic, put[k].us * 1e-6);
        }
    for (uint32_t i = 0; i < data.points.count; i++)
        data.points.items[i].measured_s = collective_fit_predict_s(&data.points.items[i]);
    const collective_fit_options options = { .only = "slingshot" };
    const cost_fit *fits = collective_fit_all(a, &data, &options);
    for (size_t k = 0; k < ARRAY_COUNT(put); k++) {
        const cost_fit *fit = &fits[number_of(&data, "slingshot", put[k].key)];
        assert_true(fit->fitted);
        assert_near(fit->value * 1e6, put[k].us, 0.003);
        assert_true(fit->low <= fit->value && fit->value <= fit->high);
        assert_string_equal(fit->runs, "alps-*");
    }
    arena_destroy(a);
}

// With the numbers of links in the files: fitted alone a NIC has the file that the catalogue has.
static void the_catalogue_has_what_is_fitted(void **state)
{
    static const char *const classes[] = { "slingshot", "tcpxo" };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(classes); i++) {
        arena *a = arena_create("fit");
        cost_data data;
        read_published(a, &data);
        const collective_fit_options options = { .only = classes[i] };
        const uint32_t class = cost_files_class(&data.files, true, classes[i]);
        const char *text = cost_files_text(a, &data.files, class, collective_fit_all(a, &data, &options));
        assert_string_equal(text, data.files.classes.items[class].text);
        assert_true(collective_fit_is_asked(&data.files, classes[i], class));
        assert_false(collective_fit_is_asked(&data.files, classes[i],
                                             cost_files_class(&data.files, false, "nvlink4")));
        arena_destroy(a);
    }
}

// ---- files

static const char base_text[] = "name: base\n"
                                "entry: 4 us # of a launch\n"
                                "ll:\n"
                                "  ring: { value: 2 us, source: \"the library\", grade: vendor }\n"
                                "  tree: 5 us\n";

static bool read_files(arena *a, const char *kin_text, cost_files *out, sim_error *error)
{
    const catalogue parts = { "parts" };
    scratch_write("parts/link_costs/link.yaml", "name: link\n");
    scratch_write("parts/nic_costs/base.yaml", base_text);
    scratch_write("parts/nic_costs/a-kin.yaml", kin_text);
    return cost_files_read(a, &parts, out, error);
}

static void only_fitted_lines_change(void **state)
{
    arena *a = arena_create("fit");
    sim_error error = { 0 };
    cost_files files;
    (void)state;
    if (!read_files(a, "base: base\nname: a-kin\nline: 3 ns\n", &files, &error))
        fail_msg("%s", error.message);
    // A base stands before who is based on it; what a vendor states is not sought.
    assert_int_equal(files.classes.count, 3);
    const uint32_t base = cost_files_class(&files, true, "base"),
                   kin = cost_files_class(&files, true, "a-kin");
    assert_int_equal(base, 1);
    assert_int_equal(files.classes.items[kin].base, base);
    assert_int_equal(cost_files_class(&files, false, "base"), NO_ID);
    assert_int_equal(files.numbers.count, 3);
    const cost_number *entry = &files.numbers.items[0], *tree = &files.numbers.items[1],
                      *line = &files.numbers.items[2];
    assert_string_equal(cost_fields[entry->field].key, "entry");
    assert_string_equal(cost_fields[tree->field].key, "ll.tree");
    assert_string_equal(cost_fields[line->field].key, "line");
    // The kin has its base's entry and its own line; the base has no line.
    assert_int_equal(cost_files_number(&files, kin, entry->field), 0);
    assert_int_equal(cost_files_number(&files, kin, line->field), 2);
    assert_int_equal(cost_files_number(&files, base, line->field), NO_ID);
    const cost_fit fits[] = { { .value = 4e-6 },
                              { true, 5.4321987e-6, 5.1e-6, 6e-6, "runs-*" },
                              { true, 2.5e-9, 2e-9, 3e-9, "one, two" } };
    assert_string_equal(cost_files_text(a, &files, base, fits),
                        "name: base\n"
                        "entry: 4 us # of a launch\n"
                        "ll:\n"
                        "  ring: { value: 2 us, source: \"the library\", grade: vendor }\n"
                        "  tree: { value: 5.4322 us, source: \"collectives.csv, fitted by "
                        "validate/fit_collectives: runs-*\", grade: measured } # [5.1, 6]\n");
    assert_string_equal(cost_files_text(a, &files, kin, fits),
                        "base: base\nname: a-kin\n"
                        "line: { value: 2.5 ns, source: \"collectives.csv, fitted by "
                        "validate/fit_collectives: one, two\", grade: measured } # [2, 3]\n");
    arena_destroy(a);
}

static void a_number_among_others_is_refused(void **state)
{
    arena *a = arena_create("fit");
    sim_error error = { 0 };
    cost_files files;
    (void)state;
    assert_false(read_files(a, "base: base\nname: a-kin\nll: { tree: 3 us }\n", &files, &error));
    assert_string_equal(error.message, "\"ll.tree\" does not stand alone on its line");
    assert_string_equal(error.hint, "a fitted number is written over its line");
    const catalogue nowhere = { "nowhere" };
    error = (sim_error){ 0 };
    assert_false(cost_files_read(a, &nowhere, &files, &error));
    assert_string_equal(error.message, "nowhere has no costs of links and NICs");
    arena_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_in_comes_out),
        cmocka_unit_test(the_catalogue_has_what_is_fitted),
        cmocka_unit_test_setup_teardown(only_fitted_lines_change, scratch_enter, scratch_leave),
        cmocka_unit_test_setup_teardown(a_number_among_others_is_refused, scratch_enter, scratch_leave),
    };
    return cmocka_run_group_tests_name("collective_fit", tests, NULL, NULL);
}
