#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# No arrow points back: sim knows only sim, models know sim and the levels below them, validate knows models, tools
# know all. Each #include "..." is written from the root of the tree, so that it shows its layer.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The level of a file, left in $level: it may include its own level and lower ones. Levels within models are 10 to 19.
level_of() {
    case $1 in
    sim/*) level=0 ;;
    models/windtunnel.h) level=19 ;;
    models/ids.* | models/dtype.* | models/digest.* | models/part*.* | models/tables*.*) level=11 ;;
    models/hardware/* | models/network/*) level=12 ;;
    models/collective/* | models/traffic/* | models/storage/* | models/reliability/*) level=13 ;;
    models/training/* | models/cost.*) level=14 ;;
    models/*/*) level=unknown ;;
    models/*) level=15 ;;
    validate/*) level=20 ;;
    tools/*) level=30 ;;
    tests/*) level=40 ;;
    *) level=unknown ;;
    esac
}

# What grep prints of an include.
readonly include='^[[:space:]]*#[[:space:]]*include[[:space:]]*"'
readonly hit_include="^([^:]+:[0-9]+):${include#^}([^\"]*)"

check() {
    local file hit place name level from
    while IFS= read -r file; do
        level_of "$file"
        [[ $level != unknown ]] || report "$file" "lies in a folder whose level tests/tidy/includes.sh does not know"
    done <<<"$(source_files)"
    while IFS= read -r hit; do
        [[ $hit =~ $hit_include ]] || continue
        place=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]}
        file=${place%:*}
        level_of "$file"
        from=$level
        [[ $from != unknown ]] || continue
        level_of "$name"
        if [[ $level == unknown || ! -f $name ]]; then
            report "$place" "#include \"$name\" is no file of this tree, named from its root"
        elif [[ $file == models/windtunnel.h ]]; then
            report "$place" "the public header includes nothing of ours, but $name"
        elif ((level > from)) && [[ $name != models/windtunnel.h || $from -lt 15 ]]; then
            report "$place" "includes $name, which is above it"
        elif [[ $file:$name == models/hardware/*:models/network/* ||
            $file:$name == models/network/*:models/hardware/* ]]; then
            report "$place" "hardware and network do not know each other, but it includes $name"
        fi
    done <<<"$(source_files | xargs -r -d '\n' grep -HnE -e "$include" -- || true)"
}

base_tree() {
    plant sim/low.h <<<''
    plant models/ids.h <<<'#include "sim/low.h"'
    plant models/hardware/gpu.h <<<'#include "models/ids.h"'
    plant models/network/link.h <<<'#include "sim/low.h"'
    plant models/collective/plan.h <<<'#include "models/network/link.h"'
    plant models/training/step.h <<<'#include "models/collective/plan.h"'
    plant models/world.h <<<'#include "models/training/step.h"'
    plant models/windtunnel.h <<<'#include <stdint.h>'
    plant models/windtunnel.c <<<'#include "models/windtunnel.h"'
    plant tools/main.c <<<'#include "models/windtunnel.h"'
    plant tests/sim/test_low.c <<<'#include "sim/low.h"'
}
self_test() {
    expect 'a clean tree' ''
    plant sim/bad.c <<<'#include "models/ids.h"'
    expect 'sim includes models' 'sim/bad.c:1: includes models/ids.h, which is above it'
    plant models/hardware/bad.h <<<'#include "models/network/link.h"'
    expect 'hardware includes network' 'models/hardware/bad.h:1: hardware and network'
    plant models/network/bad.c <<<'  #  include "models/hardware/gpu.h"'
    expect 'network includes hardware' 'models/network/bad.c:1: hardware and network'
    plant models/network/bad.c <<<'#include "models/collective/plan.h"'
    expect 'network includes collective' 'models/network/bad.c:1: includes models/collective/plan.h'
    plant models/collective/bad.c <<<'#include "models/training/step.h"'
    expect 'collective includes training' 'models/collective/bad.c:1: includes models/training/step.h'
    plant models/training/bad.c <<<'#include "models/world.h"'
    expect 'training includes world' 'models/training/bad.c:1: includes models/world.h'
    plant models/windtunnel.h <<<'#include "models/ids.h"'
    expect 'the public header' 'models/windtunnel.h:1: the public header includes nothing of ours'
    plant models/world.c <<<'#include "tools/options.h"'
    plant tools/options.h <<<''
    expect 'models include tools' 'models/world.c:1: includes tools/options.h'
    plant sim/bad.c <<<'#include "low.h"'
    expect 'not from the root' 'sim/bad.c:1: #include "low.h" is no file of this tree'
    plant sim/bad.c <<<'#include "tests/sim/test_low.c"'
    expect 'sim includes tests' 'sim/bad.c:1: includes tests/sim/test_low.c'
    plant models/magic/bad.c <<<''
    expect 'an unknown folder' 'models/magic/bad.c: lies in a folder'
}
tidy_main "$@"
