#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Shows that tests/golden/run.sh notices another result and a digest that depends on how a run is played.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# A stand-in for the program: prints one step, with a digest that may hang on one option; fails with another.
cat >"$scratch/program" <<'END'
#!/bin/bash
digest=$(<digest)
case " $* " in *"$(<odd) "*) digest=0dd ;; esac
case " $* " in *"$(<fails) "*) echo 'it failed' >&2; exit 3 ;; esac
cat <<JSON
{
  "digest": "$digest",
  "steps": $(<step),
  "run_env": {
    "host": "$RANDOM"
  }
}
JSON
END
chmod +x "$scratch/program"
mkdir "$scratch/golden"
cd "$scratch/golden"
touch tiny.yaml
reset() {
    echo 00ff >digest
    echo 123 >step
    echo nothing >odd
    echo nothing >fails
}
expect() { # WHAT, exit code, TEXT, options
    local output status=0
    output=$(WINDTUNNEL_GOLDEN=$PWD "$here/run.sh" --program "$scratch/program" "${@:4}" 2>&1) || status=$?
    if [[ $status != "$2" || $output != *"$3"* ]]; then
        printf 'self-test %s: exit code %s instead of %s, or not printed: %s\n%s\n' "$1" "$status" "$2" "$3" "$output"
        failures=$((failures + 1))
    fi
}

reset
expect 'no expectation yet' 1 'tiny: the results differ'
expect 'rewriting' 0 '' --rewrite
expect 'the same again' 0 ''
echo 124 >step
expect 'another step' 1 'tiny: the results differ'
reset
echo 00fe >digest
expect 'another digest' 1 'tiny: the results differ'
for option in run.trace=summary run.trace=steps run.trace=spans run.trace=transfers run.fold=none bucket radix heap --reverse-phases; do
    reset
    echo "$option" >odd
    expect "a digest that hangs on $option" 1 'tiny: digest 0dd with'
done
reset
echo radix >fails
expect 'a run that fails' 1 'it failed'
[[ $failures == 0 ]]
