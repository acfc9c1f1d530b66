// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/collective_answer.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

// Wire times and shares are rounded to whole bytes and picoseconds; what is above by more than that is our mistake or that of
// an engine without contention.
static const double above_ratio = 1.001;

void collective_answer_add(collective_answer *a, const sweep_size *size,
                           const collective_bench_result *played)
{
    const uint32_t ranks = collective_bench_facts_of(a->bench)->ranks;
    const double time_ps = (double)played->time_ps;
    collective_row row = { .size = *size, .played = *played };
    row.algorithm_Bps = (double)size->bytes / units_s_from_ps(played->time_ps);
    row.bus_Bps = collective_bench_bus_Bps(a->kind, ranks, size->bytes, played->time_ps);
    if (played->nic_least_ps > 0)
        row.nic_limit_Bps = collective_bench_bus_Bps(a->kind, ranks, size->bytes, played->nic_least_ps);
    row.is_above = time_ps * above_ratio < (double)played->link_least_ps;
    *array_push(&a->rows, a->arena) = row;
}

static double mean_bus_Bps(const collective_answer *a)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < a->rows.count; i++)
        sum += a->rows.items[i].bus_Bps;
    return sum / a->rows.count;
}

// ---- for people

static void print_fabric(const collective_answer *a, FILE *out)
{
    const fabric_def *f = &a->scenario->cluster.fabric;
    const bool named = f->given && f->has.network_switch;
    if (f->given)
        fprintf(out, "# fabric: %s%s%s, routing %s\n", fabric_topology_words[f->topology],
                named ? " of " : "", named ? output_printable(a->arena, f->network_switch.name) : "",
                routing_words[f->routing]);
    fprintf(out, "# network: %s, grain %s; %s\n", network_engine_words[a->scenario->network.engine],
            collective_grain_words[a->grain],
            output_printable(a->arena, a->scenario->network.collectives.name));
}

static void print_nics(const collective_answer *a, FILE *out)
{
    const collective_bench_facts *f = collective_bench_facts_of(a->bench);
    const node_def *node = &a->scenario->cluster.node;
    const double nic_Bps = (double)f->nic_mBps / 1000.0;
    const uint32_t nics = f->nics_per_node * f->domain_nodes;
    if (!f->leaves_domain || nics == 0) return;
    fprintf(out, "# NICs x rate: %u x %s = %s of payload per %s and direction (%s, %.4g Gb/s each)%s\n", nics,
            output_number(a->arena, UNIT_RATE, nic_Bps), output_number(a->arena, UNIT_RATE, nics * nic_Bps),
            f->domain_nodes > 1 ? arena_format(a->arena, "%u nodes that share NVLink", f->domain_nodes)
                                : "node",
            output_printable(a->arena, node->nic.name), node->nic.rate_Bps * 8e-9,
            f->degraded ? "; some are degraded" : "");
    if (node->nic_pcie_rate_Bps < nic_Bps)
        fprintf(out, "# warning: the NICs are faster than the %s that PCIe carries to each of them\n",
                output_number(a->arena, UNIT_RATE, node->nic_pcie_rate_Bps));
}

// A size that the sweep has and that no whole shares make is played a little smaller: the last of them as an example.
static void print_cut(const collective_answer *a, FILE *out)
{
    const sweep_size *last = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->sizes->count; i++) {
        const sweep_size *size = &a->sizes->items[i];
        if (size->bytes == size->asked_bytes) continue;
        count++;
        last = size;
    }
    if (count == 0) return;
    fprintf(out, "# cut: %u size%s to whole %s, as in nccl-tests: %" PRIu64 " of %" PRIu64 " bytes%s\n",
            count, count == 1 ? "" : "s",
            sweep_has_shares(a->kind) ? "shares of 16 bytes for each rank" : "elements", last->bytes,
            last->asked_bytes, count == 1 ? "" : " of the last");
}

