#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Files stay readable: a source of more than 600 lines is mentioned, one of more than 800 is refused. Tests may be
# longer, for they are read row by row. No line of a source is wider than 128 columns; tools/format breaks code at 110, but
# leaves comments alone.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly width=128

# PLACE, a tab and WHAT for each violation in the files named on standard input. A column is a byte.
violations_of_files() {
    awk -v width="$width" '{
        lines = 0
        while ((getline text < $0) > 0) {
            lines++
            if (length(text) > width) printf "%s:%d\twider than %d columns\n", $0, lines, width
        }
        close($0)
        if (/^tests\//) next
        if (lines > 800) printf "%s\t%d lines: cut it; 800 is the limit\n", $0, lines
        else if (lines > 600) printf "%s: warning: %d lines; think of a cut\n", $0, lines >"/dev/stderr"
    }'
}

check() {
    local place what
    while IFS=$'\t' read -r place what; do
        report "$place" "$what"
    done < <(source_files | violations_of_files)
}

self_test() {
    seq 800 | plant sim/long.c
    seq 801 | plant tests/sim/test_long.c
    expect 'the limit' ''
    seq 801 | plant sim/long.c
    expect 'beyond the limit' 'sim/long.c: 801 lines'
    printf '%0128d\n' 0 | plant sim/wide.h
    expect 'the width' ''
    printf '\n%0129d\n' 0 | plant tests/sim/test_wide.c
    expect 'beyond the width' 'tests/sim/test_wide.c:2: wider than 128 columns'
}
tidy_main "$@"
