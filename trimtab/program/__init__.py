"""The graph of a network: importers create it, passes rewrite it, the planner completes it."""

from trimtab.program.program import MAX_ELEMENTS, Block, Op, Program, Var
from trimtab.program.quantization import Quantization

__all__ = ["MAX_ELEMENTS", "Block", "Op", "Program", "Quantization", "Var"]
