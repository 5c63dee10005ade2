"""Minimum along dimensions."""

from __future__ import annotations

from trimtab.gradients._extremes import gradient as gradient
