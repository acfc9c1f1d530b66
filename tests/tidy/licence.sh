#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every source, script and CMake file says its licence: in its first line, or in the second of a script.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly licence='SPDX-License-Identifier: GPL-3.0-or-later'

# Of the files named on standard input, those that do not have LINE among their first COUNT lines.
files_without() { # LINE COUNT
    awk -v line="$1" -v count="$2" '{
        found = 0
        for (i = 0; i < count && (getline text < $0) > 0; i++) if (text == line) found = 1
        close($0)
        if (!found) print
    }'
}

check() {
    local file
    while IFS= read -r file; do
        report "$file" "the first line is not: // $licence"
    done < <(source_files | files_without "// $licence" 1)
    while IFS= read -r file; do
        report "$file" "no line at its start is: # $licence"
    done < <({ script_files; tree_files | grep -E '(^|/)CMakeLists\.txt$|\.cmake$' || true; } | sort |
        files_without "# $licence" 2)
}

base_tree() {
    plant sim/a.c <<<"// $licence"
    plant tools/run <<<$'#!/bin/bash\n# '"$licence"
    plant CMakeLists.txt <<<"# $licence"
    plant README.md <<<''
}
self_test() {
    expect 'a clean tree' ''
    plant sim/b.h <<<'#pragma once'
    expect 'a header' 'sim/b.h: the first line'
    plant tests/c.cpp <<<$'\n// '"$licence"
    expect 'not the first line' 'tests/c.cpp: the first line'
    plant tools/go <<<$'#!/bin/sh\necho'
    expect 'a script' 'tools/go: no line'
    plant sim/CMakeLists.txt <<<'project(x)'
    expect 'a CMake file' 'sim/CMakeLists.txt: no line'
}
tidy_main "$@"
