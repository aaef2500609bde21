#!/usr/bin/env bash
# Configures (when needed) and builds build/, which installs the native module
# in place, beside python/dtorch:   utils/build.sh [targets]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

# A folder configured for another python3, or before the clone was moved, starts
# afresh.
python=$(python3 -c 'import sys; print(sys.executable)')
cache=$build/CMakeCache.txt
if ! { grep -qsx "Python_EXECUTABLE:[A-Z]*=$python" "$cache" &&
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; }; then
  rm -rf "$build"
fi

mkdir -p "$build"
log=$build/build.log
if ! {
  { [ -f "$build/build.ninja" ] || bash "$root/utils/configure.sh" "$build"; } >"$log" 2>&1 &&
    { ninja -C "$build" -n "$@" | grep -q 'no work to do' ||
      echo "set-up: building (log: build/build.log)" >&2; } &&
    ninja -C "$build" "$@" >>"$log" 2>&1
}; then
  grep -nE 'error|FAILED|Error' "$log" | head -40 >&2
  tail -n 40 "$log" >&2
  echo "set-up: build failed (log: build/build.log)" >&2
  exit 1
fi
