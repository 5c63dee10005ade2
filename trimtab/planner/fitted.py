"""The time of an operator on a core that was fitted on its board (`core.fit`, docs/cores.md).

A fitted core has a row of coefficients for a kernel in the operators of an algorithm; the time is
the sum of the parts of the work, each with its coefficient. The parts are those of the cost model,
so that a fit corrects its prices and not its counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cores import Fit


@dataclass(frozen=True)
class Parts:
    """The parts of an operator's work, by the names of the coefficients of a `KernelFit`.

    `products`: multiply-adds of whole tiles, in the time of float32 ones; `macs`: without padding,
    which kernels that compute parts of a tile avoid; `tiles` of the kernel;
    `transforms` of inputs, outputs and sums, in multiply-adds; `pointers` to taps; `roundings` to
    int8; `bytes` from and to memory; `far`: bytes of weights that only the third level keeps;
    `call`: one for each operator.
    """

    products: float
    macs: float
    tiles: float
    transforms: float
    pointers: float
    roundings: float
    bytes: float
    far: float
    call: float = 1.0


LEAST_GAIN = 0.04
"""The share of the time for which a fit replaces a choice of the cost model: less is within the
errors of its rows, and may cost larger weights.
"""

# Parts that threads share; each pays for its calls, and all together for the memory.
_SHARED = ("products", "macs", "tiles", "transforms", "pointers", "roundings")


def cycles(fit: Fit, kernel: str, algorithm: str, threads: int, parts: Parts) -> float | None:
    """Fitted cycles of an operator with this work; None if the kernel is not fitted for it.

    A number of threads that was not measured is estimated from the next lower one: it shares the
    work alike, and a hand-over is added.
    """
    rows = fit.by_kernel.get((kernel, algorithm))
    if not rows:
        return None
    row = next((row for row in reversed(rows) if row.threads <= threads), rows[0])
    shared: float = sum(getattr(row, name) * getattr(parts, name) for name in _SHARED)
    hand_over = fit.hand_over if threads > row.threads else 0.0
    return (
        shared * row.threads / threads
        + row.bytes * parts.bytes
        + row.far * parts.far
        + row.call
        + hand_over
    )
