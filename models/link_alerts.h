// SPDX-License-Identifier: GPL-3.0-or-later
// models/link_alerts.h: links that sent more than a healthy link ever does a second time, as a monitor of a fabric would tell
// them: by their counters, not by what the scenario says of them.
#pragma once
#include "models/network/network.h"
#include "sim/array.h"

// Of bytes sent again to all that crossed the link: more is an alert. Healthy links are below 1e-4 by orders of magnitude.
#define LINK_ALERT_RATIO 1e-4

typedef struct link_alert {
    const char *link;
    double ratio; // of bytes sent again, to all that crossed the link
    link_troubles troubles;
} link_alert;
ARRAY_OF(link_alert, link_alert_array);

void link_alerts_find(arena *a, const network *n, link_alert_array *out); // worst first
// "leaf 3 > node 5 nic 1: 0.4 % of its bytes were sent again (12,345 packets, 2 timeouts); a healthy link has less
// than 0.01 %"
const char *link_alert_text(arena *a, const link_alert *alert);
