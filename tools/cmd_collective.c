// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel collective: what nccl-tests would print on a cluster.
#include "models/cluster_named.h"
#include "models/collective/parts_file.h"
#include "sim/os.h"
#include "sim/words.h"
#include "tools/collective_answer.h"
#include "tools/collective_kinds.h"
#include "tools/command.h"
#include "tools/progress.h"
#include <string.h>

typedef struct collective_command_options {
    scenario_options scenario;
    const char *collective, *gpus, *cluster, *nodes, *scenario_path, *queue_pairs, *min_ctas, *parts;
    sweep_texts sizes;
    int type;                                         // of element_type_words
    int operation;                                    // of operation_words, or -1: not given
    int topology, engine, grain, algorithm, protocol; // -1: not given
    bool quiet, verbose, reverse_phases;
    int queue; // queue_kind
} collective_command_options;

static const char *const operation_words[] = { "sum", "prod", "max", "min", "avg", "mulsum", NULL };

static const option options[] = {
    OPTION_TEXT(collective_command_options, collective, 'c', "collective", "NAME",
                "all_reduce, all_gather, reduce_scatter, alltoall, alltoallv, sendrecv, broadcast or reduce "
                "[all_reduce]"),
    OPTION_TEXT(collective_command_options, parts, 0, "parts", "FILE",
                "of alltoallv: CSV without a header, a row per sender with a weight for each receiver"),
    OPTION_TEXT(collective_command_options, sizes.begin, 'b', "minbytes", "SIZE",
                "the first size: 8, 1K, 32M, 8G, 1,024-fold each [32M]"),
    OPTION_TEXT(collective_command_options, sizes.end, 'e', "maxbytes", "SIZE",
                "the last one [32M, or the first]"),
    OPTION_TEXT(collective_command_options, sizes.factor, 'f', "stepfactor", "N",
                "each size is so many times the one before [2]"),
    OPTION_TEXT(collective_command_options, sizes.increment, 'i', "stepbytes", "SIZE",
                "or so much more than it"),
    OPTION_WORD(collective_command_options, type, 'd', "datatype", "TYPE", element_type_words,
                "of the elements [float]"),
    OPTION_WORD(collective_command_options, operation, 'o', "op", "OP", operation_words,
                "of all_reduce, reduce_scatter and reduce; all take as long [sum]"),
    OPTION_TEXT(collective_command_options, gpus, 'g', "ngpus", "N", "GPUs of each node, a rank each [all]"),
    OPTION_TEXT(collective_command_options, cluster, 0, "cluster", "NAME",
                "a node or a system of the catalogue (windtunnel show catalogue)"),
    OPTION_TEXT(collective_command_options, nodes, 0, "nodes", "N",
                "so many of that node [1]; of a system or a scenario, the first N [all]"),
    OPTION_WORD(collective_command_options, topology, 0, "fabric", "TOPOLOGY", fabric_topology_words,
                "that joins nodes of the catalogue [rail-optimized, with one NIC fat-tree]"),
    OPTION_TEXT(collective_command_options, scenario_path, 0, "scenario", "FILE",
                "instead: the cluster of a scenario, degraded parts included"),
    OPTION_WORD(collective_command_options, engine, 0, "engine", NULL, network_engine_words,
                "of the network [fluid, or as the scenario says]"),
    OPTION_WORD(collective_command_options, grain, 0, "grain", NULL, collective_grain_words,
                "one stream for each pair, or message by message [streams, or as the scenario says]"),
    OPTION_WORD(
        collective_command_options, algorithm, 0, "algorithm", NULL, collective_algorithm_words,
        "as NCCL_ALGO, and two that NCCL lacks, recursive and hierarchical [by predicted time, of NCCL's]"),
    OPTION_WORD(collective_command_options, protocol, 0, "protocol", NULL, collective_protocol_words,
                "as NCCL_PROTO [by predicted time]"),
    OPTION_TEXT(collective_command_options, queue_pairs, 0, "queue-pairs", "N",
                "as NCCL_IB_QPS_PER_CONNECTION; where routing is ecmp each takes a path of its own [1]"),
    OPTION_TEXT(
        collective_command_options, min_ctas, 0, "min-ctas", "N",
        "as NCCL_MIN_CTAS and NCCL_MAX_CTAS: channels of rings, trees and NVLS; sends have as many, to a "
        "power of two [the library's choice]"),
    SCENARIO_OPTIONS(collective_command_options, scenario),
    OPTION_FLAG(collective_command_options, verbose, 'v', "verbose",
                "list the assumed values that the result rests on"),
    OPTION_FLAG(collective_command_options, quiet, 'q', "quiet",
                "print the rows alone: no lines with #, no progress"),
    OPTION_FOREIGN('n', "iters", "without noise one run of each size is enough"),
    OPTION_FOREIGN('w', "warmup_iters", "without noise nothing needs to warm up"),
    OPTION_FOREIGN('m', "agg_iters", "each collective is launched by itself"),
    OPTION_FOREIGN('N', "run_cycles", "without noise one run of each size is enough"),
    OPTION_FOREIGN('a', "average", "all ranks are in one simulation: the time is that of the last"),
    OPTION_FOREIGN('p', "parallel_init", "communicators are there from the beginning"),
    OPTION_FOREIGN('t', "nthreads", "a rank is a GPU: --ngpus N of each node, --nodes N"),
    OPTION_FOREIGN('r', "root", "broadcast and reduce have rank 0 as their root"),
    OPTION_FOREIGN('z', "blocking", "collectives are not launched behind one another"),
    OPTION_FOREIGN('G', "cudagraph", "graphs of launches are not modelled: each is launched by itself"),
    OPTION_FOREIGN('C', "report_cputime", "the time of the program on the host is not modelled"),
    OPTION_FOREIGN('R', "local_register", "buffers that are registered are not modelled"),
    OPTION_FOREIGN('T', "timeout", "Ctrl-C ends a run; the sizes so far are printed"),
    OPTION_FOREIGN('J', "output_file", "--json >FILE"),
    OPTION_WORD(collective_command_options, queue, 0, "queue", NULL, queue_kind_words,
                "how pending events are kept", .for_tests = true),
    OPTION_FLAG(collective_command_options, reverse_phases, 0, "reverse-phases",
                "play the events of an instant backwards", .for_tests = true),
    OPTION_END,
};

