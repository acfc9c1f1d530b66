// SPDX-License-Identifier: GPL-3.0-or-later
// fit_collectives: makes the numbers of classes of links and NICs in the catalogue from validate/measured/collectives.csv.
//     fit_collectives MEASURED CATALOGUE [CLASS]     all, or a NIC's class alone (the others keep their files)
// It writes fitted numbers over their lines in link_costs/*.yaml and nic_costs/*.yaml; all other lines stay. The same
// measurements give the same files.
#include "sim/os.h"
#include "validate/collective_fit.h"
#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <string.h>

static void tell(const char *line)
{
    fprintf(stderr, "%s\n", line);
}

static bool write_file(arena *a, const catalogue *parts, const cost_class *class, const char *text,
                       sim_error *error)
{
    const char *path = arena_format(a, "%s/%s/%s.yaml", parts->directory,
                                    class->is_nic ? "nic_costs" : "link_costs", class->name);
    FILE *out = fopen(path, "w");
    const bool good = out && fputs(text, out) >= 0;
    if (out && fclose(out) == 0 && good) return true;
    return sim_fail(error, SIM_EXIT_INPUT, NULL, "%s cannot be written", path);
}

static bool is_class(const cost_files *files, const char *name)
{
    return cost_files_class(files, false, name) != NO_ID || cost_files_class(files, true, name) != NO_ID;
}

static bool run(arena *a, const char *measured, const catalogue *parts, const char *only, sim_error *error)
{
    const collective_fit_options options = { .only = only, .tell = tell };
    cost_data data;
    if (!collective_fit_read(a, measured, parts, &data, error)) return false;
    if (only && !is_class(&data.files, only))
        return sim_fail(error, SIM_EXIT_INPUT, NULL, "the catalogue has no costs called \"%s\"", only);
    const cost_fit *fits = collective_fit_all(a, &data, &options);
    for (uint32_t c = 0; c < data.files.classes.count; c++)
        if (collective_fit_is_asked(&data.files, only, c) &&
            !write_file(a, parts, &data.files.classes.items[c], cost_files_text(a, &data.files, c, fits),
                        error))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: fit_collectives MEASURED CATALOGUE [CLASS]\n");
        return SIM_EXIT_INPUT;
    }
    gsl_set_error_handler_off();
    arena *a = arena_create("fit_collectives");
    sim_error error = { 0 };
    catalogue parts;
    const bool good = catalogue_find(a, argv[2], &parts, &error) &&
                      run(a, argv[1], &parts, argc > 3 ? argv[3] : NULL, &error);
    if (!good) sim_error_print(&error, stderr);
    arena_destroy(a);
    return good ? SIM_EXIT_OK : SIM_EXIT_INPUT;
}
