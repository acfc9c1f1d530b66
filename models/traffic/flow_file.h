// SPDX-License-Identifier: GPL-3.0-or-later
// models/traffic/flow_file.h: flows written by hand or by another program, as CSV. The first line is the header
//     start_ns,src,dst,bytes
// and every line below is a flow: when it starts, who sends to whom (host numbers from 0), how much; all whole numbers in
// plain digits. Flows stand in the order of their start (equal starts are fine), so that a file which was put together
// wrongly shows. Read: LF and CR LF, a byte order mark, blanks around a number, empty lines, a last line without its end.
// Refused, with line and column: everything else; quotes, signs, fractions, exponents and thousands' separators too. (Tables
// with texts, kept with their places: sim/csv.h. Here a row is 24 bytes, so that millions fit.)
#pragma once
#include "models/traffic/flow.h"
#include "sim/error.h"

#define FLOW_FILE_HEADER "start_ns,src,dst,bytes"
// Larger files are refused before they are read: more than TRAFFIC_LIST_MAX flows of 53 characters.
enum { FLOW_FILE_BYTES_MAX = 512 * 1024 * 1024 };

typedef struct flow_file_limits {
    uint32_t hosts; // that there are
    uint32_t flows; // TRAFFIC_LIST_MAX, less in tests
} flow_file_limits;
// Appends the flows of the file to out, which is empty before.
bool flow_file_read(arena *a, const char *path, const flow_file_limits *limits, traffic_flow_array *out,
                    sim_error *error);
// The same from memory; name stands in messages.
bool flow_file_parse(arena *a, const char *name, const char *text, size_t length,
                     const flow_file_limits *limits, traffic_flow_array *out, sim_error *error);
