"""Gradient rules: the module of an operator's name, or a function of `_short`, says how to
differentiate it.

A rule expresses the gradient in terms of other operators, so that the backward pass is a program
like any other. Modules with a leading underscore are helpers.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

from trimtab import plugins
from trimtab.gradients._builder import OpBuilder as OpBuilder
from trimtab.gradients._differentiated import DifferentiatedOp as DifferentiatedOp
from trimtab.gradients._normalize import normalized as normalized
from trimtab.gradients._short import RULES

Rule = ModuleType | SimpleNamespace
"""A rule's module, or an entry of `_short.RULES`. It defines one of these functions, or both:

`gradient(op, index)` returns the gradient of the loss with respect to input `index` of the
operator. It is called only for inputs that need one.

`lowered(op)` returns the operator's result in terms of other operators. It serves where a
parameter becomes a computed operand, and where the rule has no `gradient`.
"""


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule, by the name of its operator."""
    names = (m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    modules = {name: importlib.import_module(f"{__name__}.{name}") for name in names}
    return RULES | modules | plugins.modules("gradients", Path(__file__).parent)
