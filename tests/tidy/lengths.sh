#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Files stay readable: a source of more than 600 lines is mentioned, one of more than 800 is refused. Tests may be
# longer, for they are read row by row.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

check() {
    local file lines
    while IFS= read -r file; do
        case $file in '' | tests/*) continue ;; esac
        lines=$(wc -l <"$file")
        if ((lines > 800)); then
            report "$file" "$lines lines: cut it; 800 is the limit"
        elif ((lines > 600)); then
            printf '%s: warning: %d lines; think of a cut\n' "$file" "$lines" >&2
        fi
    done <<<"$(source_files)"
}

self_test() {
    seq 800 | plant sim/long.c
    seq 801 | plant tests/sim/test_long.c
    expect 'the limit' ''
    seq 801 | plant sim/long.c
    expect 'beyond the limit' 'sim/long.c: 801 lines'
}
tidy_main "$@"
