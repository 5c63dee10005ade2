"""The public names of the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

import trimtab
from trimtab import errors


@pytest.mark.parametrize("name", trimtab.__all__)
def test_every_public_name_can_be_used(name: str) -> None:
    assert getattr(trimtab, name) is not None


def test_the_base_of_all_errors_is_public() -> None:
    assert trimtab.TrimtabError is errors.TrimtabError


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = trimtab.nothing


def test_importing_the_package_loads_no_heavy_package() -> None:
    program = "import sys, trimtab; print({'numpy', 'onnx'} & set(sys.modules))"
    argv = [sys.executable, "-c", program]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
