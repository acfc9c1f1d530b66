// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/near.h"
int main(void) { return 0; }
