"""The stores of measured binaries, which make runs repeatable."""

from __future__ import annotations

from pathlib import Path

from trimtab import paths
from trimtab.results.records import Header


def run_store() -> Path:
    """The store of recent runs."""
    return paths.cache() / "kept"


def sweep_store() -> Path:
    """The store of sweeps."""
    return paths.cache() / "sweep" / "kept"


def store_of(header: Header) -> Path:
    """The store that a run's binary was put into."""
    return sweep_store() if "sweep" in header.protocol else run_store()
