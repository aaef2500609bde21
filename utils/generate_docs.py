#!/usr/bin/env python3
"""Writes docs/reference from the TableGen definitions.

utils/generate_docs.py            writes the pages
utils/generate_docs.py --check    exit code 1 if a page is not current
"""

from __future__ import annotations

import difflib
import inspect
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
IR = "include/dtorch/Dialect/IR"
PAGES = {
    "compute-ops.md": (f"{IR}/ComputeOps.td", "Compute ops"),
    "collective-ops.md": (f"{IR}/CollectiveOps.td", "Redistribute and collective ops"),
    "program-ops.md": (f"{IR}/ProgramOps.td", "Program ops"),
    "attributes.md": (f"{IR}/DtorchAttrs.td", "Attributes"),
    "types.md": (f"{IR}/DtorchTypes.td", "Types"),
    "passes.md": ("include/dtorch/Dialect/Transforms/Passes.td", "Passes"),
}


def main() -> int:
    pages = {name: render(*source) for name, source in PAGES.items() if (ROOT / source[0]).exists()}
    stale = [name for name, text in pages.items() if current(name) != text]
    if "--check" not in sys.argv:
        REFERENCE.mkdir(parents=True, exist_ok=True)
        for name in stale:
            (REFERENCE / name).write_text(pages[name])
        return 0
    for name in stale:
        print(f"docs/reference/{name} is not current; run utils/generate_docs.py")
        difference = difflib.unified_diff(
            current(name).splitlines(), pages[name].splitlines(), "written", "generated", n=1
        )
        print("\n".join(list(difference)[:20]))
    return 1 if stale else 0


def current(name: str) -> str:
    path = REFERENCE / name
    return path.read_text() if path.exists() else ""


def render(source: str, title: str) -> str:
    records = dump(source)
    lines = [f"# {title}", "", f"Generated from `{source}` by `utils/generate_docs.py`.", ""]
    for record in in_file_order(records, source):
        lines += section(record, records)
    return "\n".join(lines).rstrip() + "\n"


def dump(source: str) -> dict:
    command = ["llvm-tblgen-22", "--dump-json", "-I", "include", "-I", "/usr/lib/llvm-22/include"]
    result = subprocess.run([*command, source], cwd=ROOT, check=True, capture_output=True)
    return json.loads(result.stdout)


def in_file_order(records: dict, source: str) -> list[dict]:
    """Ops, attributes, types and passes that this very file defines."""
    text = (ROOT / source).read_text()
    classes = ["Op", "AttrDef", "TypeDef", "PassBase"]
    names = {name for kind in classes for name in records["!instanceof"].get(kind, [])}
    here = [name for name in names if f"def {name} " in text]
    return [records[name] for name in sorted(here, key=lambda name: text.index(f"def {name} "))]


def section(record: dict, records: dict) -> list[str]:
    lines = [f"## `{title_of(record)}`", "", record.get("summary", "").strip() + ".", ""]
    signature = arguments_of(record, records)
    if signature:
        lines += [signature, ""]
    lines += rules_of(record, records)
    # cleandoc keeps the indentation of diagrams, as in a Python docstring.
    description = inspect.cleandoc(record.get("description", "")).rstrip()
    if description:
        lines += [description, ""]
    return lines


def title_of(record: dict) -> str:
    if "opName" in record:
        return f"dtorch.{record['opName']}"
    if "mnemonic" in record:
        sigil = "!" if "TypeDef" in record["!superclasses"] else "#"
        return f"{sigil}dtorch.{record['mnemonic']}"
    return record["argument"]


def arguments_of(record: dict, records: dict) -> str:
    """'Operands: `lhs`, `rhs`. Attributes: `kind`.'"""
    arguments = record.get("arguments")
    if not arguments:
        return ""
    groups: dict[str, list[str]] = {"Operands": [], "Attributes": []}
    for kind, name in arguments["args"]:
        supers = records[kind["def"]]["!superclasses"]
        group = "Attributes" if "Attr" in supers else "Operands"
        note = " (optional)" if {"Optional", "OptionalAttr"} & set(supers) else ""
        note = " (any number)" if "Variadic" in supers else note
        groups[group].append(f"`{name}`{note}")
    return " ".join(f"{group}: {', '.join(names)}." for group, names in groups.items() if names)


def rules_of(record: dict, records: dict) -> list[str]:
    if "placementRule" not in record:
        return []
    kinds = record.get("kinds", [])
    if kinds:
        lines = ["| kind | placement rule |", "|---|---|"]
        for reference in kinds:
            kind = records[reference["def"]]
            lines.append(f"| `{kind['name']}` | `{kind['rule']}` |")
        return [*lines, ""]
    if record["placementRule"]:
        return [f"Placement rule: `{record['placementRule']}`", ""]
    return [f"Placement rule: depends on shapes (`{record['ruleFunction']}`).", ""]


if __name__ == "__main__":
    sys.exit(main())
