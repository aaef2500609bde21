# Explicit code-generation flags for the kernels. `-march=native` would defeat a
# compiler cache that moves between machines (the flag's text stays the same), so
# the level that this machine has is named instead.
include(CheckCXXSourceRuns)

function(dtorch_cpu_level out)
  foreach(level x86-64-v4 x86-64-v3)
    string(MAKE_C_IDENTIFIER "${level}" id)
    check_cxx_source_runs(
      "int main() { return __builtin_cpu_supports(\"${level}\") ? 0 : 1; }"
      DTORCH_HAS_${id})
    if(DTORCH_HAS_${id})
      set(${out} "${level}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out} "x86-64" PARENT_SCOPE)
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  dtorch_cpu_level(DTORCH_CPU_LEVEL)
  set(DTORCH_CPU_FLAGS -march=${DTORCH_CPU_LEVEL} -O3)
  if(DTORCH_CPU_LEVEL STREQUAL "x86-64-v4")
    # Tuning for that level halves vectors, for its first machines' sake.
    list(APPEND DTORCH_CPU_FLAGS -mprefer-vector-width=512)
  endif()
else()
  set(DTORCH_CPU_LEVEL native)
  set(DTORCH_CPU_FLAGS -O3)
endif()
message(STATUS "kernels for ${DTORCH_CPU_LEVEL}")
