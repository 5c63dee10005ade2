"""Published networks in every format against golden outputs of another engine."""

from __future__ import annotations

import pytest

import trimtab
from tests.importers.models import PUBLISHED, Published, assert_close, golden, model


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda published: published.folder)
def test_a_published_network_computes_its_golden_output(published: Published) -> None:
    path = model(published.folder, published.file)
    inputs, outputs = golden(path)
    program = published.load(path, inputs)
    results = trimtab.Session(program).run(dict(zip(program.inputs, inputs, strict=True)))
    expected = published.outputs(outputs)
    assert sorted(results) == sorted(expected)
    for name, value in expected.items():
        # ncnn's outputs have no batch.
        assert_close(results[name].reshape(value.shape), value, published.tolerance)
