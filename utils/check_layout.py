#!/usr/bin/env python3
"""Checks that the tree is what docs/architecture.md says, and that names agree.

- docs/architecture.md names every folder, and only folders that exist;
- lib/ and include/dtorch/ have the same folders: lib/X/Y.cpp has dtorch/X/Y.h, or
  includes another header of X;
- a pass has one name: dtorch-form-plans is FormPlans.cpp and form-plans.mlir;
- docs/debugging.md explains every environment variable that the code reads;
- no file names a package registry's host or one machine's folders.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PASSES = "include/dtorch/Dialect/Transforms/Passes.td"

# Written in pieces so that this file passes its own check.
FORBIDDEN = re.compile(
    "|".join(
        [
            r"(deb|security|snapshot)\.debian" + r"\.org",
            r"pypi" + r"\.org",
            r"python" + r"hosted\.org",
            r"(^|[^\w./-])/(work|farm|home|root|Users)" + r"/\w",
        ]
    )
)


def main() -> int:
    output = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    files = [name for name in output.splitlines() if (ROOT / name).exists()]
    checks = [check_folders, check_mirrors, check_passes, check_environment, check_contents]
    problems = [problem for check in checks for problem in check(files)]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


def check_folders(files: list[str]) -> list[str]:
    """docs/architecture.md against the folders that hold files."""
    page = ROOT / "docs" / "architecture.md"
    if not page.exists():
        return ["docs/architecture.md is missing"]
    named = set(re.findall(r"^\| `([\w./-]+)/` \|", page.read_text(), re.MULTILINE))
    there = {str(Path(name).parent) for name in files} - {"."}
    parents = {str(parent) for folder in there for parent in Path(folder).parents}
    return [
        *(f"docs/architecture.md: does not name {name}/" for name in sorted(there - named)),
        *(
            f"docs/architecture.md: {name}/ is not there"
            for name in sorted(named - there - parents)
        ),
    ]


def check_mirrors(files: list[str]) -> list[str]:
    """A source has a header of its name, or continues one of its folder's."""
    sources = [name for name in files if name.startswith("lib/") and name.endswith(".cpp")]
    problems = []
    for source in sources:
        path = source.removeprefix("lib/").removesuffix(".cpp")
        folder = str(Path(path).parent)
        header = f"include/dtorch/{path}.h"
        continues = f'#include "dtorch/{folder}' in (ROOT / source).read_text()
        if header not in files and not continues and not has_local_header(source, files):
            problems.append(f"{source}: has no {header} and includes nothing of dtorch/{folder}/")
    return problems


def has_local_header(source: str, files: list[str]) -> bool:
    """Whether it includes a private header that lies beside it."""
    included = re.findall(r'#include "([\w]+\.h)"', (ROOT / source).read_text())
    return any(str(Path(source).parent / name) in files for name in included)


def check_passes(files: list[str]) -> list[str]:
    definitions = ROOT / PASSES
    if not definitions.exists():
        return []
    problems = []
    names = re.findall(r'Pass<"dtorch-([\w-]+)"', definitions.read_text())
    for name in names:
        stem = "".join(word.capitalize() for word in name.split("-"))
        source = f"lib/Dialect/Transforms/{stem}.cpp"
        if source not in files:
            problems.append(f"pass dtorch-{name}: has no {source}")
        if not any(Path(file).name == f"{name}.mlir" for file in files):
            problems.append(f"pass dtorch-{name}: has no test {name}.mlir")
    return problems


def check_environment(files: list[str]) -> list[str]:
    page = (ROOT / "docs" / "debugging.md").read_text()
    explained = set(re.findall(r"`(DTORCH_\w+)`", page))
    read = re.compile(r"""["'](DTORCH_[A-Z_]+)["']""")
    used = {
        (variable, name)
        for name in files
        if name.endswith((".cpp", ".h", ".py")) and not name.startswith("test/")
        for variable in read.findall((ROOT / name).read_text())
    }
    return [
        f"{name}: reads {variable}, which docs/debugging.md does not explain"
        for variable, name in sorted(used)
        if variable not in explained
    ]


def check_contents(files: list[str]) -> list[str]:
    problems = []
    for name in files:
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if FORBIDDEN.search(line):
                problems.append(f"{name}:{number}: names one machine or registry: {line.strip()}")
    return problems


if __name__ == "__main__":
    sys.exit(main())
