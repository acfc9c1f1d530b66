#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs a build into a scratch folder, moves it, and uses what is there: the program finds the catalogue beside
# itself, and a program of someone else's compiles against the header and the libraries.
# Arguments: build folder, cmake, C compiler, flags that the libraries were built with.
set -euo pipefail
build=$1 cmake=$2 compiler=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset WINDTUNNEL_CATALOGUE DESTDIR

"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/log" || {
    cat "$scratch/log"
    exit 1
}
mv "$scratch/first" "$scratch/moved"
cd "$scratch"

# An entry that only the installed catalogue has shows which catalogue was read.
gpus=moved/share/windtunnel/catalogue/gpus
some=$(find "$gpus" -name '*.yaml' | sort | head -n 1)
cp "$some" "$gpus/only-installed.yaml"
moved/bin/windtunnel show catalogue >shown
grep -q only-installed shown || {
    echo "install: the installed program does not read the installed catalogue; it shows:"
    cat shown
    exit 1
}

cat >embed.c <<'END'
#include <windtunnel.h>
#include <stdio.h>

int main(void)
{
    printf("%s\n", windtunnel_version());
    return 0;
}
END
read -ra flags <<<"$(PKG_CONFIG_PATH=moved/lib/pkgconfig pkg-config --cflags --libs windtunnel)"
"$compiler" -std=c17 -Wall -Wextra -Werror "$@" embed.c -o embed "${flags[@]}"
version=$(./embed)
installed=$(PKG_CONFIG_PATH=moved/lib/pkgconfig pkg-config --modversion windtunnel)
[[ $version == "$installed" ]] || {
    echo "install: the library says it is version $version, the package says $installed"
    exit 1
}
