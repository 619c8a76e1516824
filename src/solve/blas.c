// SPDX-License-Identifier: MIT
#include "solve/solve.h"

#include <cblas.h>

void sn_blas_serial(void) { openblas_set_num_threads(1); }
