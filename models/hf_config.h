// SPDX-License-Identifier: GPL-3.0-or-later
// models/hf_config.h: a model as Hugging Face's config.json describes it. Its fields become keys of models/training/llm.c,
// each at its own place, so that whatever is wrong with a shape is said at the line of the config.json. Each field is used,
// or is known to change nothing that is modelled (hf_fields.c says why), or is refused by name.
#pragma once
#include "sim/document.h"

// In a scenario, puts these keys in the place of "hf: FILE" of its model; keys written beside it win. The file is named
// relative to the one that names it. True as well where there is no such key.
bool hf_config_inline(arena *a, document *doc, sim_error *error);
// The keys alone, as a mapping in the arena whose texts are the document's. Refused at their place: architectures and fields
// that are unknown or say what is not modelled, fields that contradict each other, and those that are missing.
bool hf_config_read(arena *a, const document *config, doc_node **model, sim_error *error);
