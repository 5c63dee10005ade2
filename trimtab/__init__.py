"""trimtab: the smallest, fastest inference binary for one network on one device, proved by
measurement.

    program = trimtab.load("net.onnx")
    session = trimtab.Session(program, threads=1)
    outputs = session.run({"data": array})

docs/api.md describes all names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"  # the only place: the wheel and the runner read it here

if TYPE_CHECKING:  # for type checkers, which do not run `__getattr__`
    from trimtab import camera as camera
    from trimtab import errors as errors
    from trimtab import plugins as plugins
    from trimtab.build.derived_profile import profile_of as profile_of
    from trimtab.detections import DetectedBoxes as DetectedBoxes
    from trimtab.engine import load_plugin as load_plugin
    from trimtab.errors import TrimtabError as TrimtabError
    from trimtab.explanation import explain as explain
    from trimtab.heads import attach_head as attach_head
    from trimtab.importers import load as load
    from trimtab.importers._parsers import GraphBuilder as GraphBuilder
    from trimtab.importers._parsers import Layer as Layer
    from trimtab.importers._parsers import operator_parser as operator_parser
    from trimtab.learning.settings import Loss as Loss
    from trimtab.learning.settings import Solver as Solver
    from trimtab.learning.trainer import Trainer as Trainer
    from trimtab.learning.training_program import training as training
    from trimtab.modelfile import Program as Program
    from trimtab.operator_cases import OperatorCase as OperatorCase
    from trimtab.planner.plan_file import Plan as Plan
    from trimtab.profile import Profile as Profile
    from trimtab.python_operators import operator as operator
    from trimtab.quantization import quantize as quantize
    from trimtab.session import Session as Session
    from trimtab.session import TensorType as TensorType
    from trimtab.session import optimize as optimize
    from trimtab.sight import run as run
    from trimtab.target import Target as Target
    from trimtab.tuning.in_process import tune as tune

# The public names, and the module of each. It is imported on first use: the code generator and
# `inv --list` must not wait for numpy and onnx.
_MODULES = {
    "DetectedBoxes": "trimtab.detections",
    "GraphBuilder": "trimtab.importers._parsers",
    "Layer": "trimtab.importers._parsers",
    "Loss": "trimtab.learning.settings",
    "OperatorCase": "trimtab.operator_cases",
    "Plan": "trimtab.planner.plan_file",
    "Profile": "trimtab.profile",
    "Program": "trimtab.modelfile",
    "Session": "trimtab.session",
    "Solver": "trimtab.learning.settings",
    "Target": "trimtab.target",
    "TensorType": "trimtab.session",
    "Trainer": "trimtab.learning.trainer",
    "TrimtabError": "trimtab.errors",
    "camera": "trimtab.camera",
    "attach_head": "trimtab.heads",
    "errors": "trimtab.errors",
    "explain": "trimtab.explanation",
    "load": "trimtab.importers",
    "load_plugin": "trimtab.engine",
    "operator": "trimtab.python_operators",
    "operator_parser": "trimtab.importers._parsers",
    "optimize": "trimtab.session",
    "plugins": "trimtab.plugins",
    "profile_of": "trimtab.build.derived_profile",
    "quantize": "trimtab.quantization",
    "run": "trimtab.sight",
    "training": "trimtab.learning.training_program",
    "tune": "trimtab.tuning.in_process",
}
# Names that have left the table above, and their replacements: "old": "trimtab.module.name". They
# keep working for one minor version, with a warning.
__deprecated__: dict[str, str] = {}

if not TYPE_CHECKING:  # a type checker takes the imports above, and nothing else
    __all__ = list(_MODULES)

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _MODULES:
            module = import_module(_MODULES[name])
            return module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
        if name in __deprecated__:
            from warnings import warn

            place, _, attribute = __deprecated__[name].rpartition(".")
            message = f"trimtab.{name} is deprecated: use {__deprecated__[name]}"
            warn(message, DeprecationWarning, stacklevel=2)
            return getattr(import_module(place), attribute)
        raise AttributeError(f"module 'trimtab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_MODULES, *(name for name in globals() if name.startswith("__"))})
