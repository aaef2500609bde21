//===- ProgramTest.cpp - checks of programs -------------------------------===//
#include "Testing.h"

using namespace dtorch;
using namespace dtorch::testing;

namespace {

BufferType host(Shape shape) {
  return {shape, DType::Float32, Sharding::host()};
}
Attrs kind(const char *name) { return {{"kind", std::string(name)}}; }

/// main(x) = exp(neg(x)) on the host, its buffers: x, t (arena), y.
ProgramFunction chain(std::string name = "main") {
  FunctionBuilder f(std::move(name));
  int64_t x = f.argument(host({4})), t = f.arena(host({4})),
          y = f.result(host({4}));
  f.launch("unary", {x}, t, kind("neg"));
  f.launch("unary", {t}, y, kind("exp"));
  return f.function;
}

/// The message after a change of the good program.
template <typename F> std::string changed(F change) {
  ProgramFunction function = chain();
  change(function);
  return errorOf([&] { verify({{function}}); });
}

void expectMentions(const std::string &error, std::vector<std::string> parts) {
  for (const std::string &part : parts)
    EXPECT_NE(error.find(part), std::string::npos) << part << " in: " << error;
}

TEST(ProgramTest, AGoodProgramPasses) {
  EXPECT_EQ(changed([](ProgramFunction &) {}), "");
}

TEST(ProgramTest, EmptyProgramsAreErrors) {
  expectMentions(errorOf([] { verify({}); }), {"no function"});
}

TEST(ProgramTest, BufferNumbers) {
  expectMentions(
      changed([](auto &f) { f.instructions[1].inputs = {7}; }),
      {"'main'", "instruction 1", "(unary)", "model.py:2", "buffer 7"});
}

TEST(ProgramTest, ReadingBeforeWriting) {
  expectMentions(changed([](auto &f) { f.instructions[0].inputs = {1}; }),
                 {"instruction 0", "buffer 1", "read before"});
}

TEST(ProgramTest, WritingAnArgument) {
  expectMentions(changed([](auto &f) { f.instructions[0].outputs = {0}; }),
                 {"buffer 0", "read only"});
}

TEST(ProgramTest, ResultsAreWritten) {
  expectMentions(changed([](auto &f) { f.instructions.pop_back(); }),
                 {"buffer 2", "never written"});
}

TEST(ProgramTest, ArenaBounds) {
  expectMentions(changed([](auto &f) { f.arenaBytes = 8; }),
                 {"buffer 1", "arena of 8"});
  expectMentions(changed([](auto &f) { f.buffers[1].offset = 64; }), {"at 64"});
  expectMentions(changed([](auto &f) {
                   f.arenaBytes = 128;
                   f.buffers[1].offset = 4;
                 }),
                 {"aligned"});
}

TEST(ProgramTest, OutputsDoNotOverlapInputs) {
  expectMentions(changed([](auto &f) {
                   f.buffers[2].kind = ProgramBuffer::Kind::Arena;
                   f.buffers[2].offset = 0;
                 }),
                 {"instruction 1", "buffer 2 overlaps buffer 1"});
  expectMentions(changed([](auto &f) { f.instructions[1].outputs = {1}; }),
                 {"buffer 1 overlaps buffer 1"});
}

TEST(ProgramTest, ArgumentNumbers) {
  expectMentions(
      changed([](auto &f) { f.arguments.push_back({"more", false}); }),
      {"2 arguments", "buffers for 1"});
  expectMentions(changed([](auto &f) {
                   f.buffers.push_back(
                       {ProgramBuffer::Kind::Argument, 0, 0, host({4})});
                 }),
                 {"buffer 3", "argument 0"});
}

TEST(ProgramTest, Aliases) {
  auto alias = [](int64_t of, Shape shape) {
    return [of, shape](ProgramFunction &f) {
      f.buffers.push_back({ProgramBuffer::Kind::Alias, of, 0, host(shape)});
    };
  };
  EXPECT_EQ(changed(alias(1, {2, 2})), "");
  expectMentions(changed(alias(1, {5})), {"another size"});
  expectMentions(changed(alias(9, {4})), {"alias of no buffer"});
  expectMentions(changed(alias(3, {4})), {"circle"});
}

TEST(ProgramTest, LaunchesStayOnOneMesh) {
  expectMentions(changed([](auto &f) {
                   f.buffers[1].type.sharding = Sharding::replicated(mesh({2}));
                 }),
                 {"another mesh"});
}

TEST(ProgramTest, SizesThatWouldOverflow) {
  expectMentions(changed([](auto &f) { f.arenaBytes = -64; }),
                 {"arena of -64 bytes"});
  expectMentions(changed([](auto &f) { f.buffers[1].offset = INT64_MAX - 63; }),
                 {"buffer 1", "does not lie"});
  expectMentions(changed([](auto &f) {
                   f.buffers[1].type.shape = {1 << 30, 1 << 30, 1 << 30};
                 }),
                 {"2^48 elements"});
}

TEST(ProgramTest, CopiesKeepTheType) {
  expectMentions(changed([](auto &f) {
                   f.instructions[0].kind = Instruction::Kind::Copy;
                   f.buffers[1].type.shape = {3};
                 }),
                 {"one type", "4xf32", "3xf32"});
}

TEST(ProgramTest, Calls) {
  auto program = [](auto change) {
    Program p{{chain("callee")}};
    FunctionBuilder main("main");
    int64_t x = main.argument(host({4})), y = main.result(host({4}));
    main.call(p, 0, {x}, {y});
    p.functions.push_back(main.function);
    change(p.functions[1]);
    return errorOf([&] { verify(p); });
  };
  EXPECT_EQ(program([](auto &) {}), "");
  expectMentions(program([](auto &f) { f.instructions[0].callee = 1; }),
                 {"calls function 1", "before"});
  expectMentions(program([](auto &f) { f.arenaBytes = 0; }),
                 {"arena of 'callee'"});
  expectMentions(program([](auto &f) { f.instructions[0].inputs = {}; }),
                 {"passes 0 arguments"});
  expectMentions(program([](auto &f) { f.instructions[0].inputs = {0, 0}; }),
                 {"passes 2 arguments", "has 1"});
  expectMentions(program([](auto &f) { f.buffers[0].type.shape = {5}; }),
                 {"argument 0 of 'callee'", "4xf32", "5xf32"});
}

TEST(ProgramTest, UnknownKernelsAreNamedAtLoad) {
  ProgramFunction function = chain();
  function.instructions[0].name = "frobnicate";
  expectMentions(errorOf([&] { Executor::local().load({{function}}); }),
                 {"frobnicate", "no kernel", "model.py:1"});
}

} // namespace