static void print_sizes(const collective_answer *a, FILE *out)
{
    const sweep *s = &a->sweep;
    fprintf(out, "# minBytes %" PRIu64 " maxBytes %" PRIu64 " step: %" PRIu64 "(%s)\n", s->begin, s->end,
            s->factor ? s->factor : s->increment, s->factor ? "factor" : "bytes");
    if (a->left_out > 0)
        fprintf(out, "# left out: %u size%s with less than %s\n", a->left_out, a->left_out == 1 ? "" : "s",
                a->parts_file ? "an element to send" : "16 bytes for each rank");
    print_cut(a, out);
}

static void print_parts(const collective_answer *a, FILE *out)
{
    const parts_weights *p = &a->parts;
    if (a->parts_file)
        fprintf(out,
                "# parts: %s; the largest row (sent) is %.3g times the mean, the largest column (received) "
                "%.3g\n",
                output_printable(a->arena, a->parts_file), p->row_max_per_mean, p->column_max_per_mean);
}

// Classes of costs that nobody has named.
static void print_usual_costs(const collective_answer *a, FILE *out)
{
    for (uint32_t i = 0; i < a->assumptions.count; i++) {
        const assumption *one = &a->assumptions.items[i];
        const size_t length = strlen(one->path);
        if (length > 6 && strcmp(one->path + length - 6, ".costs") == 0)
            fprintf(out, "# costs: %s as %s, assumed %s\n", one->path, output_printable(a->arena, one->value),
                    one->source);
    }
}

// AMD's GPUs have a library of their own, which chooses and paces in its own way.
static void print_library(const collective_answer *a, FILE *out)
{
    if (strncmp(a->scenario->cluster.node.gpu.architecture, "cdna", 4) == 0)
        fprintf(out, "# warning: the GPUs' own library, RCCL, is not modelled: the terms are NCCL's (%s)\n",
                output_printable(a->arena, a->scenario->network.collectives.name));
}

// A scenario's wish that is not met falls back as the library's own does, which says nothing; we do.
static void print_unmet(const collective_answer *a, FILE *out)
{
    for (uint32_t i = 0; i < a->unmet.count; i++)
        fprintf(out, "# %s%s: %s is not to be had here (%s): the library's own choice is shown\n",
                a->unmet.items[i].key, a->unmet.items[i].where, a->unmet.items[i].forced,
                a->unmet.items[i].why);
}

void collective_answer_head(const collective_answer *a, FILE *out)
{
    const collective_bench_facts *f = collective_bench_facts_of(a->bench);
    const node_def *node = &a->scenario->cluster.node;
    fprintf(out, "# windtunnel collective: %s, simulated\n", a->collective);
    fprintf(out, "# %u ranks: %u node%s of %s, %u GPU%s of each (%s)\n", f->ranks, f->nodes,
            f->nodes == 1 ? "" : "s", output_printable(a->arena, node->name), f->gpus_per_node,
            f->gpus_per_node == 1 ? "" : "s", output_printable(a->arena, node->gpu.name));
    print_nics(a, out);
    print_fabric(a, out);
    print_library(a, out);
    print_usual_costs(a, out);
    print_unmet(a, out);
    print_parts(a, out);
    print_sizes(a, out);
    fprintf(out,
            "#\n"
            "#       size         count      type   redop    root     time   algbw   busbw    algorithm  "
            "protocol  channels           wire  NIC limit\n"
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)               "
            "                         (B/GPU)  (GB/s busbw)\n");
}

// Seven characters, as many decimals as fit, at most two: getFloatStr() of nccl-tests, src/common.cu.
static const char *show_time(char buffer[static 32], double time_us)
{
    const int decimals = time_us < 9999.995 ? 2 : time_us < 99999.95 ? 1 : 0;
    snprintf(buffer, 32, "%7.*f", decimals, time_us);
    return buffer;
}

