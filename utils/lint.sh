#!/usr/bin/env bash
# Checks form: C++ and Python format, Python lint, the layout of the tree, and
# that generated documents are current.   utils/lint.sh [--fix]
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
bash utils/setup.sh --packages-only || exit 1
fix=${1:-}
failed=0

check() {
  echo "lint: $1"
  shift
  "$@" || failed=1
}

mapfile -t sources < <(git ls-files --cached --others --exclude-standard -- '*.h' '*.cpp' '*.inc')
python=(python utils test .ci)
if [ "$fix" = --fix ]; then
  clang-format-22 -i "${sources[@]}"
  ruff check -q --fix "${python[@]}"
  ruff format -q "${python[@]}"
  python3 utils/generate_docs.py
fi
check "C++ format" clang-format-22 --dry-run --Werror "${sources[@]}"
check "Python rules" ruff check -q "${python[@]}"
check "Python format" ruff format -q --check "${python[@]}"
check "layout" python3 utils/check_layout.py
check "generated documents" python3 utils/generate_docs.py --check
exit "$failed"