// ---- what is asked

static bool check_operation(const collective_command_options *o, const collective_word *word,
                            sim_error *error)
{
    if (o->operation < 0 || word->reduces) return true;
    const sim_place place = sim_place_of_option("--op", operation_words[o->operation]);
    return sim_fail(error, SIM_EXIT_INPUT, &place, "%s reduces nothing", word->name) ||
           sim_hint(error, "--op belongs to all_reduce, reduce_scatter and reduce");
}

static bool check_parts(const collective_command_options *o, const collective_word *word, sim_error *error)
{
    const bool unequal = word->kind == COLLECTIVE_ALL_TO_ALL_UNEQUAL;
    if (unequal == (o->parts != NULL)) return true;
    if (unequal)
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "%s needs to know who sends how much to whom",
                        word->name) ||
               sim_hint(error, "--parts FILE: CSV, a row per sender with a weight for each receiver");
    const sim_place place = sim_place_of_option("--parts", o->parts);
    return sim_fail(error, SIM_EXIT_INPUT, &place, "the parts of %s are equal", word->name) ||
           sim_hint(error, "--collective alltoallv");
}

static bool read_count(const char *name, const char *text, uint32_t most, uint32_t *out, sim_error *error)
{
    const sim_place place = sim_place_of_option(name, text ? text : "");
    uint64_t value;
    if (!text) return true;
    if (!units_parse_count(text, &value, &place, error)) return false;
    *out = (uint32_t)value;
    if (value >= 1 && value <= most) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &place, "this must be between 1 and %u", most) ||
           sim_hint(error, "%s %u", name, value < 1 ? 1 : most);
}

static bool check_engine(const collective_command_options *o, sim_error *error)
{
    if (o->engine < 0 || o->engine == ENGINE_IDEAL || o->engine == ENGINE_FLUID) return true;
    const sim_place place = sim_place_of_option("--engine", network_engine_words[o->engine]);
    return sim_fail(error, SIM_EXIT_INPUT, &place, "network engine \"%s\" is not modelled in this version",
                    network_engine_words[o->engine]) ||
           sim_hint(error, "--engine fluid or ideal");
}

