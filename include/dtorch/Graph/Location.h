//===- Location.h - a line of the user's program --------------------------===//
#pragma once

#include "dtorch/Support/Error.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace dtorch {

/// File names are interned, so that a node costs a pointer and a number.
struct Location {
  const std::string *file = nullptr; ///< null: unknown
  int64_t line = 0;

  static Location get(std::string_view file, int64_t line);
  /// "model.py:17", empty if unknown.
  std::string str() const;
  bool operator==(const Location &) const = default;
};

/// Runs `body`; an Error that it throws gets "model.py:17: error: " in front.
template <typename Body>
auto withLocation(const Location &location, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error &error) {
    if (!location.file)
      throw;
    throw Error(location.str() + ": error: " + error.what(), error.kind);
  }
}

} // namespace dtorch
