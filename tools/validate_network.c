// SPDX-License-Identifier: GPL-3.0-or-later
// windtunnel validate network: measured latencies, rates and losses beside the same flows played.
#include "tools/validate.h"
#include "validate/network_suite.h"

bool validate_network(const validate_request *q, sim_error *error)
{
    network_suite suite;
    const network_suite_options options = { .measured = validate_measured(q->arena, q->measured, error),
                                            .data = q->data,
                                            .catalogue_path = q->catalogue };
    if (!options.measured || !network_suite_build(q->arena, &options, &suite, error)) return false;
    if (q->json)
        validate_print_json(q->arena, "network", &suite.rows, stdout);
    else
        validate_print(q->arena, &suite.rows, true, &(validate_columns){ .units = suite.units }, stdout);
    return validate_scored(&suite.rows, error);
}
