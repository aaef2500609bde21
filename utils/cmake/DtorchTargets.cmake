# dtorch_library(name SOURCES ... DEPENDS ...): an object library of the one
# shared library libdtorch, so that the dialect's TypeIDs exist once a process.
function(dtorch_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(ARG_MLIR)
    target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
    dtorch_use_mlir_pch(${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY DTORCH_OBJECTS $<TARGET_OBJECTS:${name}>)
  set_property(GLOBAL APPEND PROPERTY DTORCH_OBJECT_TARGETS ${name})
endfunction()

# One precompiled header of the usual MLIR headers, shared by all targets.
function(dtorch_use_mlir_pch name)
  if(NOT TARGET DtorchMLIRPch)
    file(WRITE ${CMAKE_BINARY_DIR}/pch/mlir_pch.cpp "\n")
    add_library(DtorchMLIRPch OBJECT ${CMAKE_BINARY_DIR}/pch/mlir_pch.cpp)
    target_include_directories(DtorchMLIRPch SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
    target_precompile_headers(DtorchMLIRPch PRIVATE
      <mlir/IR/Builders.h> <mlir/IR/BuiltinAttributes.h> <mlir/IR/BuiltinOps.h>
      <mlir/IR/BuiltinTypes.h> <mlir/IR/Dialect.h> <mlir/IR/DialectImplementation.h>
      <mlir/IR/OpDefinition.h> <mlir/IR/OpImplementation.h> <mlir/IR/SymbolTable.h>
      <mlir/IR/TensorEncoding.h> <mlir/IR/Verifier.h> <mlir/IR/PatternMatch.h>
      <mlir/Bytecode/BytecodeOpInterface.h> <mlir/Dialect/Func/IR/FuncOps.h>
      <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>
      <mlir/Pass/PassManager.h> <llvm/ADT/TypeSwitch.h>
      <functional> <map> <memory> <optional> <span> <string> <string_view> <variant> <vector>)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      target_compile_options(DtorchMLIRPch PUBLIC "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
  target_precompile_headers(${name} REUSE_FROM DtorchMLIRPch)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
