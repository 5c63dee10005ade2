"""The choice of the hottest loop of a disassembly."""

from __future__ import annotations

import pytest

from lab.mca import loops as mca
from trimtab.errors import BuildError

# As llvm-objdump writes it: an outer loop around a loop of two, and a loop of one in a section of
# its own.
TEXT = """
Disassembly of section .text.kernel:

0000000000000000 <kernel>:
       0:      \tmov\tx8, x0
       4:      \tldr\tq0, [x1], #16
       8:      \tfmla\tv1.4s, v0.4s, v2.s[0]
       c:      \tfmla\tv3.4s, v0.4s, v2.s[1]
      10:      \tsubs\tx8, x8, #1
      14:      \tb.ne\t0x4 <kernel+0x4>
      18:      \tcbnz\tx2, 0x0 <kernel>
      1c:      \tret

Disassembly of section .text.other:

0000000000000000 <other>:
       0:      \tfmla\tv1.4s, v0.4s, v2.s[0]
       4:      \tcbnz\tx2, 0x0 <other>
"""


def test_the_innermost_loop_with_the_most_products_is_taken() -> None:
    loop = mca.hottest_loop("kernel", TEXT)
    assert loop.fma == 2
    assert loop.lines == (
        "ldr q0, [x1], #16",
        "fmla v1.4s, v0.4s, v2.s[0]",
        "fmla v3.4s, v0.4s, v2.s[1]",
        "subs x8, x8, #1",
        "b.ne .",
    )


def test_a_kernel_without_multiply_adds_is_an_error() -> None:
    with pytest.raises(BuildError, match="no loop"):
        mca.hottest_loop("kernel", "Disassembly of section .text:\n   0:  ret\n")


def test_the_share_is_the_bound_over_the_cycles_of_an_iteration() -> None:
    loop = mca.hottest_loop("kernel", TEXT)
    assert (
        mca.ModeledLoop(loop, "cortex-a53", "cortex-a72", cycles=4.0, bound=2.0, planned=True).share
        == 0.5
    )
