// SPDX-License-Identifier: GPL-3.0-or-later
// models/part.h: named parts of the catalogue. Where a scenario or a part says "gpu: h100-sxm", the file
// CATALOGUE/gpus/h100-sxm.yaml is read; where it gives a mapping, that mapping is the part, and a "base: NAME" in it (or
// in a catalogue file) starts from the named part and overrides; with "base_grade: assumed" the numbers of the base count as
// assumed. Cycles of bases are refused. An unknown name lists the nearest entry. The folder is the bind row's .folder.
#pragma once
#include "sim/bind.h"

typedef struct catalogue {
    const char *directory; // holds gpus/ kernels/ nodes/ nics/ switches/ cables/ systems/ llms/ collectives/
} catalogue;

// Where the catalogue is: given (--catalogue; may be NULL), else WINDTUNNEL_CATALOGUE, else ../share/windtunnel/catalogue
// beside the program, else the source tree this program was built from. Refused when none is a directory.
bool catalogue_find(arena *a, const char *given, catalogue *out, sim_error *error);
// The bind_part_reader of every scenario; the reader's owner is a const catalogue *.
bool part_read(bind_reader *r, const bind_row *row, const doc_node *node, void *out, sim_error *error);
// Names in a folder of the catalogue, sorted; the count, or -1 when it cannot be read.
int catalogue_names(arena *a, const catalogue *c, const char *folder, const char ***names);
