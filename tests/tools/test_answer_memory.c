// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"
#include "tests/support/text.h"
#include "tools/answer.h"

static int start(void **state)
{
    *state = arena_create("test");
    return *state ? 0 : -1;
}

static int finish(void **state)
{
    arena_destroy(*state);
    return 0;
}

// Stages that need so many MiB of parameters and nothing else, on a GPU of 1 GiB.
static stage_memory stages(arena *a, const uint32_t *MiB, uint32_t count)
{
    stage_memory m = { .of_stage = arena_array(a, memory_need, count), .stages = count };
    for (uint32_t stage = 0; stage < count; stage++) {
        memory_need *need = &m.of_stage[stage];
        need->bytes[MEMORY_PARAMETERS] = need->total_bytes = (uint64_t)MiB[stage] << 20;
        if (need->total_bytes > m.of_stage[m.fullest].total_bytes) m.fullest = stage;
    }
    return m;
}

static const scenario chip = { .cluster.node.gpu = { .name = "chip", .memory_bytes = 1 << 30 } };

// Without the rows of zeros between the parameters and the total.
static void assert_table(arena *a, const stage_memory *m, const char *want)
{
    char text[4096], shown[4096] = "";
    FILE *stream = tmpfile();
    answer_memory(a, &chip, m, stream);
    text_read_back(stream, text, sizeof(text));
    char *behind = strstr(text, "gradients"), *total = strstr(text, "total");
    assert_non_null(behind);
    assert_non_null(total);
    *behind = 0;
    snprintf(shown, sizeof(shown), "%s%s", text, total);
    assert_string_equal(shown, want);
}

static void equal_neighbours_share_a_column(void **state)
{
    static const uint32_t MiB[] = { 700, 650, 650, 650, 690, 650 };
    const stage_memory m = stages(*state, MiB, 6);
    assert_table(*state, &m,
                 "memory of a GPU        stage 0 *  stages 1-3    stage 4    stage 5\n"
                 "parameters             700.0 MiB   650.0 MiB  690.0 MiB  650.0 MiB\n"
                 "total                  700.0 MiB   650.0 MiB  690.0 MiB  650.0 MiB\n"
                 "share                     68.4 %      63.5 %     67.4 %     63.5 %\n"
                 "* the fullest; chip has 1.000 GiB\n");
    static const uint32_t equal[] = { 512, 512 };
    const stage_memory alike = stages(*state, equal, 2);
    assert_table(*state, &alike,
                 "memory of a GPU        stages 0-1 *\n"
                 "parameters                512.0 MiB\n"
                 "total                     512.0 MiB\n"
                 "share                        50.0 %\n"
                 "* the fullest; chip has 1.000 GiB\n");
}

// As many as 110 characters hold: the eight largest of nine, in the order of the stages; fewer beside a wide title.
static void the_fullest_are_shown(void **state)
{
    static const uint32_t MiB[] = { 104, 101, 108, 103, 107, 102, 106, 109, 105 };
    const stage_memory m = stages(*state, MiB, 9);
    assert_table(*state, &m,
                 "memory of a GPU          stage 0    stage 2    stage 3    stage 4    stage 5    stage 6  "
                 "stage 7 *    stage 8\n"
                 "parameters             104.0 MiB  108.0 MiB  103.0 MiB  107.0 MiB  102.0 MiB  106.0 MiB  "
                 "109.0 MiB  105.0 MiB\n"
                 "total                  104.0 MiB  108.0 MiB  103.0 MiB  107.0 MiB  102.0 MiB  106.0 MiB  "
                 "109.0 MiB  105.0 MiB\n"
                 "share                     10.2 %     10.5 %     10.1 %     10.4 %     10.0 %     10.4 %    "
                 " 10.6 %     10.3 %\n"
                 "* the fullest; chip has 1.000 GiB\n"
                 "1 stage that needs less is left out; --json has all\n");
    static const uint32_t pairs[] = { 109, 109, 108, 107, 106, 105, 104, 103, 102, 102, 101 };
    const stage_memory paired = stages(*state, pairs, 11);
    assert_table(*state, &paired,
                 "memory of a GPU        stages 0-1 *    stage 2    stage 3    stage 4    stage 5    stage 6 "
                 "   stage 7\n"
                 "parameters                109.0 MiB  108.0 MiB  107.0 MiB  106.0 MiB  105.0 MiB  104.0 MiB "
                 " 103.0 MiB\n"
                 "total                     109.0 MiB  108.0 MiB  107.0 MiB  106.0 MiB  105.0 MiB  104.0 MiB "
                 " 103.0 MiB\n"
                 "share                        10.6 %     10.5 %     10.4 %     10.4 %     10.3 %     10.2 % "
                 "    10.1 %\n"
                 "* the fullest; chip has 1.000 GiB\n"
                 "3 stages that need less are left out; --json has all\n");
}

static uint32_t count_of(const char *text, const char *word)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}

// One GPU has no stages; a pipeline tells the fullest, then all.
static void json_has_all_stages(void **state)
{
    static const uint32_t MiB[] = { 512, 1025, 1 };
    for (uint32_t count = 1; count <= 3; count += 2) {
        char text[8192];
        const stage_memory m = stages(*state, MiB, count);
        FILE *stream = tmpfile();
        json_writer j = json_make(stream);
        json_object(&j, NULL);
        answer_memory_json(&j, &chip, &m);
        json_close(&j);
        text_read_back(stream, text, sizeof(text));
        assert_int_equal(count_of(text, "\"total_bytes\": 536870912,"), 1);
        assert_int_equal(count_of(text, "\"total_bytes\": 1074790400,"), count == 1 ? 0 : 2);
        assert_int_equal(count_of(text, "\"total_bytes\": 1048576,"), count == 1 ? 0 : 1);
        assert_int_equal(count_of(text, "\"fits\": false"), count == 1 ? 0 : 2);
        assert_int_equal(count_of(text, "\"stage\": 1,"), count == 1 ? 0 : 1);
        assert_int_equal(count_of(text, "\"stages\": ["), count == 1 ? 0 : 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_neighbours_share_a_column, start, finish),
        cmocka_unit_test_setup_teardown(the_fullest_are_shown, start, finish),
        cmocka_unit_test_setup_teardown(json_has_all_stages, start, finish),
    };
    return cmocka_run_group_tests_name("answer_memory", tests, NULL, NULL);
}
