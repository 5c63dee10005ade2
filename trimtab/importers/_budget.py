"""The budget of an import: the memory and the layers that a file may ask for beyond its own size.

A few bytes can name a large size, a long loop, or a chain of constants that doubles. Every rule
that makes an array, and every layer that expands into others, spends from the one budget of its
import, before the array is made or the layers are added.
"""

from __future__ import annotations

from trimtab.errors import ImportModelError

LEAST_BYTES = 1 << 30
"""What any file may spend: VGG19 without weights, one of ONNX's test models, makes 575 MB."""

BYTES_PER_STORED_BYTE = 8
"""What a file may spend for each byte of its weights: four bits become a float32."""

MAX_EXPANDED = 20_000
"""Layers that loops, branches, functions and graphs within graphs may expand to, altogether."""


class ImportBudget:
    """The bytes of arrays and the expanded layers that are left for an import."""

    def __init__(self) -> None:
        self._bytes = LEAST_BYTES
        self._layers = MAX_EXPANDED

    def add_stored(self, stored_bytes: int) -> None:
        """Adds the allowance for the weights of a file."""
        self._bytes += BYTES_PER_STORED_BYTE * stored_bytes

    def check_bytes(self, count: int, where: str) -> None:
        """ImportModelError if arrays of `count` bytes exceed what is left."""
        if count > self._bytes:
            raise ImportModelError(
                f"it makes constants of {count:,} bytes, which with others is far more than"
                " the weights of the file",
                where=where,
                hint="export the model with constants folded, or check where it is from",
            )

    def take_bytes(self, count: int, where: str) -> None:
        """Spends `count` bytes; ImportModelError as in `check_bytes`."""
        self.check_bytes(count, where)
        self._bytes -= count

    def has_layers(self, count: int) -> bool:
        """Whether a layer may still expand to `count` layers."""
        return count <= self._layers

    def take_layers(self, count: int, where: str) -> None:
        """Spends `count` layers; ImportModelError if fewer are left."""
        if not self.has_layers(count):
            raise ImportModelError(
                "its loops, branches, functions and graphs within graphs expand to more than"
                f" {MAX_EXPANDED:,} layers",
                where=where,
                hint="check where it is from: no known network repeats so many; export it without"
                " loops, or with fewer iterations",
            )
        self._layers -= count
