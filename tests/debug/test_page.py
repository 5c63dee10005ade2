"""docs/debugging.md: its causes and bounds are those of the code, and its walk runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from invoke.context import Context

from tests.debug.faults import PlantedSources
from tests.devices.conftest import require
from trimtab import errors
from trimtab.bench import golden
from trimtab.cli import debug as debug_task
from trimtab.debug import diagnosis
from trimtab.errors import TrimtabError, UsageError

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "debugging.md").read_text()


def test_the_page_explains_every_cause() -> None:
    source = Path(diagnosis.__file__).read_text()
    causes = set(re.findall(r'return "(\w+)", \(|cause, verdict = "(\w+)"', source))
    causes = {a or b for a, b in causes} | {"rounding", "import"}
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.M)) == causes


def test_the_page_has_the_bounds_and_the_exit_code() -> None:
    assert f"| float32 | {golden.TOLERANCE:.4f} of 1" in PAGE
    half = f"| f16 | {golden.HALF_TOLERANCE} of the largest value, or {golden.HALF_FACTOR} times"
    assert half in PAGE
    assert f"and {errors.DivergingOperatorError.exit_code} if one is not" in PAGE


@pytest.mark.parametrize(
    ("words", "message"),
    [({}, "neither a model nor a case"), ({"case": "c", "output": "page.svg"}, "the page is HTML")],
)
def test_options_that_fit_nothing_are_refused(words: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        debug_task.DebugOptions(**words).validate()  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.device
def test_the_walk_names_the_planted_fault_and_its_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require("qemu-aarch64", "qemu-user")
    sources = PlantedSources(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    # This machine's engine has no kernel of another architecture.
    monkeypatch.setattr("trimtab.build.host_build.build_engine", lambda *_, **__: None)
    walk = PAGE.split("## A planted fault in ten minutes")[1].split("\n## ")[0]
    codes: list[int] = []
    for line in re.findall(r"^    (\S.*)$", walk, re.M):
        words = shlex.split(line)
        if words[0] == "sed":
            _, old, new, _ = words[2].split("/")
            sources.replace(words[3], old, new)
            continue
        try:
            values = {
                key.removeprefix("--"): value
                for key, value in zip(words[2::2], words[3::2], strict=True)
            }
            debug_task.debug(Context(), **values)
        except TrimtabError as error:
            codes.append(error.exit_code)
        else:
            codes.append(0)
    assert codes == [47, 47, 0]
    assert "gemm_f32_4x16_neona53" in capsys.readouterr().out
    assert (tmp_path / "wrong.html").exists()
