// SPDX-License-Identifier: GPL-3.0-or-later
// What a training step runs outside the layers (embedding, head, optimizer), and the shapes that all lists are made of.
//
// Bytes are counted tensor by tensor: each operand once, each result once, masks at one byte; w is the size of an
// activation. FLOP of elementwise kernels are rough counts of arithmetic per element (a reciprocal root or an
// exponential as one): they never decide a time, memory does.
//
// Launches. Each entry counts the kernels it stands for and, for the whole list, the framework calls around them
// (kernel_array.host_calls), which keep the host as busy as launches do: counting kernels alone makes steps of small
// models on one GPU some 20 % too fast. Together a fused GPT layer with flash attention costs the host 37 forward (47
// with dropout, whose generator states are forked), 60 backward, 8 more each with tensor parallelism, 25 more when it is
// recomputed (10 without dropout). Grade: assumed, by counting what Megatron-LM calls; not measured apart.
#include "models/training/kernel_list.h"
#include <assert.h>
#include <math.h>

const char *const attention_words[] = { "flash", "unfused", "fa1",  "fa1-triton", "fa2",   "fa3",
                                        "fa4",   "cudnn",   "sdpa", "aiter",      "eager", NULL };
static_assert(ARRAY_COUNT(attention_words) == (int)PROGRAMS + 2, "each program has its word");

attention_program attention_program_of(int attention)
{
    if (attention < (int)ATTENTION_FA1) return PROGRAM_FLASH;
    return (attention_program)(attention - (int)ATTENTION_FA1 + (int)PROGRAM_FA1);
}

bool attention_keeps_scores(int attention)
{
    return attention == ATTENTION_UNFUSED || attention_program_of(attention) == PROGRAM_EAGER;
}

uint64_t kernel_list_product(uint64_t x, uint64_t y)
{
    uint64_t product;
    SIM_ASSERT(!__builtin_mul_overflow(x, y, &product));
    return product;
}

static uint64_t share(uint64_t whole, uint32_t parts)
{
    SIM_ASSERT(whole % parts == 0);
    return whole / parts;
}

kernel_list kernel_list_begin(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out)
{
    SIM_ASSERT(s->tensor > 0 && s->micro_batch > 0 && s->sequence_length > 0);
    SIM_ASSERT(s->precision != DTYPE_FP8 && s->precision != DTYPE_FP4);
    SIM_ASSERT(m->kv_heads > 0 && m->head_size > 0); // llm_complete() has been here
    SIM_ASSERT(!m->experts && !m->latent.given && !m->parallel_block);
    const uint32_t t = s->tensor;
    kernel_list l = {
        .a = a,
        .out = out,
        .m = m,
        .s = s,
        .tokens = kernel_list_product(s->micro_batch, s->sequence_length),
        .heads = share(m->heads, t),
        .kv_heads = share(m->kv_heads, t),
        .ffn = share(m->ffn, t),
        .w = dtype_bytes(s->precision),
        .gradient_bytes = dtype_bytes(s->gradient_type),
        .fused = s->fused,
        .adds_inside = s->accumulation == ACCUMULATION_AS_FUSED ? s->fused
                                                                : s->accumulation == ACCUMULATION_FUSED,
    };
    l.row_tokens = s->sequence_parallel ? share(l.tokens, t) : l.tokens;
    l.q_width = l.heads * m->head_size;
    l.kv_width = l.kv_heads * m->head_size;
    l.up_width = llm_up_products(m) * l.ffn;
    return l;
}

void kernel_list_matmul(kernel_list *l, const char *name, uint64_t batch, uint64_t m, uint64_t n, uint64_t k,
                        double result_bytes, uint32_t calls)
{
    const double b = (double)batch, rows = (double)m, columns = (double)n, depth = (double)k;
    *array_push(l->out, l->a) = (kernel_shape){
        .name = name,
        .class = KERNEL_MATMUL,
        .type = l->s->precision,
        .batch = batch,
        .m = m,
        .n = n,
        .k = k,
        .flop = 2.0 * b * rows * columns * depth,
        .bytes = b * ((rows * depth + depth * columns) * l->w + rows * columns * result_bytes),
        .launches = 1,
    };
    l->out->host_calls += calls;
}

