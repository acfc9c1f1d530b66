// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/collective_sizes.h"
#include "sim/check.h"
#include "sim/units.h"
#include "sim/words.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t kibi = 1024, usual_bytes = UINT64_C(32) << 20, most_bytes = UINT64_C(1) << 40;
enum { SHARE_BYTES = 16 }; // to which nccl-tests aligns shares

static const element_type types[] = {
    { "int8", 1 }, { "uint8", 1 }, { "int32", 4 },  { "uint32", 4 },   { "int64", 8 },  { "uint64", 8 },
    { "half", 2 }, { "float", 4 }, { "double", 8 }, { "bfloat16", 2 }, { "f8e4m3", 1 }, { "f8e5m2", 1 },
};
const char *const element_type_words[] = { "int8",   "uint8",  "int32", "uint32", "int64",
                                           "uint64", "half",   "float", "double", "bfloat16",
                                           "f8e4m3", "f8e5m2", NULL };

const element_type *element_type_at(int index)
{
    SIM_ASSERT(index >= 0 && (size_t)index < ARRAY_COUNT(types));
    SIM_ASSERT(strcmp(types[index].name, element_type_words[index]) == 0);
    return &types[index];
}

// ---- one size

// 8, 1K, 1.5M: the shortest that reads back.
static const char *show(char buffer[static 32], uint64_t bytes)
{
    static const char suffixes[] = { 0, 'K', 'M', 'G', 'T' };
    uint32_t s = 0;
    for (; s + 1 < ARRAY_COUNT(suffixes) && bytes >= kibi && bytes % kibi == 0; s++)
        bytes /= kibi;
    snprintf(buffer, 32, suffixes[s] ? "%" PRIu64 "%c" : "%" PRIu64, bytes, suffixes[s]);
    return buffer;
}

static uint64_t unit_of(char suffix)
{
    switch (suffix) {
    case 0: return 1;
    case 'k':
    case 'K': return kibi;
    case 'm':
    case 'M': return kibi * kibi;
    case 'g':
    case 'G': return kibi * kibi * kibi;
    default: return 0;
    }
}

bool sweep_parse_size(const char *option, const char *text, uint64_t *bytes, sim_error *error)
{
    const sim_place place = sim_place_of_option(option, text);
    const size_t digits = strspn(text, "0123456789."), length = strlen(text);
    const uint64_t unit = digits > 0 && length <= digits + 1 ? unit_of(text[digits]) : 0;
    char shown[WORDS_SHOWN_SIZE], *end;
    const double value = digits > 0 ? strtod(text, &end) * (double)unit : 0.0;
    if (unit == 0 || end != text + digits)
        return sim_fail(error, SIM_EXIT_INPUT, &place, "\"%s\" is no size in bytes",
                        words_show(shown, text)) ||
               sim_hint(
                   error,
                   "as in nccl-tests: 8, 1K, 32M or 8G; no other letters: K, M and G are 1,024-fold each");
    if (value > (double)most_bytes)
        return sim_fail(error, SIM_EXIT_INPUT, &place, "%s is more than the 1024G that are played", text) ||
               sim_hint(error, "%s 1024G", option);
    if (value != floor(value) || value < 1.0)
        return sim_fail(error, SIM_EXIT_INPUT, &place, "%s is not a whole number of bytes above zero",
                        text) ||
               sim_hint(error, "%s %.0f", option, fmax(1.0, ceil(value)));
    *bytes = (uint64_t)value;
    return true;
}

// ---- a sweep

static bool check_elements(const char *option, const char *text, uint64_t bytes, const element_type *type,
                           sim_error *error)
{
    const sim_place place = sim_place_of_option(option, text);
    const uint64_t below = bytes / type->bytes * type->bytes, above = below + type->bytes;
    if (bytes % type->bytes == 0) return true;
    sim_fail(error, SIM_EXIT_INPUT, &place, "%" PRIu64 " bytes are no multiple of the %u bytes of a %s",
             bytes, type->bytes, type->name);
    if (below == 0) return sim_hint(error, "%s %" PRIu64, option, above);
    return sim_hint(error, "%s %" PRIu64 " or %" PRIu64, option, below, above);
}

