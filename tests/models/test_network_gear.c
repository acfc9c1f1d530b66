// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/hardware/network_gear.h"
#include "tests/support/text.h"

struct ratio_case {
    const char *name;
    transport_kind kind;
    uint64_t mtu_bytes;
    double want;
};
static const struct ratio_case ratio_cases[] = {
    { "InfiniBand, 4096: 26 bytes of headers", TRANSPORT_INFINIBAND, 4096, 0.993692382 },
    { "InfiniBand, 256", TRANSPORT_INFINIBAND, 256, 0.907801418 },
    { "RoCE, 4096: 82 bytes; 392 of 400 Gb/s were measured", TRANSPORT_ROCE, 4096, 0.980373384 },
    { "RoCE, 1024", TRANSPORT_ROCE, 1024, 0.925858951 },
    { "TCP, 9000: 8948 of 9038", TRANSPORT_TCP, 9000, 0.990042045 },
    { "TCP, 1500: 1448 of 1538", TRANSPORT_TCP, 1500, 0.941482445 },
};

static void payload_is_what_headers_leave(void **state)
{
    const struct ratio_case *c = *state;
    assert_near(transport_payload_ratio(c->kind, c->mtu_bytes), c->want, 1e-9);
}

static void mtus_are_those_there_are(void **state)
{
    (void)state;
    static const uint64_t rows[][2] = { { 1, 256 },     { 383, 256 },   { 384, 512 },  { 1500, 1024 },
                                        { 1536, 2048 }, { 4096, 4096 }, { 9000, 4096 } };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        assert_int_equal(transport_nearest_mtu_bytes(TRANSPORT_INFINIBAND, rows[i][0]), rows[i][1]);
        assert_int_equal(transport_nearest_mtu_bytes(TRANSPORT_ROCE, rows[i][0]), rows[i][1]);
    }
    assert_int_equal(transport_nearest_mtu_bytes(TRANSPORT_TCP, 575), 576);
    assert_int_equal(transport_nearest_mtu_bytes(TRANSPORT_TCP, 1501), 1501);
    assert_int_equal(transport_nearest_mtu_bytes(TRANSPORT_TCP, 65536), 9216);
    for (transport_kind kind = TRANSPORT_INFINIBAND; kind <= TRANSPORT_TCP; kind++) {
        const uint64_t mtu = transport_default_mtu_bytes(kind);
        assert_int_equal(transport_nearest_mtu_bytes(kind, mtu), mtu);
    }
}

typedef struct holder {
    cable_set_def set;
} holder;
static const bind_row holder_binds[] = { BIND_PART(holder, set, "set", "cables", cable_set_binds), BIND_END };

static bool read_set(arena *a, const char *text, holder *out, sim_error *error)
{
    document doc;
    bind_reader *reader = bind_reader_create(a, NULL, NULL);
    return document_parse(a, "s.yaml", text, strlen(text), NULL, &doc, error) &&
           bind_read(reader, holder_binds, doc.root, "", out, error);
}

static void cables_are_of_the_first_kind_that_reaches(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    holder h;
    assert_true(read_set(a,
                         "set: { kinds: [{ name: short, reach: 3 m, end_delay: 0 ns },\n"
                         "  { name: long, reach: 90 m, end_delay: 41 ns }] }\n",
                         &h, &error));
    assert_string_equal(cable_kind_for(&h.set, 0.0)->name, "short");
    assert_string_equal(cable_kind_for(&h.set, 3.0)->name, "short");
    assert_string_equal(cable_kind_for(&h.set, 3.1)->name, "long");
    assert_null(cable_kind_for(&h.set, 90.1));
    assert_int_equal(cable_delay_ps(cable_kind_for(&h.set, 2.0), 2.0), 10000);
    assert_int_equal(cable_delay_ps(cable_kind_for(&h.set, 31.0), 31.0), 155000 + 82000);
    arena_destroy(a);
}

static void sets_of_cables_are_refused(void **state)
{
    (void)state;
    arena *a = arena_create("test");
    sim_error error = { 0 };
    holder h;
    assert_false(read_set(a, "set: { kinds: [] }\n", &h, &error));
    assert_error_prints(&error, "s.yaml:1:15: error: a set of cables has at least one kind\n"
                                "    1 | set: { kinds: [] }\n"
                                "      |               ^\n");
    sim_error_clear(&error);
    assert_false(read_set(a,
                          "set:\n  kinds:\n    - { name: b, reach: 9 m, end_delay: 0 ns }\n"
                          "    - { name: c, reach: 9 m, end_delay: 0 ns }\n",
                          &h, &error));
    assert_error_prints(&error,
                        "s.yaml:4:7: error: the kinds of cable must be listed by rising reach: c behind b\n"
                        "    4 |     - { name: c, reach: 9 m, end_delay: 0 ns }\n"
                        "      |       ^\n");
    arena_destroy(a);
}

int main(void)
{
    enum { R = ARRAY_COUNT(ratio_cases) };
    struct CMUnitTest tests[R + 3] = {
        [R] = cmocka_unit_test(mtus_are_those_there_are),
        [R + 1] = cmocka_unit_test(cables_are_of_the_first_kind_that_reaches),
        [R + 2] = cmocka_unit_test(sets_of_cables_are_refused),
    };
    for (size_t i = 0; i < R; i++)
        tests[i] = (struct CMUnitTest){ ratio_cases[i].name, payload_is_what_headers_leave, NULL, NULL,
                                        (void *)&ratio_cases[i] };
    return cmocka_run_group_tests_name("network_gear", tests, NULL, NULL);
}
