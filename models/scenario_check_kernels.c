// SPDX-License-Identifier: GPL-3.0-or-later
// Holds what a scenario says of kernels against the GPU's kernel set and against the kernels that a step has.
#include "models/scenario_check.h"
#include "sim/words.h"
#include <inttypes.h>
#include <stdio.h>

// ---- attention

// The values of training.attention that this GPU has rates for.
static void hint_attention(const scenario *s, sim_error *error)
{
    const char *known[PROGRAMS + 2];
    char list[200];
    uint32_t count = 0;
    for (int i = 0; attention_words[i]; i++)
        if (i == ATTENTION_UNFUSED ||
            kernel_set_can_train(&s->cluster.node.gpu.kernels, attention_program_of(i)))
            known[count++] = attention_words[i];
    words_list(list, sizeof list, known, count, count);
    sim_hint(error, "attention: one of %s", list);
}

bool scenario_check_attention(const scenario *s, sim_error *error)
{
    const training_def *t = &s->training;
    const gpu_def *gpu = &s->cluster.node.gpu;
    if (t->attention == ATTENTION_UNFUSED ||
        kernel_set_can_train(&gpu->kernels, attention_program_of(t->attention)))
        return true;
    REFUSE(t->attention, "kernel set \"%s\" of GPU \"%s\" has no forward and backward rates of %s attention",
           gpu->kernels.name, gpu->name, attention_words[t->attention]);
    hint_attention(s, error);
    return false;
}

// ---- the user's times

static void add_names(const kernel_array *kernels, arena *a, text_list *names)
{
    for (uint32_t i = 0; i < kernels->count; i++) {
        uint32_t j = 0;
        while (j < names->count && strcmp(names->items[j], kernels->items[i].name) != 0)
            j++;
        if (j == names->count) *array_push(names, a) = kernels->items[i].name;
    }
}

// Of a bucket with a matrix that is large enough for any compression.
static void add_coding(const scenario *s, arena *a, kernel_array *kernels)
{
    const gradient_coding coding = scenario_gradient_coding(s);
    const gradient_tensor matrix = { .rows = 16384, .columns = 16384 };
    const gradient_bucket bucket = { .elements = 16384 * 16384, .tensors = &matrix, .tensor_count = 1 };
    for (int step = 0; step < CODING_STEPS; step++)
        coding_kernels(&coding, &bucket, (coding_step)step, a, kernels);
}

// Of every kernel that the model may run: fused or not, with any attention.
static text_list names_of_all(const scenario *s, arena *a)
{
    text_list names = { 0 };
    kernel_settings k = scenario_kernel_settings(s);
    kernel_array kernels = { 0 };
    for (int variant = 0; variant < 4; variant++) {
        k.fused = variant & 1;
        k.attention = variant & 2 ? ATTENTION_UNFUSED : ATTENTION_FLASH;
        kernels_embedding_forward(&s->model, &k, a, &kernels);
        kernels_layer_forward(&s->model, &k, a, &kernels);
        kernels.points.count = 0; // of lists that are not played, one behind the other
        kernels_head_forward(&s->model, &k, a, &kernels);
        kernels_head_backward(&s->model, &k, a, &kernels);
        kernels_layer_backward(&s->model, &k, a, &kernels);
        kernels_embedding_backward(&s->model, &k, a, &kernels);
    }
    kernels_optimizer(1, 4, 2, a, &kernels);
    kernels_optimizer_sgd(1, 4, 2, a, &kernels);
    add_coding(s, a, &kernels);
    add_names(&kernels, a, &names);
    return names;
}

// One kernel, one time: which of two is meant cannot be known.
static bool check_not_twice(const scenario *s, uint32_t row, sim_error *error)
{
    const kernel_time *times = s->training.kernel_times.items, *t = &times[row];
    for (uint32_t i = 0; i < row; i++) {
        const kernel_time *first = &times[i];
        if (first->m != t->m || first->n != t->n || first->k != t->k || first->batch != t->batch ||
            strcmp(first->name, t->name) != 0)
            continue;
        return REFUSE(t->name, "the time of this %s is already given in line %" PRIu32, t->name,
                      bind_place_of(s->reader, &first->name)->line);
    }
    return true;
}

bool scenario_check_kernel_times(const scenario *s, sim_error *error)
{
    const kernel_time_array *times = &s->training.kernel_times;
    if (times->count == 0) return true;
    arena *a = bind_reader_arena(s->reader);
    const arena_mark_t mark = arena_mark(a);
    const text_list names = names_of_all(s, a);
    bool good = true;
    for (uint32_t i = 0; i < times->count && good; i++) {
        const char *name = times->items[i].name;
        uint32_t j = 0;
        while (j < names.count && strcmp(names.items[j], name) != 0)
            j++;
        if (j < names.count) {
            good = check_not_twice(s, i, error);
            continue;
        }
        char shown[WORDS_SHOWN_SIZE];
        good = REFUSE(times->items[i].name, "%s has no kernel \"%s\"", s->model.name,
                      words_show(shown, name));
        words_hint(error, name, names.items, names.count, 12, "kernels are");
    }
    arena_release(a, mark);
    return good;
}
