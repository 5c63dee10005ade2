"""Damaged TFLite models with graphs within graphs: branches, loops, composites and variables. Each
is imported, or causes an error of trimtab.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.importers import damage
from tests.importers.tflite_control_cases import CONTROL, STREAMS
from trimtab import importers

NAME = "net.tflite"


@cache
def _models() -> Mapping[str, bytes]:
    """The files to damage."""
    streams = {name: build() for name, build in STREAMS.items()}
    return {name: model.bytes() for name, model in (CONTROL | streams).items()}


@pytest.mark.parametrize("name", [*CONTROL, *STREAMS])
def test_the_graphs_to_damage_are_a_model(name: str, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(_models()[name])
    assert importers.load(tmp_path / NAME).ops


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_graphs_are_a_model_or_an_error_of_ours(
    data: st.DataObject, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    damage.empty(tmp_path)
    content = _models()[data.draw(st.sampled_from(sorted(_models())))]
    (tmp_path / NAME).write_bytes(content)
    damage.one_of(data, tmp_path, {NAME: damage.of_words})
    with damage.handled(tmp_path, pytestconfig, "graphs"):
        importers.load(tmp_path / NAME)


def test_graphs_that_once_broke_the_importer_are_handled(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    for folder in damage.findings("control_flow", tmp_path):
        with damage.handled(folder, pytestconfig, "graphs"):
            importers.load(folder / NAME)
