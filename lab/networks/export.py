"""Writes the networks of a list of this folder as ONNX files.

    python -m lab.networks.export FOLDER [LIST.toml] [PART ...]

The list is list.toml by default. Needs an interpreter with torch, torchvision and timm, which
trimtab itself does not use. Weights are random, drawn from the seed 0. Statistics of batch
normalizations are those of random images, so that activations neither vanish nor overflow. The
input is [1, 3, 224, 224], what the network demands, or what the name says (architectures.py). Files
are <FOLDER>/<part>/<name>.onnx; those that exist are kept. A network that cannot be exported is
reported, and the exit code is 1.
"""

from __future__ import annotations

import inspect
import sys
import tomllib
from pathlib import Path
from typing import Any

import torch

from lab.networks.architectures import NAME, network

# PyTorch 2.9 and later have another exporter, which writes large weights into a file of their own.
IS_NEW = "external_data" in inspect.signature(torch.onnx.export).parameters
OPTIONS: dict[str, Any] = (
    {"opset_version": 18, "dynamo": True, "external_data": False}
    if IS_NEW
    else {"opset_version": 14}
)
INPUT_SIZES = {
    "inception_v3": 299,
    "inception_resnet_v2": 299,
    "crossvit_tiny_240": 240,
    "halonet26t": 256,
    "lambda_resnet26t": 256,
    "maxvit_nano_rw_256": 256,
    "botnet26t_256": 256,
    "eca_botnext26ts_256": 256,
    "maxxvit_rmlp_nano_rw_256": 256,
    "mobilevit_xs": 256,
    "swinv2_tiny_window8_256": 256,
    "flexivit_small": 240,
    "bat_resnext26ts": 256,
    "sebotnet33ts_256": 256,
    "crossvit_9_240": 240,
    "vit_wee_patch16_reg1_gap_256": 256,
    "crossvit_15_240": 240,
    "mobilevit_s": 256,
    "mobilevitv2_100": 256,
    "fastvit_mci0": 256,
    "csatv2": 512,
    "test_vit": 160,
    "test_vit2": 160,
    "test_vit3": 160,
    "test_vit4": 160,
    "test_vit_relpos": 160,
    "eca_halonext26ts": 256,
    "lambda_resnet26rpt_256": 256,
}
STATISTICS_BATCH = 4


def export(module: Any, size: int, path: Path, batch: int = 1) -> None:
    """Writes the module in the mode of inference; the file is complete when it has its name."""
    with torch.no_grad():
        module.train()
        for part in module.modules():
            if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
                part.momentum = 1.0
            if isinstance(part, torch.nn.Dropout):
                part.eval()
        module(torch.randn(STATISTICS_BATCH, 3, size, size))
        module.eval()
        partial = path.with_suffix(".part")
        image = torch.randn(batch, 3, size, size)
        torch.onnx.export(module, (image,), str(partial), input_names=["image"], **OPTIONS)
        partial.rename(path)


def export_named(library: str, name: str, path: Path) -> None:
    """Writes the network of a name in a list. Raises the errors of the library."""
    parts = NAME.fullmatch(name)
    assert parts
    architecture = parts["architecture"]
    size = int(parts["size"] or INPUT_SIZES.get(architecture, 224))
    torch.manual_seed(0)
    module = network(library, architecture, size if parts["size"] else None)
    export(module, size, path, int(parts["batch"] or 1))


def main(folder: Path, parts: list[str]) -> int:
    """Exports the networks of these parts of the list; returns the exit code."""
    name_of_list = parts.pop(0) if parts and parts[0].endswith(".toml") else "list.toml"
    listed = tomllib.loads(Path(__file__).with_name(name_of_list).read_text(encoding="utf-8"))
    failed = 0
    for part in parts or sorted(listed):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for library, names in listed[part].items():
            for name in names:
                path = folder / part / f"{name}.onnx"
                if path.is_file():
                    continue
                try:
                    export_named(library, name, path)
                    print(path, flush=True)
                except Exception as error:  # of any library
                    failed += 1
                    print(f"{name}: {type(error).__name__}: {error}"[:300], file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
