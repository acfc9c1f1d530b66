// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/collective_kinds.h"
#include "sim/array.h"
#include "sim/words.h"
#include <string.h>

static const collective_word words_of_kinds[] = {
    { "all_reduce", COLLECTIVE_ALL_REDUCE, -1, true },
    { "all_gather", COLLECTIVE_ALL_GATHER, -1, false },
    { "reduce_scatter", COLLECTIVE_REDUCE_SCATTER, -1, true },
    { "alltoall", COLLECTIVE_ALL_TO_ALL, -1, false },
    { "alltoallv", COLLECTIVE_ALL_TO_ALL_UNEQUAL, -1, false },
    { "sendrecv", COLLECTIVE_SEND_RECV, -1, false },
    { "broadcast", COLLECTIVE_BROADCAST, 0, false },
    { "reduce", COLLECTIVE_REDUCE, 0, true },
};

const collective_word *collective_word_find(const char *text, sim_error *error)
{
    const char *known[ARRAY_COUNT(words_of_kinds)];
    char shown[WORDS_SHOWN_SIZE];
    if (!text) return &words_of_kinds[0];
    for (size_t i = 0; i < ARRAY_COUNT(words_of_kinds); i++) {
        known[i] = words_of_kinds[i].name;
        if (strcmp(text, known[i]) == 0 || strcmp(text, collective_kind_words[words_of_kinds[i].kind]) == 0)
            return &words_of_kinds[i];
    }
    const sim_place place = sim_place_of_option("--collective", text);
    sim_fail(error, SIM_EXIT_INPUT, &place, "unknown collective \"%s\"", words_show(shown, text));
    if (strspn(text, "0123456789") == strlen(text)) // the -c of nccl-tests
        sim_hint(error,
                 "-c names the collective: -c all_reduce; nothing is checked, for buffers hold no data");
    else
        words_hint(error, text, known, ARRAY_COUNT(known), ARRAY_COUNT(known), "collectives");
    return NULL;
}
