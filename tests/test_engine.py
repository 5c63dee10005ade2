"""Shared libraries that are loaded as plug-ins."""

from __future__ import annotations

import _ctypes
import _json
from types import ModuleType

import pytest

from trimtab.engine import load_plugin
from trimtab.errors import PluginError


@pytest.mark.parametrize("module", [_ctypes, _json])
def test_a_library_that_loads_but_is_no_plugin_is_not_said_to_crash(module: ModuleType) -> None:
    """Python's own extension modules; one that is compiled into Python has no file."""
    path = getattr(module, "__file__", "/nowhere.so")
    with pytest.raises(PluginError) as caught:
        load_plugin(path)
    assert "crash" not in str(caught.value)
