"""The fuzz targets on former findings, and on a sample of their seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import check_programs
from tests.fuzz import seeds
from trimtab import paths, schema

pytestmark = pytest.mark.build

HERE = Path(__file__).parent
TARGETS = sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.cpp"))

# Example plug-ins with compiled-in operators; run-time operators are separate libraries.
EXAMPLES = paths.root() / "examples" / "plugins"
PLUGINS = sorted({path.parent.parent for path in EXAMPLES.glob("*/ops/*.cpp")})


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "seeds"
    # Who adds an operator without a case of it meets this.
    assert seeds.write(folder) == {*schema.operators()}
    return folder


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_that_was_found_breaks_the_engine(target: str, begun: Path) -> None:
    tree = check_programs.build("host", *(f"replay_{name}" for name in TARGETS))
    crashes = HERE / "found" / target
    own = begun / target
    inputs = [own if own.is_dir() else begun / "operators"]
    inputs += [crashes] if crashes.is_dir() else []
    argv = [tree / f"replay_{target}", *inputs]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    count = sum(1 for folder in inputs for _ in folder.iterdir())
    assert done.stdout == f"{count} inputs\n"


_OF_A_PLUGIN = """
import sys
from pathlib import Path
from trimtab import plugins
plugins.add(sys.argv[1])
from trimtab.build import host_build
host_build.build_engine()
from tests.fuzz import seeds
print(*sorted(seeds.write(Path("seeds"))))
programs = sys.argv[2:]
host_build.build(programs, "targets", deliver={p: Path(p).absolute() for p in programs})
"""


@pytest.mark.slow
@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda folder: folder.name)
def test_no_case_of_a_plug_in_breaks_the_engine(plugin: Path, tmp_path: Path) -> None:
    programs = [f"replay_{target}" for target in TARGETS]
    argv = [sys.executable, "-c", _OF_A_PLUGIN, str(plugin), *programs]
    environment = os.environ | {"PYTHONPATH": str(paths.root())}
    build = subprocess.run(
        argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert build.returncode == 0, build.stderr
    assert {path.stem for path in (plugin / "ops").glob("*.toml")} <= {*build.stdout.split()}
    for target, program in zip(TARGETS, programs, strict=True):
        crashes = plugin / "tests" / "found" / target
        inputs = [tmp_path / "seeds", *([crashes] if crashes.is_dir() else [])]
        done = subprocess.run([tmp_path / program, *inputs], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr[-500:]
