// SPDX-License-Identifier: GPL-3.0-or-later
// models/digest.h: kinds of records in the digest of results (sim/engine.h).
#pragma once

enum { DIGEST_TASK = 1, DIGEST_COLLECTIVE = 2, DIGEST_TRANSFER = 3, DIGEST_STEP = 4, DIGEST_SUMMARY = 5 };
