// SPDX-License-Identifier: GPL-3.0-or-later
// scenarios/README.md lists every key with unit, default and meaning. The list is made from the bind tables, so this test
// makes it anew and compares; with WINDTUNNEL_REWRITE=1 it writes the file's part between the markers instead.
#include "tests/support/marked.h"

#include "models/scenario.h"
#include "sim/array.h"

static const char begin_marker[] = "<!-- keys: begin (made by tests/models/test_keys.c) -->\n";
static const char end_marker[] = "<!-- keys: end -->\n";

static void write_choices(FILE *out, const bind_row *row)
{
    switch (row->type) {
    case BIND_TYPE_BOOL: fputs("true, false", out); break;
    case BIND_TYPE_ENUM:
        for (uint32_t i = 0; row->words[i]; i++)
            if (!bind_word_is_later(row, i)) fprintf(out, "%s%s", i ? ", " : "", row->words[i]);
        break;
    case BIND_TYPE_U32:
    case BIND_TYPE_U64: fputs("whole number", out); break;
    case BIND_TYPE_DOUBLE:
    case BIND_TYPE_TIME:
    case BIND_TYPE_BYTES:
        if (row->unit == UNIT_NONE)
            fputs("number", out);
        else
            fprintf(out, "as in %s", units_example(row->unit));
        break;
    case BIND_TYPE_POINTS: fputs("list of [x, y]", out); break;
    case BIND_TYPE_NUMBERS:
        if (row->unit == UNIT_NONE)
            fputs("number or list of numbers", out);
        else
            fprintf(out, "as in %s, or a list of them", units_example(row->unit));
        break;
    case BIND_TYPE_STRUCT: fputs("mapping", out); break;
    case BIND_TYPE_LIST: fputs("list", out); break;
    case BIND_TYPE_PART: fprintf(out, "name in catalogue/%s, or a mapping", row->folder); break;
    case BIND_TYPE_TEXT:
    case BIND_TYPE_PATH: fputs("text", out); break;
    case BIND_TYPE_END:
    case BIND_TYPE_LATER: break;
    }
}

static void write_default(FILE *out, const bind_row *row)
{
    if (row->required)
        fputs("required", out);
    else if (row->default_text)
        fputs(row->default_text, out);
    else if (row->has_default && row->type == BIND_TYPE_BOOL)
        fputs(row->default_number != 0.0 ? "true" : "false", out);
    else if (row->has_default && row->type == BIND_TYPE_ENUM)
        fputs(row->words[(int)row->default_number], out);
    else if (row->has_default)
        fprintf(out, "%g", row->default_number);
}

static void write_key(void *owner, const char *path, const bind_row *row)
{
    FILE *out = owner;
    if (row->type == BIND_TYPE_LATER) return;
    fprintf(out, "| `%s` | ", path);
    write_choices(out, row);
    fputs(" | ", out);
    write_default(out, row);
    fprintf(out, " | %s |\n", row->note ? row->note : "");
}

static void write_later(void *owner, const char *path, const bind_row *row)
{
    FILE *out = owner;
    if (row->type == BIND_TYPE_LATER) fprintf(out, " `%s`", path);
    for (uint32_t i = 0; row->type == BIND_TYPE_ENUM && row->words[i]; i++)
        if (bind_word_is_later(row, i)) fprintf(out, " `%s: %s`", path, row->words[i]);
}

static char *make_list(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = os_open_memory(&text, &length);
    assert_non_null(out);
    fputs("| key | value | default | what |\n| --- | --- | --- | --- |\n", out);
    bind_list_keys(scenario_binds, "", write_key, out);
    fputs("\nRefused until their model is built:", out);
    bind_list_keys(scenario_binds, "", write_later, out);
    fputs(".\n", out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void every_key_stands_in_the_readme(void **state)
{
    (void)state;
    char *list = make_list();
    assert_marked_part("scenarios/README.md", begin_marker, end_marker, list);
    free(list);
}

static void check_note(void *owner, const char *path, const bind_row *row)
{
    (void)owner;
    if (!row->note || !*row->note) fail_msg("key %s has no note", path);
}

static void every_key_says_what_it_is(void **state)
{
    (void)state;
    bind_list_keys(scenario_binds, "", check_note, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_stands_in_the_readme),
        cmocka_unit_test(every_key_says_what_it_is),
    };
    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
