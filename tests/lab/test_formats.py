"""Files of published packages, and the lists of operators."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest

from lab.formats import fetch, measure, operators, worker
from lab.formats.fetch import Package
from lab.formats.runtimes import Array
from trimtab import tables

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[n, 3] x) => (float[n, 3] y) { y = OP (x) }
"""


def saved(folder: Path, op: str) -> Path:
    path = folder / f"{op}.onnx"
    onnx.save(onnx.parser.parse_model(MODEL.replace("OP", op)), path)
    return path


@pytest.mark.parametrize("listed", operators.all_lists(), ids=lambda listed: listed.title)
def test_every_operator_is_supported_or_has_a_reason(listed: operators.OperatorList) -> None:
    assert not listed.unexplained()
    assert not listed.outdated()
    assert len(listed.refused()) < len(listed.names)


def test_a_file_matches_is_refused_or_is_not_run(tmp_path: Path) -> None:
    shape = (2, 3)
    assert worker.outcome(saved(tmp_path, "Relu"), shape) == (worker.MATCHES, "")
    status, reason = worker.outcome(saved(tmp_path, "Unique"), shape)
    assert (status, "the engine has no such operator" in reason) == (worker.REFUSED, True)
    status, _ = worker.outcome(saved(tmp_path, "NoSuchOperator"), shape)
    assert status == worker.NOT_RUN


@pytest.mark.parametrize(
    ("own", "want", "problem"),
    [
        (np.zeros(3), np.zeros(4), "has shape"),
        (np.array([np.nan, 1]), np.array([0.0, 1]), "has other NaN"),
        (np.array([1.0, 2.2]), np.array([1.0, 2.0]), "differs by 0.2"),
        (np.array([1.0, 2.001]), np.array([1.0, 2.0]), ""),
        (np.array([9, 12], np.uint8), np.array([9, 8], np.uint8), "differs by 4"),
        (np.array([9, 12], np.uint8), np.array([9, 10], np.uint8), ""),
    ],
)
def test_a_difference_is_named(own: Array, want: Array, problem: str) -> None:
    if problem:
        assert worker.difference(own, want)[0].startswith(problem)
    else:
        assert worker.difference(own, want)[0] == ""


def test_model_files_of_archives_are_extracted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        folder = Path(command[command.index("--dest") + 1] if "pip" in command else command[-2])
        if "pip" in command:
            with zipfile.ZipFile(folder / "a.whl", "w") as wheel:
                wheel.writestr("a/net.onnx", b"1")
                wheel.writestr("../out.onnx", b"2")
                wheel.writestr("a/code.py", b"3")
        else:
            with tarfile.open(folder / "b.tgz", "w:gz") as tarball:
                info = tarfile.TarInfo("package/net.tflite")
                info.size = 1
                tarball.addfile(info, io.BytesIO(b"4"))
        return subprocess.CompletedProcess(command, 0, "", "")

    listed = [Package("pypi", "a", "1"), Package("npm", "@b/c", "2")]
    monkeypatch.setattr(fetch, "packages", lambda: listed)
    monkeypatch.setattr(measure, "packages", lambda: listed)
    monkeypatch.setattr(subprocess, "run", download)
    assert fetch.fetch(tmp_path) == {}
    paths = {path.relative_to(tmp_path).as_posix() for _, path in measure.model_files(tmp_path)}
    assert paths == {"pypi/a-1/a/net.onnx", "npm/@b+c-2/package/net.tflite"}


def test_a_package_that_cannot_be_had_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Package("pypi", "a", "1")
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: no matching distribution\n")
    monkeypatch.setattr(fetch, "packages", lambda: [package])
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    reason = "PyPI has no wheel of a==1: ERROR: no matching distribution"
    assert fetch.fetch(tmp_path) == {package: reason}


def test_outcomes_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = Package("pypi", "a", "1")
    monkeypatch.setattr(measure, "packages", lambda: [package])
    folder = package.folder(tmp_path)
    folder.mkdir(parents=True)
    saved(folder, "Relu")
    saved(folder, "Det")
    outcomes = measure.measure(tmp_path)
    assert [outcome.status for outcome in outcomes] == ["not run", "matches"]
    text = tables.text(measure.tables(outcomes))
    assert "Det.onnx" in text
    assert "Relu.onnx" not in text
    assert outcomes[1].record()["runtime"] == "onnxruntime"
