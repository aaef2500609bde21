//===- Location.cpp - a line of the user's program ------------------------===//

#include "dtorch/Graph/Location.h"

#include <mutex>
#include <set>

using namespace dtorch;

Location Location::get(std::string_view file, int64_t line) {
  static std::mutex mutex;
  static auto *files = new std::set<std::string, std::less<>>;
  std::lock_guard<std::mutex> guard(mutex);
  auto it = files->find(file);
  if (it == files->end())
    it = files->emplace(file).first;
  return {&*it, line};
}

std::string Location::str() const {
  return file ? *file + ":" + std::to_string(line) : std::string();
}
