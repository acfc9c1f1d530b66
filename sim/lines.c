// SPDX-License-Identifier: GPL-3.0-or-later
#include "sim/lines.h"
#include "sim/words.h"
#include <string.h>

line_reader lines_open(const char *name, const char *text, size_t length)
{
    static const char mark[] = "\xef\xbb\xbf";
    line_reader r = { .name = name, .text = text, .end = text + length, .next = text };
    if (length >= sizeof(mark) - 1 && memcmp(text, mark, sizeof(mark) - 1) == 0) r.next += sizeof(mark) - 1;
    return r;
}

bool lines_next(line_reader *r)
{
    if (r->next == r->end) return false;
    r->line = r->next;
    r->line_number++;
    const char *feed = memchr(r->line, '\n', (size_t)(r->end - r->line));
    r->line_end = feed ? feed : r->end;
    r->next = feed ? feed + 1 : r->end;
    if (feed && r->line_end > r->line && r->line_end[-1] == '\r') r->line_end--;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool lines_is_blank(const line_reader *r)
{
    const char *at = r->line;
    while (at < r->line_end && is_blank(*at))
        at++;
    return at == r->line_end;
}

line_field lines_take_field(const line_reader *r, const char **at)
{
    const char *comma = memchr(*at, ',', (size_t)(r->line_end - *at));
    line_field f = { .begin = *at, .end = comma ? comma : r->line_end };
    *at = f.end;
    while (f.begin < f.end && is_blank(*f.begin))
        f.begin++;
    while (f.begin < f.end && is_blank(f.end[-1]))
        f.end--;
    return f;
}

sim_place lines_place(const line_reader *r, const char *at)
{
    return (sim_place){ .file = r->name,
                        .line = r->line_number,
                        .column = words_count_characters(r->line, (size_t)(at - r->line)) + 1,
                        .text = r->text,
                        .text_length = (size_t)(r->end - r->text) };
}
