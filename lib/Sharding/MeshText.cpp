//===- MeshText.cpp - the printed form of a mesh --------------------------===//
//
//   mesh<cpu, host>
//   mesh<cpu, ["dp" = 2, "tp" = 2], start = 0, strides = [2, 1]>
//   mesh<cpu, ["x" = 3], ids = [3, 1, 2]>
//
//===----------------------------------------------------------------------===//

#include "Scanner.h"
#include "dtorch/Sharding/Mesh.h"

using namespace dtorch;

static std::string listStr(std::span<const int64_t> values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i)
    out += (i ? ", " : "") + std::to_string(values[i]);
  return out + "]";
}

static std::string quote(std::string_view name) {
  std::string out = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string DeviceMesh::str() const {
  if (hostMesh)
    return "mesh<" + type + ", host>";
  std::string out = "mesh<" + type + ", [";
  for (size_t i = 0; i < sizes.size(); ++i)
    out += (i ? ", " : "") + quote(names[i]) + " = " + std::to_string(sizes[i]);
  if (!isRegular())
    return out + "], ids = " + listStr(ids) + ">";
  return out + "], start = " + std::to_string(first) +
         ", strides = " + listStr(steps) + ">";
}

static std::vector<int64_t> parseList(Scanner &scan) {
  std::vector<int64_t> values;
  scan.expect("[");
  while (!scan.eat("]")) {
    if (!values.empty())
      scan.expect(",");
    values.push_back(scan.integer());
  }
  return values;
}

MeshRef DeviceMesh::parse(std::string_view text) {
  Scanner scan("device mesh", text);
  scan.expect("mesh");
  scan.expect("<");
  std::string type(scan.identifier());
  if (type.empty())
    scan.fail("expected a device type");
  scan.expect(",");
  if (scan.eat("host")) {
    scan.expect(">");
    scan.expectEnd();
    if (type != host()->deviceType())
      scan.fail("the host mesh is of type cpu");
    return host();
  }
  std::vector<std::string> names;
  Shape sizes;
  scan.expect("[");
  while (!scan.eat("]")) {
    if (!names.empty())
      scan.expect(",");
    names.push_back(scan.quoted());
    scan.expect("=");
    sizes.push_back(scan.integer());
  }
  scan.expect(",");
  bool regularIds = !scan.eat("ids");
  int64_t start = 0;
  if (regularIds) {
    scan.expect("start");
    scan.expect("=");
    start = scan.integer();
    scan.expect(",");
    scan.expect("strides");
  }
  scan.expect("=");
  std::vector<int64_t> numbers = parseList(scan);
  scan.expect(">");
  scan.expectEnd();
  if (regularIds && numbers.size() != sizes.size())
    scan.fail("needs one stride per axis");
  return regularIds
             ? regular(type, std::move(names), sizes, start, std::move(numbers))
             : fromIds(type, std::move(names), sizes, std::move(numbers));
}
