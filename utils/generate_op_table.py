#!/usr/bin/env python3
"""Writes the op table of lib/Ops from the ODS definitions of the compute ops.

    llvm-tblgen --dump-json ComputeOps.td -o ops.json
    utils/generate_op_table.py ops.json OpTable.inc

The output has two parts, picked by a macro: GET_RULE_FUNCTIONS declares the C++
rule functions that ops name, GET_OP_TABLE gives one `OpInfo{...}` per op in the
order of the definitions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Record = dict[str, Any]

ATTR_TYPES = {
    "BoolAttr": "Bool",
    "I64Attr": "Int",
    "F64Attr": "Float",
    "StrAttr": "String",
    "DenseI64ArrayAttr": "Ints",
}


def quote(text: str) -> str:
    return json.dumps(text.strip(), ensure_ascii=False)


def superclasses(records: Record, name: str) -> set[str]:
    return set(records[name]["!superclasses"])


def line_of(record: Record) -> tuple[str, int]:
    file, line = record["!locs"][-1].rsplit(":", 1)
    return file, int(line)


class Op:
    """Operands and attributes of one op, read from its `ins` dag."""

    def __init__(self, records: Record, record: Record) -> None:
        self.record = record
        self.operands: list[str] = []
        self.attrs: list[tuple[str, str]] = []
        self.least = 0
        self.most = 0
        self.kinds = [records[kind["def"]] for kind in record["kinds"]]
        for argument, name in record["arguments"]["args"]:
            type_name = argument["def"]
            if type_name in ATTR_TYPES:
                is_dtype = type_name == "StrAttr" and name == "dtype"
                kind = "DType" if is_dtype else ATTR_TYPES[type_name]
                self.attrs.append((name, kind))
            elif "Attr" in superclasses(records, type_name):
                sys.exit(f"{record['opName']}: no C++ type for attribute '{name}' ({type_name})")
            else:
                self.add_operand(name, superclasses(records, type_name))

    def add_operand(self, name: str, classes: set[str]) -> None:
        if self.most < 0:
            sys.exit(f"{self.record['opName']}: nothing may follow variadic operands")
        self.operands.append(name)
        if "Optional" in classes:
            self.most += 1
        elif "Variadic" in classes:
            self.least, self.most = self.least + 1, -1
        else:
            self.least, self.most = self.least + 1, self.most + 1

    def table_entry(self) -> str:
        record = self.record
        name, function = record["opName"], record["ruleFunction"]
        ways = [bool(record["placementRule"]), bool(function), bool(self.kinds)]
        if sum(ways) != 1:
            sys.exit(f"{name}: give one of placementRule, ruleFunction and kinds")
        names = ", ".join(quote(operand) for operand in self.operands)
        attrs = ", ".join(f"{{{quote(a)}, AttrType::{kind}}}" for a, kind in self.attrs)
        kinds = "".join(
            f"\n      {{{quote(kind['name'])}, PlacementRule::parse({quote(kind['rule'])}), "
            f"{quote(kind['resultDType'])}}},"
            for kind in self.kinds
        )
        rule = record["placementRule"]
        parsed = f"PlacementRule::parse({quote(rule)})" if rule else "PlacementRule{}"
        return (
            f"OpInfo{{{quote(name)}, {quote(record['summary'])}, {self.least}, {self.most},\n"
            f"    {{{names}}}, {quote(record['operandDTypes'])},\n"
            f"    {{{attrs}}}, {quote(record['resultDType'])},\n"
            f"    {parsed},\n    {{{kinds}}},\n"
            f"    {function or 'nullptr'}}},\n"
        )


def generate(records: Record) -> str:
    found = [records[name] for name in records["!instanceof"]["Dtorch_ComputeOp"]]
    ops = [Op(records, record) for record in sorted(found, key=line_of)]
    functions = sorted({op.record["ruleFunction"] for op in ops} - {""})
    out = "// Generated from ComputeOps.td by generate_op_table.py.\n\n#ifdef GET_RULE_FUNCTIONS\n"
    out += "".join(f"BoundRule {function}(const OpCall &call);\n" for function in functions)
    out += "#endif\n\n#ifdef GET_OP_TABLE\n"
    out += "".join(op.table_entry() for op in ops)
    return out + "#endif\n"


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    target.write_text(generate(json.loads(source.read_text())))


if __name__ == "__main__":
    main()