void kernel_list_elementwise(kernel_list *l, const char *name, uint64_t elements, double flop_each,
                             double bytes_each, uint32_t launches, uint32_t calls)
{
    *array_push(l->out, l->a) = (kernel_shape){
        .name = name,
        .class = KERNEL_ELEMENTWISE,
        .type = l->s ? l->s->precision : DTYPE_FP32,
        .batch = 1,
        .m = elements,
        .n = 1,
        .k = 1,
        .flop = (double)elements * flop_each,
        .bytes = (double)elements * bytes_each,
        .launches = launches,
    };
    l->out->host_calls += calls;
}

static void begin_call(kernel_list *l, collective_kind kind, const char *name, uint64_t bytes)
{
    tensor_point_array *points = &l->out->points;
    if (l->s->tensor == 1) return;
    SIM_ASSERT(name != NULL);
    SIM_ASSERT(!points->count || points->items[points->count - 1].waits); // one at a time
    *array_push(points, l->a) = (tensor_point){
        .kernel = l->out->count,
        .call = { .kind = kind, .bytes = bytes, .name = name },
    };
}

static uint64_t stream_bytes(const kernel_list *l)
{
    return kernel_list_product(kernel_list_product(l->tokens, l->m->hidden), (uint64_t)l->w);
}

void kernel_list_gather(kernel_list *l, const char *name)
{
    if (l->s->sequence_parallel) begin_call(l, COLLECTIVE_ALL_GATHER, name, stream_bytes(l));
}

void kernel_list_reduce(kernel_list *l, const char *whole_name, const char *scatter_name)
{
    if (l->s->sequence_parallel)
        begin_call(l, COLLECTIVE_REDUCE_SCATTER, scatter_name, stream_bytes(l));
    else
        begin_call(l, COLLECTIVE_ALL_REDUCE, whole_name, stream_bytes(l));
}

// Transformer Engine's "user buffers": a product is computed in pieces of rows, each as soon as its rows have arrived, or
// scattered as soon as it is there. One share of t has nothing to hide behind: of a gather the first that comes, of a scatter
// the last that goes. The others move beside the product, which is slower in pieces.
enum { USER_BUFFER_PIECES = 4 };

static void matmul_in_pieces(kernel_list *l, const char *name, uint64_t n, uint64_t k, uint32_t calls)
{
    for (uint64_t done = 0, i = 1; i <= USER_BUFFER_PIECES; i++) {
        const uint64_t end = l->tokens * i / USER_BUFFER_PIECES;
        if (end > done) kernel_list_matmul(l, name, 1, end - done, n, k, l->w, done ? 0 : calls);
        done = end;
    }
}

void kernel_list_gathered_matmul(kernel_list *l, const char *name, const char *gather, uint64_t n, uint64_t k,
                                 uint32_t calls)
{
    if (!l->s->user_buffers) {
        kernel_list_gather(l, gather);
        kernel_list_wait(l);
        kernel_list_matmul(l, name, 1, l->tokens, n, k, l->w, calls);
        return;
    }
    const uint64_t bytes = stream_bytes(l), bare = bytes / l->s->tensor;
    begin_call(l, COLLECTIVE_ALL_GATHER, gather, bare);
    kernel_list_wait(l);
    begin_call(l, COLLECTIVE_ALL_GATHER, gather, bytes - bare);
    matmul_in_pieces(l, name, n, k, calls);
    kernel_list_wait(l);
}

void kernel_list_reduced_matmul(kernel_list *l, const char *name, const char *whole, const char *scatter,
                                uint64_t n, uint64_t k, uint32_t calls)
{
    if (!l->s->user_buffers) {
        kernel_list_matmul(l, name, 1, l->tokens, n, k, l->w, calls);
        kernel_list_reduce(l, whole, scatter);
        kernel_list_wait(l);
        return;
    }
    const uint64_t bytes = stream_bytes(l), bare = bytes / l->s->tensor;
    begin_call(l, COLLECTIVE_REDUCE_SCATTER, scatter, bytes - bare);
    matmul_in_pieces(l, name, n, k, calls);
    kernel_list_wait(l);
    begin_call(l, COLLECTIVE_REDUCE_SCATTER, scatter, bare);
    kernel_list_wait(l);
}

void kernel_list_reduce_tokens(kernel_list *l, const char *name)
{
    begin_call(l, COLLECTIVE_ALL_REDUCE, name, kernel_list_product(l->tokens, 4));
    kernel_list_wait(l);
}

