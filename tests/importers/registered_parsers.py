"""A fixture for tests that register parsers of plug-ins."""

from __future__ import annotations

import importlib

import pytest

from trimtab.importers import _parsers
from trimtab.importers._handlers import Handlers


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the parsers of a test end with it."""
    monkeypatch.setattr(_parsers, "registered", list(_parsers.registered))
    for framework in _parsers.FRAMEWORKS:
        network = importlib.import_module(f"trimtab.importers.{framework}_ops.network")
        handlers: Handlers[object] = network.HANDLERS
        len(handlers)  # loads the built-in handlers
        monkeypatch.setattr(handlers, "_handlers", dict(handlers._handlers))
        monkeypatch.setattr(handlers, "_parser_count", handlers._parser_count)
