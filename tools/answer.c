// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/answer.h"
#include <inttypes.h>

const char *answer_cluster(arena *a, const scenario *s)
{
    const char *text = "";
    for (uint32_t g = 0; g < s->cluster.group_count; g++) {
        const node_group *group = &s->cluster.groups[g];
        const char *name = output_printable(a, group->node->name), *and = g ? ", " : "";
        if (group->node->gpus)
            text = arena_format(a, "%s%s%" PRIu64 " x %s in %u x %s", text, and,
                                (uint64_t)group->count * group->node->gpus,
                                output_printable(a, group->node->gpu.name), group->count, name);
        else
            text = arena_format(a, "%s%s%u x bare host with %u x NIC", text, and, group->count,
                                group->node->nics);
    }
    return text;
}

const char *answer_job(arena *a, const scenario *s)
{
    const char *part = s->plan.gpus < scenario_gpus(s) ? arena_format(a, "%u of ", s->plan.gpus) : "";
    return arena_format(a, "%s on %s%s", output_printable(a, s->model.name), part, answer_cluster(a, s));
}

static const char *describe_pipeline(arena *a, const scenario *s)
{
    const plan_def *p = &s->plan;
    const schedule_def d = scenario_schedule(s);
    if (p->pipeline == 1) return "";
    const char *chunks = d.chunks > 1 ? arena_format(a, " of %u virtual stages", d.chunks) : "";
    const char *split = p->has.layers ? ", layers as listed"
                        : p->layer_split != SPLIT_EVEN
                            ? arena_format(a, ", layers split %s", layer_split_words[p->layer_split])
                            : "";
    return arena_format(a, "pipeline %u, %s%s%s, ", p->pipeline, schedule_kind_words[d.kind], chunks, split);
}

// Where ranks lie, if that is not as usual.
static const char *describe_ranks(arena *a, const scenario *s)
{
    const plan_def *p = &s->plan;
    const bool usual = !scenario_orders_ranks(s) || scenario_has_usual_order(s);
    const char *order = usual ? "" : arena_format(a, ", ranks in the order %s", p->rank_order);
    const char *placement = p->has.ranks ? ", placed one by one"
                            : p->placement != PLACEMENT_PACKED && s->cluster.nodes > 1
                                ? arena_format(a, ", placed %s", placement_words[p->placement])
                                : "";
    return arena_format(a, "%s%s", order, placement);
}

// In which form replicas reduce their gradients; empty: as they are.
static const char *describe_coding(arena *a, const scenario *s)
{
    const gradient_coding c = scenario_gradient_coding(s);
    switch ((coding_kind)c.kind) {
    case CODING_NONE: return "";
    case CODING_CAST: return arena_format(a, "gradients reduced in %s, ", dtype_words[c.reduced]);
    case CODING_POWERSGD: return arena_format(a, "gradients by powersgd of rank %u, ", c.rank);
    case CODING_TOP_K: return arena_format(a, "top %.4g %% of the gradients, ", 100.0 * c.ratio);
    case CODING_QUANTIZE: return arena_format(a, "gradients quantized to %u bits, ", c.bits);
    }
    SIM_ASSERT(false);
    return "";
}

const char *answer_plan(arena *a, const scenario *s)
{
    static const char *const shardings[] = { "no sharding", "zero-1", "zero-2", "zero-3" };
    static const char *const recomputes[] = { "no recompute", "selective recompute", "full recompute" };
    const plan_def *p = &s->plan;
    const training_def *t = &s->training;
    const char *sequence = p->sequence_parallel ? " with sequence parallel" : "";
    const char *tensor = p->tensor > 1 ? arena_format(a, "tensor %u%s, ", p->tensor, sequence) : "";
    const uint64_t micro_batches = scenario_micro_batches(s);
    return arena_format(a, "%s%sdata %u, %s, %s%s, %s micro-batch%s of %s x %s tokens, %s%s", tensor,
                        describe_pipeline(a, s), p->data, shardings[p->sharding], describe_coding(a, s),
                        recomputes[p->recompute], output_count(a, micro_batches),
                        micro_batches == 1 ? "" : "es", output_count(a, t->micro_batch),
                        output_count(a, t->sequence_length), dtype_words[t->precision], describe_ranks(a, s));
}

const char *answer_fold(arena *a, const world *w)
{
    const fold_obstacle *o = &w->obstacle;
    char where[192];
    if (w->lanes.sizes.tensor == 1 || w->scenario->run.fold == FOLD_NONE) return "";
    if (w->folded)
        return arena_format(a, "each lane stands for the %u ranks of a tensor-parallel group",
                            w->lanes.sizes.tensor);
    if (o->rank == NO_ID) return arena_format(a, "not folded: %s", fold_obstacle_words[o->kind]);
    if (o->link == NO_ID)
        topology_vertex_name(w->fabric, w->vertex_of_rank[o->rank], where, sizeof(where));
    else
        topology_link_name(w->fabric, o->link, where, sizeof(where));
    return arena_format(a, "not folded: %s (rank %u: %s)", fold_obstacle_words[o->kind], o->rank, where);
}

void answer_wrapped(arena *a, const char *text, FILE *out)
{
    enum { WIDTH = 110 };
    while (strlen(text) > WIDTH) {
        uint32_t end = WIDTH - 1; // behind the last comma that the line has room for
        while (end > 0 && !(text[end - 1] == ',' && text[end] == ' '))
            end--;
        if (end == 0) break;
        fprintf(out, "%s\n", arena_format(a, "%.*s", (int)end, text));
        text += end + 1;
    }
    fprintf(out, "%s\n", text);
}

