#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plays every measured collective and compares with the committed results, text by text.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ $# != 2 || $1 != --program ]]; then
    echo "usage: tests/validate/collectives.sh --program PROGRAM" >&2
    exit 2
fi
unset WINDTUNNEL_CATALOGUE WINDTUNNEL_VALIDATE
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
WINDTUNNEL_VALIDATE=validate "$2" validate collectives --jobs "$(nproc)" --quiet --results "$scratch/played.csv" \
    --catalogue models/catalogue
if ! diff validate/results_collectives.csv "$scratch/played.csv"; then
    echo "validate/results_collectives.csv is not what is played: tools/validate-all rewrites it" >&2
    exit 1
fi
echo "$(($(wc -l <"$scratch/played.csv") - 1)) points are as in validate/results_collectives.csv"
