//===- Where.cpp - a choice between two tensors ---------------------------===//
#include "dtorch/Runtime/CPU/Broadcast.h"

namespace dtorch::cpu {
namespace {

/// One inner run. Which operands move is known at compile time, so that every
/// loop vectorises.
template <typename Word, bool C, bool A, bool B>
void choose(const uint8_t *condition, const Word *a, const Word *b, Word *y,
            int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    y[i] = condition[C ? i : 0] ? a[A ? i : 0] : b[B ? i : 0];
}

template <typename Word>
using Choose = void (*)(const uint8_t *, const Word *, const Word *, Word *,
                        int64_t);

template <typename Word>
Choose<Word> chooseOf(const std::array<bool, 3> &moves) {
  static constexpr Choose<Word> loops[8] = {
      choose<Word, false, false, false>, choose<Word, true, false, false>,
      choose<Word, false, true, false>,  choose<Word, true, true, false>,
      choose<Word, false, false, true>,  choose<Word, true, false, true>,
      choose<Word, false, true, true>,   choose<Word, true, true, true>};
  return loops[moves[0] + 2 * moves[1] + 4 * moves[2]];
}

PreparedKernel prepareWhere(const KernelSpec &spec) {
  requireDType("where: condition", spec.inputs[0], DType::Bool);
  BroadcastLoops<3> loops(spec);
  return dispatchWord(spec.outputs[0].dtype, [&](auto tag) -> PreparedKernel {
    using Word = typename decltype(tag)::type;
    auto run = chooseOf<Word>(loops.moves);
    return [loops, run](const void *const *inputs, void *const *outputs) {
      const uint8_t *condition = in<uint8_t>(inputs, 0);
      const Word *a = in<Word>(inputs, 1), *b = in<Word>(inputs, 2);
      Word *y = out<Word>(outputs);
      loops.forEach([&](const std::array<int64_t, 3> &at, int64_t o) {
        run(condition + at[0], a + at[1], b + at[2], y + o, loops.inner);
      });
    };
  });
}

DTORCH_CPU_KERNEL("where", prepareWhere);

} // namespace
} // namespace dtorch::cpu