static bool read_step(const sweep_texts *t, const element_type *type, sweep *s, sim_error *error)
{
    if (t->factor && t->increment)
        return sim_fail(error, SIM_EXIT_INPUT, NULL,
                        "sizes grow by a factor or by an increment, not by both") ||
               sim_hint(error, "--stepfactor or --stepbytes");
    if (t->increment)
        return sweep_parse_size("--stepbytes", t->increment, &s->increment, error) &&
               check_elements("--stepbytes", t->increment, s->increment, type, error);
    s->factor = 2;
    if (!t->factor) return true;
    const sim_place place = sim_place_of_option("--stepfactor", t->factor);
    if (!units_parse_count(t->factor, &s->factor, &place, error)) return false;
    if (s->factor >= 2) return true;
    return sim_fail(error, SIM_EXIT_INPUT, &place, "a factor of %" PRIu64 " never comes to the end",
                    s->factor) ||
           sim_hint(error, "--stepfactor 2");
}

bool sweep_read(const sweep_texts *t, const element_type *type, sweep *out, sim_error *error)
{
    *out = (sweep){ .begin = usual_bytes, .end = usual_bytes };
    if (t->begin && (!sweep_parse_size("--minbytes", t->begin, &out->begin, error) ||
                     !check_elements("--minbytes", t->begin, out->begin, type, error)))
        return false;
    if (t->end && !sweep_parse_size("--maxbytes", t->end, &out->end, error)) return false;
    if (!t->begin && out->end < out->begin) out->begin = out->end / type->bytes * type->bytes;
    if (!t->end && out->begin > out->end) out->end = out->begin;
    if (out->begin == 0 || out->end < out->begin) {
        char least[32], given[32];
        const uint64_t begin = out->begin ? out->begin : type->bytes;
        const sim_place place = sim_place_of_option("--maxbytes", t->end);
        return sim_fail(error, SIM_EXIT_INPUT, &place, "the sizes end at %s, before they begin, at %s",
                        show(given, out->end), show(least, begin)) ||
               sim_hint(error, "--maxbytes %s or more", least);
    }
    return read_step(t, type, out, error);
}

// ---- its sizes

bool sweep_has_shares(collective_kind kind)
{
    return kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_REDUCE_SCATTER ||
           kind == COLLECTIVE_ALL_TO_ALL;
}

// nccl-tests, src/all_gather.cu: base = (count / nranks) & -(16 / size of an element), times nranks.
static sweep_size cut(uint64_t bytes, const element_type *type, bool shares, uint32_t ranks)
{
    const uint64_t elements = bytes / type->bytes, aligned = SHARE_BYTES / type->bytes;
    sweep_size size = { .asked_bytes = bytes, .bytes = elements * type->bytes, .count = elements };
    if (!shares) return size;
    size.count = elements / ranks / aligned * aligned;
    size.bytes = size.count * ranks * type->bytes;
    return size;
}

bool sweep_list(arena *a, const sweep *s, const element_type *type, collective_kind kind, uint32_t ranks,
                sweep_size_array *out, uint32_t *left_out, sim_error *error)
{
    const bool shares = sweep_has_shares(kind);
    char shown[32];
    *left_out = 0;
    for (uint64_t bytes = s->begin; bytes <= s->end;) {
        const sweep_size size = cut(bytes, type, shares, ranks);
        if (size.bytes == 0)
            ++*left_out;
        else
            *array_push(out, a) = size;
        if (out->count > SWEEP_SIZES_MAX)
            return sim_fail(error, SIM_EXIT_INPUT, NULL, "the sweep has more than %d sizes",
                            SWEEP_SIZES_MAX) ||
                   sim_hint(error, "--stepfactor 2, or a larger increment");
        if (s->factor > s->end / bytes) break; // also where it would not fit into a number
        bytes = s->factor ? bytes * s->factor : bytes + s->increment;
    }
    if (out->count > 0) return true;
    return sim_fail(error, SIM_EXIT_INPUT, NULL, "no size has a share of %d bytes for each of the %u ranks",
                    SHARE_BYTES, ranks) ||
           sim_hint(error, "--maxbytes %s or more", show(shown, (uint64_t)SHARE_BYTES * ranks));
}
