"""The section "From nothing to a binary" of docs/plugins.md is run, command by command."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.plugins.test_examples import inv
from trimtab import paths

PAGE = paths.root() / "docs" / "plugins.md"


def commands() -> list[list[str]]:
    """The lines of the section, as they stand."""
    (section,) = re.findall(
        r"^## From nothing to a binary\n(.*?)^## ", PAGE.read_text(), re.M | re.S
    )
    return [
        shlex.split(line, comments=True) for line in re.findall(r"^    \./inv (.*)$", section, re.M)
    ]


@pytest.mark.slow
@pytest.mark.build
@pytest.mark.device
def test_the_tutorial_leads_to_a_binary_whose_operator_is_known_by_name(tmp_path: Path) -> None:
    messages = []
    for words in commands():
        ran = inv(*words, cwd=tmp_path)
        assert ran.returncode == 0, f"{shlex.join(words)}\n{ran.stdout}{ran.stderr}"
        messages.append(ran.stdout)
    assert [words[0] for words in commands()] == ["plugin.new", "plugin.test", "build", "bench"]
    _, tested, built, measured = messages
    assert re.findall(r"^(\S.*\S) +4 of 4", tested, re.M) == [
        "this machine",
        "qemu-a53",
        "qemu-armv7",
    ]
    assert "trimtab-run" in built
    assert re.search(r"^status +OK", measured, re.M)

    (delivered,) = (tmp_path / "dist").iterdir()
    plugin = ("--plugin", "mine")
    weighed = inv("size", str(delivered), *plugin, cwd=tmp_path)
    (own,) = re.findall(r"^twist +([\d,]+)", weighed.stdout, re.M)
    assert int(own.replace(",", "")) > 0
    network = (*plugin, "--model", "mine/tests/net.prototxt")
    operators = inv("bench", *network, "--device", "qemu-a53", "--per-op", cwd=tmp_path)
    assert re.search(r"^twist y ", operators.stdout, re.M)
    counted = inv("bench.instructions", *network, cwd=tmp_path)
    assert re.search(r"^ *twist y ", counted.stdout, re.M)
    derived = inv("profile", *network, cwd=tmp_path)
    assert '"twist"' in derived.stdout, derived.stderr
    assert json.loads((delivered / "build.json").read_text())["operators"] == ["twist"]
