#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Nothing is left over: no words that put work off, no path that only one machine has, and no paper that is cited but not
# in the tree: a rule is stated where it holds, or in a README. Data that others published and inputs that a fuzzer found
# are left alone.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Written in pieces, so that this file does not find itself.
readonly put_off='\b(TO''DO|FIX''ME|XX''X|HA''CK)\b'
readonly machine_path='(^|[^A-Za-z0-9_.])/(home|root|work|Users|mnt|media|srv)/[A-Za-z0-9]'
# Papers are called so, in capitals; so are a folder's README.md and the LICENSE, which are there.
readonly paper='\b(DES''IGN|FIND''INGS(-[a-z]+)?|LAY''OUT|STY''LE|PERFORM''ANCE|NO''TES)\b'

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
        [[ $file != LICENSE ]] || continue
        while IFS= read -r hit; do
            [[ -z $hit ]] || report "$file:${hit%%:*}" "a paper that is not in the tree: ${hit#*:}"
        done <<<"$(grep -InE "$paper" "$file" || true)"
    done <<<"$(tree_files)"
}

self_test() {
    plant sim/a.c <<<'// todo lists, hacks and /usr/share/x, ../root/x, a/home/b, /tmp/x.XXXXXX are fine'
    plant LICENSE <<<'NO''TES'
    expect 'a clean tree' ''
    plant models/c.h <<<'// as README.md has it (DES''IGN.md 2)'
    expect 'a paper cited' 'models/c.h:1: a paper'
    plant models/README.md <<<'FIND''INGS-collectives.md (d)'
    expect 'a paper cited in a README' 'models/README.md:1: a paper'
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
