#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plays the golden scenarios: NAME.yaml must print NAME.expected.json, whole and with the digest of every result; and
# the digest must not know how the run was watched or played: trace levels, folding, event queues, phases reversed. Since each
# build compares with the same file, compilers and optimisation levels agree as well.
# Left out of the comparison: run_env, which says when and where it ran and how long that took.
set -euo pipefail

usage() {
    cat <<'END'
usage: tests/golden/run.sh [--rewrite] [--program PATH] [NAME...]
Plays the named scenarios, or all. --rewrite writes the expectations anew: review the diff.
The program is build/release/tools/windtunnel unless said otherwise.
END
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
program=$here/../../build/release/tools/windtunnel
scenarios=${WINDTUNNEL_GOLDEN:-$here} # the self-test has scenarios of its own
. "$here/../support/run_options.sh"
program=$(realpath "$program")
cd "$scenarios"
if [[ ${#names[@]} -eq 0 ]]; then
    for file in *.yaml; do names+=("${file%.yaml}"); done
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset WINDTUNNEL_CATALOGUE
export LC_ALL=C TZ=UTC

failures=0
complain() {
    printf '%s\n' "$1"
    failures=$((failures + 1))
}
# Runs NAME with further options; leaves what it printed in $scratch/printed.json.
run() {
    local name=$1 status=0
    shift
    "$program" run "$name.yaml" -o "$scratch/run.db" --force --json "$@" >"$scratch/printed.json" \
        2>"$scratch/stderr" </dev/null || status=$?
    [[ $status == 0 ]] && return
    complain "$name $*: exit code $status"
    cat "$scratch/stderr"
    return 1
}
# Leaves the digest that was printed in $digest, nothing when there is none.
read_digest() {
    local line
    digest=
    while [[ -z $digest ]] && IFS= read -r line; do
        [[ ! $line =~ ^'  "digest": "'([0-9a-f]+)'"',?$ ]] || digest=${BASH_REMATCH[1]}
    done <"$scratch/printed.json"
}

for name in "${names[@]}"; do
    run "$name" || continue
    # run_env stays as an empty object, so that the file is still JSON.
    sed -E '/^  "run_env": \{$/,/^  \}/{/^    /d}' "$scratch/printed.json" >"$scratch/actual.json"
    read_digest
    want=$digest
    [[ -n $want ]] || {
        complain "$name: no digest is printed"
        continue
    }
    if $rewrite; then
        cp "$scratch/actual.json" "$name.expected.json"
    else
        expected=$name.expected.json
        [[ -e $expected ]] || expected=/dev/null
        diff -u --label "$name.expected.json" --label "this run" "$expected" "$scratch/actual.json" ||
            complain "$name: the results differ"
    fi
    while read -r -a options; do
        run "$name" "${options[@]}" || continue
        read_digest
        [[ $digest == "$want" ]] || complain "$name: digest ${digest:-none} with ${options[*]}, but $want without"
    done <<'END'
--set run.trace=summary
--set run.trace=steps
--set run.trace=spans
--set run.trace=transfers
--set run.fold=none
--queue bucket
--queue radix
--queue heap
--reverse-phases
--reverse-phases --queue radix --set run.trace=summary
END
done
if [[ $failures != 0 ]]; then
    echo "$failures differences; if the results are right: tests/golden/run.sh --rewrite, and say why in the commit"
    exit 1
fi
