//===- CommunicationPlan.h - who sends which elements to whom -------------===//
//
// Everything a device must know of one communication step follows from the two
// types and the axes through the shard law. The plan is computed once, when a
// program is loaded, and every communicator works from it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dtorch/Runtime/Storage.h"
#include "dtorch/Runtime/StridedCopy.h"

#include <string>
#include <string_view>

namespace dtorch {

/// One communication of a program.
struct CommunicationSpec {
  std::string kind; ///< "all_reduce", …, "from_host", "to_host"
  BufferType from, to;
  std::vector<int64_t> axes;
  std::string location; ///< "model.py:17" in messages
  int64_t number = 0;   ///< distinguishes the instructions of a program
};

struct CommunicationPlan {
  enum class Sort : uint8_t {
    Local,    ///< slice, mask: copies within the device
    Copy,     ///< the target box is assembled from boxes of the group
    Reduce,   ///< the target box is reduced over the group
    FromHost, ///< the target box is cut out of the host's value
    ToHost,   ///< the device's pieces go to the host
  };

  /// Elements copied from the input of group member `peer` to the output.
  struct Piece {
    int64_t peer;
    StridedCopy copy;
  };
  /// Consecutive elements of the target; they lie in one run in every member's
  /// input, too. Offsets in bytes, count in elements.
  struct Run {
    int64_t input, output, count;
  };
  /// Bytes of the target that member `peer` reduces for those with the same
  /// target box.
  struct Slice {
    int64_t peer, offset, bytes;
  };

  Sort sort = Sort::Local;
  DType dtype = DType::Float32;
  std::vector<int64_t> members; ///< mesh indices of the group, rank order
  int64_t self = 0;             ///< this device's position in the group
  /// Copy, Local, FromHost, ToHost.
  std::vector<Piece> pieces;
  /// Off the first device of a pending axis the target is all zeros.
  bool zero = false;
  size_t targetBytes = 0;
  /// Reduce: members with the same target box share the work (all_reduce) if
  /// it is worth a further synchronisation; otherwise each reduces all of it,
  /// in the same order, to the same bits.
  ReduceKind reduce = ReduceKind::Sum;
  std::vector<Run> runs;
  std::vector<Slice> slices; ///< of the other sharers
  /// What this device receives: a reduction counts as a reduce-scatter and,
  /// among sharers, an all-gather.
  int64_t bytesReceived = 0;

  /// If the device's part lies in one block of the host's value, its first
  /// byte; else -1. FromHost only.
  int64_t hostAlias() const;
  /// ToHost: the byte of the host's value where the device's part goes as one
  /// block, so that it may be computed there; -1 if there is none.
  int64_t hostPlace() const;
};

/// Whether the kind communicates: all but slice, mask and from_host.
bool isCollective(std::string_view kind);

/// The plan for the device with mesh index `index`. Throws Error where kind,
/// types and axes do not go together.
CommunicationPlan planCommunication(const CommunicationSpec &spec,
                                    int64_t index);

/// Checks kind, types and axes; throws Error naming the kind.
void verifyCommunication(const CommunicationSpec &spec);

} // namespace dtorch
