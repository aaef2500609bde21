//===- WriteInputs.cpp - the inputs of a dump -----------------------------===//
//
// A safetensors file: the length of a JSON header as 8 bytes, the header, which
// gives dtype, shape and byte range of each tensor, then the tensors, dense and
// row-major.
//
//===----------------------------------------------------------------------===//

#include "CompileCapture.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <fstream>

using namespace dtorch;

static llvm::StringRef formatName(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return "BOOL";
  case DType::Int32:
    return "I32";
  case DType::Int64:
    return "I64";
  case DType::Float16:
    return "F16";
  case DType::BFloat16:
    return "BF16";
  case DType::Float32:
    return "F32";
  case DType::Float64:
    return "F64";
  }
  return "";
}

void dtorch::writeInputs(const Capture &capture, const std::string &path) {
  std::vector<std::string> names = argumentNames(capture);
  llvm::json::Object header;
  std::string bytes;
  for (size_t i = 0; i < names.size(); ++i) {
    if (capture.inputs[i]->parameter)
      continue;
    const DistTensorRef held = capture.inputs[i]->value();
    const DistTensor &value = *held;
    auto begin = static_cast<int64_t>(bytes.size());
    bytes.resize(begin +
                 numElements(value.type.shape) * itemSize(value.type.dtype));
    assemble(value, bytes.data() + begin);
    header[names[i]] = llvm::json::Object{
        {"dtype", formatName(value.type.dtype)},
        {"shape", llvm::json::Array(value.type.shape)},
        {"data_offsets",
         llvm::json::Array{begin, static_cast<int64_t>(bytes.size())}}};
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(header));
  text.resize((text.size() + 7) / 8 * 8, ' '); // tensors begin aligned
  uint64_t length = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&length), sizeof(length));
  file << text << bytes;
  if (!file)
    throw Error("dump: cannot write " + path, ErrorKind::Runtime);
}
