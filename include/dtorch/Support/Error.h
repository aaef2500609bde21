//===- Error.h - the one exception type of the plain libraries ------------===//
//
// Sharding, Ops, Graph and Runtime report bad input by throwing Error. Code
// that runs below compiled MLIR frames catches it and emits a diagnostic
// instead, since libMLIR is built without exceptions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace dtorch {

/// What kind of Python exception an error becomes.
enum class ErrorKind {
  Value,     ///< ValueError
  Type,      ///< TypeError
  Index,     ///< IndexError
  Placement, ///< PlacementError (a ValueError and an AssertionError)
  Runtime,   ///< RuntimeError: a device failed or a wait timed out
  Absent,    ///< NotImplementedError: a feature that does not exist yet
};

/// One error: "subject: rule, found; remedy", lower case, without location.
class Error : public std::runtime_error {
public:
  explicit Error(std::string message, ErrorKind kind = ErrorKind::Value)
      : std::runtime_error(std::move(message)), kind(kind) {}
  const ErrorKind kind;
};

} // namespace dtorch
