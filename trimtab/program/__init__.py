"""The graph: importers make it, passes rewrite it, the planner completes it."""

from trimtab.program.program import Block, Op, Program, Var

__all__ = ["Block", "Op", "Program", "Var"]
