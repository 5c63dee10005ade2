"""Model files of every format: each test case of an operator, and a small network.

The contract of the importers' files, the damage tests and the seeds of the engine's fuzzing use
them. What a format contributes is `FORMAT` of its test_<format>_files.py.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache

from tests.importers.formats import Format, Write
from trimtab.importers import importers

NETWORK = "network"  # the name of the small network among the models

FORMATS: Mapping[str, Format] = {
    name: importlib.import_module(f"tests.importers.test_{name}_files").FORMAT
    for name in importers()
    if name != "ttm"  # tests/modelfile, tests/engine and the fuzz targets cover damaged .ttm files
}


@cache
def models(format: str) -> Mapping[str, Write]:
    """The models of a format, by name; the network first."""
    return {NETWORK: FORMATS[format].network, **FORMATS[format].models()}
