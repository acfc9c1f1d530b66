#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The options of tests/cli/run.sh and tests/golden/run.sh, which source this file: [--rewrite] [--program PATH] [NAME...].
# Before: program is the default, usage prints the help. After: rewrite, program (it can be run), names (without a "/" or
# ".yaml" at their end).
rewrite=false
names=()
while [[ $# -gt 0 ]]; do
    case $1 in
    --rewrite) rewrite=true ;;
    --program)
        program=${2:?--program needs a path}
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    -*)
        usage >&2
        exit 2
        ;;
    *)
        name=${1%/}
        names+=("${name%.yaml}")
        ;;
    esac
    shift
done
[[ -x $program ]] || {
    echo "run.sh: no program at $program" >&2
    exit 2
}
