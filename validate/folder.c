// SPDX-License-Identifier: GPL-3.0-or-later
#include "validate/folder.h"
#include "sim/os.h"
#include <stdlib.h>

const char *validate_folder(arena *a, sim_error *error)
{
    const char *variable = getenv("WINDTUNNEL_VALIDATE");
    if (variable && *variable) {
        if (os_is_directory(variable)) return arena_text(a, variable);
        sim_fail(error, SIM_EXIT_INPUT, NULL, "\"%s\", which WINDTUNNEL_VALIDATE names, is not a directory",
                 variable);
        return NULL;
    }
    char here[OS_PATH_SIZE], installed[OS_PATH_SIZE] = "";
    if (os_program_directory(here, sizeof here) &&
        os_join_path(installed, sizeof installed, here, "../share/windtunnel/validate") &&
        os_is_directory(installed))
        return arena_text(a, installed);
    if (os_is_directory(WINDTUNNEL_SOURCE_VALIDATE)) return WINDTUNNEL_SOURCE_VALIDATE;
    sim_fail(error, SIM_EXIT_INPUT, NULL,
             "there are no measurements: neither \"%s\" nor \"%s\" is a directory", installed,
             WINDTUNNEL_SOURCE_VALIDATE);
    sim_hint(error, "set WINDTUNNEL_VALIDATE to the folder validate of the source tree");
    return NULL;
}
