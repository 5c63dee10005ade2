"""The part of a page with the committed shares of the roofline."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from lab.roofline import report
from trimtab import kernels
from trimtab.tables import Page


@reference("Micro-kernels beside the roofline")
def kernel_shares() -> Page:
    """The limits and one row per family of kernels."""
    rows, limits = report.ROOFLINE.rows(), committed.read(report.ROOFLINE.name).machine
    isas = [isa for isa in reversed([*kernels.isas()]) if isa in {row.isa for row in rows}]
    peaks = ", ".join(f"{limits['peak_gflops'][isa]:.0f} ({isa})" for isa in isas)
    levels = ", ".join(f"{name} {rate:.0f}" for name, rate in limits["gb_per_s"].items())
    return [
        made_by(report.ROOFLINE.name),
        f"The limits of one thread, of the same run: multiply-adds {peaks} GFLOP/s; {levels} GB/s.",
        "Shares of them, the median over a family's layers and the range:",
        report.families_table(rows, isas),
    ]
