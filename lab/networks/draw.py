"""Draws networks by seed, before any is measured, as drawn.toml.

    python -m lab.networks.draw [FAILED ...] > lab/networks/drawn.toml

Needs an interpreter with torch, torchvision and timm. Architectures of both libraries that no list
of this folder names are shuffled in their families, which are modules of Python. The families, in
shuffled order, give one architecture each, and then again, until 100 are drawn. Of five successive
ones, the first has pictures of 512, or of its own larger size, the second has batches of 8, and the
others are as they are. An architecture does not take part with more than `MOST_PARAMETERS`, with
more than `MOST_MULTIPLY_ADDS` in an inference (those of its usual pictures, times pixels and
batch), or where it does not take the pictures: the next one of the family does, or one of the next
family. For each of the `FAILED`, which could not be exported, the families go on with another one.
"""

from __future__ import annotations

import math
import random
import sys
import tomllib
from functools import cache
from pathlib import Path

import timm
import torch
import torchvision
from torch.utils.flop_counter import FlopCounterMode

from lab.networks.architectures import network, usual_size

SEED = 51130
COUNT = 100
MOST_PARAMETERS = 30e6
MOST_MULTIPLY_ADDS = 4e9
LARGE = 512
BATCH = 8
TURNS = ("large", "batch", "plain", "plain", "plain")  # of successive architectures

Architecture = tuple[str, str]  # library and name


def families() -> dict[str, list[str]]:
    """Names of architectures that classify or segment pictures and that no list has, by family."""
    lists = [path for path in Path(__file__).parent.glob("*.toml") if path.name != "drawn.toml"]
    tables = [
        table
        for path in lists
        for table in tomllib.loads(path.read_text(encoding="utf-8")).values()
    ]
    listed = {name for table in tables for names in table.values() for name in names}
    by_family: dict[str, set[str]] = {}
    for name in timm.list_models():
        by_family.setdefault(timm.models.model_entrypoint(name).__module__, set()).add(name)
    for module in (torchvision.models, torchvision.models.segmentation):
        for name in torchvision.models.list_models(module):
            family = torchvision.models.get_model_builder(name).__module__
            by_family.setdefault(family, set()).add(name)
    return {family: sorted(names - listed) for family, names in sorted(by_family.items())}


def ordered() -> list[list[Architecture]]:
    """The families of all architectures in the order of the draw."""
    draw = random.Random(SEED)
    order: list[list[Architecture]] = []
    for family, names in families().items():
        draw.shuffle(names)
        order.append([(family.partition(".")[0], name) for name in names])
    draw.shuffle(order)
    return order


@cache
def multiply_adds(architecture: Architecture) -> float:
    """Multiply-adds of one picture of the usual size; infinite for an architecture that does not
    take part in any turn.
    """
    try:
        usual = usual_size(architecture[1])
        with torch.device("meta"):
            module = network(*architecture).eval().requires_grad_(False)
            if sum(part.numel() for part in module.parameters()) > MOST_PARAMETERS:
                return math.inf
            with FlopCounterMode(display=False) as counter:
                module(torch.zeros(1, 3, usual, usual))
    except Exception as error:  # of any library
        tell(architecture, error)
        return math.inf
    return float(counter.get_total_flops()) / 2


def tell(architecture: Architecture, error: Exception) -> None:
    """Prints why an architecture does not take part."""
    reason = f"{type(error).__name__}: {error}".partition("\n")[0]
    print(f"{architecture[1]}: {reason}"[:150], file=sys.stderr, flush=True)


@cache
def entry(architecture: Architecture, turn: str) -> str | None:
    """The name in the list, or None if the architecture does not take part in this turn."""
    if math.isinf(one := multiply_adds(architecture)):
        return None
    usual = usual_size(architecture[1])
    size = max(LARGE, usual) if turn == "large" else usual
    batch = BATCH if turn == "batch" else 1
    if one * batch * (size / usual) ** 2 > MOST_MULTIPLY_ADDS:
        return None
    try:
        with torch.device("meta"):
            network(*architecture, size).eval()(torch.zeros(batch, 3, size, size))
    except Exception as error:  # of any library
        tell(architecture, error)
        return None
    return f"{architecture[1]}_at_{size}" + (f"_batch_{batch}" if batch > 1 else "")


def drawn(failed: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Library and name of the networks of each turn. `failed`: names as in the list."""
    waiting = ordered()
    by_turn: dict[str, list[tuple[str, str]]] = {turn: [] for turn in TURNS}

    def draw(turn: str) -> None:
        """Takes the first fitting architecture of the next family that has one."""
        for _ in waiting:
            family = waiting.pop(0)
            waiting.append(family)
            for architecture in family:
                if name := entry(architecture, turn):
                    family.remove(architecture)
                    by_turn[turn].append((architecture[0], name))
                    print(name, file=sys.stderr, flush=True)
                    return
        raise ValueError(f"no architecture is left for {turn}")

    for number in range(COUNT):
        draw(TURNS[number % len(TURNS)])
    for without in failed:  # in this order
        turn = next(t for t, pairs in by_turn.items() if without in {name for _, name in pairs})
        by_turn[turn] = [pair for pair in by_turn[turn] if pair[1] != without]
        draw(turn)
    return by_turn


def main(failed: list[str]) -> None:
    """Prints the list."""
    print("# Drawn by draw.py, whose docstring has the rule, before any of them was measured.")
    print("# Could not be exported: " + (", ".join(failed) or "none") + ".")
    for turn, pairs in drawn(failed).items():
        print(f"\n[{turn}]")
        for library in ("torchvision", "timm"):
            names = [name for of, name in pairs if of == library]
            lines = "".join(f'    "{name}",\n' for name in names)
            if names:
                print(f"{library} = [\n{lines}]")


if __name__ == "__main__":
    main(sys.argv[1:])
