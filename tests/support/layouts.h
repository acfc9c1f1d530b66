// SPDX-License-Identifier: GPL-3.0-or-later
// tests/support/layouts.h: layouts of collectives, for tests of their times. Their costs are those that a second implementation
// has (tests/support/costs/), not the catalogue's, which are fitted anew from time to time. Tests run in the root of the
// source tree.
#pragma once
#include "tests/support/near.h"

#include "models/collective/layout.h"
#include "models/collective/library.h"
#include "models/part.h"

static inline void layouts_read(arena *a, const char *parts, const char *folder, const char *name,
                                const bind_row *rows, size_t size, void *out)
{
    const catalogue c = { parts };
    const bind_row row[] = {
        { .type = BIND_TYPE_PART, .key = folder, .folder = folder, .rows = rows, .size = size }, BIND_END
    };
    doc_node value = { .kind = DOC_SCALAR, .quoted = true, .scalar = name, .unrolled = 1, .height = 1 };
    doc_pair pair = { .key = folder, .value = &value };
    const doc_node mapping = { .kind = DOC_MAPPING, .pairs = &pair, .count = 1, .unrolled = 2, .height = 2 };
    sim_error error = { 0 };
    bind_reader *reader = bind_reader_create(a, part_read, (void *)&c);
    if (!bind_read(reader, row, &mapping, "", out, &error)) fail_msg("%s: %s", name, error.message);
}

static inline const collective_library *layouts_library(arena *a)
{
    collective_library *library = arena_new(a, collective_library);
    layouts_read(a, "models/catalogue", "collectives", "nccl-2.30", collective_library_binds, sizeof *library,
                 library);
    return library;
}

static inline scale_up_costs *layouts_link(arena *a, const char *name)
{
    scale_up_costs *link = arena_new(a, scale_up_costs);
    layouts_read(a, "tests/support/costs", "link_costs", name, scale_up_costs_binds, sizeof *link, link);
    return link;
}

static inline nic_costs *layouts_nic(arena *a, const char *name)
{
    nic_costs *nic = arena_new(a, nic_costs);
    layouts_read(a, "tests/support/costs", "nic_costs", name, nic_costs_binds, sizeof *nic, nic);
    return nic;
}

static inline uint64_t layouts_mBps(double GBps)
{
    return units_mBps_from_Bps(GBps * 1e9);
}

// Behind NVSwitches unless the class of link is a mesh or none; without SHARP, adaptive.
static inline collective_layout layouts_make(arena *a, const char *link, double link_GBps, uint32_t nodes,
                                             uint32_t ranks_per_node, const char *nic, double nic_GBps,
                                             uint32_t nics)
{
    const scale_up_costs *costs = layouts_link(a, link);
    return (collective_layout){ .ranks = nodes * ranks_per_node,
                                .nodes = nodes,
                                .ranks_per_node = ranks_per_node,
                                .nics_per_node = nodes > 1 ? nics : 0,
                                .link_mBps = layouts_mBps(link_GBps),
                                .nic_mBps = nodes > 1 ? layouts_mBps(nic_GBps) : 0,
                                .nvswitch = costs->nvls.channels > 0,
                                .nvls = costs->nvls.channels > 0,
                                .adaptive = true,
                                .link = costs,
                                .nic = nodes > 1 ? layouts_nic(a, nic) : NULL,
                                .queue_pairs = 1 };
}

// Systems of collectives.csv, as a second implementation knows them.
typedef enum layouts_name {
    H100_NODE,
    A100_NODE,
    B200_NODE,
    GH200_NODE,
    H100_2,
    H100_4,
    H100_8,
    B200_2,
    B200_16,
    ALPS_2,
    ALPS_8,
    ALPS_16,
    H100_LONE_10,
    A100_4,
    LAYOUTS
} layouts_name;

static inline collective_layout layouts_of(arena *a, layouts_name name)
{
    static const struct {
        const char *link, *nic;
        double link_GBps, nic_GBps;
        uint32_t nodes, ranks_per_node, nics;
    } rows[LAYOUTS] = {
        [H100_NODE] = { "nvlink4", NULL, 376, 0, 1, 8, 0 },
        [A100_NODE] = { "nvlink3", NULL, 274, 0, 1, 8, 0 },
        [B200_NODE] = { "nvlink5", NULL, 760, 0, 1, 8, 0 },
        [GH200_NODE] = { "nvlink4-mesh", NULL, 350, 0, 1, 4, 0 },
        [H100_2] = { "nvlink4", "infiniband-ndr", 376, 48.6, 2, 8, 8 },
        [H100_4] = { "nvlink4", "infiniband-ndr", 376, 48.6, 4, 8, 8 },
        [H100_8] = { "nvlink4", "infiniband-ndr", 376, 48.6, 8, 8, 8 },
        [B200_2] = { "nvlink5", "infiniband-ndr", 760, 48.6, 2, 8, 8 },
        [B200_16] = { "nvlink5", "infiniband-ndr", 760, 48.6, 16, 8, 8 },
        [ALPS_2] = { "nvlink4-mesh", "slingshot", 350, 23.2, 2, 4, 4 },
        [ALPS_8] = { "nvlink4-mesh", "slingshot", 350, 23.2, 8, 4, 4 },
        [ALPS_16] = { "nvlink4-mesh", "slingshot", 350, 23.2, 16, 4, 4 },
        [H100_LONE_10] = { "nvlink4", "infiniband-ndr", 376, 48.6, 10, 1, 1 },
        [A100_4] = { "nvlink3", "infiniband-hdr", 274, 24, 4, 8, 4 },
    };
    return layouts_make(a, rows[name].link, rows[name].link_GBps, rows[name].nodes, rows[name].ranks_per_node,
                        rows[name].nic, rows[name].nic_GBps, rows[name].nics);
}
