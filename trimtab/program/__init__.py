"""The graph of a network: importers create it, passes rewrite it, the planner completes it."""

from trimtab.program.block import MAX_ELEMENTS, Block, Op, Var
from trimtab.program.hints import ModelHints
from trimtab.program.program import ImportedLayerFacts, Program
from trimtab.program.quantization import Quantization

__all__ = [
    "MAX_ELEMENTS",
    "Block",
    "ImportedLayerFacts",
    "ModelHints",
    "Op",
    "Program",
    "Quantization",
    "Var",
]