void kernel_list_wait(kernel_list *l)
{
    tensor_point_array *points = &l->out->points;
    if (!points->count || points->items[points->count - 1].waits) return;
    *array_push(points, l->a) = (tensor_point){ .kernel = l->out->count, .waits = true };
}

// With Y = X W: dX = dY W^T (the data gradient: rows x in, depth out) and dW = X^T dY (the weight gradient: out x in,
// depth rows). Fused, the weight gradient is added to the accumulated one inside the product, which reads and writes
// it (2 gradient_bytes per weight); else the product writes it in the training format and a pass of its own adds it.
//
// Split by columns, dX is a sum over the group, taken beside the product dW, which does not need it (Megatron-LM since
// 2022). With sequence parallel only a part of X was kept; it is gathered again beside dX (Korthikanti et al. 2022, 4.2.2).
// Split by rows, dX needs no others, but both products need the whole of dY.
void kernel_list_linear_backward(kernel_list *l, const linear_names *names, uint64_t rows, uint64_t out,
                                 uint64_t in, bool bias, uint64_t bias_rows)
{
    const uint32_t parallel = l->s->tensor > 1 ? 1 : 0; // the collective's bookkeeping beside each product
    if (bias) kernel_list_elementwise(l, names->bias, kernel_list_product(bias_rows, out), 1, l->w, 1, 1);
    if (names->split == LINEAR_ROWS) {
        kernel_list_gathered_matmul(l, names->dgrad, names->gather, in, out, 3 + parallel);
    } else {
        kernel_list_gather(l, names->gather);
        kernel_list_matmul(l, names->dgrad, 1, rows, in, out, l->w, 3 + parallel);
        kernel_list_wait(l);
        kernel_list_reduce(l, names->reduce, names->scatter);
    }
    kernel_list_matmul(l, names->wgrad, 1, out, in, rows, l->adds_inside ? 2 * l->gradient_bytes : l->w,
                       2 + parallel);
    kernel_list_wait(l);
    if (!l->adds_inside)
        kernel_list_elementwise(l, names->accumulate, kernel_list_product(out, in), 1,
                                l->w + 2 * l->gradient_bytes, 1, 0);
}

// LayerNorm is one kernel everywhere: x in, y out. RMSNorm is one when fused; operation by operation it goes through
// fp32 (Llama's reference code): cast w + 4, square 8, mean 4, scale 8, cast 4 + w, weight 2 w: 36 bytes at w = 2.
static void norms_forward(kernel_list *l, const char *name, uint64_t elements, uint32_t norms)
{
    const double casts = l->w < 4 ? 2 * (l->w + 4) : 0;
    if (l->m->norm == NORM_RMSNORM && !l->fused)
        kernel_list_elementwise(l, name, elements, 6, casts + 8 + 4 + 8 + 2 * l->w, 8 * norms, 2 * norms);
    else
        kernel_list_elementwise(l, name, elements, 7, 2 * l->w, norms, 2 * norms);
}

// Backward: dy and x in, dx out. LayerNorm's second pass, for the gradients of weight and bias, reads dy and x again:
// 5 w. A fused RMSNorm reads x again: 4 w. Operation by operation, at w = 2: weight 4, its gradient 6 (the sum over
// the rows is taken to hit the L2 cache: assumed), cast 6, scale 8, sum of g x 8, square and addition 12, cast 6: 50.
static void norms_backward(kernel_list *l, const char *name, uint64_t elements, uint32_t norms)
{
    const double casts = l->w < 4 ? 2 * (l->w + 4) : 0;
    if (l->m->norm == NORM_LAYERNORM)
        kernel_list_elementwise(l, name, elements, 12, 5 * l->w, 2 * norms, norms);
    else if (l->fused)
        kernel_list_elementwise(l, name, elements, 10, 4 * l->w, 2 * norms, norms);
    else
        kernel_list_elementwise(l, name, elements, 12, casts + 5 * l->w + 8 + 8 + 12, 14 * norms, 2 * norms);
}

void kernel_list_norm_forward(kernel_list *l, const char *name)
{
    norms_forward(l, name, kernel_list_product(l->row_tokens, l->m->hidden), 1);
}

