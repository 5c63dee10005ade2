"""Caffe's solver.prototxt: how a network was trained, and the multipliers of its layers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from trimtab.errors import ImportModelError
from trimtab.importers._files import read_text
from trimtab.importers.caffe_ops import net, prototxt
from trimtab.importers.caffe_ops.network import LIMIT_BYTES
from trimtab.importers.caffe_ops.prototxt import Message

# Types of SolverParameter, by their old number, too; the optimizers of trimtab by these names.
_TYPES = ("SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam")
_OLD_TYPES = tuple(name.upper() for name in _TYPES)
_OPTIMIZERS = {"SGD": "sgd", "Nesterov": "nesterov", "Adam": "adam"}

# Learning-rate policies and the fields that each needs.
_POLICIES: dict[str, tuple[str, ...]] = {
    "fixed": (),
    "step": ("gamma", "stepsize"),
    "multistep": ("gamma", "stepvalue"),
    "exp": ("gamma",),
    "inv": ("gamma", "power"),
    "poly": ("power", "max_iter"),
}

_MOST = 2**31 - 1  # of an int32

# Fields that do not change what is learned.
_HARMLESS = (
    *("solver_mode", "device_id", "debug_info", "snapshot_format", "snapshot_diff"),
    *("average_loss", "test_compute_loss", "layer_wise_reduce", "rms_decay"),
)

# The constants of a layer's weight blobs in the imported program.
_ROLES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("Convolution", "Deconvolution", "InnerProduct"), ("weight", "bias")),
    **dict.fromkeys(("DepthwiseConvolution", "ConvolutionDepthwise"), ("weight", "bias")),
    "PReLU": ("slope",),
    "Scale": ("scale", "bias"),
    "Bias": ("bias",),
    "Normalize": ("scale",),
    "Embed": ("weight", "bias"),
    "Parameter": ("values",),
}


@dataclass(frozen=True)
class CaffeSolver:
    """The settings of a solver. Those of the optimizer have the names of `trimtab.Solver`.

    `network`: the path of its network, as the file has it. `rate`, `policy`, `gamma`, `power`,
    `step`, `steps` and `iterations` (0: not stated) determine the learning rate. `clip_gradients`:
    the largest norm of all gradients together; 0: any. `iter_size`: batches per update, whose
    gradients are averaged. `regularization`: "L2" or "L1", what `weight_decay` multiplies.
    `random_seed`: -1 if it is not stated. `test_iter`: batches per test of each test network, every
    `test_interval` iterations, from the beginning on if `test_initialization`. `snapshot`:
    iterations between snapshots, named `snapshot_prefix`; 0: only at the end, if
    `snapshot_after_train`. `display`: iterations between reports.
    """

    network: str
    optimizer: str
    rate: float
    policy: str
    gamma: float
    power: float
    step: int
    steps: tuple[int, ...]
    iterations: int
    momentum: float
    momentum2: float
    delta: float
    weight_decay: float
    clip_gradients: float
    iter_size: int
    regularization: str
    random_seed: int
    weights: tuple[str, ...]
    test_networks: tuple[str, ...]
    test_iter: tuple[int, ...]
    test_interval: int
    test_initialization: bool
    snapshot: int
    snapshot_prefix: str
    snapshot_after_train: bool
    display: int

    def network_path(self, solver: Path) -> Path:
        """The network's file: as stated, or beside the file `solver`, where its name is known."""
        stated = Path(self.network)
        beside = solver.parent / stated.name
        return beside if beside.exists() and not stated.exists() else stated


