#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plays the cases of tests/cases/cases.csv and prints what was asked, what was expected and what came out. One row, one value:
#     case     folder of scenarios/cases, or file of scenarios/networks
#     value    its name: letters, digits and "_"; later rows of the case may use it
#     unit     GB/s, us, ms, s or x; what is read is in bytes and seconds
#     command  of windtunnel, played in the root of the tree; empty: the next column is a calculation
#     read     the path of a number in what --json prints (sizes.0.busbw_Bps); "PATH is TEXT", which is 1 or 0; or a calculation
#              with earlier values of the case
#     seeds    how often the command is played, with run.seed 1, 2, ...; the value is the mean, and NAME_least and NAME_most may be
#              used; empty: once
#     least, most              what was asked for; both empty: a value that only others need
#     miss_least, miss_most    where a value is known to miss that: where it is today
# A row fails when it leaves what was asked, or, as a known miss, where it is today; when a known miss has come within what was
# asked, so that the table is put right; and when the README of its folder has another line for it, which --rewrite writes.
set -euo pipefail

usage() {
    cat <<'END'
usage: tests/cases/run.sh [--rewrite] [--program PATH] [CASE...]
Plays the named cases, or all. --rewrite writes what came out into the tables of scenarios/cases/README.md and
scenarios/networks/README.md, of all cases: review the diff.
The program is build/release/tools/windtunnel unless said otherwise.
END
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
program=$root/build/release/tools/windtunnel
table=${WINDTUNNEL_CASES_TABLE:-$here/cases.csv} # the self-test has a table and READMEs of its own
scenarios=${WINDTUNNEL_CASES_SCENARIOS:-$root/scenarios}
. "$here/../support/run_options.sh"
program=$(realpath "$program")
cd "$root"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset WINDTUNNEL_CATALOGUE
export LC_ALL=C
declare -A printed=() # command -> file of its paths and values
values=()             # of the case so far, as options of awk

wanted() { # CASE
    local name
    [[ ${#names[@]} -eq 0 ]] && return 0
    for name in "${names[@]}"; do [[ $1 == "$name" ]] && return 0; done
    return 1
}

# Plays a command, once for each, and leaves its paths and values in $paths.
play() { # COMMAND
    local file=$scratch/${#printed[@]} options=(--json) words status=0
    paths=${printed[$1]:-}
    [[ -z $paths ]] || return 0
    read -ra words <<<"$1"
    [[ ${words[0]} != run ]] || options+=(-o "$scratch/run.db" --force)
    "$program" "${words[@]}" "${options[@]}" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
    if [[ $status != 0 ]]; then
        printf 'windtunnel %s: exit code %s\n' "$1" "$status"
        cat "$scratch/stderr"
        return 1
    fi
    awk -f "$here/flatten.awk" "$scratch/stdout" >"$file"
    printed[$1]=$file
    paths=$file
}

# Leaves in $scale what a unit is of bytes and seconds.
scale_of() { # UNIT
    case $1 in
    GB/s) scale=1e-9 ;;
    us) scale=1e6 ;;
    ms) scale=1e3 ;;
    s | x) scale=1 ;;
    *)
        printf 'run.sh: unknown unit %s\n' "$1" >&2
        return 1
        ;;
    esac
}

read_path() { # PATH UNIT
    if [[ $1 == *' is '* ]]; then
        grep -qxF -- "${1%% is *} ${1#* is }" "$paths" && echo 1 || echo 0
        return
    fi
    scale_of "$2" || return 1
    awk -v path="$1" -v scale="$scale" '
        $1 == path && $2 ~ /^-?[0-9]/ { printf "%.6g\n", $2 * scale; found = 1 }
        END { exit !found }' "$paths" || {
        printf 'there is no number at %s\n' "$1"
        return 1
    }
}

# Leaves "value least most" in $got.
measure() { # UNIT COMMAND READ SEEDS
    local all='' seed one
    if [[ -z $2 ]]; then
        one=$(awk "${values[@]}" "BEGIN { printf \"%.6g\", $3 }")
        got="$one $one $one"
        return
    fi
    for ((seed = 1; seed <= ${4:-1}; seed++)); do
        play "$2${4:+ --set run.seed=$seed}" || return 1
        one=$(read_path "$3" "$1") || {
            echo "$one"
            return 1
        }
        all+="$one "
    done
    if [[ -z $4 ]]; then
        got="$one $one $one"
        return
    fi
    got=$(awk -v all="$all" 'BEGIN {
        n = split(all, v, " ")
        least = most = v[1]
        for (i = 1; i <= n; i++) {
            sum += v[i]
            if (v[i] + 0 < least + 0) least = v[i]
            if (v[i] + 0 > most + 0) most = v[i]
        }
        printf "%.6g %s %s", sum / n, least, most }')
}

