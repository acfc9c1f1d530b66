// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of measured steps, and what becomes of their rows.
#include "tests/support/scratch.h"

#include "tests/support/near.h"

#include "validate/training_case.h"
#include <string.h>

#define HEADER                                                                                               \
    "id,source,layers,hidden,heads,seq_len,vocab,gpu,gpus,tp,pp,vpp,micro_batch,global_batch_seqs,"          \
    "recompute,params_b,"                                                                                    \
    "step_time_s,tokens_per_s_per_gpu,tflops_per_gpu\n"

typedef struct loaded_rows {
    arena *a;
    training_row_array rows;
    rule_array rules;
} loaded_rows;

static loaded_rows load(const char *table, const char *rules)
{
    loaded_rows l = { .a = arena_create("test") };
    sim_error error = { 0 };
    scratch_write("t.csv", table);
    scratch_write("r.yaml", rules);
    if (!training_rows_read(l.a, "t.csv", &l.rows, &error) ||
        !rules_read(l.a, "r.yaml", &training_rule_language, &l.rules, &error))
        fail_msg("%s", error.message);
    return l;
}

static const char node_rule[] =
    "- where: { gpu: A100 }\n  evidence: e\n  set: { cluster.node: dgx-a100, cluster.fabric.topology: "
    "fat-tree }\n  constant: 100 TFLOP/s\n";

static void columns_become_keys(void **state)
{
    (void)state;
    loaded_rows l = load(HEADER "r1,S,10,1024,16,2048,50000,A100,32,4,4,2,2,64,full,0.2,1.5,,\n", node_rule);
    const training_case c = training_case_of(l.a, &l.rows.items[0], &l.rules);
    assert_null(c.unknown);
    assert_string_equal(training_case_value(&c, "model.layers"), "10");
    assert_string_equal(training_case_value(&c, "model.ffn"), "4096"); // 4 h where it is not told
    assert_string_equal(training_case_value(&c, "plan.recompute"), "full");
    assert_string_equal(training_case_value(&c, "plan.virtual_stages"), "2");
    assert_string_equal(training_case_value(&c, "plan.layer_split"), "uneven"); // 10 layers in 8 chunks
    assert_string_equal(training_case_value(&c, "cluster.nodes"), "4"); // of eight, where it is not told
    assert_string_equal(training_case_value(&c, "cluster.fabric.topology"), "fat-tree");
    assert_null(training_case_value(&c, "plan.sharding"));
    assert_near(c.measured_s, 1.5, 1e-15);
    // (8 P + 16 L h s) tokens / (rate x GPUs) = (1.6e9 + 16 10 1024 2048) 64 2048 / (1e14 32)
    assert_near(c.constant_s, (1.6e9 + 335544320.0) * 131072.0 / 3.2e15, 1e-12);
    const text_list sets = training_case_sets(&c, 0, l.a);
    assert_string_equal(sets.items[sets.count - 1], "plan.schedule=interleaved-1f1b");
    arena_destroy(l.a);
}

static void a_step_time_follows_from_rates(void **state)
{
    (void)state;
    loaded_rows l = load(HEADER "r1,S,10,1024,16,2048,50000,A100,8,1,1,1,2,64,,0.2,,1000,\n"
                                "r2,S,10,1024,16,2048,50000,A100,8,1,1,1,2,64,,0.2,,,50\n"
                                "r3,T,10,1024,16,2048,50000,A100,8,1,1,1,2,64,,0.2,,,50\n",
                         "- where: { source: S }\n  evidence: e\n  convention: megatron\n");
    // tokens / (rate x GPUs)
    const training_case rate = training_case_of(l.a, &l.rows.items[0], &l.rules);
    assert_near(rate.measured_s, 64 * 2048 / 8000.0, 1e-15);
    // 72 B s L h^2 (1 + s / 6h + V / 12 L h) = 72 64 2048 10 1048576 (1 + 1/3 + 50000 / 122880)
    const training_case flops = training_case_of(l.a, &l.rows.items[1], &l.rules);
    assert_near(flops.measured_s,
                72.0 * 131072 * 10 * 1048576 * (4.0 / 3.0 + 50000.0 / 122880.0) / (50e12 * 8), 1e-12);
    // nobody says how they were counted
    const training_case none = training_case_of(l.a, &l.rows.items[2], &l.rules);
    assert_true(isnan(none.measured_s));
    arena_destroy(l.a);
}

