// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/network/transport.h"
#include "sim/check.h"
#include <math.h>

const char *const recovery_words[] = { "go-back-n", "selective-repeat", "tcp", NULL };

//     N = ceil(min(W, R C / MTU))   [packets]   R: round trip [s]   C [B/s]   W: window [packets]
double transport_packets_in_flight(const transport_terms *t, double rate_Bps, double round_trip_s)
{
    const double packet_bytes = (double)t->payload_bytes;
    double packets = round_trip_s * rate_Bps / packet_bytes;
    if (t->window_bytes > 0) packets = fmin(packets, (double)t->window_bytes / packet_bytes);
    return fmax(ceil(packets), 1.0);
}

// Selective repeat and TCP: every packet is sent 1 / (1 - p) times.
//     eta = 1 - p
// Go-back-N: each loss also costs the N - 1 packets behind it, which the receiver throws away.
//     eta = (1 - p) / (1 + (N - 1) p)
// Bertsekas, Gallager: Data Networks, 2nd edition 1992, section 2.4 and problem 2.27. Holds for independent losses, one
// negative acknowledgement for each, and receivers that send it at once; NICs whose slow path takes longer do worse.
double transport_efficiency(const transport_terms *t, double loss, double rate_Bps, double round_trip_s)
{
    SIM_ASSERT(loss >= 0.0 && loss < 1.0);
    if (t->recovery != RECOVERY_GO_BACK_N) return 1.0 - loss;
    const double packets = transport_packets_in_flight(t, rate_Bps, round_trip_s);
    return (1.0 - loss) / (1.0 + (packets - 1.0) * loss);
}

// A window of W bytes is acknowledged once in a round trip: x <= W / R.
double transport_goodput_Bps(const transport_terms *t, double loss, double rate_Bps, double round_trip_s)
{
    double most_Bps = rate_Bps;
    if (t->window_bytes > 0 && round_trip_s > 0.0)
        most_Bps = fmin(most_Bps, (double)t->window_bytes / round_trip_s);
    if (loss == 0.0) return most_Bps;
    const double efficiency = transport_efficiency(t, loss, most_Bps, round_trip_s);
    if (t->recovery != RECOVERY_TCP || round_trip_s <= 0.0) return most_Bps * efficiency;
    // Linux runs CUBIC, which is never slower than Reno would be (RFC 9438, section 4.3).
    const double mss_bytes = (double)t->payload_bytes;
    const double reno_Bps = tcp_pftk_Bps(loss, round_trip_s, units_s_from_ps(t->timeout_ps), mss_bytes);
    return fmin(most_Bps * efficiency, fmax(reno_Bps, tcp_cubic_Bps(loss, round_trip_s, mss_bytes)));
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
