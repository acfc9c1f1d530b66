// SPDX-License-Identifier: GPL-3.0-or-later
// models/training/in_flight.h: what a stage of a pipeline keeps of the micro-batches it is in the middle of, from the order of
// its passes: a forward keeps the activations of its chunk until the same micro-batch's backward through that chunk has ended.
#pragma once
#include "models/training/memory_need.h"
#include "models/training/schedule.h"
#include "models/training/stages.h"

// Schedule and table must have the same stages and chunks. overlap: stages send and receive beside their passes. With p
// stages, m >= p micro-batches, L layers and v equal chunks the first stage keeps, in layers of one micro-batch,
//     1F1B               L layers                        p micro-batches of L / p
//     interleaved 1F1B   L (1 + (p - 1) / (p v))
// Korthikanti et al. 2022, section 4.2.3.
memory_in_flight in_flight_of(const schedule *s, const stage_table *t, uint32_t stage, bool overlap);
