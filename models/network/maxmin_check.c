// SPDX-License-Identifier: GPL-3.0-or-later
// The judge: levels against the solve from scratch, and against what max-min fairness means, which needs no solver.
#include "models/network/maxmin_internal.h"

// A flow has its bottleneck if it is at its cap, or if a link of its path closed at its level.
static bool flow_has_bottleneck(const maxmin *m, uint32_t id)
{
    const maxmin_flow *flow = maxmin_flow_at(m, id);
    bool has = flow->level == flow->cap_level;
    for (uint32_t part = id; part != MAXMIN_END; part = maxmin_next_part(m, part))
        for (uint32_t h = 0; h < maxmin_flow_at(m, part)->hops; h++)
            has |= m->links[maxmin_flow_at(m, part)->path[h]].closing == flow->level;
    return has;
}

static bool flow_is_listed(const maxmin *m, uint32_t id)
{
    for (uint32_t part = id; part != MAXMIN_END; part = maxmin_next_part(m, part)) {
        maxmin_flow *record = maxmin_flow_at(m, part);
        if (record->is_part != (part != id) || (record->is_part && record->active != id)) return false;
        for (uint32_t h = 0; h < record->hops; h++) {
            const maxmin_link *link = &m->links[record->path[h]];
            uint32_t place = maxmin_places(m, record)[h];
            if (place >= link->count || maxmin_list(m, link)[place] != (part << m->hop_bits | h))
                return false;
        }
    }
    return true;
}

// A link that closes at s carries no flow above s, and what is left of it is less than one unit of level for those at s;
// one that does not close is not overloaded. Returns whether that is so; sums: whether what the link keeps of them is right.
static bool link_is_fair(const maxmin *m, const maxmin_link *link, bool *sums)
{
    uint64_t weight = 0, load = 0, at_closing = 0;
    bool none_above = true;
    for (uint32_t i = 0; i < link->count; i++) {
        uint32_t incidence = maxmin_list(m, link)[i];
        const maxmin_flow *flow = maxmin_flow_at(m, maxmin_flow_of(m, incidence));
        uint64_t per_level = maxmin_load_per_level(m, flow, incidence);
        weight += per_level;
        load += per_level * flow->level;
        if (flow->level == link->closing) at_closing += per_level;
        none_above &= flow->level <= link->closing;
    }
    *sums = weight == link->weight && link->capacity - load == link->remaining;
    if (load > link->capacity) return false;
    return link->closing == MAXMIN_NONE || (none_above && link->capacity - load < at_closing);
}

maxmin_audit_report maxmin_judge(maxmin *m)
{
    maxmin_audit_report report = { 0 };
    maxmin_counters counters = m->counters;
    uint64_t pushes = m->queue.pushes, moves = m->queue.moves, listed = 0;
    maxmin_fill(m, m->active, m->flow_count);
    m->counters = counters;
    m->queue.pushes = pushes;
    m->queue.moves = moves;
    for (uint32_t i = 0; i < m->flow_count; i++) {
        const maxmin_flow *flow = maxmin_flow_at(m, m->active[i]);
        report.wrong_levels += flow->level != m->full_levels[m->active[i]];
        report.flows_without_bottleneck += !flow_has_bottleneck(m, m->active[i]);
        report.broken_lists += !flow_is_listed(m, m->active[i]) || flow->active != i;
    }
    for (uint32_t i = 0; i < m->seen_count; i++) {
        const maxmin_link *link = &m->links[m->seen[i]];
        bool sums;
        report.wrong_closings += link->closing != m->full_closings[m->seen[i]];
        report.overloaded_links += !link_is_fair(m, link, &sums);
        report.broken_lists += !sums;
        listed += link->count;
    }
    report.broken_lists += listed != m->incidences;
    return report;
}

maxmin_audit_report maxmin_audit(maxmin *m)
{
    SIM_ASSERT(m->seed_count == 0 && m->arrived_count == 0); // a batch waits: there is no solution to judge
    maxmin_audit_report report = maxmin_judge(m);
    for (uint32_t l = 0; l < m->link_count; l++) {
        if (m->links[l].count > 0) continue;
        report.wrong_closings += m->links[l].closing != MAXMIN_NONE;
        report.broken_lists += m->links[l].weight != 0 || m->links[l].remaining != m->links[l].capacity;
    }
    return report;
}

void maxmin_verify(maxmin *m)
{
    maxmin_audit_report report = maxmin_audit(m);
    SIM_ASSERT(!report.wrong_levels && !report.wrong_closings);
    SIM_ASSERT(!report.overloaded_links && !report.flows_without_bottleneck && !report.broken_lists);
}
