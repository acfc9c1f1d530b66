// SPDX-License-Identifier: GPL-3.0-or-later
// fit_kernels: makes the kernel sets of the catalogue from the measurements in validate/measured/.
//     fit_kernels MEASURED CATALOGUE [SET]     all sets, or one (the others keep their files)
// It reads gpus/ of the catalogue and replaces kernels/*.yaml. Some minutes; the same input gives the same files.
#include "sim/os.h"
#include "validate/kernel_fit.h"
#include <gsl/gsl_errno.h>
#include <stdio.h>

enum { BOOTSTRAP_SAMPLES = 20 };

static void tell(const char *line)
{
    fprintf(stderr, "%s\n", line);
}

static bool write_file(arena *a, const catalogue *parts, const char *name, const char *text, sim_error *error)
{
    const char *path = arena_format(a, "%s/kernels/%s.yaml", parts->directory, name);
    FILE *out = fopen(path, "w");
    const bool good = out && fputs(text, out) >= 0;
    if (out && fclose(out) == 0 && good) return true;
    return sim_fail(error, SIM_EXIT_INPUT, NULL, "%s cannot be written", path);
}

static bool run(arena *a, const kernel_fit_options *options, sim_error *error)
{
    fitted_sets sets = { 0 };
    if (!kernel_fit_all(a, options, &sets, error)) return false;
    for (uint32_t i = 0; i < sets.count; i++) {
        const fitted_set *set = &sets.items[i];
        if (options->only && strcmp(options->only, set->def->kernels) != 0) continue;
        const char *text = kernel_set_text(a, &sets, set, error);
        if (!text || !write_file(a, options->parts, set->def->kernels, text, error)) return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: fit_kernels MEASURED CATALOGUE [SET]\n");
        return SIM_EXIT_INPUT;
    }
    gsl_set_error_handler_off();
    arena *a = arena_create("fit_kernels");
    sim_error error = { 0 };
    catalogue parts;
    const bool found = catalogue_find(a, argv[2], &parts, &error);
    const kernel_fit_options options = { .measured = argv[1],
                                         .parts = &parts,
                                         .samples = BOOTSTRAP_SAMPLES,
                                         .only = argc > 3 ? argv[3] : NULL,
                                         .tell = tell };
    const bool good = found && run(a, &options, &error);
    if (!good) sim_error_print(&error, stderr);
    arena_destroy(a);
    return good ? SIM_EXIT_OK : SIM_EXIT_INPUT;
}
