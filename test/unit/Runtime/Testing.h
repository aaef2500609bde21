//===- Testing.h - what the runtime's tests share -------------------------===//
#pragma once

#include "dtorch/Runtime/Executor.h"
#include "dtorch/Runtime/KernelRegistry.h"
#include "dtorch/Support/Error.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <string>

namespace dtorch::testing {

inline const std::vector<DType> allDTypes = {
    DType::Bool,     DType::Int32,   DType::Int64,  DType::Float16,
    DType::BFloat16, DType::Float32, DType::Float64};
inline const std::vector<DType> floatDTypes = {DType::Float16, DType::BFloat16,
                                               DType::Float32, DType::Float64};

/// Element access by double, whatever the type.
inline double get(DType dtype, const void *data, int64_t i) {
  switch (dtype) {
  case DType::Bool:
    return static_cast<const bool *>(data)[i];
  case DType::Int32:
    return static_cast<const int32_t *>(data)[i];
  case DType::Int64:
    return static_cast<double>(static_cast<const int64_t *>(data)[i]);
  case DType::Float16:
    return static_cast<const _Float16 *>(data)[i];
  case DType::BFloat16:
    return std::bit_cast<float>(
        static_cast<uint32_t>(static_cast<const uint16_t *>(data)[i]) << 16);
  case DType::Float32:
    return static_cast<const float *>(data)[i];
  case DType::Float64:
    return static_cast<const double *>(data)[i];
  }
  std::abort();
}

/// bfloat16 is cut off: give it values that it can hold.
inline void set(DType dtype, void *data, int64_t i, double value) {
  switch (dtype) {
  case DType::Bool:
    static_cast<bool *>(data)[i] = value != 0;
    return;
  case DType::Int32:
    static_cast<int32_t *>(data)[i] = static_cast<int32_t>(value);
    return;
  case DType::Int64:
    static_cast<int64_t *>(data)[i] = static_cast<int64_t>(value);
    return;
  case DType::Float16:
    static_cast<_Float16 *>(data)[i] = static_cast<_Float16>(value);
    return;
  case DType::BFloat16:
    static_cast<uint16_t *>(data)[i] =
        std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16;
    return;
  case DType::Float32:
    static_cast<float *>(data)[i] = static_cast<float>(value);
    return;
  case DType::Float64:
    static_cast<double *>(data)[i] = value;
    return;
  }
}

/// A tensor of one device (or the host) for kernel tests.
struct Array {
  DType dtype;
  Shape shape;
  std::vector<double> values;
  Shape offset, global; ///< where it is a part of something larger

  Array(DType dtype, Shape shape, std::vector<double> values)
      : dtype(dtype), shape(shape), values(std::move(values)),
        offset(shape.size(), 0), global(shape) {}
  Array &partOf(Shape whole, Shape at) {
    global = std::move(whole);
    offset = std::move(at);
    return *this;
  }
  TensorSpec spec() const { return {dtype, global, {offset, shape}}; }
};

inline StorageRef toStorage(DType dtype, const std::vector<double> &values) {
  StorageRef storage = Storage::allocate(values.size() * itemSize(dtype));
  for (size_t i = 0; i < values.size(); ++i)
    set(dtype, storage->data(), i, values[i]);
  return storage;
}

inline std::vector<double> toValues(DType dtype, const void *data,
                                    int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(get(dtype, data, i));
  return values;
}

/// Runs a kernel; `result` gives type and box of the output.
inline std::vector<double> runKernel(const std::string &name,
                                     const std::vector<Array> &inputs,
                                     Attrs attrs, const Array &result) {
  KernelSpec spec{{}, {result.spec()}, std::move(attrs)};
  std::vector<StorageRef> memory;
  std::vector<const void *> pointers;
  for (const Array &input : inputs) {
    spec.inputs.push_back(input.spec());
    memory.push_back(toStorage(input.dtype, input.values));
    pointers.push_back(memory.back()->data());
  }
  int64_t count = numElements(result.shape);
  // A canary after the end.
  StorageRef output = Storage::allocate(count * itemSize(result.dtype) + 8);
  std::memset(output->data(), 0x5a, output->size());
  void *outputs[] = {output->data()};
  lookupKernel(name)(spec)(pointers.data(), outputs);
  const char *end = static_cast<char *>(output->data()) + output->size() - 8;
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(end[i], 0x5a) << name << " wrote past the end of its result";
  return toValues(result.dtype, output->data(), count);
}

inline std::vector<double> runKernel(const std::string &name,
                                     const std::vector<Array> &inputs,
                                     Attrs attrs, DType dtype, Shape shape) {
  return runKernel(name, inputs, std::move(attrs), Array(dtype, shape, {}));
}

inline MeshRef mesh(Shape shape) {
  std::vector<std::string> names;
  for (size_t a = 0; a < shape.size(); ++a)
    names.push_back("a" + std::to_string(a));
  return DeviceMesh::regular("cpu", names, shape);
}

/// Builds a function of a program step by step.
class FunctionBuilder {
public:
  explicit FunctionBuilder(std::string name) {
    function.name = std::move(name);
  }

