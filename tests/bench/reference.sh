#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plays the flows whose completion times are known (reference.csv) on the fat trees of scenarios/fabrics, and prints what
# came out beside what is known.
set -euo pipefail

usage() {
    cat <<'END'
usage: tests/bench/reference.sh [--program PATH] [--small] [NAME...]
Plays all rows of tests/bench/reference.csv, the small ones, or those whose name contains one of NAME (ring, F64, ...).
Exits with 0 when every row agrees within its tolerance, with 1 when one does not.
The program is build/release/tools/windtunnel unless said otherwise.
END
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$here/../..
program=$root/build/release/tools/windtunnel
table=${WINDTUNNEL_REFERENCE:-$here/reference.csv} # the self-test has a table of its own
small=false
names=()
while [[ $# -gt 0 ]]; do
    case $1 in
    --program)
        program=${2:?--program needs a path}
        shift
        ;;
    --small) small=true ;;
    -h | --help)
        usage
        exit 0
        ;;
    -*)
        usage >&2
        exit 2
        ;;
    *) names+=("$1") ;;
    esac
    shift
done
[[ -x $program ]] || {
    echo "reference.sh: no program at $program" >&2
    exit 2
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset WINDTUNNEL_CATALOGUE
export LC_ALL=C

wanted() { # NAME SMALL
    local name
    $small && [[ $2 != yes ]] && return 1
    [[ ${#names[@]} -eq 0 ]] && return 0
    for name in "${names[@]}"; do
        [[ $1 == *"$name"* ]] && return 0
    done
    return 1
}

# What the answer says: n, finished, mean, last, CPU time.
read_answer() {
    awk '/^  "n":/ { n = $2 } /^  "finished":/ { finished = $2 } /^  "fct_s":/ { inside = 1 }
        inside && /"mean":/ { mean = $2 } inside && /"max":/ { last = $2; inside = 0 } /"cpu_s":/ { cpu = $2 }
        END { gsub(/,/, "", n); gsub(/,/, "", finished); gsub(/,/, "", mean); gsub(/,/, "", last); gsub(/,/, "", cpu)
              print n, finished, mean, last, cpu }' "$scratch/answer.json"
}

failures=0 played=0
printf '%-18s %9s  %12s %12s %10s  %12s %12s %10s  %9s\n' row flows 'last, s' known difference 'mean, s' known \
    difference 'CPU, s'
while IFS=, read -r name fabric pattern size rounds delay flows last mean tolerance is_small; do
    [[ $name == name ]] && continue
    wanted "$name" "$is_small" || continue
    played=$((played + 1))
    options=(--pattern "$pattern" --size "$size B" --rounds "$rounds" --seed 42 --json)
    [[ $delay == 0 ]] || options+=(--set "cluster.fabric.link.delay=$delay ns")
    if ! "$program" traffic "$root/scenarios/fabrics/$fabric.yaml" "${options[@]}" >"$scratch/answer.json" \
        2>"$scratch/stderr" </dev/null; then
        printf '%-18s failed\n' "$name"
        cat "$scratch/stderr"
        failures=$((failures + 1))
        continue
    fi
    read -r got_flows got_finished got_mean got_last cpu < <(read_answer)
    # A tolerance is absolute ("1e-9 s"), relative ("1e-6") or none, where the row is known to be chaotic.
    awk -v name="$name" -v flows="$flows" -v got_flows="$got_flows" -v finished="$got_finished" -v last="$last" \
        -v got_last="$got_last" -v mean="$mean" -v got_mean="$got_mean" -v tolerance="$tolerance" -v cpu="$cpu" '
        function abs(x) { return x < 0 ? -x : x }
        function allowed(known) { return tolerance ~ / s$/ ? tolerance + 0 : tolerance * known }
        BEGIN {
            wrong = ""
            if (got_flows != flows || finished != flows) wrong = wrong " flows"
            if (tolerance != "" && abs(got_last - last) > allowed(last)) wrong = wrong " last"
            if (tolerance != "" && mean != "" && abs(got_mean - mean) > allowed(mean)) wrong = wrong " mean"
            printf "%-18s %9d  %12.9f %12.9f %+10.1e  %12.9f ", name, got_flows, got_last, last, got_last - last, got_mean
            if (mean != "") printf "%12.9f %+10.1e", mean, got_mean - mean; else printf "%12s %10s", "", ""
            printf "  %9.4f%s%s\n", cpu, tolerance == "" ? "  not compared: chaotic" : "", wrong != "" ? "  WRONG:" wrong : ""
            exit wrong != ""
        }' || failures=$((failures + 1))
done <"$table"
if [[ $played == 0 ]]; then
    echo "reference.sh: no row is called so" >&2
    exit 2
fi
echo "$((played - failures)) of $played rows agree"
[[ $failures == 0 ]]
