"""Exports are read back and compared, here and by other runtimes, before they are written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.small_programs import Net, normal
from trimtab import exporters
from trimtab.errors import ExportModelError
from trimtab.pipeline.export import export
from trimtab.program import Program

PEERS = {".param": "ncnn", ".prototxt": "cv2", ".onnx": "onnxruntime"}


def network() -> Program:
    net = Net(x=(1, 4, 6, 6))
    y = net("relu", net.conv("x", 4, 3))
    net.program.outputs = [y, net("softmax", y, axis=1)]
    return net.program


def exporter(suffix: str) -> Any:
    return exporters.exporter_for(Path(f"net{suffix}"))


def stubbed(monkeypatch: pytest.MonkeyPatch, suffix: str, change: Any) -> Any:
    """The exporter, whose files `change` replaces."""
    module = exporter(suffix)
    encode = module.encode

    def changed(program: Program) -> Mapping[str, bytes]:
        files: Mapping[str, bytes] = change(dict(encode(program)))
        return files

    monkeypatch.setattr(module, "encode", changed)
    return module


@pytest.mark.parametrize("suffix", PEERS)
def test_a_right_file_is_written_after_its_peer_has_run_it(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip(PEERS[suffix])
    path = tmp_path / f"net{suffix}"
    done = export(network(), path, exporter(suffix))
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in done.files}
    assert done.readers[0] == "trimtab"
    assert done.readers[1].startswith(PEERS[suffix])
    assert not done.notes


def with_other_weights(files: dict[str, bytes]) -> dict[str, bytes]:
    data = np.frombuffer(files[".bin"], np.float32).copy()
    data[5] += 0.5
    return {**files, ".bin": data.tobytes()}


def without_a_layer(files: dict[str, bytes]) -> dict[str, bytes]:
    text = files[".param"].decode().replace("ReLU", "AbsVal")
    return {**files, ".param": text.encode()}


def without_an_output(files: dict[str, bytes]) -> dict[str, bytes]:
    lines = files[".param"].decode().replace("Softmax", "Noop").splitlines()
    return {**files, ".param": "\n".join(lines).encode()}


def with_another_output(files: dict[str, bytes]) -> dict[str, bytes]:
    magic, counts, *layers = files[".param"].decode().splitlines()
    more = " ".join(str(int(n) + 1) for n in counts.split())
    text = [magic, more, *layers, "Input other 0 1 other 0=6 1=6 2=4"]
    return {**files, ".param": "\n".join(text).encode()}


def cut_off(files: dict[str, bytes]) -> dict[str, bytes]:
    return {**files, ".bin": files[".bin"][:-8]}


@pytest.mark.parametrize(
    "change", [with_other_weights, without_a_layer, without_an_output, with_another_output, cut_off]
)
def test_a_wrong_file_is_not_left_in_place(
    change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = stubbed(monkeypatch, ".param", change)
    path = tmp_path / "net.param"
    path.write_text("what was there before")
    with pytest.raises(ExportModelError, match="exported file is wrong, as trimtab reads it"):
        export(network(), path, module)
    assert [file.name for file in tmp_path.iterdir()] == ["net.param"]
    assert path.read_text() == "what was there before"
    done = export(network(), path, module, check=False)
    assert (done.readers, path.is_file()) == ((), True)
    assert path.read_text() != "what was there before"


def peer(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> None:
    """A package ncnn that other processes load first, whose Net does `body`."""
    text = f"import os\n__version__ = 9\n\n\ndef Net():\n    {body}\n"
    (folder / "ncnn.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))


def test_a_peer_that_crashes_refuses_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, place = tmp_path / "package", tmp_path / "place"
    package.mkdir()
    peer(monkeypatch, package, "os.abort()")
    with pytest.raises(ExportModelError, match=r"as ncnn reads it: it crashes \(Aborted\)"):
        export(network(), place / "net.param", exporter(".param"))
    assert not place.exists()


def test_a_peer_that_lacks_a_layer_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, place = tmp_path / "package", tmp_path / "place"
    package.mkdir()
    peer(monkeypatch, package, "raise OSError('no such layer')")
    done = export(network(), place / "net.param", exporter(".param"))
    assert done.readers == ("trimtab",)
    assert done.notes == ("ncnn 9 does not run it: no such layer",)
    assert (place / "net.bin").is_file()


def test_a_file_that_only_the_peer_reads_otherwise_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cv2")
    from trimtab.exporters.caffe_ops import graph

    monkeypatch.setattr(graph, "MERGING", ())
    net = Net(x=(1, 4, 4, 4))
    net.program.outputs = [net("mul", net.conv("x", 4, 3), normal(1, 1, 4, 1))]
    path = tmp_path / "net.prototxt"
    with pytest.raises(
        ExportModelError, match=r"wrong, as cv2 .* reads it: in output mul, element"
    ):
        export(net.program, path, exporter(".prototxt"))
    assert not [*tmp_path.iterdir()]
    monkeypatch.undo()
    assert len(export(net.program, path, exporter(".prototxt")).readers) == 2
