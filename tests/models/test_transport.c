// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"

#include "models/network/transport.h"
#include "sim/array.h"

// 400 Gb/s and 8 us hold 97.7 packets of 4 KiB.
#define RATE_Bps 50e9
#define ROUND_TRIP_s 8e-6

static transport_terms terms_of(loss_recovery recovery, uint64_t window_bytes)
{
    return (transport_terms){ .recovery = recovery,
                              .payload_bytes = 4096,
                              .wire_bytes = 4178,
                              .window_bytes = window_bytes,
                              .timeout_ps = INT64_C(1000000000) };
}

static transport_way way_of(uint64_t bytes, double loss, double rate_Bps, double round_trip_s)
{
    return (
        transport_way){ .bytes = bytes, .loss = loss, .rate_Bps = rate_Bps, .round_trip_s = round_trip_s };
}

static double in_flight(const transport_terms *t, uint64_t bytes, double round_trip_s)
{
    const transport_way w = way_of(bytes, 0.0, RATE_Bps, round_trip_s);
    return transport_packets_in_flight(t, &w);
}

static double goodput_Bps(const transport_terms *t, double loss, double rate_Bps, double round_trip_s)
{
    const transport_way w = way_of(TRANSPORT_ENDLESS, loss, rate_Bps, round_trip_s);
    return transport_goodput_Bps(t, &w);
}

struct efficiency_case {
    const char *name;
    loss_recovery recovery;
    double loss, want;
};
static const struct efficiency_case efficiency_cases[] = {
    // (1 - p) / (1 + 97 p)
    { "go-back-N, 1e-5", RECOVERY_GO_BACK_N, 1e-5, 0.999020950 },
    { "go-back-N, 1e-4", RECOVERY_GO_BACK_N, 1e-4, 0.990294147 },
    { "go-back-N, 1e-3", RECOVERY_GO_BACK_N, 1e-3, 0.910665451 },
    { "go-back-N, 1e-2", RECOVERY_GO_BACK_N, 1e-2, 0.502538071 },
    { "go-back-N without losses", RECOVERY_GO_BACK_N, 0.0, 1.0 },
    { "selective repeat, 1e-2", RECOVERY_SELECTIVE_REPEAT, 1e-2, 0.99 },
    { "TCP, 3.7e-3", RECOVERY_TCP, 3.7e-3, 0.9963 },
};

static void efficiency_is_what_is_not_sent_again(void **state)
{
    const struct efficiency_case *c = *state;
    const transport_terms t = terms_of(c->recovery, 0);
    const transport_way w = way_of(TRANSPORT_ENDLESS, c->loss, RATE_Bps, ROUND_TRIP_s);
    assert_near(transport_efficiency(&t, &w), c->want, 1e-8);
}

static void packets_in_flight_fill_the_path_or_the_window(void **state)
{
    (void)state;
    const transport_terms wide = terms_of(RECOVERY_GO_BACK_N, 0),
                          narrow = terms_of(RECOVERY_GO_BACK_N, 262144);
    assert_near(in_flight(&wide, TRANSPORT_ENDLESS, ROUND_TRIP_s), 98.0, 0);
    assert_near(in_flight(&narrow, TRANSPORT_ENDLESS, ROUND_TRIP_s), 64.0, 0);
    assert_near(in_flight(&narrow, TRANSPORT_ENDLESS, 1e-6), 13.0, 0); // 12.2
    assert_near(in_flight(&wide, TRANSPORT_ENDLESS, 0.0), 1.0, 0);
    assert_near(in_flight(&narrow, 20481, ROUND_TRIP_s), 6.0, 0); // a message of 5 packets and a byte
    assert_near(in_flight(&wide, 1, ROUND_TRIP_s), 1.0, 0);
}

static void a_window_passes_once_in_a_round_trip(void **state)
{
    (void)state;
    const transport_terms back = terms_of(RECOVERY_GO_BACK_N, 262144),
                          repeat = terms_of(RECOVERY_SELECTIVE_REPEAT, 262144);
    assert_near(goodput_Bps(&back, 0.0, RATE_Bps, ROUND_TRIP_s), 32.768e9, 1e-12); // 2^18 / 8e-6
    assert_near(goodput_Bps(&back, 0.0, 7e9, ROUND_TRIP_s), 7e9, 0);               // the path is slower
    // 64 packets: 32.768e9 x 0.999 / 1.063, and 32.768e9 x 0.999
    assert_near(goodput_Bps(&back, 1e-3, RATE_Bps, ROUND_TRIP_s), 30.795138288e9, 1e-10);
    assert_near(goodput_Bps(&repeat, 1e-3, RATE_Bps, ROUND_TRIP_s), 32.735232e9, 1e-10);
}

// 2^18 B go at once; 600,001 B in 2 round trips and 75,713 B at 50 GB/s: 16e-6 + 1.51426e-6 s.
static void a_message_within_a_window_does_not_wait(void **state)
{
    (void)state;
    const transport_terms t = terms_of(RECOVERY_GO_BACK_N, 262144);
    static const struct {
        uint64_t bytes;
        double want_Bps;
    } rows[] = { { 262144, RATE_Bps }, { 600001, 600001 / 17.51426e-6 }, { 262145, 262145 / 8.00002e-6 } };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const transport_way w = way_of(rows[i].bytes, 0.0, RATE_Bps, ROUND_TRIP_s);
        assert_near(transport_goodput_Bps(&t, &w), rows[i].want_Bps, 1e-9);
    }
}

