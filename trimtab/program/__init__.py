"""The graph of a network: importers create it, passes rewrite it, the planner completes it."""

from trimtab.program.block import MAX_ELEMENTS, Block, Op, Var
from trimtab.program.program import Program
from trimtab.program.quantization import Quantization

__all__ = ["MAX_ELEMENTS", "Block", "Op", "Program", "Quantization", "Var"]