static bool check_source(const collective_command_options *o, const text_list *words, sim_error *error)
{
    char shown[WORDS_SHOWN_SIZE];
    if (words->count > 0)
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "one word too many: \"%s\"",
                        words_show(shown, words->items[0])) ||
               sim_hint(error, "--scenario FILE names a scenario, --cluster NAME a part of the catalogue");
    if (!o->cluster && !o->scenario_path)
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "there is no cluster to play on") ||
               sim_hint(error, "--cluster dgx-h100 --nodes 8, or --scenario FILE");
    if (o->cluster && o->scenario_path)
        return sim_fail(error, SIM_EXIT_INPUT, NULL,
                        "the cluster is named twice, by --cluster and --scenario") ||
               sim_hint(error, "one of them");
    if (o->verbose && o->quiet)
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "--quiet prints nothing but rows, and --verbose more") ||
               sim_hint(error, "one of them");
    if (o->topology == FABRIC_FILE) {
        const sim_place place = sim_place_of_option("--fabric", fabric_topology_words[FABRIC_FILE]);
        return sim_fail(error, SIM_EXIT_INPUT, &place, "a fabric of cables needs a list of them") ||
               sim_hint(error, "--scenario FILE, with cluster.fabric.cables");
    }
    if (!o->scenario_path || o->topology < 0) return true;
    const sim_place place = sim_place_of_option("--fabric", fabric_topology_words[o->topology]);
    return sim_fail(error, SIM_EXIT_INPUT, &place, "the scenario has a fabric of its own") ||
           sim_hint(error, "--set cluster.fabric.topology=%s", fabric_topology_words[o->topology]);
}

// ---- the cluster

// What options say stands behind the user's settings, and wins.
static text_list sets_of(const collective_command_options *o, arena *a)
{
    text_list sets = { 0 };
    for (uint32_t i = 0; i < o->scenario.sets.count; i++)
        *array_push(&sets, a) = o->scenario.sets.items[i];
    if (o->engine >= 0)
        *array_push(&sets, a) = arena_format(a, "network.engine=%s", network_engine_words[o->engine]);
    return sets;
}

static bool load(const collective_command_options *o, uint32_t nodes, arena *a, scenario *out,
                 sim_error *error)
{
    catalogue parts;
    const text_list sets = sets_of(o, a);
    if (!catalogue_find(a, o->scenario.catalogue, &parts, error)) return false;
    if (o->scenario_path)
        return scenario_load(a, &parts, o->scenario_path, sets.items, sets.count, out, error);
    const sim_place name = sim_place_of_option("--cluster", o->cluster);
    const sim_place shape = sim_place_of_option("--fabric",
                                                o->topology >= 0 ? fabric_topology_words[o->topology] : "");
    const cluster_named wanted = { .name = o->cluster,
                                   .nodes = nodes,
                                   .topology = o->topology,
                                   .called = o->topology >= 0 ? "--cluster, --nodes, --fabric"
                                                              : "--cluster, --nodes" };
    return cluster_named_load(a, &parts, &wanted,
                              &(cluster_named_places){ .name = &name, .topology = &shape }, sets.items,
                              sets.count, out, error);
}

static bool use_queue_pairs(const collective_command_options *o, uint32_t queue_pairs, scenario *s,
                            sim_error *error)
{
    if (!o->queue_pairs) return true;
    s->cluster.fabric.queue_pairs = queue_pairs;
    if (s->cluster.fabric.given) return true;
    const sim_place place = sim_place_of_option("--queue-pairs", o->queue_pairs);
    return sim_fail(error, SIM_EXIT_INPUT, &place, "there is no network, so there are no queue pairs") ||
           sim_hint(error, "more --nodes");
}

