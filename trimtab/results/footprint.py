"""The size of a deployment: of this build, of its alternatives, and of other engines' files."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Footprint:
    """The sizes of one variant of a deployment, which `what` names.

    `model_bytes` is 0 for an embedded model, which the binary holds. `memory_bytes` is the sum of
    activations, prepared weights and the file. `cosine`: of the outputs for seeded noise with those
    of unrounded weights. `load_ns`: the CPU time to load the file from memory on the machine that
    builds, not on the device. None where a figure is unknown. `is_built` marks the variant that was
    built.
    """

    what: str
    model_bytes: int
    binary_bytes: int | None = None
    memory_bytes: int | None = None
    is_built: bool = False
    cosine: float | None = None
    load_ns: int | None = field(default=None, compare=False)

    @property
    def total_bytes(self) -> int | None:
        """Bytes of binary and model; None without a binary."""
        return None if self.binary_bytes is None else self.binary_bytes + self.model_bytes
