//===- Gemm.cpp - one-thread fp32 matrix product --------------------------===//
#include "Gemm.h"

#include "../Threads.h"
#include "Kernel.h"

#include <dnnl.hpp>

namespace dtorch::cpu {

struct Gemm::State {
  dnnl::matmul primitive;
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

Gemm::Gemm(int64_t m, int64_t n, int64_t k, bool transposed)
    : state(std::make_shared<State>()) {
  // oneDNN plans for the number of threads it sees here.
  OneThread oneThread;
  using dnnl::memory;
  auto f32 = memory::data_type::f32;
  memory::desc a({m, k}, f32, memory::dims{k, 1});
  memory::desc b({k, n}, f32,
                 transposed ? memory::dims{1, k} : memory::dims{n, 1});
  memory::desc c({m, n}, f32, memory::dims{n, 1});
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(a, b, c), attributes, engine());
  state->primitive = dnnl::matmul(desc);
  state->a = memory(a, engine(), nullptr);
  state->b = memory(b, engine(), nullptr);
  state->c = memory(c, engine(), nullptr);
  state->scratchDesc = desc.scratchpad_desc();
}

void Gemm::run(const float *a, const float *b, float *c) const {
  State &s = *state;
  s.a.set_data_handle(const_cast<float *>(a));
  s.b.set_data_handle(const_cast<float *>(b));
  s.c.set_data_handle(c);
  dnnl::memory scratchpad(s.scratchDesc, engine(),
                          scratchBytes(s.scratchDesc.get_size(), 4));
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, s.a.get()},
                                 {DNNL_ARG_WEIGHTS, s.b.get()},
                                 {DNNL_ARG_DST, s.c.get()},
                                 {DNNL_ARG_SCRATCHPAD, scratchpad.get()}};
  dnnl_status_t status =
      dnnl_primitive_execute(s.primitive.get(), stream().get(), 4, arguments);
  if (status != dnnl_success)
    throw Error("matmul: oneDNN failed with status " + std::to_string(status),
                ErrorKind::Runtime);
}

} // namespace dtorch::cpu
