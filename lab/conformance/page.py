"""What ONNX's own tests say of operators: what is committed of it."""

from __future__ import annotations

from lab import committed
from lab.conformance.suites import COMMITTED, PASSED, UNSUPPORTED, WRONG
from lab.docs.generator import block
from lab.docs.words import made_by
from trimtab.importers.onnx_ops import quantization
from trimtab.importers.onnx_ops.node import HANDLERS
from trimtab.tables import Column, Page, Table, number


@block
def quantized_conformance() -> Page:
    """The tests of operators that quantize, or compute with quantized numbers."""
    own = {
        operator
        for operator, handler in HANDLERS.items()
        if handler.__module__ == quantization.__name__
    }
    rows = [row for row in committed.read(COMMITTED).rows if row["operator"] in own]
    statuses = [number(status) for status in (PASSED, UNSUPPORTED, WRONG)]
    return [
        made_by(COMMITTED),
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
