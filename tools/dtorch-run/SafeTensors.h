//===- SafeTensors.h - safetensors files ----------------------------------===//
//
// A file is: 8 bytes with the header's length, little endian; the header, a
// JSON object from tensor names to dtype, shape and data_offsets; the data.
// Source: the safetensors format description, version 0.3.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "HostTensor.h"

namespace dtorch {

/// Adds the tensors of a file, or of every .safetensors file of a folder.
/// Memory is that of the mapped file. Throws Error naming file and tensor: a
/// malformed header, a name that stands twice, an unknown element type.
void readSafeTensors(const std::string &path, HostTensors &tensors);

/// Writes tensors in the order of their names.
void writeSafeTensors(const std::string &path, const HostTensors &tensors);

} // namespace dtorch
