// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/field_rule.h"
#include "sim/units.h"
#include "sim/words.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

bool field_goes_on(const char *text, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && !isalnum((unsigned char)text[length]) && text[length];
}

static bool is_word(const field_rule *rule, const char *text)
{
    for (const char *const *w = rule->words; *w; w++)
        if (strcmp(*w, text) == 0) return true;
    for (const char *const *w = rule->open; w && *w; w++)
        if (field_goes_on(text, *w)) return true;
    return false;
}

static bool check_word(const field_rule *rule, const char *column, const csv_field *field, sim_error *error)
{
    char shown[WORDS_SHOWN_SIZE];
    uint32_t count = 0;
    if (is_word(rule, field->text)) return true;
    while (rule->words[count])
        count++;
    sim_fail(error, SIM_EXIT_INPUT, &field->place, "%s cannot be \"%s\"", column,
             words_show(shown, field->text));
    return words_hint(error, field->text, rule->words, count, count, "one of");
}

static bool fail_number(const field_rule *rule, const char *column, const csv_field *field, const char *why,
                        sim_error *error)
{
    char shown[WORDS_SHOWN_SIZE];
    sim_fail(error, SIM_EXIT_INPUT, &field->place, "%s cannot be \"%s\": %s", column,
             words_show(shown, field->text), why);
    return sim_hint(error, "%s from %.7g to %.7g, or nothing where it is not published",
                    rule->kind == FIELD_COUNT ? "a whole number" : "a number", rule->least, rule->greatest);
}

static bool check_number(const field_rule *rule, const char *column, const csv_field *field, double *value,
                         sim_error *error)
{
    sim_error unread = { 0 };
    char why[64];
    const bool share = strchr(field->text, '%') != NULL && !rule->is_share; // of nothing
    if (share || !units_parse(UNIT_NONE, field->text, value, NULL, &unread))
        return fail_number(rule, column, field, "that is no number", error);
    if (!(*value >= rule->least && *value <= rule->greatest)) {
        const bool below = *value < rule->least;
        snprintf(why, sizeof why, below ? "the least is %.7g" : "the greatest is %.7g",
                 below ? rule->least : rule->greatest);
        return fail_number(rule, column, field, why, error);
    }
    if (rule->kind == FIELD_NUMBER || *value == floor(*value)) return true;
    snprintf(why, sizeof why, "that is no whole number, the nearest is %.0f", round(*value));
    return fail_number(rule, column, field, why, error);
}

bool field_rule_read(arena *a, const field_rule *rule, const char *column, const csv_field *field,
                     const char **text, sim_error *error)
{
    double value;
    *text = field->text;
    if (!*field->text || rule->kind == FIELD_TEXT) return true;
    if (rule->kind == FIELD_WORD) return check_word(rule, column, field, error);
    if (!check_number(rule, column, field, &value, error)) return false;
    if (rule->kind == FIELD_COUNT) *text = arena_format(a, "%.0f", value);
    return true;
}
