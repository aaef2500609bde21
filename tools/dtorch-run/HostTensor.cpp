//===- HostTensor.cpp - whole tensors in host memory ----------------------===//

#include "HostTensor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>

using namespace dtorch;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static const llvm::fltSemantics &semanticsOf(DType dtype) {
  return dtype == DType::Float16 ? llvm::APFloat::IEEEhalf()
                                 : llvm::APFloat::BFloat();
}

template <typename T> static T load(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

static double toNumber(DType dtype, const char *at) {
  switch (dtype) {
  case DType::Bool:
    return load<uint8_t>(at) != 0;
  case DType::Int32:
    return load<int32_t>(at);
  case DType::Int64:
    return static_cast<double>(load<int64_t>(at));
  case DType::Float16:
  case DType::BFloat16:
    return llvm::APFloat(semanticsOf(dtype),
                         llvm::APInt(16, load<uint16_t>(at)))
        .convertToDouble();
  case DType::Float32:
    return load<float>(at);
  case DType::Float64:
    return load<double>(at);
  }
  llvm_unreachable("all element types are listed");
}

template <typename T> static void store(char *at, T value) {
  std::memcpy(at, &value, sizeof value);
}

static void fromNumber(DType dtype, double number, char *at) {
  switch (dtype) {
  case DType::Bool:
    return store<uint8_t>(at, number != 0);
  case DType::Int32:
    return store(at, static_cast<int32_t>(number));
  case DType::Int64:
    return store(at, static_cast<int64_t>(number));
  case DType::Float16:
  case DType::BFloat16: {
    llvm::APFloat value(number);
    bool lost;
    value.convert(semanticsOf(dtype), llvm::APFloat::rmNearestTiesToEven,
                  &lost);
    return store(at,
                 static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue()));
  }
  case DType::Float32:
    return store(at, static_cast<float>(number));
  case DType::Float64:
    return store(at, number);
  }
}

std::vector<double> dtorch::toNumbers(const HostTensor &tensor) {
  std::vector<double> numbers(numElements(tensor.type.shape));
  auto *at = static_cast<const char *>(tensor.data->data());
  for (double &number : numbers) {
    number = toNumber(tensor.type.dtype, at);
    at += itemSize(tensor.type.dtype);
  }
  return numbers;
}

HostTensor dtorch::fromNumbers(const TensorType &type,
                               const std::vector<double> &numbers) {
  HostTensor tensor{type,
                    Storage::allocate(numbers.size() * itemSize(type.dtype))};
  auto *at = static_cast<char *>(tensor.data->data());
  for (double number : numbers) {
    fromNumber(type.dtype, number, at);
    at += itemSize(type.dtype);
  }
  return tensor;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void print(llvm::raw_ostream &os, const Shape &shape, size_t dim,
                  const double *&at) {
  if (dim == shape.size()) {
    os << llvm::format("%.7g", *at++);
    return;
  }
  os << "[";
  for (int64_t i = 0; i < shape[dim]; ++i) {
    os << (i ? ", " : "");
    print(os, shape, dim + 1, at);
  }
  os << "]";
}

std::string dtorch::str(const HostTensor &tensor) {
  constexpr size_t maxPrinted = 4096;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << tensor.type.str() << " ";
  std::vector<double> numbers = toNumbers(tensor);
  const double *at = numbers.data();
  if (numbers.size() <= maxPrinted) {
    print(os, tensor.type.shape, 0, at);
    return text;
  }
  numbers.resize(maxPrinted);
  print(os, {static_cast<int64_t>(maxPrinted)}, 0, at);
  os << " and more";
  return text;
}

//===----------------------------------------------------------------------===//
// Random values
//===----------------------------------------------------------------------===//

/// SplitMix64: the same numbers with every standard library.
/// Source: Steele et al., Fast splittable pseudorandom number generators, 2014.
static uint64_t next(uint64_t &state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// In (0, 1].
static double uniform(uint64_t &state) {
  return static_cast<double>((next(state) >> 11) + 1) * 0x1p-53;
}

HostTensor dtorch::randomTensor(const std::string &name, const TensorType &type,
                                const RandomOptions &options) {
  uint64_t state = options.seed;
  for (char c : name)
    state = next(state) ^ static_cast<unsigned char>(c);
  auto whole = [&](int64_t low, int64_t high) {
    return static_cast<double>(
        low + static_cast<int64_t>(next(state) % (high - low + 1)));
  };
  std::vector<double> numbers(numElements(type.shape));
  for (double &number : numbers)
    if (type.dtype == DType::Bool)
      number = whole(0, 1);
    else if (!isFloating(type.dtype))
      number = whole(0, options.maxInt);
    else if (!options.normal)
      number = whole(-options.maxInt, options.maxInt);
    else
      number = std::sqrt(-2 * std::log(uniform(state))) *
               std::cos(2 * std::numbers::pi * uniform(state));
  return fromNumbers(type, numbers);
}