  int64_t argument(BufferType type, std::string name = "") {
    function.arguments.push_back({std::move(name), false});
    return add(
        {ProgramBuffer::Kind::Argument, arguments++, 0, std::move(type)});
  }
  int64_t result(BufferType type) {
    function.resultNames.push_back("");
    return add({ProgramBuffer::Kind::Result, results++, 0, std::move(type)});
  }
  int64_t arena(BufferType type) {
    int64_t offset = reserve(type.maxLocalBytes());
    return add({ProgramBuffer::Kind::Arena, 0, offset, std::move(type)});
  }
  int64_t alias(int64_t of, BufferType type) {
    return add({ProgramBuffer::Kind::Alias, of, 0, std::move(type)});
  }
  Instruction &launch(std::string name, std::vector<int64_t> inputs,
                      int64_t output, Attrs attrs = {}) {
    Instruction &in = push(Instruction::Kind::Launch, std::move(name),
                           std::move(inputs), {output});
    in.attrs = std::move(attrs);
    return in;
  }
  Instruction &communicate(std::string name, int64_t input, int64_t output,
                           std::vector<int64_t> axes = {}) {
    Instruction &in = push(Instruction::Kind::Communicate, std::move(name),
                           {input}, {output});
    in.axes = std::move(axes);
    return in;
  }
  Instruction &copy(int64_t input, int64_t output) {
    return push(Instruction::Kind::Copy, "", {input}, {output});
  }
  Instruction &call(const Program &program, int64_t callee,
                    std::vector<int64_t> inputs, std::vector<int64_t> outputs) {
    int64_t offset = reserve(program.functions[callee].arenaBytes);
    Instruction &in =
        push(Instruction::Kind::Call, program.functions[callee].name,
             std::move(inputs), std::move(outputs));
    in.callee = callee;
    in.offset = offset;
    return in;
  }
  int64_t reserve(int64_t bytes) {
    int64_t offset = function.arenaBytes;
    function.arenaBytes += (bytes + 63) / 64 * 64;
    return offset;
  }

  ProgramFunction function;

private:
  int64_t add(ProgramBuffer buffer) {
    function.buffers.push_back(std::move(buffer));
    return function.buffers.size() - 1;
  }
  Instruction &push(Instruction::Kind kind, std::string name,
                    std::vector<int64_t> inputs, std::vector<int64_t> outputs) {
    Instruction &in = function.instructions.emplace_back();
    in.kind = kind;
    in.name = std::move(name);
    in.inputs = std::move(inputs);
    in.outputs = std::move(outputs);
    in.location = "model.py:" + std::to_string(function.instructions.size());
    return in;
  }
  int64_t arguments = 0, results = 0;
};

inline std::vector<DistTensorRef>
run(Program program, const std::vector<DistTensorRef> &arguments) {
  auto loaded = Executor::local().load(std::move(program));
  return Executor::local().run(*loaded, arguments);
}

/// The whole value of a tensor.
inline std::vector<double> whole(const DistTensor &tensor) {
  int64_t count = numElements(tensor.type.shape);
  StorageRef storage = Storage::allocate(count * itemSize(tensor.type.dtype));
  assemble(tensor, storage->data());
  return toValues(tensor.type.dtype, storage->data(), count);
}

inline DistTensorRef hostTensor(DType dtype, Shape shape,
                                const std::vector<double> &values) {
  return distribute(toStorage(dtype, values), {shape, dtype, Sharding::host()});
}

/// The message of the Error that `body` throws; empty if it throws none.
template <typename F> std::string errorOf(F body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

/// Sets an environment variable for a while.
class Environment {
public:
  Environment(const char *name, const char *value) : name(name) {
    setenv(name, value, 1);
  }
  ~Environment() { unsetenv(name); }

private:
  const char *name;
};

} // namespace dtorch::testing
