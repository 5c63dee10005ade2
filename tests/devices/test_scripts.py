"""The shell scripts for devices: each is valid shell, and is sent without comments."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from trimtab.devices import scripts

SCRIPTS = sorted(scripts.FOLDER.glob("*.sh"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_explains_its_arguments_and_travels_without_comments(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert lines[0] == "#!/bin/sh"
    assert lines[1].startswith("# ")
    text = scripts.read(path.stem)
    assert "#!/bin/sh" not in text
    assert ". ./" not in text
    subprocess.run(["sh", "-n", "-c", text], check=True)


def test_arguments_arrive_letter_by_letter() -> None:
    words = ["", "a b", "'", "$HOME", "*", "ü"]
    text = scripts.script("find_programs", "cat", *words, "no-such-program")
    result = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    assert Path(result.stdout.strip()).name == "cat"
