#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Nothing is left over: no words that put work off, and no path that only one machine has. Data that others published
# and inputs that a fuzzer found are left alone.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Written in pieces, so that this file does not find itself.
readonly put_off='\b(TO''DO|FIX''ME|XX''X|HA''CK)\b'
readonly machine_path='(^|[^A-Za-z0-9_.])/(home|root|work|Users|mnt|media|srv)/[A-Za-z0-9]'

check() {
    local file hit
    while IFS= read -r file; do
        case $file in validate/measured/*.csv | tests/data/* | tests/fuzz/corpus/*) continue ;; esac
        while IFS= read -r hit; do
            [[ -z $hit ]] || report "$file:${hit%%:*}" "a word that puts work off: ${hit#*:}"
        done <<<"$(grep -InE "$put_off" "$file" || true)"
        while IFS= read -r hit; do
            [[ -z $hit ]] || report "$file:${hit%%:*}" "a path that only one machine has: ${hit#*:}"
        done <<<"$(grep -InE "$machine_path" "$file" || true)"
    done <<<"$(tree_files)"
}

self_test() {
    plant sim/a.c <<<'// todo lists, hacks and /usr/share/x, ../root/x, a/home/b, /tmp/x.XXXXXX are fine'
    expect 'a clean tree' ''
    plant sim/b.c <<<$'int x;\n// TO''DO later'
    expect 'work put off in a source' 'sim/b.c:2: a word'
    plant README.md <<<'FIX''ME'
    expect 'work put off in a README' 'README.md:1: a word'
    plant tools/run <<<'cd /ho''me/someone'
    expect 'a path' 'tools/run:1: a path'
    plant scenarios/x.yaml <<<'include: /wo''rk/y.yaml'
    expect 'a path in a scenario' 'scenarios/x.yaml:1: a path'
}
tidy_main "$@"
