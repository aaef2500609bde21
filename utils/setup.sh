#!/usr/bin/env bash
# Makes a Debian 12 machine ready: packages, build, `import dtorch` from anywhere.
#   utils/setup.sh [--packages-only | ninja targets]
# It looks at what is there instead of remembering what it did, so a second call
# takes about a second, and a half-done first one is completed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Runs a command quietly; its output appears only when it fails.
quietly() {
  local what=$1
  shift
  echo "set-up: $what" >&2
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    echo "set-up: $what failed" >&2
    exit 1
  fi
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

missing_debian_packages() {
  local wanted
  wanted=$(grep -v '^#' "$root/utils/packages.txt")
  # A python3 without pip or headers is Debian's own: complete it.
  if ! command -v python3 >/dev/null || ! python3 -m pip --version >/dev/null 2>&1; then
    wanted+=" python3 python3-pip"
  fi
  if ! python3 -c 'import os, sysconfig, sys
sys.exit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))' 2>/dev/null; then
    wanted+=" python3-dev"
  fi
  local package
  for package in $wanted; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
      echo "$package"
  done
}

install_debian_packages() {
  local missing
  missing=$(missing_debian_packages)
  [ -z "$missing" ] && return
  export DEBIAN_FRONTEND=noninteractive
  quietly "package lists" as_root apt-get update
  # shellcheck disable=SC2086
  quietly "Debian packages ($(echo "$missing" | wc -w))" \
    as_root apt-get install -y --no-install-recommends $missing
}

python_packages_are_there() {
  python3 - "$root/utils/requirements.txt" <<'PY' 2>/dev/null
import sys
from importlib.metadata import version

for line in open(sys.argv[1]):
    if "==" in line:
        name, wanted = line.strip().split("==")
        if version(name).split("+")[0] != wanted:
            sys.exit(1)
PY
}

install_python_packages() {
  python_packages_are_there && return
  local options=(--root-user-action=ignore)
  # Debian marks its python3 as managed by apt; a virtual environment is not.
  if python3 -c 'import os, sys, sysconfig
sys.exit(sys.prefix != sys.base_prefix or
         not os.path.exists(sysconfig.get_path("stdlib") + "/EXTERNALLY-MANAGED"))'; then
    options+=(--break-system-packages)
  fi
  quietly "Python packages" python3 -m pip install "${options[@]}" -r "$root/utils/requirements.txt"
}

# One line in site-packages puts this checkout's python/ on every import path.
link_python_package() {
  local pth
  pth=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib") + "/dtorch.pth")')
  if [ "$(cat "$pth" 2>/dev/null)" != "$root/python" ]; then
    mkdir -p "$(dirname "$pth")"
    echo "$root/python" >"$pth"
  fi
}

install_debian_packages
install_python_packages
[ "${1:-}" = --packages-only ] && exit 0
bash "$root/utils/build.sh" "$@"
link_python_package
