// SPDX-License-Identifier: GPL-3.0-or-later
// models/collective/tuner.h: which algorithm and protocol NCCL takes. Its affine table T = latency + bytes / rate is used as it
// is, for choosing only: its times are wrong in middle sizes, and the wrong choices that NCCL makes with them are its own.
#pragma once
#include "models/collective/layout.h"
#include "models/collective/library.h"
#include "models/collective/plan.h"

// NCCL's prediction [s]; INFINITY: it does not consider that combination here.
double tuner_predicted_s(const collective_library *library, const collective_layout *layout,
                         collective_kind kind, collective_algorithm algorithm, collective_protocol protocol,
                         uint64_t bytes);
// The least prediction (ties: the later in the order of the enumerations). forced_algorithm: a collective_algorithm, or
// ALGORITHM_AUTO; forced_protocol: a collective_protocol, or PROTOCOL_AUTO. As in NCCL, a forced algorithm that does not exist
// for this kind (NVLS for the all-gather of one node) gives way to one that does; LL128, forced, is taken without the
// hardware's promise.
collective_choice tuner_choose(const collective_library *library, const collective_layout *layout,
                               collective_kind kind, uint64_t bytes, int forced_algorithm,
                               int forced_protocol);
// Why the hardware cannot run an algorithm: a sentence for people ("NVLS needs an NVSwitch that can sum"); NULL: it can.
const char *tuner_lacks(const collective_library *library, const collective_layout *layout,
                        collective_algorithm algorithm);
// Whether an algorithm exists for a kind, here; false where tuner_lacks() has a reason.
bool tuner_has(const collective_library *library, const collective_layout *layout, collective_kind kind,
               collective_algorithm algorithm);
