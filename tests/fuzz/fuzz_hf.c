// SPDX-License-Identifier: GPL-3.0-or-later
// A config.json: read as JSON, turned into a model and counted, or refused with a place in it. Behind a zero byte stand keys of
// a scenario's model, which override what the file says.
#define _POSIX_C_SOURCE 200809L
#include "models/hf_config.h"
#include "models/training/llm.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 16 };

static bool read_model(arena *a, const char *text, size_t length, llm_def *out, sim_error *error)
{
    document config;
    doc_node *model;
    bind_reader *r = bind_reader_create(a, NULL, NULL);
    return document_parse_json(a, "config.json", text, length, &config, error) &&
           hf_config_read(a, &config, &model, error) && bind_read(r, llm_binds, model, "model", out, error) &&
           llm_complete(out, r, error);
}

static void check_model(const llm_def *m)
{
    const uint64_t all = llm_parameters(m), active = llm_active_parameters(m);
    SIM_ASSERT(0 < active && active <= all && all < UINT64_C(1) << 63);
    SIM_ASSERT(llm_flop_per_token(m, 1, FLOP_MODEL_FULL) > 0.0);
}

// A scenario "model: { hf: PATH, own keys }".
static document scenario_of(arena *a, const doc_node *own, const char *path)
{
    doc_node *file = arena_new(a, doc_node), *model = arena_new(a, doc_node), *root = arena_new(a, doc_node);
    doc_pair *keys = arena_array(a, doc_pair, own->count + 1), *top = arena_new(a, doc_pair);
    *file = (doc_node){ .kind = DOC_SCALAR, .place = own->place, .scalar = path, .unrolled = 1, .height = 1 };
    keys[0] = (doc_pair){ .key = "hf", .key_place = own->place, .value = file };
    if (own->count) memcpy(keys + 1, own->pairs, own->count * sizeof *keys);
    *model = *own;
    model->pairs = keys;
    model->count++;
    model->unrolled++;
    *top = (doc_pair){ .key = "model", .key_place = own->place, .value = model };
    *root = (doc_node){ .kind = DOC_MAPPING, .place = own->place, .pairs = top, .count = 1 };
    root->unrolled = model->unrolled + 1;
    root->height = model->height + 1;
    return (document){ .root = root };
}

static bool read_overridden(arena *a, const doc_node *own, const char *path, llm_def *out, sim_error *error)
{
    document doc = scenario_of(a, own, path);
    bind_reader *r = bind_reader_create(a, NULL, NULL);
    return hf_config_inline(a, &doc, error) &&
           bind_read(r, llm_binds, document_find(doc.root, "model"), "model", out, error) &&
           llm_complete(out, r, error);
}

static void read_in_scenario(arena *a, const char *config, size_t length, const char *keys,
                             size_t keys_length)
{
    char path[] = "/tmp/fuzz-hf-XXXXXX";
    document own;
    sim_error error = { 0 };
    llm_def m;
    if (!document_parse(a, "own.yaml", keys, keys_length, NULL, &own, &error) ||
        own.root->kind != DOC_MAPPING || document_find(own.root, "hf"))
        return;
    const int file = mkstemp(path);
    SIM_ASSERT(file >= 0 && write(file, config, length) == (ssize_t)length && close(file) == 0);
    if (read_overridden(a, own.root, path, &m, &error))
        check_model(&m);
    else
        fuzz_check_error(&error);
    SIM_ASSERT(unlink(path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_MAX) return 0;
    arena *a = arena_create("fuzz");
    sim_error error = { 0 };
    llm_def m;
    SIM_ASSERT(a);
    const char *text = (const char *)data, *behind = size ? memchr(text, 0, size) : NULL;
    const size_t length = behind ? (size_t)(behind - text) : size;
    if (behind) read_in_scenario(a, text, length, behind + 1, size - length - 1);
    if (read_model(a, text, length, &m, &error)) {
        check_model(&m);
    } else {
        fuzz_check_error(&error);
        SIM_ASSERT(*error.file && error.line > 0);
    }
    arena_destroy(a);
    return 0;
}
