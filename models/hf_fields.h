// SPDX-License-Identifier: GPL-3.0-or-later
// models/hf_fields.h: which fields of a config.json mean what, architecture by architecture. hf_config.c alone includes it.
#pragma once
#include <stdbool.h>
#include <stddef.h>

typedef enum hf_use {
    HF_END,
    HF_TAKE,       // becomes the key; null is as good as left out
    HF_COUNT,      // the same, where 0 is as good as left out
    HF_NEXT,       // the same, one more
    HF_ACTIVATION, // a word that becomes "activation"
    HF_DROPOUT,    // above zero: trained with dropout
    HF_BIAS,       // one of several that must agree, all left out: false
    HF_ONLY,       // null or this value; other values are refused as what key says
    HF_SAME,       // null or the value of the key
    HF_UNUSED      // nothing that is modelled depends on it; key says why
} hf_use;

typedef struct hf_field {
    const char *name;
    hf_use use;
    const char *key;  // of the model, or a reason
    const char *only; // a scalar as JSON writes it; "[]": an empty list; "[x]": a list of nothing but x
    bool required;    // this field, or another that becomes the same key
} hf_field;

typedef struct hf_fixed { // what an architecture has unless a field says otherwise
    const char *key, *value;
} hf_fixed;

enum { HF_TABLES_MAX = 6, HF_FIXED_MAX = 10, HF_TYPES_MAX = 3 };

typedef struct hf_architecture {
    const char *name;                // in "architectures"
    const char *types[HF_TYPES_MAX]; // in "model_type", where there are no "architectures"
    const hf_field *fields[HF_TABLES_MAX];
    hf_fixed fixed[HF_FIXED_MAX];
    bool gated;             // the activation has a gate: three feed-forward matrices
    bool ffn_4h;            // width of the feed-forward layer where no field says it
    const char *refusal;    // not NULL: what it has that is not modelled; nothing of it is read
    const char *refused_at; // the field that shows it, if it is there
    const char *hint;       // what to do instead; NULL: nothing
} hf_architecture;

extern const hf_architecture hf_architectures[];
extern const size_t hf_architecture_count;
