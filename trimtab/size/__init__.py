"""Binary size: the bytes of a binary by section, operator, kernel and symbol.

    report = size.measure(Path("dist/net/trimtab-run"))
    report.groups      # {"kernel:gemm_f32_8x8_neon": 1824, "libc": 11000, ...}
    print(tables.text(size.tables([report])))

The parts are listed in `trimtab.size.owner`.
"""

from trimtab.size.measure import measure
from trimtab.size.report import SizeReport, Symbol, tables

__all__ = ["SizeReport", "Symbol", "measure", "tables"]
