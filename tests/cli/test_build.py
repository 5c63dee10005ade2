"""The output of `build` and `size`, without building anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trimtab import size
from trimtab.build.builder import Build
from trimtab.cli import build as tasks
from trimtab.pipeline import built
from trimtab.size import SizeReport

REPORT = SizeReport(
    name="trimtab-run",
    file_bytes=1299,
    memory_bytes=1500,
    sections={".text": 1299},
    groups={"op:relu": 60, "op:conv": 40, "kernel:gemm": 99, "core": 1100},
    symbols=(),
)


@pytest.fixture
def delivered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """The build of a profile, as if it had just been made."""
    runner, library, header = (tmp_path / n for n in ("trimtab-run", "libtrimtab.a", "trimtab.h"))
    for path in (runner, library, header):
        path.write_bytes(bytes(1299))
    unstripped, link_map = tmp_path / "debug", tmp_path / "map"
    record = {"compiler": "clang 21", "profile": {"name": "tiny"}}
    build = Build(tmp_path, runner, library, header, None, unstripped, link_map, record)
    monkeypatch.setattr(built, "build_profile", lambda recipe, progress: build)
    monkeypatch.setattr(size, "measure", lambda folder: REPORT)
    monkeypatch.setattr("trimtab.cli._engine.build_engine", lambda quiet=False: None)
    return build


def test_json_of_a_build_is_its_record_with_the_sizes(
    delivered: Build, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks.build.body(None, profile="full", json=True)
    result = json.loads(capsys.readouterr().out)
    assert result["compiler"] == "clang 21"
    assert result["output"] == str(delivered.output_dir)
    assert result["size"]["groups"] == dict(REPORT.groups)
    assert result["accuracy"] is None


def test_the_summary_of_a_build_has_the_parts_of_a_hundred_bytes_and_more(
    delivered: Build, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks.build.body(None, profile="full")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{delivered.output_dir}:"
    assert lines[1].split() == ["trimtab-run", "1,299", "bytes"]
    assert "runner: op 100, core 1,100" in lines  # and not 99 bytes of kernels


@pytest.mark.parametrize("quiet", [False, True])
def test_the_engine_is_built_before_a_plan_is_made(
    quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build_engine(*, quiet: bool) -> None:
        raise InterruptedError(f"the engine, quiet={quiet}")

    monkeypatch.setattr(tasks, "build_engine", build_engine)
    with pytest.raises(InterruptedError, match=f"the engine, quiet={quiet}"):
        tasks.size.body(None, model="resnet18", json=quiet)
