// SPDX-License-Identifier: GPL-3.0-or-later
// Feeds each file of a folder to a fuzz target, in the order of their names.
#include "sim/os.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>

enum { FILES_MAX = 2000, BYTES_MAX = 1 << 24 };

static bool replay_file(const char *folder, const char *name)
{
    char path[1024], *text;
    size_t length;
    sim_error error = { 0 };
    if (!os_join_path(path, sizeof(path), folder, name)) return false;
    if (!os_read_file(path, BYTES_MAX, &text, &length, NULL, &error)) {
        sim_error_print(&error, stderr);
        return false;
    }
    LLVMFuzzerTestOneInput((const uint8_t *)text, length);
    free(text);
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    char(*names)[256] = calloc(FILES_MAX, sizeof *names);
    int count = names ? os_list_directory(argv[1], "", names, FILES_MAX) : -1;
    bool fine = count > 0 && count <= FILES_MAX; // an empty corpus is a mistake too
    for (int i = 0; fine && i < count; i++)
        fine = replay_file(argv[1], names[i]);
    free(names);
    printf("%d inputs\n", count);
    return fine ? 0 : 1;
}
