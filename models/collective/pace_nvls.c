// SPDX-License-Identifier: GPL-3.0-or-later
// All-reduce in the NVSwitches of one domain. A channel's bytes go in loops of h heads x chunk; scatter, reduce and gather each
// work on a loop of their own:
//     T = T0 + (loops + 2) t     t = c + min(b, h chunk) / R     loops = max(1, b / (h chunk))
//     b [bytes]: of one channel   c [s]   R [bytes/s]: of the buffer, on one channel   T0 [s]: whole entry
// The staircase of chunks (chunking.c) is the ramp of the measured curve.
// Source: fit to collectives.csv, 8 H100 from 2 MiB to 8 GiB within 6 %, 3 % from 64 MiB on, 1 % from 128 MiB on.
// Blackwell's constants are from one noisy run (15 %), where the step to 128 KiB came at 8 GiB instead of 2. Registered
// buffers are not modelled.
#include "models/collective/pace_internal.h"
#include <math.h>

collective_pace pace_nvls(const pace_request *q)
{
    const collective_layout *l = q->layout;
    const nvls_costs *nvls = &l->link->nvls;
    const uint32_t heads = chunking_heads(l), channels = chunking_all_channels(q->library, l, ALGORITHM_NVLS);
    const double share = (double)q->bytes / channels;
    const uint64_t chunk = chunking_nvls_chunk_bytes(share, heads, nvls->chunk_bytes);
    const double loop_bytes = fmin(share, (double)(heads * chunk)), loops = share / loop_bytes;
    const double loop_s = units_s_from_ps(nvls->loop_ps) + loop_bytes / nvls->rate_Bps;
    collective_pace pace = pace_make(units_s_from_ps(l->link->nvls_entry_ps) + 2 * loop_s, loops * loop_s);
    pace.entry_ps = l->link->nvls_entry_ps;
    pace.channels = channels;
    pace.chunk_bytes = pace.slice_bytes = chunk;
    pace.slices = 1;
    pace.slots = q->library->kernels.slots;
    pace.loops = loops;
    return pace;
}
