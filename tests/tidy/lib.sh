#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Shared by the tidy tests, which read the source tree as text. A test defines
#   check       looks at the tree in the working folder and calls `report PLACE WHAT` for each violation
#   self_test   plants violations with `plant` and asks for each with `expect`, so that green means something
# and ends with `tidy_main "$@"`: an argument is the tree's root, --self-test runs the self-test.
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
    local file start
    tree_files | while IFS= read -r file; do
        start=$(head -c 2 "$file" | tr -d '\0')
        if [[ $file == *.sh || $start == '#!' ]]; then printf '%s\n' "$file"; fi
    done
}

# For self-tests: a small tree with one file that breaks the rule.
scratch=
new_tree() {
    [[ -n $scratch ]] && rm -rf "$scratch"
    scratch=$(mktemp -d)
    cd "$scratch"
    base_tree
}
# A self-test may redefine this: what a tree has before anything is planted.
base_tree() { :; }
plant() { # FILE, its text on standard input
    mkdir -p "$(dirname "$1")"
    cat >"$1"
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
