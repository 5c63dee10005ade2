"""A fixture for tests that register parsers of plug-ins."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from trimtab.importers import _parsers
from trimtab.importers._handlers import Handlers


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets the parsers of a test end with it."""
    monkeypatch.setattr(_parsers, "registered", list(_parsers.registered))
    with ExitStack() as stack:
        for framework in _parsers.FRAMEWORKS:
            network = importlib.import_module(f"trimtab.importers.{framework}_ops.network")
            handlers: Handlers[object] = network.HANDLERS
            stack.enter_context(handlers.restored())
        yield
