//===- SafeTensors.cpp - safetensors files --------------------------------===//

#include "SafeTensors.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <filesystem>
#include <fstream>

using namespace dtorch;
namespace json = llvm::json;

static constexpr std::pair<std::string_view, DType> dtypeNames[] = {
    {"BOOL", DType::Bool},   {"I32", DType::Int32},     {"I64", DType::Int64},
    {"F16", DType::Float16}, {"BF16", DType::BFloat16}, {"F32", DType::Float32},
    {"F64", DType::Float64},
};

static DType parseName(std::string_view name) {
  for (auto [text, dtype] : dtypeNames)
    if (text == name)
      return dtype;
  throw Error("element type " + std::string(name) + " is not one of dtorch's");
}

static std::string nameOf(DType dtype) {
  for (auto [text, candidate] : dtypeNames)
    if (candidate == dtype)
      return std::string(text);
  llvm_unreachable("all element types are listed");
}

namespace {
/// A mapped file and where its data begin.
struct MappedFile {
  std::shared_ptr<llvm::MemoryBuffer> buffer;
  size_t dataBegin = 0;
  size_t dataSize() const { return buffer->getBufferSize() - dataBegin; }
};
} // namespace

/// One header entry, with its bounds checked.
static HostTensor readEntry(const MappedFile &file, const json::Object &entry) {
  auto dtype = entry.getString("dtype");
  auto *shape = entry.getArray("shape");
  auto *offsets = entry.getArray("data_offsets");
  if (!dtype || !shape || !offsets || offsets->size() != 2)
    throw Error("dtype, shape or data_offsets are missing");
  HostTensor tensor;
  tensor.type.dtype = parseName(*dtype);
  for (const json::Value &size : *shape)
    tensor.type.shape.push_back(size.getAsInteger().value_or(-1));
  int64_t begin = (*offsets)[0].getAsInteger().value_or(-1);
  int64_t end = (*offsets)[1].getAsInteger().value_or(-1);
  int64_t item = itemSize(tensor.type.dtype);
  if (begin < 0 || end > static_cast<int64_t>(file.dataSize()) ||
      end - begin != numElements(tensor.type.shape) * item)
    throw Error("data_offsets do not fit the shape or the file");
  auto *data = const_cast<char *>(file.buffer->getBufferStart()) +
               file.dataBegin + begin;
  if (reinterpret_cast<uintptr_t>(data) % item == 0) {
    tensor.data = Storage::borrow(data, end - begin, file.buffer);
  } else {
    tensor.data = Storage::allocate(end - begin);
    std::memcpy(tensor.data->data(), data, end - begin);
  }
  return tensor;
}

static MappedFile mapFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    throw Error(path + ": cannot read: " + buffer.getError().message());
  MappedFile file{std::move(*buffer), 0};
  size_t size = file.buffer->getBufferSize();
  uint64_t header =
      size < 8 ? ~0ull
               : llvm::support::endian::read64le(file.buffer->getBufferStart());
  if (size < 8 || header > size - 8)
    throw Error(path + ": is not a safetensors file");
  file.dataBegin = 8 + header;
  return file;
}

static void readFile(const std::string &path, HostTensors &tensors) {
  MappedFile file = mapFile(path);
  llvm::StringRef text(file.buffer->getBufferStart() + 8, file.dataBegin - 8);
  llvm::Expected<json::Value> header = json::parse(text);
  if (!header || !header->getAsObject()) {
    llvm::consumeError(header.takeError());
    throw Error(path + ": the header is not a JSON object");
  }
  for (const auto &[key, value] : *header->getAsObject()) {
    std::string name = llvm::StringRef(key).str();
    if (name == "__metadata__")
      continue;
    const json::Object *entry = value.getAsObject();
    try {
      if (!entry)
        throw Error("is not an object");
      if (!tensors.try_emplace(name, readEntry(file, *entry)).second)
        throw Error("stands twice");
    } catch (const Error &error) {
      throw Error(path + ": " + name + ": " + error.what());
    }
  }
}

void dtorch::readSafeTensors(const std::string &path, HostTensors &tensors) {
  if (!std::filesystem::is_directory(path))
    return readFile(path, tensors);
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(path))
    if (entry.path().extension() == ".safetensors")
      files.push_back(entry.path());
  if (files.empty())
    throw Error(path + ": holds no .safetensors file");
  std::sort(files.begin(), files.end());
  for (const std::string &file : files)
    readFile(file, tensors);
}

void dtorch::writeSafeTensors(const std::string &path,
                              const HostTensors &tensors) {
  json::Object header;
  int64_t offset = 0;
  for (const auto &[name, tensor] : tensors) {
    int64_t end = offset + tensor.data->size();
    header[name] = json::Object{{"dtype", nameOf(tensor.type.dtype)},
                                {"shape", json::Array(tensor.type.shape)},
                                {"data_offsets", json::Array{offset, end}}};
    offset = end;
  }
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(header));
  text.resize(llvm::alignTo(text.size(), 8), ' ');

  char length[8];
  llvm::support::endian::write64le(length, text.size());
  std::ofstream out(path, std::ios::binary);
  out.write(length, sizeof length);
  out << text;
  for (const auto &[name, tensor] : tensors)
    out.write(static_cast<const char *>(tensor.data->data()),
              static_cast<std::streamsize>(tensor.data->size()));
  if (!out.flush())
    throw Error(path + ": cannot write");
}
