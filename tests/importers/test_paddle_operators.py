"""Each supported Paddle operator against recorded results of Paddle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.paddle_record import CASES, recorded_results

EXPECTED = recorded_results()


@pytest.mark.parametrize("name", CASES)
def test_an_operator_computes_what_paddle_computes(name: str, tmp_path: Path) -> None:
    net = CASES[name]
    program = trimtab.load(net.write(tmp_path))
    assert program.inputs == [n for n in net.feeds if n in program.inputs]
    assert program.outputs == net.fetches
    results = trimtab.Session(program).run({n: net.feeds[n] for n in program.inputs})
    for output, expected in EXPECTED[name].items():
        actual = results[output]
        if name.startswith("multiclass_nms"):
            # trimtab returns the maximum number of rows per image.
            counts = results["n"]
            if output != "n":
                rows = actual.reshape(len(counts), -1, actual.shape[-1])
                assert all((r[n:] == -1).all() for r, n in zip(rows, counts, strict=True))
                actual = np.concatenate([r[:n] for r, n in zip(rows, counts, strict=True)])
        assert actual.shape == expected.shape or expected.shape == ()
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual.reshape(expected.shape), expected, 1e-4, 1e-5)


def test_every_case_has_a_record() -> None:
    assert [n for n in CASES if sorted(EXPECTED[n]) != sorted(CASES[n].fetches)] == []
