//===- Threads.cpp - one thread a library call ----------------------------===//
#include "dtorch/Runtime/Threads.h"

// Of the OpenMP library that oneDNN is linked to; its header belongs to
// another compiler.
extern "C" {
void omp_set_num_threads(int);
int omp_get_max_threads(void);
}

namespace dtorch {

OneThread::OneThread() : before(omp_get_max_threads()) {
  if (before != 1)
    omp_set_num_threads(1);
}

OneThread::~OneThread() {
  if (before != 1)
    omp_set_num_threads(before);
}

} // namespace dtorch
