//===- MatchesTest.cpp - matching against rows and the law ----------------===//
//
// A match is checked here the long way: a row of rows() on every axis, and on
// every device equal intervals, in fine elements, of all dims of a factor. A
// select operand that follows fewer axes must hold what the result needs.
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include <set>

using namespace dtorch;

namespace {

struct Tensors {
  std::vector<Sharding> shardings;
  std::vector<std::vector<DimFactor>> dims;
  std::vector<Shape> shapes;
};

Tensors allTensors(const BoundRule &rule, const std::vector<Sharding> &operands,
                   const Sharding &result) {
  Tensors all{operands, rule.operands, rule.operandShapes};
  all.shardings.push_back(result);
  all.dims.push_back(rule.results[0]);
  all.shapes.push_back(rule.resultShapes[0]);
  return all;
}

bool isRow(const Row &row, const Tensors &all, size_t axis) {
  for (size_t i = 0; i < all.shardings.size(); ++i) {
    Placement p = all.shardings[i].placements[axis];
    p.unit = 1;
    if (p != (i < row.operands.size() ? row.operands[i] : row.results[0]))
      return false;
  }
  return true;
}

/// The dim's interval in fine elements of its factor, at some coordinates.
Interval fine(const Tensors &all, size_t i, size_t d, const Shape &coords) {
  Interval in = localInterval(all.shapes[i][d], d, all.shardings[i], coords);
  int64_t granule = all.dims[i][d].granule;
  return {in.offset * granule, in.size * granule};
}

bool boundariesAgree(const Tensors &all, int64_t factor, size_t axes) {
  const DeviceMesh &mesh = *all.shardings[0].mesh;
  for (int64_t device = 0; device < mesh.numDevices(); ++device) {
    Shape coords = mesh.coordinates(device);
    std::optional<Interval> wanted;
    for (bool follows : {true, false})
      for (size_t i = 0; i < all.shardings.size(); ++i)
        for (size_t d = 0; d < all.dims[i].size(); ++d) {
          if (all.dims[i][d].factor != factor)
            continue;
          size_t sharding = 0;
          for (const Placement &p : all.shardings[i].placements)
            sharding += p.isShard(d);
          if ((sharding == axes) != follows)
            continue;
          Interval held = fine(all, i, d, coords);
          if (follows && !wanted)
            wanted = held;
          if (follows ? held != *wanted
                      : wanted->size && (held.offset > wanted->offset ||
                                         held.end() < wanted->end()))
            return false;
        }
  }
  return true;
}

bool matchesTheLongWay(const BoundRule &rule,
                       const std::vector<Sharding> &operands,
                       const Sharding &result) {
  Tensors all = allTensors(rule, operands, result);
  std::map<int64_t, size_t> axesOf;
  std::vector<Row> rows = rule.rows();
  for (size_t axis = 0; axis < result.placements.size(); ++axis) {
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const Row &r) { return isRow(r, all, axis); });
    if (row == rows.end())
      return false;
    if (row->factor >= 0)
      ++axesOf[row->factor];
  }
  for (auto [factor, axes] : axesOf)
    if (!boundariesAgree(all, factor, axes))
      return false;
  return true;
}

std::vector<Sharding> normalForms(const MeshRef &mesh, const Shape &shape,
                                  bool dimZeroOnly = false) {
  std::vector<Placement> options = {Placement::replicate(),
                                    Placement::partial()};
  for (size_t d = 0; d < shape.size(); ++d)
    for (int64_t unit : {1, 2, 3, 4, 6})
      if (unit == 1 || !dimZeroOnly)
        options.push_back(Placement::shard(d, unit));
  std::vector<Sharding> legal;
  for (const Sharding &s : allShardings(mesh, options)) {
    try {
      s.verify(shape);
    } catch (const Error &) {
      continue;
    }
    Sharding normal = normalised(s, shape);
    if (std::find(legal.begin(), legal.end(), normal) == legal.end())
      legal.push_back(normal);
  }
  return legal;
}

