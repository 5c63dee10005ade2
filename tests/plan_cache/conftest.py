"""Fixtures of a cache that is on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan_cache.small_network import network
from trimtab import plan_cache
from trimtab.planner import planner


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache that is on."""
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv(plan_cache.VARIABLE)
    return tmp_path / "cache" / "plans"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    path.write_bytes(network())
    return path


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one item with each plan."""
    calls: list[int] = []
    original = planner.plan

    def counted(*args: object, **options: object) -> object:
        calls.append(1)
        return original(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(planner, "plan", counted)
    return calls
