//===- OpForm.cpp - an op as one call site records it ---------------------===//

#include "dtorch/Graph/OpForm.h"
#include "dtorch/Graph/Node.h"

#include <algorithm>

using namespace dtorch;

static const OpInfo &opOf(std::string_view name) {
  if (const OpInfo *op = lookupOp(name))
    return *op;
  throw Error(std::string(name) + ": there is no op of this name");
}

static bool isScaling(const OpInfo &op, const Attrs &attrs) {
  const AttrValue *kind = attrs.find("kind");
  const auto *name = kind ? std::get_if<std::string>(kind) : nullptr;
  return op.name == "binary" && name && (*name == "mul" || *name == "div");
}

OpForm::OpForm(std::string_view name, Attrs settledAttrs,
               std::vector<std::string_view> openNames)
    : op(opOf(name)), scales(isScaling(op, settledAttrs)),
      settled(std::move(settledAttrs)) {
  for (std::string_view openName : openNames) {
    auto info = std::find_if(
        op.attrs.begin(), op.attrs.end(),
        [&](const AttrInfo &attr) { return attr.name == openName; });
    if (info == op.attrs.end())
      throw Error(std::string(name) + ": there is no attribute '" +
                  std::string(openName) + "'");
    open.push_back({info->name, info->type});
  }
}

Attrs OpForm::attrs(std::span<const int64_t> numbers) const {
  Attrs attrs = settled;
  auto next = numbers.begin();
  for (const auto &[name, type] : open)
    switch (type) {
    case AttrType::Bool:
      attrs.set(name, *next++ != 0);
      break;
    case AttrType::Int:
      attrs.set(name, *next++);
      break;
    case AttrType::Ints: {
      int64_t count = *next++;
      attrs.set(name, std::vector<int64_t>(next, next + count));
      next += count;
      break;
    }
    case AttrType::DType:
      attrs.set(name, std::string(toString(static_cast<DType>(*next++))));
      break;
    case AttrType::Float:
    case AttrType::String:
      throw Error(std::string(op.name) + ": attribute '" + std::string(name) +
                  "' cannot be left open");
    }
  return attrs;
}

//===----------------------------------------------------------------------===//
// Answers of late
//===----------------------------------------------------------------------===//

namespace {
/// One answer of the thread. Operand types are compared by pointer; the answer
/// keeps them alive, so a pointer means the same type.
struct Answer {
  static constexpr size_t maxNumbers = 20;
  const OpForm *form = nullptr;
  OpUseRef use;
  uint32_t count = 0;
  int64_t numbers[maxNumbers];

  bool isFor(const OpForm *wanted, std::span<const int64_t> wantedNumbers,
             std::span<const NodeRef> inputs, bool strict) const {
    if (form != wanted || use->strict != strict ||
        count != wantedNumbers.size() || use->operands.size() != inputs.size())
      return false;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (use->operands[i].get() != &inputs[i]->valueTypeOf())
        return false;
    return std::equal(wantedNumbers.begin(), wantedNumbers.end(), numbers);
  }
};

/// A place for each hash; a newer answer replaces an older one.
struct Answers {
  static constexpr size_t size = 1024;
  Answer entries[size];
};

struct AnswersOwner {
  Answers *answers = nullptr;
  ~AnswersOwner();
};
} // namespace

static constinit thread_local Answers *threadAnswers = nullptr;
static thread_local AnswersOwner owner;

AnswersOwner::~AnswersOwner() {
  threadAnswers = nullptr;
  delete answers;
}

static Answers &answersOfThread() {
  if (!threadAnswers)
    threadAnswers = owner.answers = new Answers;
  return *threadAnswers;
}

static size_t hashOf(const OpForm *form, std::span<const int64_t> numbers,
                     std::span<const NodeRef> inputs, bool strict) {
  uint64_t hash = reinterpret_cast<uintptr_t>(form) + strict;
  auto mix = [&hash](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  };
  for (int64_t number : numbers)
    mix(static_cast<uint64_t>(number));
  for (const NodeRef &input : inputs)
    mix(reinterpret_cast<uintptr_t>(&input->valueTypeOf()));
  return hash >> 16;
}

OpUseRef OpForm::use(std::span<const int64_t> numbers,
                     std::span<const NodeRef> inputs, bool strict) const {
  Answer &entry =
      answersOfThread()
          .entries[hashOf(this, numbers, inputs, strict) % Answers::size];
  if (entry.isFor(this, numbers, inputs, strict))
    return entry.use;
  std::vector<ValueTypeRef> types;
  types.reserve(inputs.size());
  for (const NodeRef &input : inputs)
    types.push_back(input->typeRef());
  OpUseRef use = inferUse(op, std::move(types), attrs(numbers), strict);
  if (numbers.size() <= Answer::maxNumbers) {
    entry.form = this;
    entry.use = use;
    entry.count = static_cast<uint32_t>(numbers.size());
    std::copy(numbers.begin(), numbers.end(), entry.numbers);
  }
  return use;
}
