#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plays every tenth measured training step of each source and compares with the committed results, text by text.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ $# != 2 || $1 != --program ]]; then
    echo "usage: tests/validate/tenth.sh --program PROGRAM" >&2
    exit 2
fi
unset WINDTUNNEL_CATALOGUE WINDTUNNEL_VALIDATE
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
WINDTUNNEL_VALIDATE=validate "$2" validate training --every 10 --jobs "$(nproc)" --quiet --results "$scratch/played.csv" \
    --catalogue models/catalogue
if grep -Fxvf validate/results.csv "$scratch/played.csv"; then
    echo "these lines are not in validate/results.csv: tools/validate-all rewrites it" >&2
    exit 1
fi
echo "$(($(wc -l <"$scratch/played.csv") - 1)) rows are as in validate/results.csv"
