// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "validate/collective_score.h"
#include <math.h>

static void bands_part_all_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        size_band want;
    } cases[] = {
        { 8, BAND_FLOOR },           { 32768, BAND_FLOOR },
        { 32769, BAND_LOW },         { 65535, BAND_LOW },
        { 65536, BAND_MIDDLE },      { 67108864, BAND_MIDDLE },
        { 67108865, BAND_UPPER },    { 268435455, BAND_UPPER },
        { 268435456, BAND_PLATEAU }, { UINT64_MAX, BAND_PLATEAU },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        assert_int_equal(size_band_of(cases[i].bytes), cases[i].want);
}

static collective_point point_of(const char *algorithm, uint64_t bytes, double measured_s, double simulated_s)
{
    return (collective_point){ .run = "r",
                               .collective = "all_reduce",
                               .algorithm = algorithm,
                               .compare = "c",
                               .class = CLASS_ROCE,
                               .ranks = 16,
                               .bytes = bytes,
                               .measured_s = measured_s,
                               .simulated_s = simulated_s,
                               .reason = "" };
}

static void errors_are_logarithms(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    collective_point_array points = { 0 };
    *array_push(&points, a) = point_of("ring", 8, 1.0, 1.06);       // + 0.058269
    *array_push(&points, a) = point_of("ring", 8, 1.0, 1.0 / 1.06); // - 0.058269
    *array_push(&points, a) = point_of("ring", 8, 1.0, 1.14);       // + 0.131028
    *array_push(&points, a) = point_of("ring", 8, 2.0, 4.0);        // + 0.693147
    *array_push(&points, a) = point_of("ring", 1 << 20, 1.0, 1.25); // + 0.223144
    *array_push(&points, a) = point_of("ring", 8, 1.0, 100.0);
    points.items[3].is_fit = true;
    points.items[5].status = POINT_UNKNOWN;
    assert_near(collective_point_error(&points.items[3]), 0.6931471806, 1e-9);
    assert_true(isnan(collective_point_error(&points.items[5])));

    const point_score floor = collective_score(a, &points,
                                               &(point_choice){ .class = -1, .band = BAND_FLOOR });
    assert_int_equal(floor.n, 4);
    assert_near(floor.mean, 0.2351783, 1e-6);   // (2 x 0.0582689 + 0.1310283 + 0.6931472) / 4
    assert_near(floor.bias, 0.2060439, 1e-6);   // (0.1310283 + 0.6931472) / 4
    assert_near(floor.median, 0.0946486, 1e-6); // (0.0582689 + 0.1310283) / 2
    assert_near(floor.within[0], 0.5, 1e-12);
    assert_near(floor.within[1], 0.75, 1e-12);
    assert_near(floor.within[2], 0.75, 1e-12);

    const point_score fit = collective_score(
        a, &points, &(point_choice){ .class = CLASS_ROCE, .band = -1, .role = ROLE_FIT_ONLY });
    assert_int_equal(fit.n, 1);
    const point_score held = collective_score(
        a, &points, &(point_choice){ .class = CLASS_ROCE, .band = -1, .role = ROLE_HELD_ONLY });
    assert_int_equal(held.n, 4);
    const point_choice none[] = { { .class = CLASS_RACK, .band = -1 },
                                  { .class = -1, .band = BAND_UPPER },
                                  { .class = -1, .band = -1, .collective = "sendrecv" } };
    for (size_t i = 0; i < ARRAY_COUNT(none); i++) {
        const point_score s = collective_score(a, &points, &none[i]);
        assert_int_equal(s.n, 0);
        assert_true(isnan(s.mean) && isnan(s.bias) && isnan(s.median) && isnan(s.within[0]));
    }
    arena_destroy(a);
}

