"""trimtab: the smallest, fastest inference binary for one network on one device, proved by
measurement.

    program = trimtab.load("net.onnx")
    session = trimtab.Session(program, threads=1)
    outputs = session.run({"data": array})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"  # stands here alone: the wheel and the runner take it from here
__all__ = [
    "GraphBuilder",
    "Layer",
    "OperatorCase",
    "Plan",
    "Profile",
    "Program",
    "Session",
    "Target",
    "load",
    "load_plugin",
    "operator",
    "operator_parser",
    "optimize",
    "plugins",
    "profile_of",
    "quantize",
]

if TYPE_CHECKING:
    from trimtab import plugins
    from trimtab.build.derived_profile import profile_of
    from trimtab.engine import load_plugin
    from trimtab.importers import load
    from trimtab.importers._parsers import GraphBuilder, Layer, operator_parser
    from trimtab.operator_cases import OperatorCase
    from trimtab.planner.plan_file import Plan
    from trimtab.profile import Profile
    from trimtab.program import Program
    from trimtab.python_operators import operator
    from trimtab.quantization import quantize
    from trimtab.session import Session, optimize
    from trimtab.target import Target

# Where each name lives. Loaded when first used: the code generator and `inv --list` must not wait
# for numpy and onnx.
_HOMES = {
    "GraphBuilder": "trimtab.importers._parsers",
    "Layer": "trimtab.importers._parsers",
    "OperatorCase": "trimtab.operator_cases",
    "Plan": "trimtab.planner.plan_file",
    "Profile": "trimtab.profile",
    "Program": "trimtab.program",
    "Session": "trimtab.session",
    "Target": "trimtab.target",
    "load": "trimtab.importers",
    "load_plugin": "trimtab.engine",
    "operator": "trimtab.python_operators",
    "operator_parser": "trimtab.importers._parsers",
    "optimize": "trimtab.session",
    "plugins": "trimtab.plugins",
    "profile_of": "trimtab.build.derived_profile",
    "quantize": "trimtab.quantization",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trimtab' has no attribute {name!r}")
    from importlib import import_module

    home = import_module(_HOMES[name])
    return home if home.__name__ == f"{__name__}.{name}" else getattr(home, name)
