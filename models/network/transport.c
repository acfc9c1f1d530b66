// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/network/transport.h"
#include "sim/check.h"
#include <math.h>

const char *const recovery_words[] = { "go-back-n", "selective-repeat", "tcp", NULL };

//     N = ceil(min(W, R C / MTU, S / MTU))   [packets]   R: round trip [s]   C [B/s]   W: window [packets]   S: message [B]
double transport_packets_in_flight(const transport_terms *t, const transport_way *w)
{
    const double packet_bytes = (double)t->payload_bytes;
    double packets = fmin(w->round_trip_s * w->rate_Bps, (double)w->bytes) / packet_bytes;
    if (t->window_bytes > 0) packets = fmin(packets, (double)t->window_bytes / packet_bytes);
    return fmax(ceil(packets), 1.0);
}

// Selective repeat and TCP: every packet is sent 1 / (1 - p) times.
//     eta = 1 - p
// Go-back-N: each loss also costs the N - 1 packets behind it, which the receiver throws away.
//     eta = (1 - p) / (1 + (N - 1) p)
// Bertsekas, Gallager: Data Networks, 2nd edition 1992, section 2.4 and problem 2.27. Holds for independent losses, one
// negative acknowledgement for each, and receivers that send it at once; NICs whose slow path takes longer do worse.
double transport_efficiency(const transport_terms *t, const transport_way *w)
{
    SIM_ASSERT(w->loss >= 0.0 && w->loss < 1.0);
    if (t->recovery != RECOVERY_GO_BACK_N) return 1.0 - w->loss;
    const double packets = transport_packets_in_flight(t, w);
    return (1.0 - w->loss) / (1.0 + (packets - 1.0) * w->loss);
}

// A window of W bytes is acknowledged once in a round trip. The first goes at once and each other one a round trip after the
// one before it, so that only what is longer than a window waits at all:
//     x = S / (floor((S - 1) / W) R + ((S - 1) mod W + 1) / C)     without end W / R
static double windowed_Bps(const transport_terms *t, const transport_way *w)
{
    const uint64_t window = t->window_bytes;
    if (window == 0 || w->bytes <= window || (double)window >= w->rate_Bps * w->round_trip_s)
        return w->rate_Bps;
    if (w->bytes == TRANSPORT_ENDLESS) return (double)window / w->round_trip_s;
    const double round_trips = (double)((w->bytes - 1) / window),
                 rest = (double)((w->bytes - 1) % window + 1);
    return (double)w->bytes / (round_trips * w->round_trip_s + rest / w->rate_Bps);
}

double transport_goodput_Bps(const transport_terms *t, const transport_way *w)
{
    const double most_Bps = windowed_Bps(t, w);
    if (w->loss == 0.0) return most_Bps;
    const double efficient_Bps = most_Bps * transport_efficiency(t, w);
    if (t->recovery != RECOVERY_TCP || w->round_trip_s <= 0.0) return efficient_Bps;
    // Linux runs CUBIC, which is never slower than Reno would be (RFC 9438, section 4.3).
    const double mss_bytes = (double)t->payload_bytes, timeout_s = units_s_from_ps(t->timeout_ps);
    const double reno_Bps = tcp_pftk_Bps(w->loss, w->round_trip_s, timeout_s, mss_bytes);
    return fmin(efficient_Bps, fmax(reno_Bps, tcp_cubic_Bps(w->loss, w->round_trip_s, mss_bytes)));
}

enum { PACKETS_PER_ACKNOWLEDGEMENT = 2 }; // b: delayed acknowledgements, RFC 9293 section 3.8.6.3

//     x = MSS / (R sqrt(2 b p / 3) + T0 min(1, 3 sqrt(3 b p / 8)) p (1 + 32 p^2))
// Padhye, Firoiu, Towsley, Kurose: "Modeling TCP throughput", SIGCOMM 1998, equation 33 without the window. T0: timeout. With
// T0 = 0 it is x = MSS / R sqrt(3 / (2 b p)): Mathis, Semke, Mahdavi, Ott: "The macroscopic behavior of the TCP congestion
// avoidance algorithm", CCR 27(3), 1997.
double tcp_pftk_Bps(double loss, double round_trip_s, double timeout_s, double mss_bytes)
{
    const double b = PACKETS_PER_ACKNOWLEDGEMENT, p = loss;
    const double of_timeouts = fmin(1.0, 3.0 * sqrt(3.0 * b * p / 8.0)) * p * (1.0 + 32.0 * p * p);
    return mss_bytes / (round_trip_s * sqrt(2.0 * b * p / 3.0) + timeout_s * of_timeouts);
}

//     x = MSS / R (C (3 + beta) / (4 (1 - beta)))^(1/4) (R / p)^(3/4)     C = 0.4 [packets/s^3]   beta = 0.7
// RFC 9438, section 5.1, equation 6.
double tcp_cubic_Bps(double loss, double round_trip_s, double mss_bytes)
{
    const double scale = 0.4, factor = 0.7;
    const double window = pow(scale * (3.0 + factor) / (4.0 * (1.0 - factor)), 0.25) *
                          pow(round_trip_s / loss, 0.75);
    return mss_bytes / round_trip_s * window;
}

// ---- links

//     e = 1 - (1 - BER)^bits     bit errors independent; bursts damage fewer frames
double frame_error_ratio(double bit_error_rate, uint64_t frame_bytes)
{
    return -expm1(8.0 * (double)frame_bytes * log1p(-bit_error_rate));
}

//     goodput = (1 - e) / (1 + e r / tau)     r: round trip of the link [s]   tau: of a frame on the wire [s]
// Go-back-N on the link itself: a good frame takes 1 + e / (1 - e) (1 + r / tau) frame times.
double link_retry_goodput(double frame_error, double link_round_trip_s, double frame_time_s)
{
    return (1.0 - frame_error) / (1.0 + frame_error * link_round_trip_s / frame_time_s);
}

//     d = e / (1 - e) (r + tau)
double link_retry_delay_s(double frame_error, double link_round_trip_s, double frame_time_s)
{
    return frame_error / (1.0 - frame_error) * (link_round_trip_s + frame_time_s);
}
