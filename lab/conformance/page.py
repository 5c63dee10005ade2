"""The part of a page with the committed outcomes of ONNX's own tests."""

from __future__ import annotations

from lab.conformance.suites import CONFORMANCE, PASSED, UNSUPPORTED, WRONG, ConformanceRow
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from trimtab.importers.onnx_ops import quantization
from trimtab.importers.onnx_ops.node import HANDLERS
from trimtab.tables import Page


@reference("ONNX's tests of quantized operators")
def quantized_conformance() -> Page:
    """Tests of operators that quantize, dequantize or compute in int8."""
    rows = [
        row
        for row in CONFORMANCE.rows()
        if getattr(HANDLERS.get(row.operator), "__module__", "") == quantization.__name__
    ]
    counts = (
        f"{sum(getattr(row, status) for row in rows)} {status}"
        for status in (PASSED, UNSUPPORTED, WRONG)
    )
    names = ("operator", PASSED, UNSUPPORTED, WRONG, "refused")
    return [
        made_by(CONFORMANCE.name),
        f"Tests by outcome: {', '.join(counts)}.",
        ConformanceRow.table(rows, *names),
    ]
