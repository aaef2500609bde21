//===- RunProgram.cpp - a program on whole host tensors -------------------===//

#include "RunProgram.h"

#include "dtorch/Runtime/Executor.h"

using namespace dtorch;

static TensorType typeOf(const ProgramBuffer &buffer) {
  return {buffer.type.shape, buffer.type.dtype};
}

std::map<std::string, TensorType>
dtorch::argumentTypes(const Program &program) {
  std::map<std::string, TensorType> types;
  const ProgramFunction &entry = program.entry();
  for (const ProgramBuffer &buffer : entry.buffers)
    if (buffer.kind == ProgramBuffer::Kind::Argument)
      types[entry.arguments.at(buffer.index).name] = typeOf(buffer);
  return types;
}

/// Cuts an argument of that name for the buffer.
static DistTensorRef bind(const std::string &name, const ProgramBuffer &buffer,
                          const HostTensors &arguments) {
  auto it = arguments.find(name);
  if (it == arguments.end())
    throw Error("argument " + name + ": is in none of the files given");
  if (!(it->second.type == typeOf(buffer)))
    throw Error("argument " + name + ": must be " + typeOf(buffer).str() +
                ", got " + it->second.type.str());
  return distribute(it->second.data, buffer.type);
}

HostTensors dtorch::runProgram(Program program, const HostTensors &arguments) {
  Executor &executor = Executor::local();
  std::vector<std::string> resultNames = program.entry().resultNames;
  std::vector<DistTensorRef> values(program.entry().arguments.size());
  for (const ProgramBuffer &buffer : program.entry().buffers)
    if (buffer.kind == ProgramBuffer::Kind::Argument)
      values[buffer.index] =
          bind(program.entry().arguments[buffer.index].name, buffer, arguments);
  auto loaded = executor.load(std::move(program));

  HostTensors results;
  std::vector<DistTensorRef> outputs = executor.run(*loaded, values);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const BufferType &type = outputs[i]->type;
    HostTensor result{
        {type.shape, type.dtype},
        Storage::allocate(numElements(type.shape) * itemSize(type.dtype))};
    assemble(*outputs[i], result.data->data());
    results[i < resultNames.size() ? resultNames[i]
                                   : "output" + std::to_string(i)] = result;
  }
  return results;
}
