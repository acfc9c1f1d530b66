// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/scratch.h: a folder of its own for a test that needs files; it becomes the working directory, and is gone
// afterwards. Include first, before every other header: it asks for POSIX.
//     cmocka_unit_test_setup_teardown(test, scratch_enter, scratch_leave)
#pragma once
#define _XOPEN_SOURCE 700
#include "tests/support/near.h"
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct scratch_folder {
    char path[64];
    char before[4096];
} scratch_folder;

static inline int scratch_enter(void **state)
{
    scratch_folder *s = calloc(1, sizeof *s);
    if (!s) return -1;
    snprintf(s->path, sizeof s->path, "/tmp/windtunnel-test-XXXXXX");
    if (!getcwd(s->before, sizeof s->before) || !mkdtemp(s->path) || chdir(s->path) != 0) return -1;
    *state = s;
    return 0;
}

static inline int scratch_remove_(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static inline int scratch_leave(void **state)
{
    scratch_folder *s = *state;
    int result = chdir(s->before);
    if (result == 0) result = nftw(s->path, scratch_remove_, 8, FTW_DEPTH | FTW_PHYS);
    free(s);
    return result;
}

// Writes a file below the scratch folder; folders on the way are made.
static inline void scratch_write(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s", name);
    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}
