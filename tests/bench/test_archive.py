"""The archive of measured binaries, with the outputs that they must compute."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.bench.fakes import make_golden, make_subject
from trimtab import files
from trimtab.bench import archive
from trimtab.errors import ResultError

FAULT = "exit 0"


def test_a_subject_is_read_back_with_its_inputs_and_expected_outputs(tmp_path: Path) -> None:
    folder, store = tmp_path / "built", tmp_path / "store"
    folder.mkdir()
    subject = make_subject(folder, FAULT)
    golden = make_golden()
    expected = replace(golden, others=[array + 1 for array in golden.outputs], scales=[0.5])
    archived = archive.store(subject, expected, store)
    hashes = files.sha256(subject.binary), files.sha256(subject.model)
    again, outputs = archive.read(*hashes, store)
    assert again == archived
    assert again.binary.read_bytes() == subject.binary.read_bytes()
    for kind in ("inputs", "outputs", "others"):
        for array, right in zip(getattr(outputs, kind), getattr(expected, kind), strict=True):
            np.testing.assert_array_equal(array, right)
    assert (outputs.oracle, list(outputs.scales)) == (expected.oracle, [0.5])
    archived.binary.chmod(0o700)
    archived.binary.unlink()
    archived.binary.write_bytes(b"another")
    with pytest.raises(ResultError):
        archive.read(*hashes, store)


def test_damaged_goldens_are_an_error_of_results(tmp_path: Path) -> None:
    folder, store = tmp_path / "built", tmp_path / "store"
    folder.mkdir()
    subject = make_subject(folder, FAULT)
    archived = archive.store(subject, make_golden(), store)
    path = archived.binary.parent / "golden.npz"
    path.write_bytes(path.read_bytes()[:-30])
    hashes = files.sha256(subject.binary), files.sha256(subject.model)
    with pytest.raises(ResultError, match=r"is not a readable .npz file"):
        archive.read(*hashes, store)
