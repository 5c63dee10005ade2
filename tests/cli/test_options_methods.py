"""The help of `--method`."""

from __future__ import annotations

from trimtab.cli import namespace
from trimtab.quantization.methods import BEST, methods


def test_the_help_lists_every_calibration_method() -> None:
    for task in ("quantize", "inspect", "bench"):
        text = namespace[task].help["method"]
        assert f"calibration method: {', '.join([BEST, *methods()])};" in text
