// SPDX-License-Identifier: GPL-3.0-or-later
// A config.json: read as JSON, turned into a model and counted, or refused with a place in it.
#include "models/hf_config.h"
#include "models/training/llm.h"
#include "tests/fuzz/fuzz.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > TEXT_MAX) return 0;
    arena *a = arena_create("fuzz");
    sim_error error = { 0 };
    llm_def m;
    SIM_ASSERT(a);
    if (read_model(a, (const char *)data, size, &m, &error)) {
        const uint64_t all = llm_parameters(&m), active = llm_active_parameters(&m);
        SIM_ASSERT(0 < active && active <= all && all < UINT64_C(1) << 63);
        SIM_ASSERT(llm_flop_per_token(&m, 1, FLOP_MODEL_FULL) > 0.0);
    } else {
        fuzz_check_error(&error);
        SIM_ASSERT(*error.file && error.line > 0);
    }
    arena_destroy(a);
    return 0;
}
