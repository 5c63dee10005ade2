"""The selection of tests that run under the sanitizers in CI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.ops.cases import all_cases

# Operators that read by computed bounds, and a file of others.
BOUNDS = ("folded", "paired", "quantized", "quantized_winograd", "winograd", "packed_bounds")
OTHERS = "tests/ops/test_operators.py"


def collected(root: Path, *arguments: str) -> list[str]:
    """The ids of the tests that pytest would run."""
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*argv, *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_every_nth_test_runs_and_every_one_of_bounds(root: Path) -> None:
    every = 24
    files = [f"tests/ops/test_{name}.py" for name in BOUNDS]
    chosen = collected(root, f"--every={every}", OTHERS, *files)
    of_bounds = [name for name in chosen if not name.startswith(OTHERS)]
    assert of_bounds == collected(root, *files)
    assert 0 < len(chosen) - len(of_bounds) <= 2 * len(all_cases()) // every