static bool check_ranks(const collective_command_options *o, const scenario *s, arena *a, uint32_t nodes,
                        uint32_t gpus, sim_error *error)
{
    const sim_place of_nodes = sim_place_of_option("--nodes", o->nodes ? o->nodes : "1"),
                    of_gpus = sim_place_of_option("--ngpus", o->gpus ? o->gpus : "");
    const node_def *node = &s->cluster.node;
    uint32_t alike;
    if (node->gpus == 0)
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "node \"%s\" has no GPUs, so there are no ranks",
                        node->name);
    cluster_nodes_alike(&s->cluster, a, &alike);
    if (nodes > alike)
        return sim_fail(error, SIM_EXIT_INPUT, &of_nodes, "the cluster has %u node%s alike", alike,
                        alike == 1 ? "" : "s") ||
               sim_hint(error, "--nodes %u", alike);
    if (gpus > node->gpus)
        return sim_fail(error, SIM_EXIT_INPUT, &of_gpus, "node \"%s\" has %u GPU%s", node->name, node->gpus,
                        node->gpus == 1 ? "" : "s") ||
               sim_hint(error, "--ngpus %u", node->gpus);
    if ((nodes ? nodes : alike) > 1 || (gpus ? gpus : node->gpus) > 1) return true;
    return sim_fail(error, SIM_EXIT_INPUT, o->gpus ? &of_gpus : &of_nodes,
                    "one GPU has no other to talk to") ||
           sim_hint(error, "--nodes 2, or more GPUs of each node");
}

// ---- the sweep

typedef struct collective_call {
    const collective_command_options *options;
    collective_answer answer;
    collective_bench *bench;
    collective_bench_request request;
    sweep_size_array sizes;
    uint64_t *parts; // of the request, filled anew for each size; NULL: equal
    progress shown;
    uint32_t done;
} collective_call;

// Options that would change nothing, on ranks that are placed.
static bool check_effect(const collective_call *c, const collective_word *word, uint32_t queue_pairs,
                         sim_error *error)
{
    const collective_command_options *o = c->options;
    const collective_bench_facts *facts = collective_bench_facts_of(c->bench);
    const bool sends = word->kind == COLLECTIVE_SEND_RECV || word->kind == COLLECTIVE_ALL_TO_ALL ||
                       word->kind == COLLECTIVE_ALL_TO_ALL_UNEQUAL;
    if (o->topology >= 0 && !facts->leaves_domain) {
        const sim_place place = sim_place_of_option("--fabric", fabric_topology_words[o->topology]);
        return sim_fail(error, SIM_EXIT_INPUT, &place,
                        "no rank needs a fabric: all are in one domain of NVLink") ||
               sim_hint(error, "leave --fabric out, or more --nodes");
    }
    if (queue_pairs > 1 && !collective_bench_feels_queue_pairs(c->bench)) {
        const sim_place place = sim_place_of_option("--queue-pairs", o->queue_pairs);
        if (!facts->leaves_domain)
            return sim_fail(error, SIM_EXIT_INPUT, &place,
                            "all ranks are in one domain of NVLink: no queue pairs") ||
                   sim_hint(error, "leave --queue-pairs out, or more --nodes");
        return sim_fail(
                   error, SIM_EXIT_INPUT, &place,
                   "more queue pairs change nothing here: there is no choice of paths, cables or NICs that "
                   "the routing leaves to them") ||
               sim_hint(error, "leave --queue-pairs out, or --set cluster.fabric.routing=ecmp");
    }
    const uint32_t send_channels = c->answer.scenario->network.send_channels;
    if (!o->min_ctas || !sends || send_channels == 0) return true;
    const sim_place place = sim_place_of_option("--min-ctas", o->min_ctas);
    return sim_fail(error, SIM_EXIT_INPUT, &place,
                    "%s has as many channels as network.send_channels says: %u", word->name, send_channels) ||
           sim_hint(error, "leave one of them out");
}

static bool poll(void *owner)
{
    collective_call *c = owner;
    return !progress_show_cases(&c->shown, c->done, c->sizes.count);
}

