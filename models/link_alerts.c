// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/link_alerts.h"
#include "sim/words.h"

static void add_sorted(arena *a, const link_alert *alert, link_alert_array *out)
{
    uint32_t place = out->count;
    array_push(out, a);
    for (; place > 0 && out->items[place - 1].ratio < alert->ratio; place--)
        out->items[place] = out->items[place - 1];
    out->items[place] = *alert;
}

// With its place among parallel links, as cluster.degraded counts them.
static const char *name_of(arena *a, const topology *t, link_id l)
{
    const topology_link *link = topology_link_at(t, l);
    uint32_t count, parallel = 0, index = 0;
    const link_id *links = topology_outgoing(t, link->from, &count);
    char name[192];
    topology_link_name(t, l, name, sizeof name);
    for (uint32_t i = 0; i < count; i++) {
        if (topology_link_at(t, links[i])->to != link->to) continue;
        if (links[i] == l) index = parallel;
        parallel++;
    }
    return parallel == 1 ? arena_text(a, name)
                         : arena_format(a, "%s (index %u of %u)", name, index, parallel);
}

void link_alerts_find(arena *a, const network *n, link_alert_array *out)
{
    const topology *t = network_topology(n);
    uint32_t count;
    const link_id *links = topology_faulty_links(t, &count);
    for (uint32_t i = 0; i < count; i++) {
        link_alert alert = { .troubles = network_link_troubles(n, links[i]) };
        const double resent = (double)alert.troubles.retransmitted_bytes;
        const double all = resent + (double)network_link_bytes(n, links[i]);
        if (all == 0.0 || (resent <= LINK_ALERT_RATIO * all && alert.troubles.timeouts == 0)) continue;
        alert.ratio = resent / all;
        alert.link = name_of(a, t, links[i]);
        add_sorted(a, &alert, out);
    }
}

const char *link_alert_text(arena *a, const link_alert *alert)
{
    char packets[WORDS_GROUPED_SIZE], timeouts[WORDS_GROUPED_SIZE], percent[32];
    const link_troubles *t = &alert->troubles;
    // %.2g alone would write 1e+02.
    snprintf(percent, sizeof percent, alert->ratio < 0.1 ? "%.2g" : "%.0f", 100.0 * alert->ratio);
    return arena_format(
        a,
        "%s: %s %% of its bytes were sent again (%s packet%s, %s timeout%s); a healthy link has "
        "less than 0.01 %%",
        alert->link, percent, words_grouped(packets, t->retransmitted_packets),
        t->retransmitted_packets == 1 ? "" : "s", words_grouped(timeouts, t->timeouts),
        t->timeouts == 1 ? "" : "s");
}