// MSS 8948 B; worked out with b = 2, T0 = 200 ms.
static void tcp_moves_what_its_papers_say(void **state)
{
    (void)state;
    assert_near(tcp_pftk_Bps(4.6e-5, 90e-3, 0.0, 8948), 1.269507240e7, 1e-9); // Mathis: sqrt(3 / (2 b p))
    assert_near(tcp_pftk_Bps(2.3e-4, 37e-6, 0.2, 8948), 3.636769895e9, 1e-9);
    assert_near(tcp_pftk_Bps(4.6e-5, 90e-3, 0.2, 8948), 1.269215320e7, 1e-9);
    assert_near(tcp_pftk_Bps(0.5, 37e-6, 0.2, 8948), 9.941888502e3, 1e-9); // min(1, ..) is 1
    assert_near(tcp_cubic_Bps(4.6e-5, 90e-3, 8948), 3.082244538e7, 1e-9);
    assert_near(tcp_cubic_Bps(2.3e-4, 37e-6, 8948), 6.473658486e7, 1e-9);
}

// The greater of Reno (with timeouts) and CUBIC, and never more than the path.
static void tcp_is_as_fast_as_cubic_or_reno(void **state)
{
    (void)state;
    transport_terms t = terms_of(RECOVERY_TCP, 0);
    t.payload_bytes = 8948;
    t.timeout_ps = 200 * INT64_C(1000000000);
    assert_near(goodput_Bps(&t, 4.6e-5, 1.25e9, 90e-3), 3.082244538e7, 1e-9);
    assert_near(goodput_Bps(&t, 2.3e-4, 12.5e9, 37e-6), 3.636769895e9, 1e-9);
    assert_near(goodput_Bps(&t, 2.3e-4, 1.25e9, 37e-6), 1.25e9 * 0.99977, 1e-12);
    assert_near(goodput_Bps(&t, 2.3e-4, 1.25e9, 0.0), 1.25e9 * 0.99977, 1e-12);
}

static void frames_are_damaged_bit_by_bit(void **state)
{
    (void)state;
    assert_near(frame_error_ratio(1e-9, 4122), 3.29754563141758e-5, 1e-12); // 1 - (1 - 1e-9)^32976
    assert_near(frame_error_ratio(2.4e-15, 4178), 8.02175999967827e-11, 1e-12);
    assert_near(frame_error_ratio(0.0, 4178), 0.0, 0);
}

// Frames of 4122 B at 400 Gb/s take 82.44 ns; a round trip of 1.1 us.
static void a_link_that_repeats_loses_the_round_trip(void **state)
{
    (void)state;
    assert_near(link_retry_goodput(3.29754563141758e-5, 1.1e-6, 82.44e-9), 0.999527239809, 1e-11);
    assert_near(link_retry_goodput(0.01, 1.1e-6, 82.44e-9), 0.873454623288, 1e-11);
    assert_near(link_retry_goodput(0.0, 1.1e-6, 82.44e-9), 1.0, 0);
    assert_near(link_retry_delay_s(0.01, 1.1e-6, 82.44e-9), 11.94383838e-9, 1e-9);
}

// More losses never help, nor does a longer way.
static void goodput_falls_with_loss_and_distance(void **state)
{
    (void)state;
    for (int recovery = RECOVERY_GO_BACK_N; recovery <= RECOVERY_TCP; recovery++) {
        const transport_terms t = terms_of((loss_recovery)recovery, 1 << 20);
        double before = RATE_Bps;
        for (double loss = 1e-7; loss < 0.9; loss *= 1.7) {
            const double near = goodput_Bps(&t, loss, RATE_Bps, ROUND_TRIP_s);
            assert_true(near <= before && near > 0.0);
            assert_true(goodput_Bps(&t, loss, RATE_Bps, 3 * ROUND_TRIP_s) <= near);
            before = near;
        }
    }
}

int main(void)
{
    struct CMUnitTest tests[ARRAY_COUNT(efficiency_cases) + 8] = {
        cmocka_unit_test(packets_in_flight_fill_the_path_or_the_window),
        cmocka_unit_test(a_window_passes_once_in_a_round_trip),
        cmocka_unit_test(a_message_within_a_window_does_not_wait),
        cmocka_unit_test(tcp_moves_what_its_papers_say),
        cmocka_unit_test(tcp_is_as_fast_as_cubic_or_reno),
        cmocka_unit_test(frames_are_damaged_bit_by_bit),
        cmocka_unit_test(a_link_that_repeats_loses_the_round_trip),
        cmocka_unit_test(goodput_falls_with_loss_and_distance),
    };
    for (size_t i = 0; i < ARRAY_COUNT(efficiency_cases); i++)
        tests[8 + i] = (struct CMUnitTest){ .name = efficiency_cases[i].name,
                                            .test_func = efficiency_is_what_is_not_sent_again,
                                            .initial_state = (void *)&efficiency_cases[i] };
    return cmocka_run_group_tests_name("transport", tests, NULL, NULL);
}
