# SPDX-License-Identifier: GPL-3.0-or-later
# What the program prints with --json, one key a line, as lines "path value": sizes.0.time_s 0.0123
function path(    i, text) {
    for (i = 1; i <= depth; i++)
        if (step[i] != "") text = text (text == "" ? "" : ".") step[i]
    return text
}
function next_item() { return in_array[depth] ? items[depth]++ "" : "" }
{
    line = $0
    sub(/^[ \t]+/, "", line)
    sub(/,$/, "", line)
    if (line ~ /^[]}]$/) {
        depth--
        next
    }
    key = ""
    if (match(line, /^"[^"]*": /)) {
        key = substr(line, 2, RLENGTH - 4)
        line = substr(line, RLENGTH + 1)
    } else
        key = depth > 0 ? next_item() : ""
    if (line == "{" || line == "[") {
        step[++depth] = key
        in_array[depth] = line == "["
        items[depth] = 0
        next
    }
    gsub(/^"|"$/, "", line)
    prefix = path()
    print (prefix == "" ? "" : prefix ".") key " " line
}
