"""The graph: importers make it, passes rewrite it, the planner completes it."""

from trimtab.program.program import MAX_ELEMENTS, Block, Op, Program, Var
from trimtab.program.quantisation import Quantisation

__all__ = ["MAX_ELEMENTS", "Block", "Op", "Program", "Quantisation", "Var"]
