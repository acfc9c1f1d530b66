#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every source, script and CMake file says its licence: in its first line, or in the second of a script.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly licence='SPDX-License-Identifier: GPL-3.0-or-later'

check() {
    local file
    while IFS= read -r file; do
        [[ -n $file ]] || continue
        head -n 1 "$file" | grep -qxF "// $licence" || report "$file" "the first line is not: // $licence"
    done <<<"$(source_files)"
    while IFS= read -r file; do
        [[ -n $file ]] || continue
        head -n 2 "$file" | grep -qxF "# $licence" || report "$file" "no line at its start is: # $licence"
    done <<<"$({ script_files; tree_files | grep -E '(^|/)CMakeLists\.txt$|\.cmake$' || true; } | sort)"
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
