#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Files stay readable: a source of more than 600 lines is mentioned, one of more than 800 is refused. Tests may be
# longer, for they are read row by row. No line of a source is wider than 128 columns; tools/format breaks code at 110, but
# leaves comments alone.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly width=128

check_lines() {
    local file=$1 lines
    lines=$(wc -l <"$file")
    if ((lines > 800)); then
        report "$file" "$lines lines: cut it; 800 is the limit"
    elif ((lines > 600)); then
        printf '%s: warning: %d lines; think of a cut\n' "$file" "$lines" >&2
    fi
}

check() {
    local file line
    while IFS= read -r file; do
        [[ -n $file ]] || continue
        [[ $file == tests/* ]] || check_lines "$file"
        while IFS= read -r line; do
            [[ -z $line ]] || report "$file:$line" "wider than $width columns"
        done <<<"$(grep -nE "^.{$((width + 1))}" "$file" | cut -d : -f 1 || true)"
    done <<<"$(source_files)"
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