static bool fail_obstacle(const collective_command_options *o, const collective_bench_obstacle *obstacle,
                          sim_error *error)
{
    static const char *const wanted[] = { "--algorithm", "--protocol", "--grain", "--maxbytes" };
    const char *const given[] = {
        o->algorithm >= 0 ? collective_algorithm_words[o->algorithm] : NULL,
        o->protocol >= 0 ? collective_protocol_words[o->protocol] : NULL,
        o->grain >= 0 ? collective_grain_words[o->grain] : NULL,
        o->sizes.end,
    };
    const char *text = given[obstacle->about];
    const sim_place place = sim_place_of_option(wanted[obstacle->about], text ? text : "");
    sim_fail(error, SIM_EXIT_INPUT, text ? &place : NULL, "%s", obstacle->why);
    if (!obstacle->valid) return sim_hint(error, "fewer ranks or smaller sizes");
    if (strcmp(obstacle->valid, "auto") == 0) return sim_hint(error, "leave %s out", wanted[obstacle->about]);
    return sim_hint(error, "%s %s", wanted[obstacle->about], obstacle->valid);
}

// False: of unequal parts each is less than an element, so that nothing is sent.
static bool ask_for(collective_call *c, const sweep_size *size)
{
    c->request.bytes = size->bytes;
    return !c->parts || parts_scale(&c->answer.parts, size->count, c->answer.type->bytes, c->parts) > 0;
}

static bool read_parts(collective_call *c, arena *a, uint32_t ranks, sim_error *error)
{
    const char *path = c->options->parts;
    if (!path) return true;
    const sim_place place = sim_place_of_option("--parts", path);
    if (!parts_file_read(a, path, &place, ranks, &c->answer.parts, error)) return false;
    c->request.parts = c->parts = arena_array(a, uint64_t, (size_t)ranks * ranks);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->sizes.count; i++)
        if (ask_for(c, &c->sizes.items[i])) c->sizes.items[kept++] = c->sizes.items[i];
    c->answer.left_out += c->sizes.count - kept;
    c->sizes.count = kept;
    if (kept > 0) return true;
    return sim_fail(error, SIM_EXIT_INPUT, NULL, "no size is large enough for an element to be sent") ||
           sim_hint(error, "a larger --maxbytes");
}

static bool check_requests(collective_call *c, sim_error *error)
{
    for (uint32_t i = 0; i < c->sizes.count; i++) {
        ask_for(c, &c->sizes.items[i]);
        const collective_bench_obstacle obstacle = collective_bench_refuse(c->bench, &c->request);
        if (obstacle.why) return fail_obstacle(c->options, &obstacle, error);
    }
    return true;
}

static void play(collective_call *c)
{
    const bool text = !c->options->scenario.json, lines = text && !c->options->quiet;
    collective_answer *a = &c->answer;
    if (lines) collective_answer_head(a, stdout);
    for (; c->done < c->sizes.count && !a->cancelled; c->done++) {
        collective_bench_result result;
        ask_for(c, &c->sizes.items[c->done]);
        if (!poll(c)) collective_bench_play(c->bench, &c->request, &result);
        a->cancelled = os_interrupted();
        if (a->cancelled) break;
        collective_answer_add(a, &c->sizes.items[c->done], &result);
        progress_clear(&c->shown);
        if (text) collective_answer_row(a, &a->rows.items[a->rows.count - 1], stdout);
        fflush(stdout); // a row may have taken long, and a reader may follow
    }
    progress_clear(&c->shown);
    if (lines) collective_answer_foot(a, stdout);
    if (!text) collective_answer_json(a, stdout);
}

// Of the catalogue's assumed values those that a collective meets: no kernels.
static void list_assumptions(collective_answer *answer)
{
    static const char *const paths[] = {
        "cluster.fabric.",        "cluster.node.nic.",  "cluster.node.nic_pcie_rate",
        "cluster.node.scale_up.", "cluster.node.pcie.", "network."
    };
    assumption_array all = { 0 };
    summary_usual_costs(answer->arena, answer->scenario, &answer->assumptions);
    summary_assumptions(answer->arena, answer->scenario, &all);
    for (uint32_t i = 0; i < all.count; i++)
        for (size_t k = 0; k < ARRAY_COUNT(paths); k++)
            if (strncmp(all.items[i].path, paths[k], strlen(paths[k])) == 0)
                *array_push(&answer->assumptions, answer->arena) = all.items[i];
}