void kernel_list_norm_backward(kernel_list *l, const char *name)
{
    norms_backward(l, name, kernel_list_product(l->row_tokens, l->m->hidden), 1);
}

void kernel_list_head_norms_forward(kernel_list *l, const char *name)
{
    norms_forward(l, name, kernel_list_product(l->tokens, l->q_width + l->kv_width), 2);
}

void kernel_list_head_norms_backward(kernel_list *l, const char *name)
{
    norms_backward(l, name, kernel_list_product(l->tokens, l->q_width + l->kv_width), 2);
}

uint64_t kernels_padded_vocabulary(const llm_def *m, uint32_t tensor)
{
    const uint64_t unit = UINT64_C(128) * tensor;
    return (m->vocabulary + unit - 1) / unit * unit;
}

uint64_t kernels_table_rows(const llm_def *m, uint32_t tensor)
{
    return kernels_padded_vocabulary(m, tensor) / tensor;
}

uint64_t kernels_table_elements(const llm_def *m, uint32_t tensor)
{
    return kernel_list_product(kernels_table_rows(m, tensor), m->hidden);
}

// Rows of the table are gathered (read and written once); a learned position is looked up and added; dropout reads,
// writes and keeps a mask. With t > 1 every GPU writes all tokens, zeros where the row is another's, and the sum follows.
void kernels_embedding_forward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out)
{
    kernel_list l = kernel_list_begin(m, s, a, out);
    const uint64_t rows = kernel_list_product(l.row_tokens, m->hidden);
    kernel_list_elementwise(&l, "embedding.gather", kernel_list_product(l.tokens, m->hidden), 1, 2 * l.w, 1,
                            2);
    kernel_list_reduce(&l, "embedding.gather all-reduce", "embedding.gather reduce-scatter");
    kernel_list_wait(&l);
    if (m->position == POSITION_LEARNED)
        kernel_list_elementwise(&l, "embedding.position", rows, 1, 3 * l.w, 2, 2);
    if (m->embedding_norm) kernel_list_norm_forward(&l, "embedding.norm");
    if (m->dropout) kernel_list_elementwise(&l, "embedding.dropout", rows, 2, 2 * l.w + 1, 1, 6);
}

// The gradient of the table is dense: each row that a token names is read, added to and written; then the whole table
// (this GPU's share of it), zeroed before, is added to the accumulated gradient. With sequence parallel the gradients of
// all rows are gathered first, so that each GPU has the whole gradient of the positions.
void kernels_embedding_backward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out)
{
    kernel_list l = kernel_list_begin(m, s, a, out);
    const uint64_t rows = kernel_list_product(l.row_tokens, m->hidden);
    const uint64_t all_rows = kernel_list_product(l.tokens, m->hidden);
    const uint64_t table = kernels_table_elements(m, s->tensor);
    if (m->dropout) kernel_list_elementwise(&l, "embedding.dropout.backward", rows, 2, 2 * l.w + 1, 1, 1);
    if (m->embedding_norm) kernel_list_norm_backward(&l, "embedding.norm.backward");
    kernel_list_gather(&l, "embedding.scatter all-gather");
    kernel_list_wait(&l);
    if (m->position == POSITION_LEARNED)
        kernel_list_elementwise(&l, "embedding.position.backward", all_rows, 1, l.w, 1, 2);
    kernel_list_elementwise(&l, "embedding.scatter", all_rows, 1, 3 * l.w, 2, 1);
    kernel_list_elementwise(&l, "embedding.accumulate", table, 1, 2 * l.w + 2 * l.gradient_bytes, 2, 1);
}

// The loss moves, forward and backward together, 43 bytes per logit with Megatron's fused cross-entropy and 50 operation
// by operation: effective bytes, the measured time times the rate of a copy. (Kernels that take the gradient in the
// forward pass reach 20.) The split is counted: forward, the logits cast to fp32 (6), their maximum (4), the exponential
// (8), its sum (4), the target's (4), about 27 of 43; backward, the softmax less one (8), cast back (6), about 16.
typedef struct loss_bytes {
    double forward, backward;
} loss_bytes;

static loss_bytes loss_bytes_each(const kernel_list *l)
{
    return l->fused ? (loss_bytes){ 27, 16 } : (loss_bytes){ 31, 19 };
}

