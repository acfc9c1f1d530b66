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

our_files() { tree_files | grep -vE '^(validate/measured/.*\.csv$|tests/data/|tests/fuzz/corpus/)'; }

check() {
    report_lines "$put_off" 'a word that puts work off' -I < <(our_files)
    report_lines "$machine_path" 'a path that only one machine has' -I < <(our_files)
    report_lines "$paper" 'a paper that is not in the tree' -I < <(our_files | grep -vx LICENSE)
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
