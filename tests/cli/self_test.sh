#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Shows that tests/cli/run.sh notices each way in which a program can differ from a case, with a stand-in program.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

cat >"$scratch/program" <<'END'
#!/bin/bash
echo "to stdout: $* in $PWD"
echo "to stderr: $ROOT/scenarios" >&2
exit "${1:-0}"
END
chmod +x "$scratch/program"

new_case() { # a case that passes
    rm -rf "$scratch/cases"
    mkdir -p "$scratch/cases/one"
    echo 'windtunnel 5' >"$scratch/cases/one/cmd"
    echo 'to stdout: 5 in @SCRATCH@' >"$scratch/cases/one/stdout.exact"
    echo 'to stderr: @ROOT@/scenarios' >"$scratch/cases/one/stderr.exact"
    echo 5 >"$scratch/cases/one/exit"
}
expect() { # WHAT, the exit code that run.sh must give, TEXT that it must print
    local output status=0
    output=$(WINDTUNNEL_CASES=$scratch/cases "$here/run.sh" --program "$scratch/program" "${@:4}" 2>&1) || status=$?
    if [[ $status != "$2" || $output != *"$3"* ]]; then
        printf 'self-test %s: exit code %s instead of %s, or not printed: %s\n%s\n' "$1" "$status" "$2" "$3" "$output"
        failures=$((failures + 1))
    fi
}

new_case
expect 'a case that passes' 0 ''
echo 'to stdout: 6 in @SCRATCH@' >"$scratch/cases/one/stdout.exact"
expect 'another stdout' 1 'one: stdout differs'
new_case
rm "$scratch/cases/one/stderr.exact"
expect 'an unexpected stderr' 1 'one: stderr differs'
touch "$scratch/cases/one/stderr.ignore"
expect 'an ignored stderr' 0 ''
new_case
rm "$scratch/cases/one/exit"
expect 'an exit code' 1 'one: exit code 5 instead of 0'
new_case
printf 'to stdout: 5 in @SCRATCH@' >"$scratch/cases/one/stdout.exact"
expect 'a missing end of line' 1 'one: stdout differs'
new_case
printf 'windtunnel 5\nexit 0\n' >"$scratch/cases/one/cmd"
expect 'the first failure ends a snippet' 0 ''
new_case
expect 'no such case' 1 'two: no case' two
new_case
printf 'set -- $ROOT\n[[ $# -gt 1 ]]\nset -- $PWD\n[[ $# -gt 1 ]]\nwindtunnel 5\n' >"$scratch/cases/one/cmd"
expect 'a path that is not quoted falls apart' 0 ''
new_case
echo 'windtunnel 0 | sed s/to/from/' >"$scratch/cases/one/cmd"
expect 'rewriting' 0 '' --rewrite
expect 'after rewriting' 0 ''
if ! grep -q '^from stdout' "$scratch/cases/one/stdout.exact" || [[ -e $scratch/cases/one/exit ]]; then
    echo 'self-test rewriting: the expectations are not those of the run'
    failures=$((failures + 1))
fi
[[ $failures == 0 ]]