void collective_answer_row(const collective_answer *a, const collective_row *row, FILE *out)
{
    const collective_bench_result *p = &row->played;
    char time[32], limit[32] = "N/A";
    if (row->nic_limit_Bps > 0.0) snprintf(limit, sizeof(limit), "%.2f", row->nic_limit_Bps * 1e-9);
    fprintf(out, "%12" PRIu64 "  %12" PRIu64 "  %8s  %6s  %6d  %s  %6.2f  %6.2f", row->size.bytes,
            row->size.count, a->type->name, a->operation ? a->operation : "none", a->root,
            show_time(time, units_s_from_ps(p->time_ps) * 1e6), row->algorithm_Bps * 1e-9,
            row->bus_Bps * 1e-9);
    fprintf(out, "  %11s  %8s  %8u  %13" PRIu64 "  %9s%s\n", collective_algorithm_words[p->algorithm],
            collective_protocol_words[p->protocol], p->channels, p->wire_bytes, limit,
            row->is_above ? " !" : "");
}

static void print_above(const collective_answer *a, FILE *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->rows.count; i++)
        count += a->rows.items[i].is_above;
    if (count > 0)
        fprintf(out,
                "# !: above what the hardware allows, %u of %u sizes: the busiest link would need longer%s\n",
                count, a->rows.count,
                a->scenario->network.engine == ENGINE_IDEAL
                    ? ", but on the ideal network links are not shared"
                    : "");
}

static void print_busiest(const collective_answer *a, const collective_row *row, FILE *out)
{
    const collective_bench_result *p = &row->played;
    char name[192];
    if (p->busiest_link == NO_ID) return;
    topology_link_name(collective_bench_fabric(a->bench), p->busiest_link, name, sizeof(name));
    fprintf(out, "# busiest link of the last size: %s, %s of the time\n", name,
            output_percent(a->arena, fmin(1.0, (double)p->link_least_ps / (double)p->time_ps)));
}

static void print_assumptions(const collective_answer *a, FILE *out)
{
    const uint32_t count = a->assumptions.count;
    if (count == 0) return;
    fprintf(out, "# assumed: %u value%s of the catalogue%s\n", count, count == 1 ? "" : "s",
            a->verbose ? ":" : ", neither measured nor published; --verbose lists them");
    for (uint32_t i = 0; a->verbose && i < count; i++) {
        const assumption *one = &a->assumptions.items[i];
        fprintf(out, "#   %s: %s  %s\n", one->path, output_printable(a->arena, one->value),
                one->source ? output_printable(a->arena, one->source) : "");
    }
}

void collective_answer_foot(const collective_answer *a, FILE *out)
{
    if (a->cancelled) fprintf(out, "# cancelled: the other sizes were not played\n");
    if (a->rows.count > 0) {
        fprintf(out, "# Avg bus bandwidth    : %g\n", mean_bus_Bps(a) * 1e-9);
        print_above(a, out);
        print_busiest(a, &a->rows.items[a->rows.count - 1], out);
    }
    print_assumptions(a, out);
}

// ---- for machines

static void print_json_cluster(json_writer *j, const collective_answer *a)
{
    const collective_bench_facts *f = collective_bench_facts_of(a->bench);
    json_object(j, "cluster");
    json_text(j, "node", a->scenario->cluster.node.name);
    json_count(j, "nodes", f->nodes);
    json_count(j, "gpus_per_node", f->gpus_per_node);
    json_count(j, "ranks", f->ranks);
    json_count(j, "domain_nodes", f->domain_nodes);
    json_count(j, "nics_per_node", f->nics_per_node);
    json_number(j, "nic_payload_Bps", (double)f->nic_mBps / 1000.0);
    json_bool(j, "nics_degraded", f->degraded);
    json_text(j, "topology",
              a->scenario->cluster.fabric.given ? fabric_topology_words[a->scenario->cluster.fabric.topology]
                                                : NULL);
    json_close(j);
}

