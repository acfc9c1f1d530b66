#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plays the cases of tests/cli: what the program prints, whole, and its exit code.
#
# A case is a folder with
#   cmd            a bash snippet. windtunnel is on PATH; it runs in an empty scratch folder of its own, with $CASE the
#                  case's folder, $ROOT the source tree ($ROOT/scenarios, $ROOT/models/catalogue), no standard input.
#                  It stops at the first command that fails, and its exit code is that command's.
#                  The catalogue is tests/cli/catalogue, a small one with made-up parts, so that no expectation hangs on
#                  a measured value; box.yaml and boxes.yaml beside it are scenarios with its parts.
#   stdout.exact   what it must print; absent: nothing. stderr.exact likewise.
#   stdout.ignore  (empty) do not look at standard output; stderr.ignore likewise.
#   exit           the exit code; absent: 0.
# The scratch folder and the tree have a space in their paths, so that a case works wherever the tree lies.
# In what is printed, the scratch folder's path reads @SCRATCH@ and the source tree's @ROOT@.
set -euo pipefail

usage() {
    cat <<'END'
usage: tests/cli/run.sh [--rewrite] [--program PATH] [CASE...]
Plays the named cases, or all. --rewrite writes what was printed into the expectations: review the diff.
The program is build/release/tools/windtunnel unless said otherwise.
END
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
cases=${WINDTUNNEL_CASES:-$here} # the self-test has cases of its own
root=$(cd "$here/../.." && pwd -P)
program=$root/build/release/tools/windtunnel
. "$here/../support/run_options.sh"
if [[ ${#names[@]} -eq 0 ]]; then
    for cmd in "$cases"/*/cmd; do
        name=${cmd%/cmd}
        names+=("${name##*/}")
    done
fi

top=$(mktemp -d)
top=$(cd "$top" && pwd -P)
trap 'rm -rf "$top"' EXIT
mkdir "$top/bin"
ln -s "$(realpath "$program")" "$top/bin/windtunnel"
ln -s "$root" "$top/source tree"
[[ $cases != "$here" ]] || cases="$top/source tree/tests/cli"

scratch="$top/scratch folder"
# A script for sed, which takes these paths as they stand and puts names in their place.
placeholders=$(printf '%s\n' "$scratch" "$top/source tree" "$root" |
    sed 's/[][\.*^$|]/\\&/g; s/.*/s|&|@ROOT@|g/; 1s/@ROOT@/@SCRATCH@/')
failures=0
complain() {
    printf '%s\n' "$1"
    failures=$((failures + 1))
}

compare() { # CASE, stdout or stderr
    local case=$cases/$1 stream=$2
    local expected=$case/$stream.exact
    [[ -e $case/$stream.ignore ]] && return
    if $rewrite; then
        if [[ -s $top/$stream ]]; then cp "$top/$stream" "$expected"; else rm -f "$expected"; fi
    else
        [[ -e $expected ]] || expected=/dev/null
        [[ -s $expected || -s $top/$stream ]] || return 0
        diff -u --label "$1/$stream.exact" --label "$stream of this run" "$expected" "$top/$stream" ||
            complain "$1: $stream differs"
    fi
}

play() { # CASE
    local case=$cases/$1 status=0 expected=0 stream
    [[ -f $case/cmd ]] || {
        complain "$1: no case: there is no $case/cmd"
        return
    }
    mkdir "$scratch"
    (
        cd "$scratch"
        export WINDTUNNEL_CATALOGUE=$cases/catalogue
        export CASE=$case ROOT="$top/source tree" LC_ALL=C TZ=UTC TERM=dumb PATH=$top/bin:$PATH
        exec bash -e "$case/cmd" </dev/null >"$top/stdout" 2>"$top/stderr"
    ) || status=$?
    sed -i "$placeholders" "$top/stdout" "$top/stderr"
    for stream in stdout stderr; do compare "$1" "$stream"; done
    if $rewrite; then
        if [[ $status != 0 ]]; then echo "$status" >"$case/exit"; else rm -f "$case/exit"; fi
    else
        if [[ -e $case/exit ]]; then expected=$(<"$case/exit"); fi
        [[ $status == "$expected" ]] || complain "$1: exit code $status instead of $expected"
    fi
    chmod -R u+w "$scratch"
    rm -rf "$scratch"
}

for name in "${names[@]}"; do
    play "$name"
done
if [[ $failures != 0 ]]; then
    echo "$failures differences in ${#names[@]} cases; if they are right: tests/cli/run.sh --rewrite CASE"
    exit 1
fi
