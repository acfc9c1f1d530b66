#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Nothing mutable at file scope, nor static in a function: two runs in one process must not meet. Looks at the built
# libraries, where a variable that can change stands in .data, .bss or their thread-local counterparts; constants with
# pointers stand in .data.rel.ro and are fine. Arguments: the libraries. CC compiles the planted violation.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The documented ones: which event is being handled when a check fails (sim/check.h), and that a signal has come, for
# a signal handler can reach nothing else (sim/os.h).
allowed() {
    case $1 in
    check.c.o:current | os.c.o:interrupted) return 0 ;;
    esac
    return 1
}

# MEMBER:SYMBOL for each variable that can change. objdump prints an address, seven flags (an O for an object, which a
# thread-local one lacks; a d for a section), the section, a tab, the size and the name. Names that the sanitizers add
# are theirs.
variables() {
    objdump -t "$1" | awk '
        $2 == "file" && $3 == "format" { member = $1; sub(/:$/, "", member); next }
        /^[0-9a-f]+ [lgu]/ {
            flags = substr($0, index($0, " ") + 1, 7)
            section = substr($0, index($0, " ") + 9)
            sub(/\t.*/, "", section)
            if (section !~ /^(\.s?data|\.s?bss|\.tdata|\.tbss|\*COM\*)/ || section ~ /^\.data\.rel\.ro/) next
            if (substr(flags, 6, 1) == "d" || (substr(flags, 7, 1) != "O" && section !~ /^\.t/)) next
            if ($NF ~ /^(__odr_asan|__asan|__ubsan|__sanitizer|__gcov|__llvm|\.L)/) next
            name = $NF
            if (match(name, /^[A-Za-z_][A-Za-z_0-9]*\.[A-Za-z_]/)) sub(/^[^.]*\./, "", name) # clang: FUNCTION.NAME
            print member ":" name
        }'
}

libraries=()
check() {
    local library found
    for library in "${libraries[@]}"; do
        while IFS= read -r found; do
            [[ -z $found ]] || allowed "$found" || report "$(basename "$library")" "a variable that can change: $found"
        done <<<"$(variables "$library")"
    done
}

compile() { # FILE: builds planted.a from it
    rm -f planted.a
    "${CC:-cc}" -fPIE -c "$1" -o "$1.o"
    ar rc planted.a "$1.o"
    libraries=(planted.a)
}
self_test() {
    plant good.c <<<'static const int table[] = { 1, 2 }; static const char *const words[] = { "a", "b" };
        int good(int i); int good(int i) { return table[i] + words[i][0]; }'
    compile good.c
    expect 'constants' ''
    plant bad.c <<<'static int counter; int bad(void); int bad(void) { return ++counter; }'
    compile bad.c
    expect 'a static variable' 'a variable that can change: bad.c.o:counter'
    plant bad.c <<<'int bad(void); int bad(void) { static int calls = 3; return ++calls; }'
    compile bad.c
    expect 'a static variable in a function' 'a variable that can change: bad.c.o:calls'
    plant bad.c <<<'int shared = 7;'
    compile bad.c
    expect 'a global variable' 'a variable that can change: bad.c.o:shared'
    plant bad.c <<<'static _Thread_local int mine; int bad(void); int bad(void) { return ++mine; }'
    compile bad.c
    expect 'a thread-local variable' 'a variable that can change: bad.c.o:mine'
    plant check.c <<<'static _Thread_local int current; int f(void); int f(void) { return ++current; }'
    compile check.c
    expect 'the documented one' ''
}

if [[ ${1-} != --self-test ]]; then
    libraries=("$@")
    [[ $# -gt 0 ]] || { echo 'usage: mutable.sh LIBRARY...' >&2; exit 2; }
    set -- .
fi
tidy_main "$@"
