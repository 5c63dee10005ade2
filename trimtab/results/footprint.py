"""What a device is sent for one network: by trimtab, in each of its ways, and by others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Footprint:
    """One way to ship a network. `model_bytes` of an embedded model are 0: the binary holds it.

    `binary_bytes` and `memory_bytes` (activations, prepared weights and the file, all at once) are
    None where they are not known. `is_built`: this is the one that was built.
    """

    what: str
    model_bytes: int
    binary_bytes: int | None = None
    memory_bytes: int | None = None
    is_built: bool = False

    @property
    def total_bytes(self) -> int | None:
        """Binary and model; None without a binary."""
        return None if self.binary_bytes is None else self.binary_bytes + self.model_bytes