static void what_is_missing_makes_a_row_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *row, *reason;
    } cases[] = {
        { "r1,S,10,1024,16,2048,50000,A100,8,,1,1,2,64,,0.2,1,,\n", "tp is not published" },
        { "r1,S,,1024,16,2048,50000,A100,8,1,1,1,2,64,,0.2,1,,\n", "layers is not published" },
        { "r1,S,10,1024,16,2048,50000,A100,8,1,1,1,,64,,0.2,1,,\n", "the micro-batch is not published" },
        { "r1,S,10,1024,16,2048,50000,A100,8,1,1,1,2,,,0.2,1,,\n", "the global batch is not published" },
        { "r1,S,10,1024,16,2048,,A100,8,1,1,1,2,64,,0.2,1,,\n", "the vocabulary is not published" },
        { "r1,S,10,1024,16,2048,50000,A10O,8,1,1,1,2,64,,0.2,1,,\n",
          "column gpu: no catalogue GPU is called \"A10O\"; nearest is \"A100\"" },
        { "r1,S,10,1024,16,2048,50000,Z,8,1,1,1,2,64,,0.2,1,,\n",
          "column gpu: no catalogue GPU is called \"Z\"; there are A100" },
        { "r1,S,10,1024,16,2048,50000,A10-24GB-PCIe,8,1,1,1,2,64,,0.2,1,,\n", // begins alike
          "column gpu: no catalogue GPU is called \"A10-24GB-PCIe\"; nearest is \"A100\"" },
        { "r1,S,10,1024,16,2048,50000,a100-sxm,8,1,1,1,2,64,,0.2,1,,\n", // case aside
          "column gpu: no catalogue GPU is called \"a100-sxm\"; nearest is \"A100\"" },
        { "r1,S,10,1024,16,2048,50000,,8,1,1,1,2,64,,0.2,1,,\n", "gpu is not published" },
        { "r1,S,10,1024,16,2048,50000,A100,8,1,1,1,2,64,,0.2,,1e-6,\n", // 64 x 2048 / 8e-6
          "its rate makes a step of 1.638e+10 s" },
        { "r1,S,10,1024,16,2048,50000,A100,8,1,1,1,2,64,,0.2,,,\n",
          "no time of a step follows from what is published" },
        { "r1,L,10,1024,16,2048,50000,A100,8,1,1,1,2,64,,0.2,1,,\n", "that is too much" },
    };
    const char *rules = "- where: { gpu: A100 }\n  evidence: e\n  set: { cluster.node: dgx-a100 }\n"
                        "- where: { source: L }\n  unknown: that is too much\n";
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char table[1024];
        snprintf(table, sizeof table, "%s%s", HEADER, cases[i].row);
        loaded_rows l = load(table, rules);
        const training_case c = training_case_of(l.a, &l.rows.items[0], &l.rules);
        assert_non_null(c.unknown);
        assert_string_equal(c.unknown, cases[i].reason);
        arena_destroy(l.a);
    }
}

static void what_is_not_published_is_played_with_all_it_may_be(void **state)
{
    (void)state;
    loaded_rows l = load(
        HEADER "r1,S,8,1024,16,2048,50000,A100,8,1,4,,,64,,0.2,1,,\n",
        "- evidence: e\n  set: { cluster.node: dgx-a100, cluster.fabric.topology: fat-tree }\n"
        "  choices: { training.micro_batch: [1, 2, 4], plan.virtual_stages: [1, 2] }\n");
    const training_case c = training_case_of(l.a, &l.rows.items[0], &l.rules);
    assert_null(c.unknown);
    assert_null(training_case_value(&c, "cluster.fabric.topology")); // one node has no fabric
    assert_int_equal(training_case_variants(&c), 6);
    assert_string_equal(training_case_describe_choices(&c, l.a),
                        "training.micro_batch 1 to 4, plan.virtual_stages 1 to 2");
    const text_list first = training_case_sets(&c, 1, l.a), last = training_case_sets(&c, 5, l.a);
    assert_string_equal(first.items[first.count - 2], "training.micro_batch=2");
    assert_string_equal(first.items[first.count - 1], "plan.virtual_stages=1");
    assert_string_equal(last.items[last.count - 3], "training.micro_batch=4");
    assert_string_equal(last.items[last.count - 2], "plan.virtual_stages=2");
    assert_string_equal(last.items[last.count - 1], "plan.schedule=interleaved-1f1b");
    arena_destroy(l.a);
}

