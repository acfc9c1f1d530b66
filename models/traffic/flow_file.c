// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/traffic/flow_file.h"
#include "sim/lines.h"
#include "sim/os.h"
#include "sim/words.h"
#include <inttypes.h>
#include <stdlib.h>

enum { FIELD_START, FIELD_FROM, FIELD_TO, FIELD_BYTES, FIELDS };
static const char *const field_names[FIELDS] = { "start_ns", "src", "dst", "bytes" };
static const uint64_t start_max_ns = TRAFFIC_START_MAX_PS / PS_PER_NS;

typedef struct flow_reader {
    arena *a;
    line_reader lines;
    const flow_file_limits *limits;
    uint64_t latest_ns, bytes; // of the flows so far
    traffic_flow_array *out;
    sim_error *error;
} flow_reader;

#define REFUSE(at_, ...)                                                                                     \
    (place = lines_place(&r->lines, (at_)), sim_fail(r->error, SIM_EXIT_INPUT, &place, __VA_ARGS__))

// The field as a text for a message, cut short.
static const char *shown_of(const line_field *f, char shown[static WORDS_SHOWN_SIZE])
{
    char text[WORDS_SHOWN_SIZE];
    size_t length = (size_t)(f->end - f->begin);
    if (length >= sizeof(text)) length = sizeof(text) - 1;
    memcpy(text, f->begin, length);
    text[length] = 0;
    return words_show(shown, text);
}

// ---- fields

// Says in what way a field is no whole number in plain digits.
static bool refuse_field(const flow_reader *r, const line_field *f, const char *name, const char *bad)
{
    sim_place place;
    char shown[WORDS_SHOWN_SIZE];
    if (f->begin == f->end) return REFUSE(f->begin, "\"%s\" is empty", name);
    if (*f->begin == '"' || *f->begin == '\'')
        return REFUSE(f->begin, "\"%s\" is in quotes", name) ||
               sim_hint(r->error, "numbers stand without quotes");
    if (*bad == '\r') return REFUSE(bad, "a carriage return that does not end a line");
    if (*f->begin == '-' && bad == f->begin)
        return REFUSE(f->begin, "\"%s\" is negative: %s", name, shown_of(f, shown));
    REFUSE(f->begin, "\"%s\" must be a whole number in plain digits, but is \"%s\"", name,
           shown_of(f, shown));
    return false;
}

static bool read_number(const flow_reader *r, const line_field *f, const char *name, uint64_t most,
                        uint64_t *value)
{
    sim_place place;
    uint64_t number = 0;
    bool fits = true;
    for (const char *c = f->begin; c < f->end; c++) {
        const unsigned digit = (unsigned char)*c - (unsigned)'0';
        if (digit > 9) return refuse_field(r, f, name, c);
        fits = fits && number <= (UINT64_MAX - digit) / 10;
        if (fits) number = 10 * number + digit;
    }
    if (f->begin == f->end) return refuse_field(r, f, name, f->begin);
    *value = number;
    if (fits && number <= most) return true;
    char shown[WORDS_SHOWN_SIZE];
    return REFUSE(f->begin, "\"%s\" is too large: %s is more than %" PRIu64, name, shown_of(f, shown), most);
}

static bool read_host(const flow_reader *r, const line_field *f, const char *name, uint32_t *host)
{
    sim_place place;
    uint64_t number;
    if (!read_number(r, f, name, UINT32_MAX, &number)) return false;
    if (number < r->limits->hosts) {
        *host = (uint32_t)number;
        return true;
    }
    return REFUSE(f->begin, "host %" PRIu64 " is not there: the fabric has hosts 0 to %" PRIu32, number,
                  r->limits->hosts - 1);
}

// ---- rows

static bool split(const flow_reader *r, line_field fields[FIELDS])
{
    sim_place place;
    const char *at = r->lines.line;
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = lines_take_field(&r->lines, &at);
        if (i + 1 == FIELDS) break;
        if (at == r->lines.line_end) {
            // The first field may be what is wrong: a line of another format, a comment.
            uint64_t number;
            if (i == 0 && !read_number(r, &fields[0], field_names[0], UINT64_MAX, &number)) return false;
            return REFUSE(r->lines.line_end, "\"%s\" is missing: a flow is %s", field_names[i + 1],
                          FLOW_FILE_HEADER);
        }
        at++;
    }
    return at == r->lines.line_end || REFUSE(at + 1, "a fifth column: a flow is %s", FLOW_FILE_HEADER);
}

static bool check_start(flow_reader *r, const line_field *f, uint64_t start_ns)
{
    sim_place place;
    if (start_ns < r->latest_ns) {
        REFUSE(f->begin, "this flow starts at %" PRIu64 " ns, before the one above it, at %" PRIu64 " ns",
               start_ns, r->latest_ns);
        return sim_hint(r->error,
                        "flows stand in the order of their start: sort -n -t, -k1,1 below the header");
    }
    r->latest_ns = start_ns;
    if (start_ns <= start_max_ns) return true;
    return REFUSE(f->begin, "a start at %" PRIu64 " ns is later than the 53 days after which flows may start",
                  start_ns);
}

