//===- Gemm.cpp - one-thread fp32 matrix product --------------------------===//
#include "dtorch/Runtime/CPU/Gemm.h"

#include "dtorch/Runtime/CPU/Kernel.h"
#include "dtorch/Runtime/Threads.h"

#include <dnnl.hpp>

namespace dtorch::cpu {

struct Gemm::State {
  /// A product over one piece of k and one panel of n; all but the first piece
  /// of a panel add to c. Offsets in elements.
  struct Piece {
    dnnl::matmul primitive;
    dnnl::memory a, b, c, scratchpad;
    int64_t aOffset, bOffset, cOffset;
  };
  std::vector<Piece> pieces;
};

namespace {

/// Long sums are taken in pieces: the error of one running sum grows with its
/// length, and oneDNN's kernels keep one over all of k.
constexpr int64_t pieceLength = 192;
/// Of wide results a panel of columns at a time is summed up, so that what a
/// piece adds to is still in a cache.
constexpr int64_t panelColumns = 2048;

/// Never destroyed: device threads end after other static objects.
dnnl::engine &engine() {
  static auto *cpu = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *cpu;
}

dnnl::stream &stream() {
  thread_local dnnl::stream own(engine());
  return own;
}

/// Where each piece of k begins, and k: multiples of a vector but for the end.
std::vector<int64_t> piecesOf(int64_t k) {
  int64_t count = std::max<int64_t>((k + pieceLength / 2) / pieceLength, 1);
  std::vector<int64_t> begins;
  for (int64_t i = 0; i < count; ++i)
    begins.push_back(k * i / count / 16 * 16);
  begins.push_back(k);
  return begins;
}

dnnl::matmul::primitive_desc describe(int64_t m, int64_t n, int64_t k,
                                      int64_t aStride,
                                      dnnl::memory::dims bStrides,
                                      int64_t cStride, bool adds) {
  using dnnl::memory;
  auto f32 = memory::data_type::f32;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (adds) {
    dnnl::post_ops addToResult;
    addToResult.append_sum(1.0f);
    attributes.set_post_ops(addToResult);
  }
  return {
      dnnl::matmul::desc(memory::desc({m, k}, f32, memory::dims{aStride, 1}),
                         memory::desc({k, n}, f32, bStrides),
                         memory::desc({m, n}, f32, memory::dims{cStride, 1})),
      attributes, engine()};
}

} // namespace

Gemm::Gemm(int64_t m, int64_t n, int64_t k, bool transposed)
    : state(std::make_shared<State>()) {
  // oneDNN plans for the number of threads it sees here.
  OneThread oneThread;
  std::vector<int64_t> begins = piecesOf(k);
  int64_t panel = begins.size() > 2 ? std::min(n, panelColumns) : n;
  int64_t bRow = transposed ? 1 : n, bColumn = transposed ? k : 1;
  for (int64_t column = 0; column < n; column += panel)
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      auto desc =
          describe(m, std::min(panel, n - column), begins[i + 1] - begins[i], k,
                   {bRow, bColumn}, n, i > 0);
      auto unbound = [](const dnnl::memory::desc &of) {
        return dnnl::memory(of, engine(), nullptr);
      };
      state->pieces.push_back({dnnl::matmul(desc), unbound(desc.src_desc()),
                               unbound(desc.weights_desc()),
                               unbound(desc.dst_desc()),
                               unbound(desc.scratchpad_desc()), begins[i],
                               begins[i] * bRow + column * bColumn, column});
    }
}

void Gemm::run(const float *a, const float *b, float *c) const {
  for (State::Piece &piece : state->pieces) {
    piece.a.set_data_handle(const_cast<float *>(a + piece.aOffset));
    piece.b.set_data_handle(const_cast<float *>(b + piece.bOffset));
    piece.c.set_data_handle(c + piece.cOffset);
    size_t scratchSize = piece.scratchpad.get_desc().get_size();
    piece.scratchpad.set_data_handle(scratchBytes(scratchSize, 4));
    dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, piece.a.get()},
        {DNNL_ARG_WEIGHTS, piece.b.get()},
        {DNNL_ARG_DST, piece.c.get()},
        {DNNL_ARG_SCRATCHPAD, piece.scratchpad.get()}};
    dnnl_status_t status = dnnl_primitive_execute(piece.primitive.get(),
                                                  stream().get(), 4, arguments);
    if (status != dnnl_success)
      throw Error("matmul: oneDNN failed with status " + std::to_string(status),
                  ErrorKind::Runtime);
  }
}

} // namespace dtorch::cpu
