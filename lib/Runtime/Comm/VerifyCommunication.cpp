//===- VerifyCommunication.cpp - what kinds, types and axes go together ---===//
#include "dtorch/Runtime/Comm/CommunicationPlan.h"
#include "dtorch/Sharding/RedistributePlan.h"
#include "dtorch/Support/Error.h"

#include <optional>

namespace dtorch {

namespace {

std::optional<StepKind> stepKindOf(std::string_view kind) {
  for (StepKind step : {StepKind::Slice, StepKind::Mask, StepKind::AllGather,
                        StepKind::AllReduce, StepKind::ReduceScatter,
                        StepKind::AllToAll, StepKind::Exchange})
    if (toString(step) == kind)
      return step;
  return std::nullopt;
}

[[noreturn]] void fail(const CommunicationSpec &spec,
                       const std::string &problem) {
  throw Error(spec.kind + ": " + problem + ", found " + spec.from.str() +
                  " -> " + spec.to.str(),
              ErrorKind::Placement);
}

} // namespace

void verifyCommunication(const CommunicationSpec &spec) {
  if (spec.from.shape != spec.to.shape || spec.from.dtype != spec.to.dtype)
    fail(spec, "shape and element type stay the same");
  const Sharding &from = spec.from.sharding, &to = spec.to.sharding;
  bool fromHost = spec.kind == "from_host", toHost = spec.kind == "to_host";
  if (fromHost || toHost) {
    if (from.isHost() != fromHost || to.isHost() != toHost)
      fail(spec, fromHost ? "goes from the host to a mesh"
                          : "goes from a mesh to the host");
    if (toHost && from.hasPartial())
      fail(spec, "pending axes are reduced before");
    return;
  }
  std::optional<StepKind> kind = stepKindOf(spec.kind);
  if (!kind)
    fail(spec, "no such communication");
  if (from.isHost() || to.isHost() || !sameMesh(from.mesh, to.mesh))
    fail(spec, "both sides lie on one mesh of devices");
  if (spec.axes.empty())
    fail(spec, "needs at least one axis");
  for (int64_t axis : spec.axes)
    if (axis < 0 || axis >= from.mesh->ndim())
      fail(spec, "axis " + std::to_string(axis) + " is not of the mesh");
  std::string problem =
      stepProblem({*kind, spec.axes, from, to}, spec.from.shape);
  if (!problem.empty())
    fail(spec, problem);
}

} // namespace dtorch
