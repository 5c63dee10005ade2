"""Options that several tasks have: what their words mean, and how they are read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimtab.devices.control import Control
    from trimtab.pipeline.budget import Budget
    from trimtab.pipeline.calibration import Calibration
    from trimtab.planner.plan_file import Plan

PLAN_HELP = "TOML file with choices of algorithms and kernels (./inv inspect --plan)"
INPUT_HELP = "shape of a free input: NAME=1,3,224,224 (repeatable)"
PREFER_HELP = "balanced, size or load: a small file, binary too, or one that loads at once"
WEIGHTS_HELP = (
    "type of the weights in the file: f32 or f16, which takes half and is computed as f32"
)
THREADS_HELP = "threads of the runner, which the plan is made for; default: those of --plan, or 1"
PRECISION_HELP = "type that is computed in: f32, f16, int8 or mixed (docs/precision.md)"
BUDGET_HELP = {
    "max-model-bytes": "what the model file may take, such as 4M or 512K",
    "max-binary-bytes": "what the binary may take",
    "max-memory": "what activations, prepared weights and the model file may take together",
}
WAIT_HELP = "wait for who has the device, a day or that many seconds, instead of giving up"
# What tasks that quantize have, and with PRECISE those that choose a precision: default and help of
# each option.
CALIBRATION: dict[str, tuple[Any, str]] = {
    "calibration": (
        "",
        "samples of real data: an .npz file with arrays by input, or a folder of pictures; int8 is "
        "made of them, and the accuracy told by those held out",
    ),
    "method": (
        "",
        "calibration method: a module of trimtab/quantization/methods; default: the best",
    ),
    "ranges": ("", "a file of ranges: read, if there is one, else written"),
}
PRECISE: dict[str, tuple[Any, str]] = {
    **CALIBRATION,
    "budget": (
        "",
        'what --precision mixed has to keep: "top1 >= 99 %", "error <= 0.02", "cosine >= 0.999" '
        'or "noise <= 0.01 %"',
    ),
}
# What tasks that measure on a device have: default and help of each option.
CONTROL: dict[str, tuple[Any, str]] = {
    "cores": (
        "",
        "where to run: big, little, a core's name, 0-3, or all; default: the fastest cluster",
    ),
    "governor": (
        "performance",
        "of these cores meanwhile: performance (default), another, or keep",
    ),
    "max_celsius": (0.0, "wait until the device is cooler; default: 10 below where it slows down"),
    "wait": ("", WAIT_HELP),
}
DEFAULT = -1  # of an option that takes a number: what suits the device
_A_DAY_S = 86400.0
RESULTS_HELP = "folder of the runs (default: results/)"


def parse_inputs(given: list[str]) -> dict[str, tuple[int, ...]]:
    """["data=1,3,224,224"] -> {"data": (1, 3, 224, 224)}; UsageError for anything else."""
    from trimtab.errors import UsageError

    shapes = {}
    for text in given:
        name, _, dims = text.rpartition("=")
        try:
            shapes[name] = tuple(int(d) for d in dims.split(","))
        except ValueError:
            shapes[name] = ()
        if not name or not shapes[name] or min(shapes[name]) < 1:
            raise UsageError(
                f"cannot read the input shape {text!r}", hint="write it as NAME=1,3,224,224"
            )
    return shapes


def read_plan(
    path: str, prefer: str = "", weights: str = "", precision: str = "", threads: int = DEFAULT
) -> Plan:
    """The plan that options ask for; see `trimtab.pipeline.resolve.read_plan`."""
    from trimtab.pipeline import resolve

    return resolve.read_plan(path, prefer, weights, precision, given_number(threads))


def parse_calibration(given: Mapping[str, Any]) -> Calibration:
    """What the options of `PRECISE` among those given name."""
    from trimtab.pipeline.calibration import Calibration

    return Calibration(*(given.get(name, default) for name, (default, _) in PRECISE.items()))


def with_options(
    options: Mapping[str, Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a task options by their names and defaults, in place of its `**given`."""

    def give(body: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(body)
        kinds = inspect.Parameter
        own = [p for p in signature.parameters.values() if p.kind is not kinds.VAR_KEYWORD]
        more = [kinds(n, kinds.KEYWORD_ONLY, default=d) for n, d in options.items()]
        new = signature.replace(parameters=[*own, *more])
        body.__signature__ = new  # type: ignore[attr-defined]
        return body

    return give


def help_of(options: Mapping[str, tuple[Any, str]]) -> dict[str, str]:
    """For a task's `help`, of options with their defaults and helps."""
    return {name.replace("_", "-"): text for name, (_, text) in options.items()}


def defaults_of(options: Mapping[str, tuple[Any, str]]) -> dict[str, Any]:
    """For `with_options`, of options with their defaults and helps."""
    return {name: default for name, (default, _) in options.items()}


def given_number(value: int) -> int | None:
    """What an option whose default is `DEFAULT` says; None when it was left out."""
    return None if value == DEFAULT else value


def parse_control(given: Mapping[str, Any]) -> Control:
    """What the options of `CONTROL` among those given ask for; UsageError for what cannot be
    meant.
    """
    from trimtab.devices.control import Control

    values = {name: given.get(name, default) for name, (default, _) in CONTROL.items()}
    return Control(
        values["cores"],
        values["governor"],
        values["max_celsius"] or None,
        parse_wait(values["wait"]),
    )


def parse_wait(wait: str | bool) -> float:
    """Seconds to wait for who has the device; UsageError for what is none."""
    from trimtab.errors import UsageError

    try:
        return _A_DAY_S if wait is True else float(wait or 0)
    except ValueError:
        raise UsageError(f"--wait {wait!r} is no number of seconds") from None


def parse_budget(model: str, binary: str, memory: str, prefer: str = "") -> Budget:
    """The limits of the options in BUDGET_HELP; "" is none. UsageError for what is no size, and for
    limits beside a preference.
    """
    from trimtab.errors import UsageError
    from trimtab.pipeline.budget import Budget

    limits = zip(BUDGET_HELP, (model, binary, memory), strict=True)
    budget = Budget(*(parse_bytes(option, text) for option, text in limits))
    if budget and prefer:
        raise UsageError(
            "limits choose the preference, so it cannot be given",
            hint="leave out --prefer, or the limits",
        )
    return budget


def parse_bytes(option: str, text: str) -> int | None:
    """ "512K" -> 524288; powers of 1024. None for "", UsageError for no size."""
    import re

    from trimtab.errors import UsageError

    if not text:
        return None
    found = re.fullmatch(r"(\d+)([KMG]?)", text, re.ASCII)
    count = int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]] if found else 0
    if not count:
        raise UsageError(f"--{option} {text!r} is no size", hint="write it as 80000, 512K or 4M")
    return count
