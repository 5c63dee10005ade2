"""Makes every allocation of the engine fail in turn, for one network per operator family, or for
several with `--full`.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import trimtab
from tests import check_programs
from tests.engine.test_hostile_models import network
from tests.fuzz.seeds import quantized
from tests.ops.cases import by_family
from trimtab.target import Target

pytestmark = pytest.mark.build


@pytest.fixture
def models(tmp_path: Path, pytestconfig: pytest.Config) -> list[Path]:
    """Model files: float32 networks of all operator families, and one int8 network."""
    per_family = 3 if pytestconfig.getoption("--full") else 1
    sources = {
        case.id: case.model
        for cases in by_family().values()
        for case in cases[:: max(1, len(cases) // per_family)]
    }
    programs = {"hostile": network()}
    path = tmp_path / "case.onnx"
    for name, model in {**sources, "int8": quantized()}.items():
        path.write_bytes(model.SerializeToString())
        programs[name] = trimtab.load(path)
    paths = []
    for name, program in programs.items():
        paths.append(tmp_path / f"{name}.ttm")
        trimtab.optimize(program, Target.host()).save(paths[-1])
    return paths


def test_a_failed_allocation_is_an_error_without_a_leak(models: list[Path]) -> None:
    tree = check_programs.build("host", "check_memory")
    argv = [tree / "check_memory", *models]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    count, resized = map(int, re.findall(r"(\d+) (?:allocations|times)", done.stdout))
    # At least the file, the model, the threads' state and two threads, tables and the arena.
    assert count >= (7 + 6) * len(models)
    assert resized > len(models) // 2  # from a file, and from memory
