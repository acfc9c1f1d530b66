// SPDX-License-Identifier: GPL-3.0-or-later
// validate/collective_score.h: how well the times of collectives agree with measured ones: by class of system, collective and
// band of sizes. The error of a point is ln(simulated / measured): twice as long is as wrong as half.
#pragma once
#include "sim/array.h"
#include <stdbool.h>

typedef enum collective_class {
    CLASS_AMPERE_NODE,
    CLASS_HOPPER_NODE,
    CLASS_GRACE_HOPPER_NODE,
    CLASS_BLACKWELL_NODE,
    CLASS_RACK,         // NVLink through a rack, and racks joined
    CLASS_INFINIBAND_2, // two nodes
    CLASS_INFINIBAND_3, // three and more
    CLASS_ROCE,
    CLASS_SLINGSHOT,
    CLASS_CLOUD, // EFA, GPUDirect-TCPXO, TCP
    COLLECTIVE_CLASSES
} collective_class;
extern const char *const collective_class_words[];          // "ampere-node", ..., NULL
const char *collective_class_title(collective_class which); // "one node, A100"

typedef enum size_band {
    BAND_FLOOR,   // to 32 KiB
    BAND_LOW,     // between
    BAND_MIDDLE,  // 64 KiB to 64 MiB
    BAND_UPPER,   // between: 128 MiB
    BAND_PLATEAU, // from 256 MiB on
    SIZE_BANDS
} size_band;
extern const char *const size_band_words[]; // "floor", ..., NULL
size_band size_band_of(uint64_t bytes);

typedef enum point_status {
    POINT_SCORED,
    POINT_UNKNOWN, // not played, or not known well enough to count
    POINT_FAULT    // what was measured shows a fault, which nobody plays
} point_status;
extern const char *const point_status_words[]; // "scored", "unknown", "fault", NULL

typedef struct collective_point { // a run at one size
    const char *run;              // its id; of several that count as one, what they have in common
    const char *collective;       // as nccl-tests has it
    const char *algorithm;        // as it was asked for; "auto"
    const char *compare; // runs with the same are of one system, whose algorithms are compared; "": with none
    int class;           // collective_class, or -1: not known
    bool is_fit;         // constants were read off it
    uint32_t ranks;
    uint64_t bytes;
    double measured_s, simulated_s; // NAN: not known
    point_status status;
    const char *reason; // "" when it is scored
} collective_point;
ARRAY_OF(collective_point, collective_point_array);
double collective_point_error(const collective_point *p); // NAN where it does not count

// ---- how near

enum { SHARES = 3 };
extern const double share_factors[SHARES]; // 1.07, 1.15, 1.3

typedef struct point_score {
    uint32_t n;
    double mean, bias, median; // of the absolute errors; of the errors; of the absolute ones. NAN: no points
    double within[SHARES];     // share of the points at most a factor off
} point_score;

typedef enum point_role { ROLE_ALL, ROLE_FIT_ONLY, ROLE_HELD_ONLY, POINT_ROLES } point_role;
extern const char *const point_role_words[]; // "all", "fit", "held back", NULL

typedef struct point_choice { // which points are judged together; -1, NULL: any
    int class, band;
    const char *collective;
    point_role role;
} point_choice;
point_score collective_score(arena *a, const collective_point_array *points, const point_choice *choice);

// What is aimed at in a band: so many points at most a factor off, and a mean error of at most so much.
typedef struct band_aim {
    size_band band;
    double share[SHARES]; // 0: nothing is said of this factor
    double mean;          // 0: nothing is said
} band_aim;
enum { BAND_AIMS = 3 };
extern const band_aim band_aims[BAND_AIMS];
bool band_aim_reached(const band_aim *aim, const point_score *score);
// The factor beyond which a point of this band is a miss.
double band_miss_factor(size_band band);

// ---- which algorithm is faster

// Of runs of one system, at equal collective, ranks and size: pairs of algorithms whose measured times differ by more than
// noise, of which both are played. A pair is right when the same one is faster; a cell, when the algorithm that is simulated
// to be the fastest was measured to be, but for noise.
typedef struct order_score {
    uint32_t pairs, pairs_right, cells, cells_right;
    uint32_t not_played; // pairs with an algorithm that is not played
} order_score;
#define ORDER_NOISE 0.04
#define ORDER_AIM 0.9
typedef struct order_pair {  // wrong ones: indices of points
    uint32_t faster, slower; // as measured
} order_pair;
ARRAY_OF(order_pair, order_pair_array);
order_score collective_order(arena *a, const collective_point_array *points, order_pair_array *wrong);