# What a row is: yes (as asked), miss (a known one), WRONG and why; nothing for a value that only others need.
judge() { # VALUE LEAST MOST MISS_LEAST MISS_MOST
    awk -v v="$1" -v least="$2" -v most="$3" -v miss_least="$4" -v miss_most="$5" '
        function within(a, b) { return (a == "" || v + 0 >= a + 0) && (b == "" || v + 0 <= b + 0) }
        BEGIN {
            asked = least != "" || most != ""
            known = miss_least != "" || miss_most != ""
            if (!asked) exit
            if (!known) print within(least, most) ? "yes" : "WRONG: not as asked"
            else if (within(least, most)) print "WRONG: as asked, but listed as a miss"
            else print within(miss_least, miss_most) ? "miss" : "WRONG: a miss, and no longer where it was"
        }'
}

# Leaves in $range what was asked for, in words.
range_of() { # LEAST MOST
    if [[ -z $1 && -z $2 ]]; then
        range=''
    elif [[ -z $1 ]]; then
        range="at most $2"
    elif [[ -z $2 ]]; then
        range="at least $1"
    elif [[ $1 == "$2" ]]; then
        range=$1
    else
        range="$1 to $2"
    fi
}
shown() { awk -v v="$1" 'BEGIN { printf((v + 0 >= 1000) ? "%.0f" : "%.3g", v) }'; }

page_of() { [[ -d $scenarios/cases/$1 ]] && echo "$1/README.md" || echo "$1.yaml"; }
folder_of() { [[ -d $scenarios/cases/$1 ]] && echo cases || echo networks; }
# A line of a table: it is kept for --rewrite, or must stand there.
keep() { # CASE LINE
    local folder
    folder=$(folder_of "$1")
    echo "$2" >>"$scratch/$folder.rows"
    $rewrite || grep -qxF -- "$2" "$scenarios/$folder/README.md" || {
        printf 'scenarios/%s/README.md has another line: tests/cases/run.sh --rewrite\n' "$folder"
        failures=$((failures + 1))
    }
}
write_table() { # FOLDER
    local readme=$scenarios/$1/README.md
    awk -v rows="$scratch/$1.rows" '
        /^<!-- cases: begin/ {
            print
            print "| case | value | expected | simulated | within? |"
            print "| --- | --- | --- | --- | --- |"
            while ((getline line < rows) > 0) print line
            skip = 1
            next
        }
        /^<!-- cases: end/ { skip = 0 }
        !skip' "$readme" >"$scratch/readme"
    cp "$scratch/readme" "$readme"
}

failures=0 played=0 misses=0 wrong=0
last=
printf '%-28s %-34s %-18s %-22s %s\n' case value asked simulated 'within?'
while IFS=, read -r case value unit command path seeds least most miss_least miss_most; do
    [[ $case == case ]] && continue
    wanted "$case" || continue
    if [[ $case != "$last" ]]; then values=(); fi
    last=$case
    if ! measure "$unit" "$command" "$path" "$seeds"; then
        printf '%-28s %-34s WRONG: not played\n' "$case" "$value"
        failures=$((failures + 1)) wrong=$((wrong + 1)) played=$((played + 1))
        continue
    fi
    read -r mean low high <<<"$got"
    values+=(-v "$value=$mean" -v "${value}_least=$low" -v "${value}_most=$high")
    verdict=$(judge "$mean" "$least" "$most" "$miss_least" "$miss_most")
    text="$(shown "$mean") $unit"
    [[ -z $seeds ]] || text+=" ($(shown "$low")-$(shown "$high"))"
    range_of "$least" "$most"
    printf '%-28s %-34s %-18s %-22s %s\n' "$case" "${value//_/ }" "$range" "$text" "$verdict"
    [[ -z $verdict ]] || played=$((played + 1))
    [[ $verdict != miss ]] || misses=$((misses + 1))
    [[ $verdict != WRONG* ]] || failures=$((failures + 1)) wrong=$((wrong + 1))
    [[ -z $verdict ]] || keep "$case" "| [$case]($(page_of "$case")) | ${value//_/ } | $range $unit | $text | $verdict |"
done <"$table"
if [[ $played == 0 ]]; then
    echo 'run.sh: no case is called so' >&2
    exit 2
fi
echo "$played values: $((played - misses - wrong)) as asked, $misses known misses, $wrong wrong"
if $rewrite && [[ ${#names[@]} -eq 0 ]]; then
    for folder in cases networks; do
        [[ ! -e $scratch/$folder.rows ]] || write_table "$folder"
    done
fi
[[ $failures == 0 ]]
