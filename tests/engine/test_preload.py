"""A sanitizer is preloaded for the engine in this process, not for the programs that tests start.

An emulator under AddressSanitizer allocates memory without bound and does not end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from trimtab.engine import engine_file

# The library is in this process, and no child gets it.
_INSIDE = """
import os, subprocess
from pathlib import Path

def test_inside():
    assert Path({library!r}).name in Path("/proc/self/maps").read_text()
    child = ["sh", "-c", "echo ${{LD_PRELOAD-none}}"]
    assert subprocess.run(child, capture_output=True, text=True).stdout == "none\\n"
"""


def test_programs_of_tests_have_no_preloaded_sanitizer(root: Path, tmp_path: Path) -> None:
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    library = next(word for word in maps if "/libm.so" in word or "/libm-" in word)
    (tmp_path / "test_inside.py").write_text(_INSIDE.format(library=library), encoding="utf-8")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider"]
    argv += [f"--rootdir={tmp_path}", f"--engine={engine_file().parent}", str(tmp_path)]
    environment = {**os.environ, "LD_PRELOAD": library, "PYTHONPATH": str(root / "tests")}
    done = subprocess.run(
        argv, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