/// Compares on all (or every stride-th) combination; returns the matches.
int64_t compare(const OpCall &call, const MeshRef &mesh, size_t stride = 1) {
  BoundRule rule = bindRule(call);
  std::vector<std::vector<Sharding>> choices;
  for (const Shape &shape : rule.operandShapes)
    choices.push_back(normalForms(mesh, shape));
  choices.push_back(normalForms(mesh, rule.resultShapes[0]));
  size_t total = 1;
  for (const auto &list : choices)
    total *= list.size();
  int64_t found = 0;
  for (size_t n = 0; n < total; n += stride) {
    size_t rest = n;
    std::vector<Sharding> operands;
    for (const auto &list : choices) {
      operands.push_back(list[rest % list.size()]);
      rest /= list.size();
    }
    Sharding result = operands.back();
    operands.pop_back();
    bool expected = matchesTheLongWay(rule, operands, result);
    std::vector<Sharding> results = {result};
    EXPECT_EQ(matches(rule, operands, results), expected)
        << call.op->name << mesh->str() << operands[0].placementsStr()
        << operands.back().placementsStr() << result.placementsStr();
    found += expected;
  }
  return found;
}

} // namespace

TEST(Matches, OneAxis) {
  for (int64_t k : {2, 3, 4}) {
    MeshRef m = meshOf({k});
    EXPECT_GT(compare(callOf("view", {{12, 3}}, {{"shape", Ints{4, 3, 3}}}), m),
              4);
    EXPECT_GT(compare(callOf("view", {{3, 4, 2}}, {{"shape", Ints{12, 2}}}), m),
              4);
    EXPECT_GT(compare(callOf("view", {{6, 2}}, {{"shape", Ints{4, 3}}}), m), 1);
    EXPECT_GT(compare(callOf("linear", {{4, 6}, {12, 6}}), m), 8);
    EXPECT_GT(
        compare(callOf("binary", {{6, 1}, {4}}, {{"kind", std::string("add")}}),
                m),
        3);
    EXPECT_GT(compare(callOf("reduce", {{6, 4}},
                             {{"kind", std::string("sum")},
                              {"dims", Ints{0}},
                              {"keepdim", false}}),
                      m),
              4);
  }
}

TEST(Matches, TwoAxes) {
  for (Shape shape : {Shape{2, 2}, Shape{2, 3}, Shape{1, 2}}) {
    MeshRef m = meshOf(shape);
    EXPECT_GT(compare(callOf("view", {{12, 3}}, {{"shape", Ints{4, 3, 3}}}), m),
              2);
    EXPECT_GT(compare(callOf("view", {{6, 4}}, {{"shape", Ints{24}}}), m), 2);
    EXPECT_GT(compare(callOf("linear", {{4, 6}, {6, 6}}), m, 2), 3);
  }
}

TEST(Matches, GroupedQueryHeads) {
  // Heads alone, so that all combinations can be tried: (H, 1, 1).
  for (auto [heads, kvHeads] :
       {std::pair<int64_t, int64_t>{9, 3}, {8, 2}, {6, 3}, {4, 1}, {4, 4}}) {
    OpCall call =
        attentionCall({heads, 1, 1}, {kvHeads, 1, 1}, {kvHeads, 1, 1});
    EXPECT_GT(compare(call, meshOf({2}), 3), 3);
    EXPECT_GT(compare(call, meshOf({2, 2}), 100003), 0);
  }
}

TEST(Matches, NeedsOneMeshAndTheRightCount) {
  BoundRule rule = bindRule(callOf("linear", {{4, 6}, {6, 6}}));
  MeshRef m = meshOf({2});
  EXPECT_TRUE(matches(rule, on(m, {"R", "R"}), on(m, {"R"})));
  EXPECT_FALSE(matches(rule, on(m, {"R"}), on(m, {"R"})));
  EXPECT_FALSE(matches(rule, on(m, {"R", "R"}), on(meshOf({3}), {"R"})));
  EXPECT_TRUE(matches(rule, on(m, {"R", "R"}), on(meshOf({2}), {"R"})));
}
