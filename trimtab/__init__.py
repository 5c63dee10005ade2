"""trimtab: the smallest, fastest inference binary for one network on one device, proved by
measurement.

    program = trimtab.load("net.onnx")
    session = trimtab.Session(program, threads=1)
    outputs = session.run({"data": array})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"  # the only place: the wheel and the runner read it here
__all__ = [
    "GraphBuilder",
    "Layer",
    "OperatorCase",
    "Plan",
    "Profile",
    "Program",
    "Session",
    "Target",
    "TrimtabError",
    "__version__",
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
    from trimtab.errors import TrimtabError
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

# The module of each public name. It is imported on first use: the code generator and `inv --list`
# must not wait for numpy and onnx.
_MODULES = {
    "GraphBuilder": "trimtab.importers._parsers",
    "Layer": "trimtab.importers._parsers",
    "OperatorCase": "trimtab.operator_cases",
    "Plan": "trimtab.planner.plan_file",
    "Profile": "trimtab.profile",
    "Program": "trimtab.program",
    "Session": "trimtab.session",
    "Target": "trimtab.target",
    "TrimtabError": "trimtab.errors",
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
    if name not in _MODULES:
        raise AttributeError(f"module 'trimtab' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_MODULES[name])
    return module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
