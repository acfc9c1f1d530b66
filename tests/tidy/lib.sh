#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Shared by the tidy tests, which read the source tree as text. A test defines
#   check       looks at the tree in the working folder and calls `report PLACE WHAT` for each violation
#   self_test   plants violations with `plant` and asks for each with `expect`, so that green means something
# and ends with `tidy_main "$@"`: an argument is the tree's root, --self-test runs the self-test.
# A check starts a handful of processes, however many files the tree has: where starting one is slow, a few for each file
# take minutes.
set -euo pipefail
export LC_ALL=C

violations=0
report() {
    printf '%s: %s\n' "$1" "$2"
    violations=$((violations + 1))
}

# The files of the tree that belong to it, one a line, sorted, without "./": neither git's own files nor build folders
# nor run databases, as .gitignore says.
tree_files() {
    find . \( -path ./.git -o -path './build*' \) -prune -o -type f \
        ! -name '*.db' ! -name '*.db-wal' ! -name '*.db-shm' -printf '%P\n' | sort
}

# Sources in C and C++.
source_files() { tree_files | grep -E '\.(c|h|cpp)$' || true; }

# Scripts: named so, or starting with #!.
script_files() {
    tree_files | awk '{
        start = ""
        getline start < $0
        close($0)
        if (/\.sh$/ || start ~ /^#!/) print
    }'
}

# Reports each line that a regular expression finds in the files named on standard input.
report_lines() { # REGEX WHAT [OPTION of grep...]
    local hit rest
    while IFS= read -r hit; do # FILE:LINE:TEXT
        rest=${hit#*:}
        report "${hit%%:*}:${rest%%:*}" "$2: ${rest#*:}"
    done < <(xargs -r -d '\n' grep -HnE "${@:3}" -e "$1" -- || true)
}

# For self-tests: a small tree with one file that breaks the rule.
scratch=
trees=0
new_tree() {
    [[ -n $scratch ]] || scratch=$(mktemp -d)
    trees=$((trees + 1))
    mkdir "$scratch/$trees"
    cd "$scratch/$trees"
    base_tree
}
# A self-test may redefine this: what a tree has before anything is planted.
base_tree() { :; }
plant() { # FILE, its text on standard input
    local text
    [[ $1 != */* || -d ${1%/*} ]] || mkdir -p "${1%/*}"
    IFS= read -r -d '' text || true # to the end: there is no NUL
    printf '%s' "$text" >"$1"
}
self_failures=0
expect() { # NAME, TEXT that the check must print; an empty TEXT: the check must find nothing
    local output status=0
    output=$(violations=0 && check && [[ $violations == 0 ]]) || status=$?
    if [[ -z $2 && ($status != 0 || -n $output) ]]; then
        printf 'self-test %s: nothing was to be found, but:\n%s\n' "$1" "$output"
        self_failures=$((self_failures + 1))
    elif [[ -n $2 && ($status == 0 || $output != *"$2"*) ]]; then
        printf 'self-test %s: not found: %s\nthe check printed:\n%s\n' "$1" "$2" "$output"
        self_failures=$((self_failures + 1))
    else
        printf 'self-test %s: as expected\n' "$1"
    fi
    new_tree
}

tidy_main() {
    trap '[[ -z $scratch ]] || rm -rf "$scratch"' EXIT
    if [[ ${1-} == --self-test ]]; then
        new_tree
        self_test
        cd /
        [[ $self_failures == 0 ]]
    else
        cd "${1:?the root of the source tree}"
        check
        if [[ $violations != 0 ]]; then
            printf '%d violations\n' "$violations"
            exit 1
        fi
    fi
}
