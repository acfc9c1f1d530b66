// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/database.h: what a database answers, as text, and what lies beside it. Include first, as scratch.h.
#pragma once
#include "tests/support/scratch.h"

#include "sim/os.h"
#include <sqlite3.h>

// How many regular files the folder holds whose name ends in suffix.
static inline int scratch_count(const char *suffix)
{
    return os_list_directory(".", suffix, NULL, 0);
}

// All rows of a statement: fields parted by "|", rows by a newline, NULL for NULL. The text lives until the next
// call.
static inline const char *query(const char *path, const char *sql)
{
    static char text[65536];
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    size_t used = 0;
    text[0] = 0;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *field = (const char *)sqlite3_column_text(statement, i);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     i      ? "|"
                                     : used ? "\n"
                                            : "",
                                     field ? field : "NULL");
            assert_true(used < sizeof text);
        }
    }
    if (code != SQLITE_DONE) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return text;
}
