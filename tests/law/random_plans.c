// SPDX-License-Identifier: GPL-3.0-or-later
// Laws that hold for every scenario, tried on scenarios drawn by chance (plan_maker.h). Each is refused with a reason and a
// way out, or it ends, and then
//     conservation    causes of idle time add up, bytes arrive as sent (asserted by the program itself); next to nothing is
//                     idle for no known reason
//     one result      the digest of ranks played one by one, folded, with tensor-parallel collectives played or taken at
//                     their time alone, phases reversed, any event queue, once more
//     monotony        on the ideal network with protocol and algorithm given: there no transfer minds another one, every
//                     order is fixed beforehand, so that each time is a maximum of sums of times, and no part that is
//                     slower can make a step faster, as long as nothing that moves slows work. Exactly so, for rounding
//                     keeps order. (With shared links this is not true: a delayed transfer may leave others alone with a
//                     link; and an automatic choice may have predicted badly.)
// Each scenario is played in a process of its own, so that one that fails an assertion or goes on for ever is found like any
// other; what fails is made plainer knob by knob as long as it fails, and shown.
//     random_plans [--seed S] [--from I] [--count N] [--catalogue FOLDER]
#define _XOPEN_SOURCE 700
#include "models/run.h"
#include "sim/os.h"
#include "tests/law/plan_maker.h"
#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    EVENTS_MAX = 30000000, // of a run: far more than such a scenario has
    SECONDS_MAX = 300,     // of all runs of a scenario, sanitized on a busy machine
    REASONS_MAX = 512,
    TEXT_SIZE = 1200
};
static const double other_max = 0.001; // of the GPU time

typedef enum verdict { REFUSED, DONE, BROKEN } verdict;

typedef struct report { // of one scenario, from its process
    uint32_t verdict;
    bool folded, alone;
    uint32_t runs;
    uint64_t events;
    char text[TEXT_SIZE]; // why it was refused; which law is broken
} report;

// ---- one run

typedef struct outcome {
    bool done, too_many, folded, alone;
    sim_error error;
    uint64_t digest, events;
    double step_s, other;
    uint32_t steps;
} outcome;

static bool watch(void *owner, const run_progress *progress)
{
    outcome *o = owner;
    o->too_many = progress->events > EVENTS_MAX;
    return !o->too_many;
}

static outcome run_once(const char *parts_folder, const char *const *sets, uint32_t set_count,
                        const run_options *how, report *r)
{
    outcome o = { 0 };
    run_result result;
    run_options options = *how;
    options.scenario_path = "plan.yaml";
    options.catalogue_path = parts_folder;
    options.sets = sets;
    options.set_count = set_count;
    options.progress = watch;
    options.owner = &o;
    o.done = run_execute(&options, &result, &o.error) && result.state == RUN_DONE;
    o.digest = result.digest;
    o.steps = result.steps_done;
    o.events = result.counters.events;
    if (result.world) o.folded = result.world->folded;
    if (result.world) o.alone = result.world->alone_tensor;
    for (uint32_t i = 0; i < result.blame.count; i++)
        if (strcmp(result.blame.items[i].cause, "other") == 0) o.other = result.blame.items[i].share;
    if (o.done) o.step_s = summary_find(&result.summary, "step_time")->value;
    r->runs++;
    r->events += o.events;
    run_free(&result);
    return o;
}