static void describe(collective_call *c, arena *a, const scenario *s, const collective_word *word)
{
    const collective_command_options *o = c->options;
    c->request = (collective_bench_request){
        .kind = word->kind,
        .algorithm = o->algorithm,
        .protocol = o->protocol,
        .grain = (collective_grain)(o->grain >= 0 ? o->grain : s->network.grain),
    };
    c->answer.arena = a;
    c->answer.scenario = s;
    c->answer.collective = word->name;
    c->answer.kind = word->kind;
    c->answer.root = word->root;
    c->answer.operation = word->reduces ? operation_words[o->operation >= 0 ? o->operation : 0] : NULL;
    c->answer.grain = c->request.grain;
    c->answer.verbose = o->verbose;
    c->answer.parts_file = o->parts;
    c->answer.sizes = &c->sizes;
}

static void note_unmet(collective_call *c, const char *key, const sim_place *place, const char *forced,
                       const char *why)
{
    arena *a = c->answer.arena;
    const char *where = place && place->file
                            ? arena_format(a, " (%s:%u:%u)", place->file, place->line, place->column)
                            : "";
    *array_push(&c->answer.unmet,
                a) = (unmet_choice){ .key = key, .forced = forced, .why = why, .where = where };
}

// Each may be had, and not both: the algorithm then holds, as where the protocol cannot be had at all.
static const char *refused_together(const collective_call *c, int protocol)
{
    collective_bench_request both = c->request;
    both.bytes = 1;
    both.protocol = protocol;
    return collective_bench_refuse(c->bench, &both).why;
}

// What the scenario forces holds where it can be, as NCCL_ALGO does: other collectives take what they have, and it is said.
static void use_forced(collective_call *c, const scenario *s)
{
    const collective_command_options *o = c->options;
    collective_bench_request algorithm = c->request, protocol = c->request;
    algorithm.bytes = protocol.bytes = 1;
    if (o->algorithm < 0) algorithm.algorithm = scenario_forced_algorithm(s);
    if (o->protocol < 0) protocol.protocol = scenario_forced_protocol(s);
    const char *no_algorithm = collective_bench_refuse(c->bench, &algorithm).why,
               *no_protocol = collective_bench_refuse(c->bench, &protocol).why;
    if (!no_algorithm)
        c->request.algorithm = algorithm.algorithm;
    else if (o->algorithm < 0 && algorithm.algorithm != ALGORITHM_AUTO)
        note_unmet(c, "network.algorithm", bind_place_of(s->reader, &s->network.algorithm),
                   collective_algorithm_words[algorithm.algorithm], no_algorithm);
    if (!no_protocol) no_protocol = refused_together(c, protocol.protocol);
    if (!no_protocol)
        c->request.protocol = protocol.protocol;
    else if (o->protocol < 0 && protocol.protocol != PROTOCOL_AUTO)
        note_unmet(c, "network.protocol", bind_place_of(s->reader, &s->network.protocol),
                   collective_protocol_words[protocol.protocol], no_protocol);
}

// Everything before the clock starts.
static bool prepare(collective_call *c, arena *a, const text_list *words, sim_error *error)
{
    const collective_command_options *o = c->options;
    uint32_t nodes = 0, gpus = 0, queue_pairs = 1, min_ctas = 0;
    const collective_word *word = collective_word_find(o->collective, error);
    scenario *s = arena_new(a, scenario);
    c->answer.type = element_type_at(o->type);
    if (!word || !check_operation(o, word, error) || !check_parts(o, word, error) ||
        !check_engine(o, error) || !check_source(o, words, error) ||
        !read_count("--nodes", o->nodes, 1000000, &nodes, error) ||
        !read_count("--ngpus", o->gpus, 1024, &gpus, error) ||
        !read_count("--queue-pairs", o->queue_pairs, 1024, &queue_pairs, error) ||
        !read_count("--min-ctas", o->min_ctas, 64, &min_ctas, error) ||
        !sweep_read(&o->sizes, c->answer.type, &c->answer.sweep, error))
        return false;
    if (!load(o, nodes, a, s, error) || !use_queue_pairs(o, queue_pairs, s, error)) return false;
    if (min_ctas) s->network.min_ctas = min_ctas;
    if (!scenario_check(s, false, error) || !check_ranks(o, s, a, nodes, gpus, error)) return false;
    describe(c, a, s, word);
    c->bench = collective_bench_create(a, s,
                                       &(collective_bench_options){ .nodes = nodes,
                                                                    .gpus_per_node = gpus,
                                                                    .queue = (queue_kind)o->queue,
                                                                    .reverse_phases = o->reverse_phases,
                                                                    .poll = poll,
                                                                    .owner = c },
                                       error);
    c->answer.bench = c->bench;
    if (!c->bench || !check_effect(c, word, queue_pairs, error)) return false;
    const uint32_t ranks = collective_bench_facts_of(c->bench)->ranks;
    if (!sweep_list(a, &c->answer.sweep, c->answer.type, word->kind, ranks, &c->sizes, &c->answer.left_out,
                    error) ||
        !read_parts(c, a, ranks, error))
        return false;
    use_forced(c, s);
    list_assumptions(&c->answer);
    return check_requests(c, error);
}

