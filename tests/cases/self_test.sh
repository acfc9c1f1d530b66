#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Shows that tests/cases/run.sh notices each way in which a case can go wrong, with a stand-in program.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# Prints what stands behind "value" on its command line; with run.seed so much more.
cat >"$scratch/program" <<'END'
#!/bin/bash
value=$2 seed=0
for word in "$@"; do [[ $word != run.seed=* ]] || seed=${word#run.seed=}; done
[[ $value != none ]] || exit 3
printf '{\n  "name": "a \\"b\\"",\n  "sizes": [\n    {\n      "time_s": 7\n    },\n    {\n      "time_s": %s\n    }\n  ],\n  "none": []\n}\n' \
    "$((value + seed))"
END
chmod +x "$scratch/program"
mkdir -p "$scratch/scenarios/cases/one" "$scratch/scenarios/networks"
printf 'before\n<!-- cases: begin -->\nold\n<!-- cases: end -->\nafter\n' >"$scratch/scenarios/cases/README.md"
cp "$scratch/scenarios/cases/README.md" "$scratch/scenarios/networks/README.md"

table() { # ROWS
    printf 'case,value,unit,command,read,seeds,least,most,miss_least,miss_most\n%s\n' "$1" >"$scratch/table.csv"
}
expect() { # WHAT, the exit code that run.sh must give, TEXT that it must print, options
    local output status=0
    output=$(WINDTUNNEL_CASES_TABLE=$scratch/table.csv WINDTUNNEL_CASES_SCENARIOS=$scratch/scenarios \
        "$here/run.sh" --program "$scratch/program" "${@:4}" 2>&1) || status=$?
    if [[ $status != "$2" || $output != *"$3"* ]]; then
        printf 'self-test %s: exit code %s instead of %s, or not printed: %s\n%s\n' "$1" "$status" "$2" "$3" "$output"
        failures=$((failures + 1))
    fi
}
rows() { # ROWS: they stand in the README as well
    table "$1"
    expect 'a table that is written' 0 '' --rewrite
}

rows 'one,time,s,value 5,sizes.1.time_s,,4,6,,'
expect 'a value as asked' 0 '1 values: 1 as asked, 0 known misses, 0 wrong'
grep -qxF '| [one](one/README.md) | time | 4 to 6 s | 5 s | yes |' "$scratch/scenarios/cases/README.md" &&
    ! grep -q old "$scratch/scenarios/cases/README.md" && grep -q after "$scratch/scenarios/cases/README.md" || {
    echo 'self-test: the table is not what was played'
    failures=$((failures + 1))
}
table 'one,time,s,value 5,sizes.1.time_s,,3,6,,'
expect 'a README that is behind' 1 'has another line'
table 'one,time,s,value 5,sizes.1.time_s,,6,7,,'
expect 'a value below' 1 'WRONG: not as asked'
table 'one,time,s,value 5,sizes.1.time_s,,3,4,,'
expect 'a value above' 1 'WRONG: not as asked'
rows 'one,time,s,value 5,sizes.1.time_s,,6,7,4,5'
expect 'a known miss' 0 '1 values: 0 as asked, 1 known misses, 0 wrong'
table 'one,time,s,value 3,sizes.1.time_s,,6,7,4,5'
expect 'a known miss that moved' 1 'WRONG: a miss, and no longer where it was'
table 'one,time,s,value 6,sizes.1.time_s,,6,7,4,5'
expect 'a known miss no more' 1 'WRONG: as asked, but listed as a miss'
table 'one,time,s,value 5,sizes.2.time_s,,4,6,,'
expect 'no such path' 1 'there is no number at sizes.2.time_s'
table 'one,time,s,value 5,name,,4,6,,'
expect 'a path to no number' 1 'there is no number at name'
table 'one,time,s,value none,sizes.1.time_s,,4,6,,'
expect 'a program that fails' 1 'exit code 3'
rows $'one,name,x,value 5,name is a \\"b\\",,1,1,,\none,other,x,value 5,name is b,,0,0,,'
expect 'a text' 0 '2 values: 2 as asked'
table 'one,time,hours,value 5,sizes.1.time_s,,4,6,,'
expect 'an unknown unit' 1 'unknown unit hours'
rows $'two,time,us,value 5,sizes.1.time_s,3,,,,\ntwo,ratio,x,,time_most / time_least,,1.3,1.4,,\ntwo,mean,x,,time / 1e6,,7,7,,'
expect 'seeds and calculations' 0 '2 values: 2 as asked'
expect 'no such case' 2 'no case is called so' three
[[ $failures == 0 ]]