// Over a split vocabulary three numbers per token go round the group (Shoeybi et al. 2019; Megatron-LM): the maximum, the
// target's logit, the sum of the exponentials. They stand behind the loss, which is one entry: nothing runs beside them, so
// where they stand in it makes no difference to its length on a busy GPU.
void kernels_head_forward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out)
{
    kernel_list l = kernel_list_begin(m, s, a, out);
    const uint64_t columns = kernels_table_rows(m, s->tensor);
    kernel_list_norm_forward(&l, "head.norm");
    kernel_list_gather(&l, "head.logits all-gather");
    kernel_list_wait(&l);
    kernel_list_matmul(&l, "head.logits", 1, l.tokens, columns, m->hidden, l.w, s->tensor > 1 ? 4 : 2);
    kernel_list_elementwise(&l, "head.loss", kernel_list_product(l.tokens, columns), 5,
                            loss_bytes_each(&l).forward, 8, 4);
    kernel_list_reduce_tokens(&l, "head.loss maximum all-reduce");
    kernel_list_reduce_tokens(&l, "head.loss target all-reduce");
    kernel_list_reduce_tokens(&l, "head.loss sum all-reduce");
}

void kernels_head_backward(const llm_def *m, const kernel_settings *s, arena *a, kernel_array *out)
{
    static const linear_names names = {
        .dgrad = "head.logits.dgrad",
        .wgrad = "head.logits.wgrad",
        .accumulate = "head.logits.accumulate",
        .split = LINEAR_COLUMNS,
        .gather = "head.logits.wgrad all-gather",
        .reduce = "head.logits.dgrad all-reduce",
        .scatter = "head.logits.dgrad reduce-scatter",
    };
    kernel_list l = kernel_list_begin(m, s, a, out);
    const uint64_t columns = kernels_table_rows(m, s->tensor);
    kernel_list_elementwise(&l, "head.loss.backward", kernel_list_product(l.tokens, columns), 3,
                            loss_bytes_each(&l).backward, 5, 3);
    kernel_list_linear_backward(&l, &names, l.tokens, columns, m->hidden, false, 0);
    kernel_list_norm_backward(&l, "head.norm.backward");
}

// Before the step the gradient norm (g bytes per element) and clipping (2 g). Kernels over lists of tensors take 320
// chunks of 65,536 elements a launch (NVIDIA apex, multi_tensor_apply). Not counted: setting the gradients to zero, which
// the products of the first micro-batch can do by writing instead of adding.
static void optimizer(const char *name, uint64_t parameters, double gradient_bytes, double parameter_bytes,
                      double state_bytes, double flop, arena *a, kernel_array *out)
{
    SIM_ASSERT(parameters > 0 && gradient_bytes > 0 && parameter_bytes > 0);
    const uint64_t at_once = UINT64_C(65536) * 320;
    const uint64_t calls = parameters / at_once + (parameters % at_once != 0);
    const uint32_t launches = calls > UINT32_MAX ? UINT32_MAX : (uint32_t)calls;
    const double master = 8, copy = parameter_bytes < 4 ? parameter_bytes : 0;
    kernel_list l = { .a = a, .out = out };
    kernel_list_elementwise(&l, "optimizer.gradient_norm", parameters, 2, gradient_bytes, launches, 0);
    kernel_list_elementwise(&l, "optimizer.clip", parameters, 1, 2 * gradient_bytes, launches, 0);
    kernel_list_elementwise(&l, name, parameters, flop, gradient_bytes + state_bytes + master + copy,
                            launches, 0);
}

// Adam (Kingma, Ba 2015), one pass: gradient read, both fp32 moments read and written (16), the fp32 master read and
// written (8), the training copy written: g + 24 + p bytes per element; in fp32 the training copy is the master.
void kernels_optimizer(uint64_t parameters, double gradient_bytes, double parameter_bytes, arena *a,
                       kernel_array *out)
{
    optimizer("optimizer.adam", parameters, gradient_bytes, parameter_bytes, 16, 14, a, out);
}

// SGD with momentum has one state: g + 16 + p.
void kernels_optimizer_sgd(uint64_t parameters, double gradient_bytes, double parameter_bytes, arena *a,
                           kernel_array *out)
{
    optimizer("optimizer.sgd", parameters, gradient_bytes, parameter_bytes, 8, 4, a, out);
}
