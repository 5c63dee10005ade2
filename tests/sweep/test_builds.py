"""Tasks that build the cells of a sweep."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimtab.errors import ModelFileError
from trimtab.sweep.builds import BuildCache
from trimtab.sweep.matrix import Cell


def test_the_files_of_a_network_go_with_its_task_and_others_do_not(tmp_path: Path) -> None:
    for name in ("net.param", "net.bin", "net2.bin", "net.onnx", "plan.toml"):
        (tmp_path / name).write_text(name)
    (tmp_path / "net.dir").mkdir()
    cell = Cell(str(tmp_path / "net.param"), plan=str(tmp_path / "plan.toml"))
    task = BuildCache().task(cell)
    assert task.network is not None
    assert task.plan is not None
    sent = [
        {path.name: path.read_text() for path in bundle.into(tmp_path / "store").iterdir()}
        for bundle in (task.network, task.plan)
    ]
    assert sent == [
        {"net.param": "net.param", "net.bin": "net.bin"},
        {"plan.toml": "plan.toml"},
    ]
    of_zoo = BuildCache().task(Cell("squeezenet"))
    assert (of_zoo.network, of_zoo.plan) == (None, None)


def test_a_network_without_its_file_is_refused_also_if_others_of_its_name_exist(
    tmp_path: Path,
) -> None:
    (tmp_path / "net.bin").touch()
    with pytest.raises(ModelFileError, match="there is no such file") as refused:
        BuildCache().task(Cell(str(tmp_path / "net.param")))
    assert refused.value.where == str(tmp_path / "net.param")