static void aims_are_of_shares_and_means(void **state)
{
    (void)state;
    const band_aim *floor = &band_aims[0], *middle = &band_aims[1], *plateau = &band_aims[2];
    assert_int_equal(floor->band, BAND_FLOOR);
    assert_int_equal(plateau->band, BAND_PLATEAU);
    assert_true(band_aim_reached(floor, &(point_score){ .within = { 0.1, 0.9, 0.9 }, .mean = 1.0 }));
    assert_false(band_aim_reached(floor, &(point_score){ .within = { 0.1, 0.89, 1.0 } }));
    assert_true(band_aim_reached(middle, &(point_score){ .within = { 0, 0, 0.8 }, .mean = 0.15 }));
    assert_false(band_aim_reached(middle, &(point_score){ .within = { 0, 0, 0.8 }, .mean = 0.16 }));
    assert_false(band_aim_reached(middle, &(point_score){ .within = { 0, 0, 0.79 }, .mean = 0.1 }));
    assert_true(band_aim_reached(plateau, &(point_score){ .within = { 0.8, 0.95, 1 } }));
    assert_false(band_aim_reached(plateau, &(point_score){ .within = { 0.8, 0.94, 1 } }));
    assert_false(band_aim_reached(plateau, &(point_score){ .within = { 0.79, 0.95, 1 } }));
    assert_near(band_miss_factor(BAND_PLATEAU), 1.15, 1e-12);
    assert_near(band_miss_factor(BAND_MIDDLE), 1.3, 1e-12);
}

static void pairs_are_of_one_system_and_size(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    collective_point_array points = { 0 };
    order_pair_array wrong = { 0 };
    *array_push(&points, a) = point_of("ring", 1024, 10.0, 10.0);
    *array_push(&points, a) = point_of("tree", 1024, 20.0, 30.0);
    *array_push(&points, a) = point_of("nvls", 1024, 10.2, 5.0); // as fast as the ring, but for noise
    *array_push(&points, a) = point_of("sharp", 1024, 5.0, (double)NAN);
    *array_push(&points, a) = point_of("tree", 1024, 1.0, 1.0); // of another system
    *array_push(&points, a) = point_of("tree", 2048, 1.0, 1.0); // of another size
    *array_push(&points, a) = point_of("ring", 2048, 3.0, 0.5);
    points.items[3].status = POINT_UNKNOWN;
    points.items[4].compare = "";
    const order_score s = collective_order(a, &points, &wrong);
    // right: ring and tree, nvls and tree; wrong: tree and ring of 2048; not played: three with sharp
    assert_int_equal(s.pairs, 3);
    assert_int_equal(s.pairs_right, 2);
    assert_int_equal(s.not_played, 3);
    assert_int_equal(wrong.count, 1);
    assert_int_equal(wrong.items[0].faster, 5);
    assert_int_equal(wrong.items[0].slower, 6);
    // of 1024 nvls is simulated to be the fastest, 10.2 of 10.0 as measured; of 2048 the ring, 3 of 1
    assert_int_equal(s.cells, 2);
    assert_int_equal(s.cells_right, 1);
    arena_destroy(a);
}

static void equal_times_are_no_order(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    collective_point_array points = { 0 };
    *array_push(&points, a) = point_of("ring", 1024, 10.0, 10.0);
    *array_push(&points, a) = point_of("auto", 1024, 20.0, 10.0);
    *array_push(&points, a) = point_of("ring", 1024, 30.0,
                                       40.0); // the same algorithm is no pair with the first
    const order_score s = collective_order(a, &points, NULL);
    assert_int_equal(s.pairs, 2);
    assert_int_equal(s.pairs_right, 1);
    arena_destroy(a);
}

static void faults_are_in_no_pair(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    collective_point_array points = { 0 };
    *array_push(&points, a) = point_of("ring", 1024, 10.0, 10.0);
    *array_push(&points, a) = point_of("tree", 1024, 20.0, (double)NAN);
    points.items[1].status = POINT_FAULT;
    const order_score s = collective_order(a, &points, NULL);
    assert_int_equal(s.pairs + s.not_played + s.cells, 0);
    arena_destroy(a);
}

static void classes_have_words_and_titles(void **state)
{
    (void)state;
    for (int c = 0; c < COLLECTIVE_CLASSES; c++)
        assert_true(collective_class_words[c] && *collective_class_title((collective_class)c));
    assert_null(collective_class_words[COLLECTIVE_CLASSES]);
    assert_null(size_band_words[SIZE_BANDS]);
    assert_null(point_role_words[POINT_ROLES]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bands_part_all_sizes),          cmocka_unit_test(errors_are_logarithms),
        cmocka_unit_test(aims_are_of_shares_and_means),  cmocka_unit_test(pairs_are_of_one_system_and_size),
        cmocka_unit_test(equal_times_are_no_order),      cmocka_unit_test(faults_are_in_no_pair),
        cmocka_unit_test(classes_have_words_and_titles),
    };
    return cmocka_run_group_tests_name("collective_score", tests, NULL, NULL);
}
