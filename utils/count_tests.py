#!/usr/bin/env python3
"""Adds up JUnit files: `utils/count_tests.py FOLDER` prints the last line of test.sh.

A run named in FOLDER/failed-runs counts as one more failure unless its file
already lists a failed test: a crash writes no file.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def count(path: Path) -> tuple[int, int, int]:
    """Passed, failed, skipped test cases of one file."""
    passed = failed = skipped = 0
    for case in ET.parse(path).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed += 1
            print(f"failed: {case.get('classname')} {case.get('name')}")
        elif "skipped" in kinds or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main() -> int:
    folder = Path(sys.argv[1])
    passed = failed = skipped = 0
    broken = set()
    for path in sorted(folder.glob("*.xml")):
        p, f, s = count(path)
        passed, failed, skipped = passed + p, failed + f, skipped + s
        if f:
            broken.add(path.stem.removeprefix("gtest-"))
    runs = folder / "failed-runs"
    for run in runs.read_text().split() if runs.exists() else []:
        if run not in broken:
            failed += 1
            print(f"failed: {run} ended with an error")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