static bool broken(report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool broken(report *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    r->verdict = BROKEN;
    vsnprintf(r->text, sizeof r->text, format, arguments);
    va_end(arguments);
    return false;
}

// ---- the laws

static bool is_refused_well(const outcome *o, report *r)
{
    if (o->too_many) return broken(r, "goes on and on: %" PRIu64 " events", o->events);
    if (o->error.exit_code != SIM_EXIT_NO && o->error.exit_code != SIM_EXIT_INPUT)
        return broken(r, "exit code %d: %s", o->error.exit_code, o->error.message);
    if (strstr(o->error.message, "deadlock")) return broken(r, "%s", o->error.message);
    if (!o->error.message[0]) return broken(r, "refused without a reason");
    // A bound is a way out in itself.
    if (!o->error.hint[0] && !strstr(o->error.message, "must be "))
        return broken(r, "no hint: %s", o->error.message);
    r->verdict = REFUSED;
    snprintf(r->text, sizeof r->text, "%s", o->error.message);
    return true;
}

typedef struct variant {
    const char *name, *fold;
    run_options how;
} variant;

static const variant variants[] = {
    { "reversed phases", "run.fold=none", { .reverse_phases = true } },
    { "radix queue", "run.fold=none", { .queue = QUEUE_RADIX } },
    { "played once more", "run.fold=none", { 0 } },
    { "folded", "run.fold=node", { 0 } },
    { "folded, tensor-parallel collectives played", "run.fold=node", { .play_tensor = true } },
    { "folded, heap queue, reversed phases",
      "run.fold=node",
      { .queue = QUEUE_HEAP, .reverse_phases = true } },
};

static bool has_one_result(const char *parts_folder, const outcome *first, report *r)
{
    for (size_t i = 0; i < ARRAY_COUNT(variants); i++) {
        const outcome o = run_once(parts_folder, &variants[i].fold, 1, &variants[i].how, r);
        if (!o.done) return broken(r, "%s: not done: %s", variants[i].name, o.error.message);
        if (o.digest != first->digest)
            return broken(r, "%s: another digest; step time %.12g s, before %.12g s", variants[i].name,
                          o.step_s, first->step_s);
        r->folded |= o.folded;
        r->alone |= o.alone;
    }
    return true;
}

static const struct {
    const char *part, *faster, *slower;
} parts[] = {
    { "clock", "cluster.node.gpu.clock_ratio=0.93", "cluster.node.gpu.clock_ratio=0.71" },
    { "GPU memory", "cluster.node.gpu.memory_rate=1.37 TB/s", "cluster.node.gpu.memory_rate=1.13 TB/s" },
    { "host", "cluster.node.gpu.launch=3.1 us", "cluster.node.gpu.launch=17.3 us" },
    { "scale-up", "cluster.node.scale_up.rate=173 GB/s", "cluster.node.scale_up.rate=71 GB/s" },
    { "PCIe to the NIC", "cluster.node.nic_pcie_rate=23 GB/s", "cluster.node.nic_pcie_rate=7.7 GB/s" },
    { "send and receive", "cluster.node.scale_up.costs.peers.entry=3.3 us",
      "cluster.node.scale_up.costs.peers.entry=41 us" },
    { "sharing links", "network.engine=ideal", "network.engine=fluid" },
};

// What is late may come to move beside work that minds it less.
#define NOTHING_TAKEN "network.collectives.memory_traffic=0"

static bool is_monotonous(const char *parts_folder, report *r)
{
    const char *sets[] = { NOTHING_TAKEN,
                           "network.engine=ideal",
                           "network.completion_window=0",
                           "network.bottleneck_count=false",
                           "network.protocol=simple",
                           "network.algorithm=ring",
                           NULL };
    const uint32_t count = ARRAY_COUNT(sets);
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        outcome o[2];
        for (int slow = 0; slow < 2; slow++) {
            sets[count - 1] = slow ? parts[i].slower : parts[i].faster;
            o[slow] = run_once(parts_folder, sets, count, &(run_options){ 0 }, r);
            if (!o[slow].done) return broken(r, "%s: not done: %s", sets[count - 1], o[slow].error.message);
        }
        if (o[1].step_s < o[0].step_s)
            return broken(r, "%s: %.15g s, but %s: %.15g s", parts[i].slower, o[1].step_s, parts[i].faster,
                          o[0].step_s);
    }
    return true;
}

static void judge(const char *parts_folder, uint64_t index, report *r)
{
    const char *fold = "run.fold=none";
    const outcome first = run_once(parts_folder, &fold, 1, &(run_options){ 0 }, r);
    if (!first.done) {
        is_refused_well(&first, r);
        return;
    }
    r->verdict = DONE;
    if (first.other > other_max)
        broken(r, "%.3g of the GPU time is idle for no known reason", first.other);
    else if (has_one_result(parts_folder, &first, r) && index % 4 == 0)
        is_monotonous(parts_folder, r);
}

// ---- a process for each

static report judge_apart(const made_plan *made, uint64_t index, const char *parts_folder)
{
    report r = { .verdict = BROKEN };
    int pipe_ends[2], status = 0;
    if (!plan_write(made, "plan.yaml") || pipe(pipe_ends) != 0) abort();
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_MAX);
        if (!freopen("errors.txt", "w", stderr) || setvbuf(stderr, NULL, _IONBF, 0) != 0) _exit(9);
        judge(parts_folder, index, &r);
        _exit(write(pipe_ends[1], &r, sizeof r) == sizeof r ? 0 : 9);
    }
    close(pipe_ends[1]);
    const bool told = child > 0 && read(pipe_ends[0], &r, sizeof r) == sizeof r;
    close(pipe_ends[0]);
    if (child <= 0 || waitpid(child, &status, 0) != child) abort();
    if (!told && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        broken(&r, "goes on and on: %d s", SECONDS_MAX);
    else if (!told)
        broken(&r, "its process ended with status 0x%x", (unsigned)status);
    return r;
}

static void print_file(const char *name)
{
    FILE *file = fopen(name, "r");
    for (int c; file && (c = getc(file)) != EOF;)
        putchar(c);
    if (file) fclose(file);
}

// The first word of a text tells failures apart well enough.
static bool fails_alike(const report *a, const report *b)
{
    return b->verdict == BROKEN && strncmp(a->text, b->text, 8) == 0;
}

