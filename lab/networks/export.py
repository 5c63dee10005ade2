"""Writes the networks of list.toml as ONNX files: `python export.py FOLDER [PART ...]`.

Needs an interpreter with torch, torchvision and timm, which trimtab itself does not use. Weights
are random, drawn from the seed 0. Statistics of batch normalizations are those of random images, so
that activations neither vanish nor overflow. The input is [1, 3, 224, 224], or what the network
demands. Files are <FOLDER>/<part>/<name>.onnx; those that exist are kept. A network that cannot be
exported is reported, and the exit code is 1.
"""

from __future__ import annotations

import inspect
import sys
import tomllib
from pathlib import Path
from typing import Any

import torch

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


def network(library: str, name: str) -> Any:
    """The module of an architecture with random weights."""
    torch.manual_seed(0)
    if library == "timm":
        import timm

        return timm.create_model(name, pretrained=False, exportable=True)
    import torchvision

    options: dict[str, Any] = {"weights": None}
    if any(part in name for part in ("deeplab", "lraspp", "fcn")):
        options["weights_backbone"] = None
    if name in ("googlenet", "inception_v3"):
        options |= {"init_weights": False, "aux_logits": False}
    return torchvision.models.get_model(name, **options)


def export(module: Any, size: int, path: Path) -> None:
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
        image = torch.randn(1, 3, size, size)
        torch.onnx.export(module, (image,), str(partial), input_names=["image"], **OPTIONS)
        partial.rename(path)


def main(folder: Path, parts: list[str]) -> int:
    """Exports the networks of these parts of the list; returns the exit code."""
    listed = tomllib.loads(Path(__file__).with_name("list.toml").read_text(encoding="utf-8"))
    failed = 0
    for part in parts or sorted(listed):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for library, names in listed[part].items():
            for name in names:
                path = folder / part / f"{name}.onnx"
                if path.is_file():
                    continue
                try:
                    export(network(library, name), INPUT_SIZES.get(name, 224), path)
                    print(path, flush=True)
                except Exception as error:  # of any library
                    failed += 1
                    print(f"{name}: {type(error).__name__}: {error}"[:300], file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