static void tables_are_refused_at_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message, *hint;
        uint32_t line;
    } cases[] = {
        { "id,source,gpus\nr1,S,8\n", "the column \"layers\" is missing",
          "a table of training steps has the columns of validate/measured/training.csv", 1 },
        { "id,source,layers,hidden,heads,seq_len,gpu,gpus,tp,pp,micro_batch,global_batch_seqs\n",
          "nothing is measured: no column says how fast a step is",
          "one of step_time_s, tokens_per_s_per_gpu, tflops_per_gpu", 1 },
        { "id,sorce\n", "there is no column \"sorce\" in a table of training steps",
          "did you mean \"source\"?", 1 },
        { HEADER ",S,10,1024,16,2048,50000,A100,8,1,1,1,2,64,,0.2,1,,\n", "a row without an id", "", 2 },
        { HEADER "r,S,10,1024,16,2048,50000,A100,8,1,1,1,2,64,,0.2,1,,\nr,S,10,1024,16,2048,50000,A100,8,1,1,"
                 "1,2,64,,0.2,1,,\n",
          "the id \"r\" stands twice, first in line 2", "", 3 },
        { HEADER "r,S,10,1024,16,2048,50000,A100,-8,1,1,1,2,64,,0.2,1,,\n",
          "gpus cannot be \"-8\": the least is 1",
          "a whole number from 1 to 1000000, or nothing where it is not published", 2 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        arena *a = arena_create("test");
        training_row_array rows = { 0 };
        sim_error error = { 0 };
        scratch_write("t.csv", cases[i].text);
        assert_false(training_rows_read(a, "t.csv", &rows, &error));
        assert_string_equal(error.message, cases[i].message);
        assert_string_equal(error.hint, cases[i].hint);
        assert_string_equal(error.file, "t.csv");
        assert_int_equal(error.line, cases[i].line);
        arena_destroy(a);
    }
}

static void names_are_read_back(void **state)
{
    (void)state;
    loaded_rows l = load("model," HEADER "\"it's \"\"a\"\": {b} "
                         "#\x13\xE2\x82\xAC\",r1,S,10,1024,16,2048,50000,A100,32,4,4,2,2,64,full,0.2,1.5,,\n",
                         node_rule);
    const training_case c = training_case_of(l.a, &l.rows.items[0], &l.rules);
    assert_string_equal(training_case_value(&c, "model.name"),
                        "\"it's \\U00000022a\\U00000022: {b} #\\U00000013\\U000020AC\"");
    assert_string_equal(
        training_case_in_columns("plan.gpus must be at most 3, and training.global_batch 2", l.a),
        "gpus must be at most 3, and global_batch_seqs 2");
    arena_destroy(l.a);
}

static void possibilities_are_limited(void **state)
{
    (void)state;
    loaded_rows l = load(HEADER "r1,S,8,1024,16,2048,50000,A100,8,1,4,,,64,,0.2,1,,\n",
                         "- evidence: e\n  set: { cluster.node: dgx-a100 }\n"
                         "  choices: { a.a: [1, 2, 3, 4, 5], a.b: [1, 2, 3, 4, 5], a.c: [1, 2, 3, 4, 5],\n"
                         "             training.micro_batch: [1] }\n");
    const training_case c = training_case_of(l.a, &l.rows.items[0], &l.rules);
    assert_string_equal(c.unknown, "what is not published makes more than 100 scenarios");
    arena_destroy(l.a);
}

int main(void)
{
#define IN_SCRATCH(test_) cmocka_unit_test_setup_teardown(test_, scratch_enter, scratch_leave)
    const struct CMUnitTest tests[] = {
        IN_SCRATCH(columns_become_keys),
        IN_SCRATCH(a_step_time_follows_from_rates),
        IN_SCRATCH(what_is_missing_makes_a_row_unknown),
        IN_SCRATCH(what_is_not_published_is_played_with_all_it_may_be),
        IN_SCRATCH(tables_are_refused_at_their_line),
        IN_SCRATCH(names_are_read_back),
        IN_SCRATCH(possibilities_are_limited),
    };
    return cmocka_run_group_tests_name("training_case", tests, NULL, NULL);
}
