"""The runner that writes tensors is the shipped one, and one object more; its tensors come over
SSH.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.debug.networks import write
from tests.devices.conftest import SshServer, start_sshd
from trimtab.bench.jobs import Settings
from trimtab.build.builder import Build
from trimtab.debug.diagnosis import diagnose
from trimtab.pipeline.built import build
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import MeasurementRequest, Recipe

__all__ = ["start_sshd"]  # a fixture


@pytest.mark.build
def test_only_the_runner_for_debugging_has_code_for_tensors(tmp_path: Path) -> None:
    def built(tensors: bool) -> Build:
        recipe = Recipe(str(write(tmp_path)), tensors=tensors, output=tmp_path / str(tensors))
        return build(plan(load(recipe))).delivered

    shipped, debugging = built(False), built(True)
    assert shipped.library.read_bytes() == debugging.library.read_bytes()
    assert b"--tensors" in debugging.runner.read_bytes()
    assert b"--tensors" not in shipped.runner.read_bytes()
    assert b"TensorWriter" not in shipped.unstripped.read_bytes()
    more = debugging.runner.stat().st_size - shipped.runner.stat().st_size
    assert 0 < more < 8192


@pytest.mark.build
@pytest.mark.device
def test_a_board_behind_ssh_is_diagnosed(
    start_sshd: Callable[..., SshServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_CONFIG_DIR", str(tmp_path))
    server = start_sshd()
    server.define(tmp_path, "shelf")
    request = MeasurementRequest("shelf", Settings(accept_wrong=True), trust_new=True)
    one = diagnose(Recipe(str(write(tmp_path)), measurement=request), repeat=False)
    assert (one.device, one.cause) == ("shelf", "")
    assert not [finding for finding in one.findings if finding.unknown]
    assert {time.unit for time in one.times} == {"ns"}
    left = [path.name for path in (server.folder / "remote").rglob("*")]
    assert not [name for name in left if name.startswith(("tensors", "out"))]  # they pile up
