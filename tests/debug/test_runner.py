"""The runner that writes tensors is the shipped one, and one object more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.debug.networks import write
from trimtab.build.builder import Build
from trimtab.pipeline.built import build
from trimtab.pipeline.loaded import load
from trimtab.pipeline.planned import plan
from trimtab.pipeline.recipe import Recipe


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