void answer_warnings(arena *a, const world *w, const char *before, FILE *out)
{
    text_list warnings = { 0 };
    if (w) world_warnings(w, a, &warnings);
    for (uint32_t i = 0; i < warnings.count; i++)
        fprintf(out, "%s%s\n", before, output_printable(a, warnings.items[i]));
}

void answer_alerts(arena *a, const link_alert_array *alerts, FILE *out)
{
    for (uint32_t i = 0; i < alerts->count; i++)
        fprintf(out, "alert       %s\n", link_alert_text(a, &alerts->items[i]));
}

void answer_alerts_json(json_writer *j, arena *a, const link_alert_array *alerts)
{
    if (alerts->count == 0) return;
    json_array(j, "alerts");
    for (uint32_t i = 0; i < alerts->count; i++) {
        const link_alert *alert = &alerts->items[i];
        json_object(j, NULL);
        json_text(j, "link", alert->link);
        json_number(j, "retransmit_ratio", alert->ratio);
        json_count(j, "retransmitted_bytes", alert->troubles.retransmitted_bytes);
        json_count(j, "retransmitted_packets", alert->troubles.retransmitted_packets);
        json_count(j, "timeouts", alert->troubles.timeouts);
        json_text(j, "text", link_alert_text(a, alert));
        json_close(j);
    }
    json_close(j);
}

void answer_warnings_json(json_writer *j, arena *a, const world *w)
{
    text_list warnings = { 0 };
    if (w) world_warnings(w, a, &warnings);
    json_array(j, "warnings");
    for (uint32_t i = 0; i < warnings.count; i++)
        json_text(j, NULL, warnings.items[i]);
    json_close(j);
}

const char *answer_value(arena *a, const summary_value *v)
{
    if (!v->known) return "unknown";
    if (strcmp(v->unit, "1") == 0) return output_percent(a, v->value);
    if (v->kind == UNIT_BYTES) return output_bytes(a, v->value);
    if (v->kind == UNIT_NONE && v->value >= 1000.0) return output_count(a, (uint64_t)(v->value + 0.5));
    return output_number(a, v->kind, v->value);
}

enum { BAR_WIDTH = 40 };

void answer_blame(arena *a, const blame_share_array *causes, FILE *out)
{
    static const table_column columns[] = {
        { NULL, false }, { NULL, true }, { NULL, true }, { NULL, false }
    };
    static const char bar[BAR_WIDTH + 1] = "########################################";
    const uint32_t count = causes->count;
    if (!count) return;
    double *shares = arena_array(a, double, count);
    uint32_t *tenths = arena_array(a, uint32_t, count);
    double total_s = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        shares[i] = causes->items[i].share;
        total_s += causes->items[i].time_s;
    }
    output_round_shares(a, shares, count, tenths);
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < count; i++) {
        const blame_share *b = &causes->items[i];
        table_cell(&t, "%s%s", b->idle ? "idle: " : "", b->cause);
        table_cell(&t, "%u.%u %%", tenths[i] / 10, tenths[i] % 10);
        table_cell(&t, "%s", output_number(a, UNIT_TIME, b->time_s));
        table_cell(&t, "%.*s", (int)(b->share * BAR_WIDTH + 0.5), bar);
    }
    table_cell(&t, "all");
    table_cell(&t, "100.0 %%");
    table_cell(&t, "%s", output_number(a, UNIT_TIME, total_s));
    table_cell(&t, "%s", "");
    fprintf(out, "\nwhere the time of a GPU goes in a step\n");
    table_print(&t, "  ", out);
}

void answer_assumptions(arena *a, const assumption_array *assumptions, bool verbose, FILE *out)
{
    static const table_column columns[] = { { NULL, false }, { NULL, false }, { NULL, false } };
    const uint32_t count = assumptions->count;
    if (!count) return;
    fprintf(out, "assumed     %u value%s of the catalogue%s\n", count, count == 1 ? "" : "s",
            verbose ? ":" : ", neither measured nor published; --verbose lists them");
    if (!verbose) return;
    table t = table_make(a, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < count; i++) {
        table_cell(&t, "%s", assumptions->items[i].path);
        table_cell(&t, "%s", assumptions->items[i].value);
        table_cell(&t, "%s", assumptions->items[i].source ? assumptions->items[i].source : "");
    }
    table_print(&t, "  ", out);
}

void answer_summary_json(json_writer *j, const summary_array *summary)
{
    json_object(j, "summary");
    for (uint32_t i = 0; i < summary->count; i++) {
        const summary_value *v = &summary->items[i];
        json_object(j, v->metric);
        if (v->known)
            json_number(j, "value", v->value);
        else
            json_null(j, "value");
        json_text(j, "unit", v->unit);
        if (!v->known) json_text(j, "reason", v->reason);
        json_close(j);
    }
    json_close(j);
}

void answer_assumptions_json(json_writer *j, const assumption_array *assumptions)
{
    json_array(j, "assumed");
    for (uint32_t i = 0; i < assumptions->count; i++) {
        json_object(j, NULL);
        json_text(j, "path", assumptions->items[i].path);
        json_text(j, "value", assumptions->items[i].value);
        json_text(j, "source", assumptions->items[i].source);
        json_close(j);
    }
    json_close(j);
}
