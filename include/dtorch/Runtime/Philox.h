//===- Philox.h - counter-based random words ------------------------------===//
//
// Philox4x32-10 of Salmon et al., Parallel random numbers: as easy as 1, 2, 3,
// SC 2011: a bijection of 128-bit counters under a 64-bit key. Every device
// computes the words of its own elements, so a seed gives one tensor on every
// mesh.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace dtorch {

struct PhiloxWords {
  uint32_t w[4];
};

inline PhiloxWords philox(uint64_t key, uint64_t counterLow,
                          uint64_t counterHigh) {
  uint32_t k0 = static_cast<uint32_t>(key),
           k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = static_cast<uint32_t>(counterLow);
  uint32_t c1 = static_cast<uint32_t>(counterLow >> 32);
  uint32_t c2 = static_cast<uint32_t>(counterHigh);
  uint32_t c3 = static_cast<uint32_t>(counterHigh >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53u) * c0, b = uint64_t(0xCD9E8D57u) * c2;
    uint32_t n0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
    uint32_t n2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(b);
    c3 = static_cast<uint32_t>(a);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u; // the golden ratio
    k1 += 0xBB67AE85u; // sqrt(3) - 1
  }
  return {{c0, c1, c2, c3}};
}

} // namespace dtorch
