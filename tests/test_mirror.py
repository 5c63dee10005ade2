"""Tests mirror the package: `trimtab/<room>/<module>.py` has `tests/<room>/test_<module>*.py`.

A module without a test of its own is covered by a test of its room, which `COVERED_BY` names.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"

COVERED_BY = {
    "bench/*": "bench/test_protocol.py",
    "build/attribute_structs": "build/test_codegen.py",
    "build/cmake_runner": "cli/test_progress.py",
    "build/derived_profile": "planner/test_profile_overhead.py",
    "build/host_build": "build/test_builder.py",
    "build/output": "build/test_builder.py",
    "build/registry": "build/test_codegen.py",
    "camera/*": "camera/test_description.py",
    "cli/*": "cli/test_cli.py",
    "compare/*": "compare/test_ab.py",
    "compression": "pipeline/test_pack.py",
    "devices/*": "devices/test_protocol.py",
    "devices/board/*": "devices/board/test_machine.py",
    "devices/control/*": "devices/control/test_controlled.py",
    "devices/ssh/*": "devices/ssh/test_transport.py",
    "junit_document": "reports/test_exchange.py",
    "exporters/*": "exporters/test_onnx.py",
    "exporters/caffe_ops/*": "exporters/test_caffe.py",
    "exporters/ncnn_ops/*": "exporters/test_ncnn.py",
    "exporters/onnx_ops/*": "exporters/test_onnx.py",
    "heads/*": "heads/test_heads.py",
    "fitting/*": "fitting/test_fit.py",
    "gradients/*": "gradients/test_rules.py",
    "importers/beside/*": "importers/test_beside.py",
    "importers/*": "importers/test_importers.py",
    "importers/caffe_ops/*": "importers/test_caffe_layers.py",
    "importers/darknet_ops/*": "importers/test_darknet_layers.py",
    "importers/ncnn_ops/*": "importers/test_ncnn_layers.py",
    "importers/onnx_ops/*": "importers/test_onnx_composed.py",
    "importers/paddle_ops/*": "importers/test_paddle_operators.py",
    "importers/pnnx_ops/*": "importers/test_pnnx_operators.py",
    "importers/tflite_ops/*": "importers/test_tflite_operators.py",
    "importers/vocabulary/*": "importers/test_importers_same_program.py",
    "kernels/*": "kernels/test_inventory.py",
    "learning/*": "learning/test_training_program.py",
    "learning/losses/*": "learning/test_losses.py",
    "learning/optimizers/*": "learning/test_optimizers.py",
    "modelfile/*": "modelfile/test_modelfile.py",
    "passes/*": "passes/test_passes.py",
    "paths": "package/test_wheel.py",
    "pipeline/*": "pipeline/test_chain.py",
    "planner/*": "planner/test_planner.py",
    "planner/algorithms/*": "ops/test_algorithms.py",
    "planner/packing/*": "planner/test_packing.py",
    "plugin_kit/*": "plugins/test_examples.py",
    "program/*": "program/test_inspection.py",
    "quantization/budget_search": "quantization/test_precision_search.py",
    "quantization/picture_samples": "quantization/test_samples.py",
    "quantization/methods/*": "quantization/test_methods.py",
    "reports/*": "reports/test_formats.py",
    "reports/formats/*": "reports/test_formats.py",
    "results/*": "results/test_records.py",
    "schema/retired": "modelfile/test_retired.py",
    "size/*": "size/test_measure.py",
    "sweep/*": "sweep/test_campaign.py",
    "tuning/*": "tuning/test_search.py",
    "verification/*": "verification/test_checks.py",
    "zoo/*": "zoo/test_zoo.py",
    "zoo/networks/*": "zoo/test_networks.py",
}
"""Module, or all other modules of a room -> the test that covers it."""


def modules() -> list[str]:
    """Every module of the package, such as `planner/cost`."""
    paths = (path.relative_to(ROOT / "trimtab") for path in (ROOT / "trimtab").rglob("*.py"))
    return sorted(
        path.with_suffix("").as_posix()
        for path in paths
        if path.stem != "__init__" and "_resources" not in path.parts
    )


def has_own_test(module: str) -> bool:
    """Whether a test file is named after the module. A module without a room may be tested in any
    folder.
    """
    room, _, name = module.rpartition("/")
    folders = [TESTS / room] if room else [TESTS, *TESTS.iterdir()]
    stem = f"test_{name.strip('_')}"
    return any(
        path.stem == stem or path.stem.startswith(f"{stem}_")
        for folder in folders
        if folder.is_dir()
        for path in folder.glob("test_*.py")
    )


def covering(module: str) -> str:
    """The most specific row of COVERED_BY for a module, "" if there is none."""
    room = module.rpartition("/")[0]
    rows = [row for row in COVERED_BY if row == module or row == f"{room}/*"]
    return max((row for row in rows if fnmatch(module, row)), key=len, default="")


@pytest.mark.parametrize("module", modules())
def test_a_module_has_a_test(module: str) -> None:
    assert has_own_test(module) or covering(module), (
        f"write tests/{module.rpartition('/')[0]}/test_{module.rpartition('/')[2].strip('_')}.py"
    )


def test_every_row_covers_a_module_without_its_own_test() -> None:
    used = {covering(module) for module in modules() if not has_own_test(module)}
    assert COVERED_BY.keys() - used == set()
    assert [test for test in COVERED_BY.values() if not (TESTS / test).is_file()] == []


def test_tests_lie_in_rooms() -> None:
    assert not (TESTS / "unit").exists()
