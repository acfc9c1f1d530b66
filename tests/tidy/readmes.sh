#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every folder at the top has a README.md; a folder below one has its own, or is named ("network/") in the nearest
# README.md above it. Folders of test cases and of catalogue entries are named the same way.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

check() {
    local folder above name text
    while IFS= read -r folder; do
        [[ -n $folder ]] || continue
        [[ -f $folder/README.md ]] && continue
        name=${folder##*/}
        above=$folder
        while [[ $above == */* ]]; do
            above=${above%/*}
            [[ -f $above/README.md ]] && break
        done
        if [[ $folder != */* || ! -f $above/README.md ]]; then
            report "$folder" "has no README.md"
        else
            IFS= read -r -d '' text <"$above/README.md" || true # the whole of it
            [[ $text == *"$name/"* ]] || report "$folder" "has no README.md, and $above/README.md does not name $name/"
        fi
    done <<<"$(tree_files | grep / | grep -vE '^\.|^tests/cli/' | sed 's|/[^/]*$||' | sort -u)"
}

base_tree() {
    plant sim/README.md <<<''
    plant sim/a.c <<<''
    plant models/README.md <<<'network/: links'
    plant models/network/link.c <<<''
}
self_test() {
    expect 'a clean tree' ''
    plant tools/main.c <<<''
    expect 'a folder at the top' 'tools: has no README.md'
    plant models/hardware/gpu.c <<<''
    expect 'a folder below' 'models/hardware: has no README.md, and models/README.md does not name hardware/'
}
tidy_main "$@"