static int run(const command_call *call)
{
    collective_command_options o = { .type = 7, // float
                                     .operation = -1,
                                     .topology = -1,
                                     .engine = -1,
                                     .grain = -1,
                                     .algorithm = ALGORITHM_AUTO,
                                     .protocol = PROTOCOL_AUTO };
    text_list words;
    int exit_code;
    sim_error error = { 0 };
    if (!command_parse(call, &o, &o.scenario.json, &words, &exit_code)) return exit_code;
    collective_call c = { .options = &o, .shown = progress_make(!o.quiet) };
    c.shown.started_s = os_wall_s();
    os_catch_signals();
    if (!prepare(&c, call->arena, &words, &error))
        return command_fail(call->arena, &error, o.scenario.json, NULL);
    play(&c);
    return c.answer.cancelled ? SIM_EXIT_INTERRUPTED : SIM_EXIT_OK;
}

const command command_collective = {
    .name = "collective",
    .usage = "--cluster NAME [--nodes N] | --scenario FILE [options]",
    .purpose = "Plays one collective on a cluster, size by size, and prints what nccl-tests would",
    .explanation = "Sizes, counts, algbw and busbw are defined as in nccl-tests, and so are the first eight "
                   "columns. Where\n"
                   "nccl-tests has a set of columns out of place and one in place there is one set here: the "
                   "simulated time\n"
                   "is the same for both, and buffers hold no data that could be checked. There is no noise, "
                   "so nothing is\n"
                   "repeated. Lines that are no rows begin with #.\n"
                   "Further columns: the algorithm, protocol and channels that were used; wire, what a GPU "
                   "sends, the flags\n"
                   "of the protocol included; NIC limit, the busbw at which the busiest NIC would never "
                   "pause, for the bytes\n"
                   "that this algorithm and protocol send through it (N/A inside a node). A row with ! is "
                   "above what its\n"
                   "links allow, which only a network without contention can do.\n"
                   "Ranks are packed: all GPUs of the first node, then those of the next. sendrecv: each "
                   "rank sends to the\n"
                   "next one, all at once. alltoallv: the size is what the rank that sends most holds, the "
                   "part for itself\n"
                   "included; all parts are as large as their weights are to the weights of its row. A name "
                   "that both a node\n"
                   "and a system have is the node.\n",
    .examples = "  windtunnel collective -c all_reduce --cluster dgx-h100 --nodes 8 -b 8 -e 8G -f 2\n"
                "  windtunnel collective -c alltoall --cluster eos --nodes 16 -b 1M -e 1G --json\n"
                "  windtunnel collective -c alltoallv --parts scenarios/networks/hot-expert.csv --cluster "
                "dgx-h100 \\\n"
                "    --nodes 2 -b 64M\n"
                "  windtunnel collective -c all_gather --cluster dgx-a100 -g 4 -b 1K -e 1G --protocol ll128\n"
                "  windtunnel collective --cluster dgx-h100 --nodes 4 -b 1G \\\n"
                "    --set 'cluster.degraded=[{nic: \"node 2 nic 1\", rate: 0.5}]'\n",
    .options = options,
    .run = run,
};
