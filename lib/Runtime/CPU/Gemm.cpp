//===- Gemm.cpp - one-thread fp32 matrix product --------------------------===//
#include "Gemm.h"

#include "../Threads.h"
#include "Kernel.h"

#include <dnnl.hpp>

namespace dtorch::cpu {

struct Gemm::State {
  /// The product over one piece of k; all but the first add to c.
  struct Piece {
    dnnl::matmul primitive;
    int64_t aOffset, bOffset;
  };
  std::vector<Piece> pieces;
  dnnl::memory a, b, c;
  dnnl::memory::desc scratchDesc;
};

namespace {

/// Never destroyed: device threads end after other static objects.
dnnl::engine &engine() {
  static auto *cpu = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *cpu;
}

dnnl::stream &stream() {
  thread_local dnnl::stream own(engine());
  return own;
}

} // namespace

/// Long sums are taken in pieces: the error of one running sum grows with its
/// length, and oneDNN's kernels keep one over all of k.
constexpr int64_t pieceLength = 128;

Gemm::Gemm(int64_t m, int64_t n, int64_t k, bool transposed)
    : state(std::make_shared<State>()) {
  // oneDNN plans for the number of threads it sees here.
  OneThread oneThread;
  using dnnl::memory;
  auto f32 = memory::data_type::f32;
  int64_t count = std::max<int64_t>((k + pieceLength / 2) / pieceLength, 1);
  size_t scratchSize = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t begin = k * i / count, length = k * (i + 1) / count - begin;
    memory::desc a({m, length}, f32, memory::dims{k, 1});
    memory::desc b({length, n}, f32,
                   transposed ? memory::dims{1, k} : memory::dims{n, 1});
    memory::desc c({m, n}, f32, memory::dims{n, 1});
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (i > 0) {
      dnnl::post_ops addToResult;
      addToResult.append_sum(1.0f);
      attributes.set_post_ops(addToResult);
    }
    dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(a, b, c), attributes,
                                      engine());
    state->pieces.push_back(
        {dnnl::matmul(desc), begin, transposed ? begin : begin * n});
    if (i == 0) {
      state->a = memory(a, engine(), nullptr);
      state->b = memory(b, engine(), nullptr);
      state->c = memory(c, engine(), nullptr);
    }
    if (desc.scratchpad_desc().get_size() >= scratchSize) {
      scratchSize = desc.scratchpad_desc().get_size();
      state->scratchDesc = desc.scratchpad_desc();
    }
  }
}

void Gemm::run(const float *a, const float *b, float *c) const {
  State &s = *state;
  s.c.set_data_handle(c);
  dnnl::memory scratchpad(s.scratchDesc, engine(),
                          scratchBytes(s.scratchDesc.get_size(), 4));
  for (const State::Piece &piece : s.pieces) {
    s.a.set_data_handle(const_cast<float *>(a + piece.aOffset));
    s.b.set_data_handle(const_cast<float *>(b + piece.bOffset));
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, s.a.get()},
                                   {DNNL_ARG_WEIGHTS, s.b.get()},
                                   {DNNL_ARG_DST, s.c.get()},
                                   {DNNL_ARG_SCRATCHPAD, scratchpad.get()}};
    dnnl_status_t status = dnnl_primitive_execute(piece.primitive.get(),
                                                  stream().get(), 4, arguments);
    if (status != dnnl_success)
      throw Error("matmul: oneDNN failed with status " + std::to_string(status),
                  ErrorKind::Runtime);
  }
}

} // namespace dtorch::cpu