static bool check_sums(flow_reader *r, const line_field *bytes_field, uint64_t bytes)
{
    sim_place place;
    if (r->out->count == r->limits->flows)
        return REFUSE(r->lines.line, "more than the %" PRIu32 " flows that are held in memory at once",
                      r->limits->flows) ||
               sim_hint(r->error, "play the file in parts");
    if (bytes <= TRAFFIC_BYTES_MAX - r->bytes) {
        r->bytes += bytes;
        return true;
    }
    return REFUSE(bytes_field->begin,
                  "with this flow they move more than the %" PRIu64 " bytes that can be counted",
                  TRAFFIC_BYTES_MAX);
}

static bool read_row(flow_reader *r)
{
    sim_place place;
    line_field f[FIELDS];
    uint64_t start_ns, bytes;
    traffic_flow flow;
    if (!split(r, f)) return false;
    if (!read_number(r, &f[FIELD_START], "start_ns", UINT64_MAX, &start_ns) ||
        !read_host(r, &f[FIELD_FROM], "src", &flow.from) || !read_host(r, &f[FIELD_TO], "dst", &flow.to) ||
        !read_number(r, &f[FIELD_BYTES], "bytes", TRAFFIC_BYTES_MAX, &bytes))
        return false;
    if (flow.from == flow.to) return REFUSE(f[FIELD_TO].begin, "host %" PRIu32 " sends to itself", flow.from);
    if (!check_start(r, &f[FIELD_START], start_ns) || !check_sums(r, &f[FIELD_BYTES], bytes)) return false;
    flow.start_ps = (sim_time)start_ns * PS_PER_NS;
    flow.bytes = bytes;
    *array_push(r->out, r->a) = flow;
    return true;
}

static bool read_header(flow_reader *r)
{
    sim_place place;
    static const size_t header_length = sizeof(FLOW_FILE_HEADER) - 1;
    if (!lines_next(&r->lines)) {
        place = (sim_place){ .file = r->lines.name };
        sim_fail(r->error, SIM_EXIT_INPUT, &place, "the file is empty");
        return sim_hint(r->error, "its first line is %s", FLOW_FILE_HEADER);
    }
    const size_t length = (size_t)(r->lines.line_end - r->lines.line);
    if (length == header_length && memcmp(r->lines.line, FLOW_FILE_HEADER, length) == 0) return true;
    const char *stray = memchr(r->lines.line, '\r',
                               length); // as the only line ends, they would make one line of all
    if (stray) return REFUSE(stray, "a carriage return that does not end a line");
    REFUSE(r->lines.line, "the first line must be the header");
    return sim_hint(r->error, "%s", FLOW_FILE_HEADER);
}

// As many as the text can hold, so that the list never has to grow.
static void reserve(flow_reader *r)
{
    uint32_t lines = 1;
    for (const char *at = r->lines.next; at < r->lines.end && lines < r->limits->flows; lines++) {
        const char *feed = memchr(at, '\n', (size_t)(r->lines.end - at));
        if (!feed) break;
        at = feed + 1;
    }
    array_reserve(r->out, r->a, lines);
}

bool flow_file_parse(arena *a, const char *name, const char *text, size_t length,
                     const flow_file_limits *limits, traffic_flow_array *out, sim_error *error)
{
    SIM_ASSERT(out->count == 0 && limits->hosts > 0);
    flow_reader r = {
        .a = a, .lines = lines_open(name, text, length), .limits = limits, .out = out, .error = error
    };
    if (!read_header(&r)) return false;
    reserve(&r);
    while (lines_next(&r.lines))
        if (!lines_is_blank(&r.lines) && !read_row(&r)) return false;
    if (out->count) return true;
    const sim_place place = { .file = name };
    return sim_fail(error, SIM_EXIT_INPUT, &place, "there is no flow below the header");
}

typedef struct flow_reading {
    arena *arena;
    const char *path;
    char *text; // malloc's
    size_t length;
    const flow_file_limits *limits;
    traffic_flow_array *out;
    sim_error *error;
} flow_reading;

static bool parse_text(void *owner)
{
    const flow_reading *r = owner;
    return flow_file_parse(r->arena, r->path, r->text, r->length, r->limits, r->out, r->error);
}

static void free_text(void *owner)
{
    const flow_reading *r = owner;
    free(r->text);
}

bool flow_file_read(arena *a, const char *path, const flow_file_limits *limits, traffic_flow_array *out,
                    sim_error *error)
{
    flow_reading r = { .arena = a, .path = path, .limits = limits, .out = out, .error = error };
    return os_read_file(path, FLOW_FILE_BYTES_MAX, &r.text, &r.length, NULL, error) &&
           arena_guard(a, parse_text, free_text, &r);
}
