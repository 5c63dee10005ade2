"""The part of a page with the committed outcomes of ONNX's own tests."""

from __future__ import annotations

from lab import committed
from lab.conformance.suites import NAME, PASSED, UNSUPPORTED, WRONG
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from trimtab.importers.onnx_ops import quantization
from trimtab.importers.onnx_ops.node import HANDLERS
from trimtab.tables import Column, Page, Table, number


@reference("ONNX's tests of quantized operators")
def quantized_conformance() -> Page:
    """Tests of operators that quantize, dequantize or compute in int8."""
    own = {
        operator
        for operator, handler in HANDLERS.items()
        if handler.__module__ == quantization.__name__
    }
    rows = [row for row in committed.read(NAME).rows if row["operator"] in own]
    statuses = [number(status) for status in (PASSED, UNSUPPORTED, WRONG)]
    counts = (
        f"{sum(row[status] for row in rows)} {status}" for status in (PASSED, UNSUPPORTED, WRONG)
    )
    return [
        made_by(NAME),
        f"Tests by outcome: {', '.join(counts)}.",
        Table(
            [Column("operator"), *statuses, Column("what is refused")],
            [
                (
                    row["operator"],
                    *(row[status] for status in (PASSED, UNSUPPORTED, WRONG)),
                    "; ".join(row["reasons"]),
                )
                for row in rows
            ],
        ),
    ]
