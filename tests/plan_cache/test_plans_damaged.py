"""Damaged entries of the cache of plans: each counts as missing and is made again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trimtab
from tests.importers import damage
from tests.learning.networks import small
from trimtab import modelfile
from trimtab.modelfile.image import Image
from trimtab.plan_cache import LoadFacts, PlanCache
from trimtab.program import ModelHints

KEY = "a" * 64
SIGNATURE = (("/models/net.onnx", 1, 2, 3, 4, 5),)
HINTS = ModelHints(("cat", "dog"), "camera(rgb)", ("yolov8",))
FACTS = LoadFacts("net", ("x", "größe"), ("y",), {"x": (0.0, 255.0)}, HINTS)
CONTENT = "c" * 64


@pytest.fixture(scope="module")
def image() -> Image:
    """A planned program."""
    return modelfile.encode(trimtab.optimize(small()))


def _write(folder: Path, image: Image) -> PlanCache:
    cache = PlanCache(folder, 1 << 30)
    cache.store_facts(KEY, FACTS)
    cache.store_image(KEY, image)
    assert cache.content_digest(SIGNATURE, lambda: CONTENT) == CONTENT
    return cache


def _read(cache: PlanCache, image: Image) -> list[str]:
    """The kinds of the entries that are there. What is returned is right in any case."""
    facts, planned, computed = cache.facts(KEY), cache.image(KEY), []
    assert facts in (None, FACTS)
    assert planned is None or np.array_equal(planned, image)

    def compute() -> str:
        computed.append(True)
        return CONTENT

    assert cache.content_digest(SIGNATURE, compute) == CONTENT
    there = {"facts": facts is not None, "plan": planned is not None, "content": not computed}
    return [kind for kind, is_there in there.items() if is_there]


def test_the_entries_to_damage_are_read(image: Image, tmp_path: Path) -> None:
    cache = _write(tmp_path, image)
    assert _read(cache, image) == ["facts", "plan", "content"]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_entry_counts_as_missing_and_is_made_again(
    data: st.DataObject, image: Image, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    damage.empty(tmp_path)
    cache = _write(tmp_path, image)
    names = [file.name for file in tmp_path.iterdir()]
    is_text = {name: not name.endswith(".plan") for name in names}
    structures = {name: damage.of_text if is_text[name] else damage.of_words for name in names}
    damage.one_of(data, tmp_path, structures)
    with damage.handled(tmp_path, pytestconfig, "plan"):
        assert len(_read(cache, image)) >= 2, "the other entries are as they were"
        assert _read(_write(tmp_path, image), image) == ["facts", "plan", "content"]


def test_entries_that_once_broke_the_cache_count_as_missing(
    image: Image, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    for folder in damage.findings("plans", tmp_path):
        with damage.handled(folder, pytestconfig, "plan"):
            _read(PlanCache(folder, 1 << 30), image)
