"""The commands of the tutorial in docs/tuning.md, run as they stand there."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.devices.conftest import require

ROOT = Path(__file__).resolve().parents[2]


def commands() -> list[list[str]]:
    """The commands for the emulated board: the first block of code of the section."""
    section = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8").split("## Tutorial\n")[1]
    lines = section[section.index("    ./inv") :].splitlines()
    block = lines[: lines.index("")]
    return [shlex.split(line.removeprefix("    ./inv ")) for line in block]


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.device
def test_the_commands_for_the_emulated_board_write_a_plan_and_compare_it(tmp_path: Path) -> None:
    require("qemu-aarch64", "qemu-user")
    (*_, compare) = [
        subprocess.run(
            [str(ROOT / "inv"), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for arguments in commands()
    ]
    assert "instructions" in compare
    assert "algorithms" in (tmp_path / "tuned.plan.toml").read_text(encoding="utf-8")
    assert "<html" in (tmp_path / "tuned.html").read_text(encoding="utf-8")