def read(path: Path) -> CaffeSolver:
    """The solver of a file.

    ModelFileError if it is no text of messages; ImportModelError names a field that is unknown, is
    missing, or has a value that trimtab cannot follow.
    """
    m = prototxt.parse(read_text(path, LIMIT_BYTES), str(path))
    policy = m.text("lr_policy", "fixed")
    if policy not in _POLICIES:
        raise _invalid(m, f"its lr_policy is '{policy}'", f"use one of {', '.join(_POLICIES)}")
    for name in ("base_lr", *_POLICIES[policy]):
        if not m.has(name):
            raise _invalid(m, f"it lacks '{name}', which lr_policy {policy} needs", "add the field")
    solver = CaffeSolver(
        network=_network(m),
        optimizer=_optimizer(m),
        rate=_positive(m, "base_lr", 0.0),
        policy=policy,
        gamma=_finite(m, "gamma", 0.0),
        power=_finite(m, "power", 0.0),
        step=_whole(m, "stepsize", 1, least=1),
        steps=tuple(m.integers("stepvalue")),
        iterations=_whole(m, "max_iter"),
        momentum=_positive(m, "momentum", 0.0),
        momentum2=_positive(m, "momentum2", 0.999),
        delta=_positive(m, "delta", 1e-8),
        weight_decay=_positive(m, "weight_decay", 0.0),
        clip_gradients=max(0.0, _finite(m, "clip_gradients", -1.0)),
        iter_size=_whole(m, "iter_size", 1, least=1),
        regularization=m.choice("regularization_type", ("L1", "L2"), "L2"),
        random_seed=m.integer("random_seed", -1),
        weights=tuple(m.texts("weights")),
        test_networks=tuple(m.texts("test_net")),
        test_iter=tuple(m.integers("test_iter")),
        test_interval=_whole(m, "test_interval"),
        test_initialization=m.boolean("test_initialization", True),
        snapshot=_whole(m, "snapshot"),
        snapshot_prefix=m.text("snapshot_prefix"),
        snapshot_after_train=m.boolean("snapshot_after_train", True),
        display=_whole(m, "display"),
    )
    if unknown := [name for name in m.unread() if name not in _HARMLESS]:
        fields = ", ".join(f"'{name}'" for name in unknown)
        raise _invalid(
            m, f"its fields {fields} are not known", "remove them, if training allows it"
        )
    return solver


def multipliers(path: Path) -> dict[str, tuple[float, float]]:
    """(lr_mult, decay_mult) of the parameters of a network's .prototxt, by their names in the
    imported program; the last entry `*` stands for all others. Layers of the TRAIN phase count. A
    name that the program lacks is that of a bias that its layer does not have.
    """
    message = prototxt.parse(read_text(path, LIMIT_BYTES), str(path))
    result: dict[str, tuple[float, float]] = {}
    for layer in net.layers(message, net.TRAIN):
        if layer.type == "BatchNorm" and not layer.message.message("batch_norm_param").boolean(
            "scale_bias", False
        ):
            result |= {f"{layer.name}.{role}": (0.0, 0.0) for role in ("scale", "shift")}
        if layer.type not in _ROLES:
            continue  # such as BatchNorm, whose statistics do not learn
        roles = _ROLES[layer.type]
        params = layer.message.messages("param")
        factors = [(p.real("lr_mult", 1.0), p.real("decay_mult", 1.0)) for p in params]
        if not params:  # the first version of the format
            rates, decays = layer.message.reals("blobs_lr"), layer.message.reals("weight_decay")
            factors = list(zip(rates, decays or [1.0] * len(rates), strict=False))
        if len(factors) > len(roles):
            raise ImportModelError(
                f"it has multipliers of {len(factors)} parameters",
                where=layer.where,
                hint=f"a layer of this type learns {len(roles)}",
            )
        factors += [(1.0, 1.0)] * (len(roles) - len(factors))
        names = (f"{layer.name}.{role}" for role in roles)
        result |= dict(zip(names, factors, strict=True))
    return {**result, "*": (1.0, 1.0)}


def _network(m: Message) -> str:
    for name in ("net_param", "train_net_param", "test_net_param", "train_state", "test_state"):
        if m.has(name):
            raise _invalid(m, f"its network is in '{name}'", "put the network into its own file")
    network = m.text("train_net") or m.text("net")
    m.text("net")
    if not network:
        raise _invalid(m, "it lacks 'net'", "name the .prototxt of the network")
    return network


def _optimizer(m: Message) -> str:
    old = _TYPES[_OLD_TYPES.index(m.choice("solver_type", _OLD_TYPES, "SGD"))]
    type = m.choice("type", _TYPES, old)
    if type not in _OPTIMIZERS:
        raise _invalid(m, f"its type is {type}", f"use one of {', '.join(_OPTIMIZERS)}")
    return _OPTIMIZERS[type]


def _finite(m: Message, name: str, default: float) -> float:
    value = m.real(name, default)
    if not math.isfinite(value):
        raise _invalid(m, f"'{name}' is {value:g}, no finite number", "correct it")
    return value


def _positive(m: Message, name: str, default: float) -> float:
    value = _finite(m, name, default)
    if value < 0:
        raise _invalid(m, f"'{name}' is {value:g}, it must be at least 0", "correct it")
    return value


def _whole(m: Message, name: str, default: int = 0, least: int = 0) -> int:
    value = m.integer(name, default)
    if not least <= value <= _MOST:
        limit = f"at least {least}" if value < least else f"at most {_MOST}"
        raise _invalid(m, f"'{name}' is {value}, it must be {limit}", "correct it")
    return value


def _invalid(m: Message, reason: str, hint: str) -> ImportModelError:
    return ImportModelError(reason, where=m.where, hint=hint)
