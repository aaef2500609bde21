//===- Placement.cpp - how a tensor lies on one mesh axis -----------------===//

#include "dtorch/Sharding/Placement.h"

#include "Scanner.h"

using namespace dtorch;

std::string_view dtorch::toString(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return "sum";
  case ReduceKind::Max:
    return "max";
  case ReduceKind::Min:
    return "min";
  }
  return "";
}

std::string Placement::str() const {
  switch (kind) {
  case Kind::Replicate:
    return "R";
  case Kind::Shard:
    return "S(" + std::to_string(dim) +
           (unit == 1 ? "" : ":" + std::to_string(unit)) + ")";
  case Kind::Partial:
    if (reduce == ReduceKind::Sum)
      return "P";
    return "P(" + std::string(toString(reduce)) + ")";
  }
  return "";
}

static Placement parseShard(Scanner &scan) {
  scan.expect("(");
  int64_t dim = scan.integer();
  int64_t unit = scan.eat(":") ? scan.integer() : 1;
  scan.expect(")");
  if (dim < -1000 || dim > 1000)
    scan.fail("dim out of range");
  return Placement::shard(dim, unit);
}

static Placement parsePartial(Scanner &scan) {
  if (!scan.eat("("))
    return Placement::partial();
  std::string_view name = scan.identifier();
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min}) {
    if (name != toString(kind))
      continue;
    scan.expect(")");
    return Placement::partial(kind);
  }
  scan.fail("expected sum, max or min");
}

Placement Placement::parse(std::string_view text) {
  Scanner scan("placement", text);
  std::string_view name = scan.identifier();
  Placement result;
  if (name == "S")
    result = parseShard(scan);
  else if (name == "P")
    result = parsePartial(scan);
  else if (name != "R")
    scan.fail("expected S, R or P");
  scan.expectEnd();
  return result;
}