static void print_json_parts(json_writer *j, const collective_answer *a)
{
    if (!a->parts_file) return;
    json_object(j, "parts");
    json_text(j, "file", a->parts_file);
    json_number(j, "largest_row_per_mean", a->parts.row_max_per_mean);
    json_number(j, "largest_column_per_mean", a->parts.column_max_per_mean);
    json_close(j);
}

static void print_json_row(json_writer *j, const collective_answer *a, const collective_row *row)
{
    const collective_bench_result *p = &row->played;
    char name[192];
    json_object(j, NULL);
    json_count(j, "size_bytes", row->size.bytes);
    json_count(j, "asked_bytes", row->size.asked_bytes);
    json_count(j, "count", row->size.count);
    json_number(j, "time_s", units_s_from_ps(p->time_ps));
    json_number(j, "algbw_Bps", row->algorithm_Bps);
    json_number(j, "busbw_Bps", row->bus_Bps);
    json_text(j, "algorithm", collective_algorithm_words[p->algorithm]);
    json_text(j, "protocol", collective_protocol_words[p->protocol]);
    json_count(j, "channels", p->channels);
    json_count(j, "wire_bytes_per_gpu", p->wire_bytes);
    if (row->nic_limit_Bps > 0.0)
        json_number(j, "nic_limit_busbw_Bps", row->nic_limit_Bps);
    else
        json_null(j, "nic_limit_busbw_Bps");
    json_bool(j, "above_hardware", row->is_above);
    json_text(j, "busiest_link",
              p->busiest_link == NO_ID ? NULL
                                       : topology_link_name(collective_bench_fabric(a->bench),
                                                            p->busiest_link, name, sizeof(name)));
    json_number(j, "busiest_link_s", units_s_from_ps(p->link_least_ps));
    json_text(j, "digest", arena_format(a->arena, "%016" PRIx64, p->digest));
    json_close(j);
}

static void print_json_unmet(json_writer *j, const collective_answer *a)
{
    json_array(j, "not_met");
    for (uint32_t i = 0; i < a->unmet.count; i++) {
        json_object(j, NULL);
        json_text(j, "key", a->unmet.items[i].key);
        json_text(j, "forced", a->unmet.items[i].forced);
        json_text(j, "why", a->unmet.items[i].why);
        json_close(j);
    }
    json_close(j);
}

static void print_json_assumptions(json_writer *j, const collective_answer *a)
{
    json_array(j, "assumed");
    for (uint32_t i = 0; i < a->assumptions.count; i++) {
        json_object(j, NULL);
        json_text(j, "path", a->assumptions.items[i].path);
        json_text(j, "value", a->assumptions.items[i].value);
        json_text(j, "source", a->assumptions.items[i].source);
        json_close(j);
    }
    json_close(j);
}

void collective_answer_json(const collective_answer *a, FILE *out)
{
    json_writer j = json_make(out);
    json_object(&j, NULL);
    json_text(&j, "collective", a->collective);
    json_text(&j, "datatype", a->type->name);
    json_text(&j, "redop", a->operation);
    print_json_cluster(&j, a);
    print_json_parts(&j, a);
    json_text(&j, "engine", network_engine_words[a->scenario->network.engine]);
    json_text(&j, "grain", collective_grain_words[a->grain]);
    print_json_unmet(&j, a);
    json_text(&j, "state", a->cancelled ? "cancelled" : "done");
    json_count(&j, "sizes_left_out", a->left_out);
    json_array(&j, "sizes");
    for (uint32_t i = 0; i < a->rows.count; i++)
        print_json_row(&j, a, &a->rows.items[i]);
    json_close(&j);
    if (a->rows.count > 0)
        json_number(&j, "mean_busbw_Bps", mean_bus_Bps(a));
    else
        json_null(&j, "mean_busbw_Bps");
    print_json_assumptions(&j, a);
    json_close(&j);
}
