"""The fuzz targets on what fuzzing found, and on some of what it begins with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import check_programs
from tests.fuzz import seeds

pytestmark = pytest.mark.build

HERE = Path(__file__).parent
TARGETS = sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.cpp"))


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seeds")
    assert seeds.write(folder) > 1000
    return folder


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_that_was_found_breaks_the_engine(target: str, begun: Path) -> None:
    tree = check_programs.build("host", *(f"replay_{name}" for name in TARGETS))
    found = HERE / "found" / target
    inputs = [begun, *([found] if found.is_dir() else [])]
    argv = [tree / f"replay_{target}", *inputs]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    count = sum(1 for folder in inputs for _ in folder.iterdir())
    assert done.stdout == f"{count} inputs\n"
