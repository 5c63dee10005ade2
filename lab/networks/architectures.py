"""Architectures of torchvision and timm by name, for the scripts of this folder."""

from __future__ import annotations

import re
from typing import Any

import timm
import torchvision

NAME = re.compile(r"(?P<architecture>.+?)(_at_(?P<size>\d+))?(_batch_(?P<batch>\d+))?")
"""A name in a list: ARCHITECTURE, _at_SIZE for the size of pictures, _batch_N for batches."""


def usual_size(name: str) -> int:
    """Height and width of the pictures of an architecture; ValueError for others than RGB squares.

    Those of torchvision are 224, or 299 by the name alone.
    """
    if name not in timm.list_models():
        return 299 if name == "inception_v3" else 224
    channels, height, width = timm.get_pretrained_cfg(name, allow_unregistered=True).input_size
    if (channels, height) != (3, width):
        raise ValueError(f"pictures of {channels} x {height} x {width}")
    return int(height)


def network(library: str, name: str, size: int | None = None) -> Any:
    """The module of an architecture with random weights.

    `size`: of its pictures, where they are not the usual ones; of those that have one fixed size
    when they are made.
    """
    if library == "timm":
        options: dict[str, Any] = {}
        config = timm.get_pretrained_cfg(name, allow_unregistered=True)
        if size and config and config.fixed_input_size and size != config.input_size[1]:
            options["img_size"] = size
        return timm.create_model(name, pretrained=False, exportable=True, **options)
    options = {"weights": None}
    if any(part in name for part in ("deeplab", "lraspp", "fcn")):
        options["weights_backbone"] = None
    if name in ("googlenet", "inception_v3"):
        options |= {"init_weights": False, "aux_logits": False}
    return torchvision.models.get_model(name, **options)