static void show_plainest(made_plan made, uint64_t index, const char *parts_folder, report r)
{
    bool plainer = true;
    while (plainer) {
        plainer = false;
        for (int k = 0; k < KNOBS; k++) {
            made_plan tried = made;
            tried.value[k] = plan_plainest((knob)k);
            if (tried.value[k] == made.value[k]) continue;
            const report again = judge_apart(&tried, index, parts_folder);
            if (!fails_alike(&r, &again)) continue;
            made = tried;
            r = again;
            plainer = true;
        }
    }
    judge_apart(&made, index, parts_folder);
    printf("made plainer: %s\n", r.text);
    print_file("errors.txt");
    print_file("plan.yaml");
    fflush(stdout);
}

// ---- counts

typedef struct reason {
    char text[TEXT_SIZE];
    uint64_t count;
} reason;

typedef struct totals {
    uint64_t refused, done, broken, folded, alone, runs, events;
    reason reasons[REASONS_MAX];
    uint32_t reason_count;
} totals;

// Numbers and names of parts left out.
static void count_reason(totals *t, const char *text)
{
    char plain[TEXT_SIZE];
    size_t length = 0;
    for (const char *c = text; *c && length + 1 < sizeof plain; c++) {
        if (!isdigit((unsigned char)*c))
            plain[length++] = *c;
        else if (length == 0 || plain[length - 1] != '#')
            plain[length++] = '#';
    }
    plain[length] = 0;
    uint32_t i = 0;
    while (i < t->reason_count && strcmp(t->reasons[i].text, plain) != 0)
        i++;
    if (i == REASONS_MAX) return;
    if (i == t->reason_count) memcpy(t->reasons[t->reason_count++].text, plain, length + 1);
    t->reasons[i].count++;
}

static void count(totals *t, const report *r)
{
    t->refused += r->verdict == REFUSED;
    t->done += r->verdict == DONE;
    t->broken += r->verdict == BROKEN;
    t->folded += r->folded;
    t->alone += r->alone;
    t->runs += r->runs;
    t->events += r->events;
    if (r->verdict == REFUSED) count_reason(t, r->text);
}

static void print_totals(const totals *t, bool reasons)
{
    printf("%" PRIu64 " done (%" PRIu64 " of them folded, %" PRIu64
           " with tensor-parallel collectives at their time "
           "alone), %" PRIu64 " refused, %" PRIu64 " broken; %" PRIu64 " runs, %" PRIu64 " events\n",
           t->done, t->folded, t->alone, t->refused, t->broken, t->runs, t->events);
    for (uint32_t i = 0; reasons && i < t->reason_count; i++)
        printf("%7" PRIu64 "  %s\n", t->reasons[i].count, t->reasons[i].text);
}

// ---- the program

typedef struct request {
    uint64_t seed, from, count;
    char catalogue[OS_PATH_SIZE];
} request;

static bool read_request(int argc, char **argv, request *q)
{
    *q = (request){ .seed = 1, .count = 24 };
    const char *parts_folder = "models/catalogue";
    for (int i = 1; i + 1 < argc; i += 2) {
        const uint64_t number = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seed") == 0)
            q->seed = number;
        else if (strcmp(argv[i], "--from") == 0)
            q->from = number;
        else if (strcmp(argv[i], "--count") == 0)
            q->count = number;
        else if (strcmp(argv[i], "--catalogue") == 0)
            parts_folder = argv[i + 1];
        else
            return false;
    }
    return argc % 2 == 1 && os_real_path(parts_folder, q->catalogue, sizeof q->catalogue);
}

int main(int argc, char **argv)
{
    static totals all;
    char folder[] = "/tmp/windtunnel-plans-XXXXXX";
    request q;
    if (!read_request(argc, argv, &q)) {
        fprintf(stderr, "usage: random_plans [--seed S] [--from I] [--count N] [--catalogue FOLDER]\n");
        return SIM_EXIT_INPUT;
    }
    if (!mkdtemp(folder) || chdir(folder) != 0) return SIM_EXIT_INPUT;
    for (uint64_t i = q.from; i < q.from + q.count; i++) {
        const made_plan made = plan_make(q.seed, i);
        const report r = judge_apart(&made, i, q.catalogue);
        count(&all, &r);
        if (r.verdict != BROKEN) continue;
        printf("--seed %" PRIu64 " --from %" PRIu64 " --count 1: %s\n", q.seed, i, r.text);
        print_file("errors.txt");
        fflush(stdout);
        show_plainest(made, i, q.catalogue, r);
    }
    print_totals(&all, q.count > 1);
    const char *const files[] = { "plan.yaml", "ranks.csv", "errors.txt" };
    for (size_t i = 0; i < ARRAY_COUNT(files); i++)
        unlink(files[i]);
    return chdir("/") != 0 || rmdir(folder) != 0 || all.broken ? 1 : 0;
}
