#!/usr/bin/env bash
# Runs SmolLM2-135M-Instruct on meshes of virtual CPU devices; does the set-up
# it needs. Arguments: --dp N --tp N --prompt TEXT --max-new-tokens N
# --no-reference (see utils/llama.py).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bash "$root/utils/setup.sh" _dtorch dtorch-opt dtorch-run  # not the tests
exec python3 "$root/utils/llama.py" "$@"
