"""The graph that importers make, passes rewrite, the planner completes and the model file stores."""

from trimtab.program.program import Block, Op, Program, Var

__all__ = ["Block", "Op", "Program", "Var"]
