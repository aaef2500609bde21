#!/usr/bin/env bash
# Runs every test (GoogleTest, lit, pytest) after the set-up they need; ends with
# the line `N passed, N failed[, N skipped]`.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
bash "$root/utils/setup.sh" || { echo "0 passed, 1 failed"; exit 1; }
results=$build/test-results
rm -rf "$results" && mkdir -p "$results"

echo "== GoogleTest"
for binary in $(find "$build/test" -type f -executable -name '*[tT]est*' ! -name '*.so*' ! -path '*/CMakeFiles/*' | sort); do
  name=$(basename "$binary")
  "$binary" --gtest_brief=1 --gtest_output="xml:$results/gtest-$name.xml" ||
    echo "$name" >>"$results/failed-runs"
done

echo "== lit"
/usr/lib/llvm-22/bin/lit -q --timeout 300 --xunit-xml-output "$results/lit.xml" "$build/test" ||
  echo lit >>"$results/failed-runs"

echo "== pytest (every phase printed and parsed again)"
DTORCH_ROUNDTRIP=1 python3 -m pytest -q -p no:cacheprovider \
  --junitxml="$results/pytest.xml" "$root/test/python" "$root/python/dtorch/test" || echo pytest >>"$results/failed-runs"

python3 "$root/utils/count_tests.py" "$results"
