#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# POSIX is asked for in sim/os.c and sim/workers.c only; everything else is C17 and three libraries. Tests are free.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly posix_header='^[[:space:]]*#[[:space:]]*include[[:space:]]*<(sys/[a-z]+|unistd|signal|dirent|fcntl|pthread|poll|termios|pwd|grp|netdb|strings|glob|fnmatch|ftw|regex|dlfcn|spawn|libgen|langinfo|semaphore|sched|netinet/[a-z]+|arpa/[a-z]+)\.h>'
readonly feature_macro='^[[:space:]]*#[[:space:]]*define[[:space:]]+_(POSIX_C_SOURCE|POSIX_SOURCE|XOPEN_SOURCE|GNU_SOURCE|DEFAULT_SOURCE|BSD_SOURCE)'

check() {
    report_lines "$posix_header|$feature_macro" 'POSIX outside sim/os.c and sim/workers.c' \
        < <(source_files | grep -vE '^(sim/os\.c$|sim/workers\.c$|tests/)')
}

base_tree() {
    plant sim/os.c <<<$'#define _POSIX_C_SOURCE 200809L\n#include <unistd.h>'
    plant sim/a.c <<<'#include <stdlib.h>'
    plant tests/sim/test_os.c <<<'#include <sys/wait.h>'
}
self_test() {
    expect 'a clean tree' ''
    plant sim/b.c <<<'#include <unistd.h>'
    expect 'a header' 'sim/b.c:1: POSIX'
    plant models/c.h <<<$'\n# include <sys/stat.h>'
    expect 'a header of sys' 'models/c.h:2: POSIX'
    plant tools/d.c <<<'#define _GNU_SOURCE'
    expect 'a feature macro' 'tools/d.c:1: POSIX'
}
tidy_main "$@"
