//===- Inputs.cpp - values from outside -----------------------------------===//

#include "dtorch/Session/Inputs.h"

#include "dtorch/Runtime/Executor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace dtorch;

void dtorch::checkWorld(const DeviceMesh &mesh) {
  int64_t devices = Executor::local().numDevices();
  if (mesh.requiredWorldSize() > devices)
    throw Error("device mesh: needs " +
                std::to_string(mesh.requiredWorldSize()) +
                " devices, this process has " + std::to_string(devices) +
                "; set DTORCH_NUM_GPU_WHEN_ENABLE_DTENSOR_IN_SAME_DEVICE");
}

NodeRef dtorch::makeInput(const StorageRef &global, TensorType type,
                          Sharding sharding) {
  sharding.verify(type.shape);
  checkWorld(*sharding.mesh);
  Sharding normal = normalised(sharding, type.shape);
  BufferType buffer{std::move(type.shape), type.dtype, std::move(normal)};
  return Node::input(distribute(global, buffer), std::move(sharding));
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// The upper half of the float, rounded to nearest even.
static uint16_t toBFloat16(double number) {
  uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(number));
  if (std::isnan(number))
    return static_cast<uint16_t>((bits >> 16) | 0x40); // stays a quiet NaN
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static int64_t toInteger(const Number &number, int64_t least, int64_t most,
                         DType dtype) {
  int64_t value = std::visit(
      [&](auto v) -> int64_t {
        if constexpr (std::is_same_v<decltype(v), double>)
          if (!(v >= -0x1p63 && v < 0x1p63))
            throw Error("scalar: " + std::to_string(v) +
                        " is not a number of " + std::string(toString(dtype)));
        return static_cast<int64_t>(v);
      },
      number);
  if (value < least || value > most)
    throw Error("scalar: " + std::to_string(value) + " does not fit " +
                std::string(toString(dtype)));
  return value;
}

static double toDouble(const Number &number) {
  return std::visit([](auto v) { return static_cast<double>(v); }, number);
}

/// The number in the element type, in the first bytes.
static uint64_t toBits(const Number &number, DType dtype) {
  using Limits32 = std::numeric_limits<int32_t>;
  using Limits64 = std::numeric_limits<int64_t>;
  uint64_t bits = 0;
  auto store = [&bits](auto value) {
    std::memcpy(&bits, &value, sizeof(value));
    return bits;
  };
  switch (dtype) {
  case DType::Bool:
    return store(static_cast<uint8_t>(toDouble(number) != 0));
  case DType::Int32:
    return store(static_cast<int32_t>(
        toInteger(number, Limits32::min(), Limits32::max(), dtype)));
  case DType::Int64:
    return store(toInteger(number, Limits64::min(), Limits64::max(), dtype));
  case DType::Float16:
    return store(static_cast<_Float16>(toDouble(number)));
  case DType::BFloat16:
    return store(toBFloat16(toDouble(number)));
  case DType::Float32:
    return store(static_cast<float>(toDouble(number)));
  case DType::Float64:
    return store(toDouble(number));
  }
  throw Error("scalar: unknown dtype", ErrorKind::Type);
}

NodeRef dtorch::makeScalar(Number number, DType dtype) {
  return Node::scalar(toDouble(number), dtype, toBits(number, dtype));
}

//===----------------------------------------------------------------------===//
// Assignment
//===----------------------------------------------------------------------===//

NodeRef dtorch::assigned(const Node &node, const Node &source) {
  DistTensorRef value = source.value();
  if (!node.isInput() || !value)
    throw Error("assign: an input takes the value of a computed tensor",
                ErrorKind::Runtime);
  BufferType type{node.type().shape, node.type().dtype, node.normalSharding()};
  if (!(value->type == type))
    throw Error("assign: types must be equal, got " + type.str() + " and " +
                value->type.str());
  NodeRef next = Node::input(std::move(value), node.sharding());
  next->parameter = node.parameter;
  next->editInfo().name = node.info().name;
  next->editInfo().version = node.info().version + 1;
  return next;
}
