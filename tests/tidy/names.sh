#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# File names: a .c or .h name stands once in the whole tree (so that a name alone says which file is meant), the top
# level stays as it is, and a library's sources are those that its CMakeLists.txt lists, so that no file is forgotten.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The words of the layers' CMakeLists.txt, sources among them, as seen from the root, sorted.
listed_files() {
    grep -sHoE '[^[:space:]();]+' {sim,models,validate,tools}/CMakeLists.txt | sed 's|/CMakeLists.txt:|/|' | sort -u
}

check() {
    local name file
    while IFS= read -r name; do
        [[ -n $name ]] || continue
        report "$name" "the name stands in $(source_files | grep -E "(^|/)${name//./\\.}$" | tr '\n' ' ')"
    done <<<"$(source_files | grep -vE '\.cpp$' | sed 's|.*/||' | sort | uniq -d)"

    while IFS= read -r name; do
        case $name in
        CMakeLists.txt | README.md | sim | models | scenarios | validate | tests | tools) ;;
        .* | build* | *.db | *.db-wal | *.db-shm) ;;
        *) report "$name" "nothing may join the top level but hidden files" ;;
        esac
    done <<<"$(find . -mindepth 1 -maxdepth 1 -printf '%P\n' | sort)"

    while IFS= read -r file; do
        report "$file" "${file%%/*}/CMakeLists.txt does not list it"
    done < <(comm -23 <(source_files | grep -E '^(sim|models|validate|tools)/.*\.c$') <(listed_files))
}

base_tree() {
    plant CMakeLists.txt <<<''
    plant README.md <<<''
    plant .gitignore <<<''
    plant build/sim/copy.c <<<''
    plant build-other/sim/clock.c <<<''
    plant run.db <<<''
    plant sim/CMakeLists.txt <<<'add_library(sim STATIC clock.c)'
    plant sim/clock.c <<<''
    plant sim/clock.h <<<''
    plant models/CMakeLists.txt <<<'add_library(models STATIC network/link.c)'
    plant models/network/link.c <<<''
}
self_test() {
    expect 'a clean tree' ''
    plant models/clock.h <<<''
    expect 'a name twice' 'clock.h: the name stands in models/clock.h sim/clock.h'
    plant docs/guide.md <<<''
    expect 'a new folder' 'docs: nothing may join the top level'
    plant notes.txt <<<''
    expect 'a new file' 'notes.txt: nothing may join the top level'
    plant sim/forgotten.c <<<''
    expect 'not listed' 'sim/forgotten.c: sim/CMakeLists.txt does not list it'
    plant models/link.c <<<''
    expect 'not listed, but a longer path is' 'models/link.c: models/CMakeLists.txt does not list it'
}
tidy_main "$@"
