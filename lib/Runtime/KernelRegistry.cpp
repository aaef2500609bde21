//===- KernelRegistry.cpp - kernels by op name ----------------------------===//
#include "dtorch/Runtime/KernelRegistry.h"

#include "dtorch/Support/Error.h"

#include <map>
#include <string>

#ifndef DTORCH_CPU_LEVEL
#define DTORCH_CPU_LEVEL "native"
#endif

namespace dtorch {

namespace {

std::map<std::string, PrepareKernel, std::less<>> &registry() {
  static std::map<std::string, PrepareKernel, std::less<>> kernels;
  return kernels;
}

/// Kernels are compiled for the level of the machine that built them. A build
/// carried to a lesser machine would die of an illegal instruction.
void checkMachine() {
#if defined(__x86_64__)
  constexpr std::string_view level = DTORCH_CPU_LEVEL;
  bool fits = true;
  if (level == "x86-64-v4")
    fits = __builtin_cpu_supports("x86-64-v4");
  else if (level == "x86-64-v3")
    fits = __builtin_cpu_supports("x86-64-v3");
  if (!fits)
    throw Error(
        "kernels: built for " + std::string(level) +
            ", which this machine's processor is not; build dtorch again "
            "on this machine",
        ErrorKind::Runtime);
#endif
}

} // namespace

KernelRegistration::KernelRegistration(std::string_view name,
                                       PrepareKernel prepare) {
  registry().emplace(name, prepare);
}

PrepareKernel lookupKernel(std::string_view name) {
  static const bool checked = (checkMachine(), true);
  (void)checked;
  auto found = registry().find(name);
  if (found == registry().end())
    throw Error(std::string(name) + ": no kernel for \"cpu\" devices",
                ErrorKind::Absent);
  return found->second;
}

std::vector<std::string_view> kernelNames() {
  std::vector<std::string_view> names;
  for (const auto &[name, prepare] : registry())
    names.push_back(name);
  return names;
}

} // namespace dtorch
