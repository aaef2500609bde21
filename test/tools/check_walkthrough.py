"""Compares the IR blocks of a page with what dtorch-opt prints.

    python3 check_walkthrough.py PAGE [--write]

A block under `<!-- dtorch-opt FLAGS -->` must be the output of these flags for
the page's first block. --write puts the output there.
"""

import difflib
import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"(<!-- dtorch-opt([^>]*)-->\n```mlir\n)(.*?)(```)", re.DOTALL)


def main() -> int:
    page = Path(sys.argv[1])
    text = page.read_text()
    first = BLOCK.search(text)
    if first is None:
        print(f"{page}: has no block of IR")
        return 1
    stale = []

    def refresh(match: re.Match[str]) -> str:
        if not match[2].strip():  # the module as it is written
            return match[0]
        command = ["dtorch-opt", *match[2].split()]
        result = subprocess.run(
            command, input=first[3], capture_output=True, text=True, check=False
        )
        printed = result.stdout.strip() + "\n"
        if result.returncode or printed != match[3]:
            stale.append(match[2])
            print("\n".join(difflib.unified_diff(match[3].split("\n"), printed.split("\n"))))
            print(result.stderr)
        return match[1] + printed + match[4]

    text = BLOCK.sub(refresh, text)
    if "--write" in sys.argv:
        page.write_text(text)
        return 0
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
