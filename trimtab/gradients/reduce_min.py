"""Minimum along dimensions."""

from __future__ import annotations

from trimtab.gradients import _extremes

gradient = _extremes.gradient
