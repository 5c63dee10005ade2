"""The keys of builds: every input of a build has another key, and nothing else has."""

from __future__ import annotations

import dataclasses
import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trimtab import cores, paths, plugins
from trimtab.build import compiler
from trimtab.errors import ToolchainError
from trimtab.plugins import Plugin
from trimtab.sweep import inputs, tuned_plans
from trimtab.sweep.builds import BuildCache, BuildIdentity, CellBuild
from trimtab.sweep.bundle import FileBundle
from trimtab.sweep.matrix import AXES, TUNED, Cell, Sweep, SweepProtocol

CORE = "cortex-a53"

# Another value of each axis of a cell that is built.
OTHER = {
    "model": "other.onnx",
    "input": ("x=2,3,8,8",),
    "profile": "",
    "precision": "f16",
    "toolchain": "aarch64-linux-gnu",
    "cpu": "cortex-a72",
    "threads": 2,
    "plan": "",
    "prefer": "size",
    "weights": "f16",
    "accuracy": "fast",
    "calibration": "",
    "budget": "top1 <= 1 %",
}


def write_network(folder: Path, seed: int) -> None:
    """A convolution whose weights are in a file of another stem, in a folder."""
    weights = np.random.default_rng(seed).standard_normal((2, 3, 3, 3)).astype(np.float32)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "w.bin").write_bytes(weights.tobytes())
    tensor = numpy_helper.from_array(weights, "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="data/w.bin")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [tensor],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    (folder / "net [v2].onnx").write_bytes(model.SerializeToString())


def write_core(folder: Path, cost: float) -> None:
    """A core of the user, as `core.fit` writes it."""
    text = (paths.root() / "cores" / f"{CORE}.toml").read_text(encoding="utf-8")
    first, rest = text.split("\n", 1)
    (folder / f"{CORE}.toml").write_text(f"{first}\nsum_cost = {cost}\n{rest}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a cell, and a folder of the user's configuration."""
    monkeypatch.setenv("TRIMTAB_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("TRIMTAB_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "config" / "cores").mkdir(parents=True)
    write_core(tmp_path / "config" / "cores", 1.5)
    own = tmp_path / "sweep"
    (own / "pictures" / "more").mkdir(parents=True)
    write_network(own, 1)
    (own / "pictures" / "more" / "a.png").write_bytes(b"a picture")
    (own / "plan.toml").write_text("threads = 1\n")
    shutil.copy(paths.root() / "profiles" / "yolo.toml", own / "mine.toml")
    return own


def cell_in(folder: Path) -> Cell:
    return Cell(
        str(folder / "net [v2].onnx"),
        input=("x=1,3,8,8",),
        profile=str(folder / "mine.toml"),
        precision="f32",
        toolchain="aarch64-linux-musl",
        cpu=CORE,
        plan=str(folder / "plan.toml"),
        calibration=str(folder / "pictures"),
        device="",
    )


def key(folder: Path, sources: str = "sources", **changes: object) -> str:
    return inputs.digest(dataclasses.replace(cell_in(folder), **changes), sources)  # type: ignore[arg-type]


def append(file: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    def change(folder: Path, _: pytest.MonkeyPatch) -> None:
        path = folder / file
        path.write_bytes(path.read_bytes() + b" ")

    return change


def change_weights(folder: Path, _: pytest.MonkeyPatch) -> None:
    before = (folder / "net [v2].onnx").read_bytes()
    write_network(folder, 2)
    assert (folder / "net [v2].onnx").read_bytes() == before


def fit_the_core(folder: Path, _: pytest.MonkeyPatch) -> None:
    write_core(folder.parent / "config" / "cores", 2.25)


def change_the_profile(folder: Path, _: pytest.MonkeyPatch) -> None:
    text = (folder / "mine.toml").read_text(encoding="utf-8")
    assert "threads" not in text
    (folder / "mine.toml").write_text(f"threads = false\n{text}")


def upgrade_the_compiler(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "compiler_identity", lambda chosen: f"{chosen.compiler} 99")


def upgrade_a_package(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "installed_version", lambda name: f"{name} 99")


def upgrade_python(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "python_version", lambda: "3.99")


@pytest.mark.parametrize(
    "change",
    [
        *map(append, ("data/w.bin", "net [v2].onnx", "plan.toml", "pictures/more/a.png")),
        *(change_weights, fit_the_core, change_the_profile),
        *(upgrade_the_compiler, upgrade_a_package, upgrade_python),
    ],
)
def test_another_input_has_another_key(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path, object], None]
) -> None:
    before = key(folder)
    assert key(folder) == before
    change(folder, monkeypatch)
    assert key(folder) != before


def test_every_axis_but_the_device_and_the_sources_are_in_the_key(folder: Path) -> None:
    assert OTHER.keys() == {*AXES} - {"device"}
    shutil.copy(folder / "net [v2].onnx", folder / "other.onnx")
    changes = OTHER | {"model": str(folder / "other.onnx")}
    keys = [key(folder, **{axis: value}) for axis, value in changes.items()]  # type: ignore[arg-type]
    keys += [key(folder), key(folder, "other sources"), key(folder, device="local")]
    assert len({*keys}) == len(keys)


def test_the_core_whose_memory_stands_for_that_of_another_is_in_the_key(folder: Path) -> None:
    arm = (core for core in cores.builtin() if "aarch64" in core.features)
    without = next(core for core in arm if not core.memory or core.memory.is_shared)
    before = key(folder, cpu=without.name), key(folder)
    text = (paths.root() / "cores" / "generic-aarch64.toml").read_text(encoding="utf-8")
    assert "gb_per_s = " in text
    own = folder.parent / "config" / "cores" / "generic-aarch64.toml"
    own.write_text(text.replace("gb_per_s = ", "gb_per_s = 1"))
    after = key(folder, cpu=without.name), key(folder)
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True]


def test_a_name_inside_of_the_samples_is_in_the_key(folder: Path) -> None:
    before = key(folder)
    (folder / "pictures" / "more").rename(folder / "pictures" / "less")
    assert key(folder) != before


def test_places_times_and_files_of_others_are_not_in_the_key(folder: Path, tmp_path: Path) -> None:
    before = key(folder, profile="")
    for path in folder.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    (folder / "net [v2].onnx.bak").write_text("of others")
    (folder / "net [v2].txt").write_text("of others")
    (tmp_path / "config" / "cores" / "mine.toml").write_text(
        (paths.root() / "cores" / "cortex-a72.toml").read_text(encoding="utf-8")
    )
    assert key(folder, profile="") == before
    shutil.copytree(folder, tmp_path / "elsewhere")
    assert key(tmp_path / "elsewhere", profile="") == before


def test_a_compiler_that_only_other_machines_have_is_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: object) -> str:
        raise ToolchainError("is not installed")

    before = key(folder)
    monkeypatch.setattr(compiler, "compiler_identity", missing)
    assert key(folder) not in ("", before)


def test_a_compiler_that_is_upgraded_in_its_place_has_another_key(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("g++", "gcc"):
        (tmp_path / name).symlink_to(tmp_path / "program")
    monkeypatch.setenv("TRIMTAB_HOST_CXX", str(tmp_path / "g++"))
    keys = []
    for number in ("12.2.0", "12.2.0", "13.1.0"):
        (tmp_path / "program").write_text(f"#!/bin/sh\necho 'g++ (Mine) {number}'\necho more\n")
        (tmp_path / "program").chmod(0o755)
        keys.append(key(folder, toolchain="host", cpu=""))
    assert keys[0] == keys[1] != keys[2]


def fake_tree(folder: Path) -> SimpleNamespace:
    """A checkout with a file in each place that a build reads."""
    names = ["CMakeLists.txt", "trimtab/planner/rule.py"]
    names += [f"{name}/deep/file.txt" for name in inputs.FOLDERS]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return SimpleNamespace(root=lambda: folder, package=lambda: folder / "trimtab")


def fake_plugin(folder: Path, name: str = "mine") -> Plugin:
    """A plug-in with a file in each room, and C++ beside its schemas."""
    for room in (*plugins.ROOMS, "ops/shared"):
        (folder / room).mkdir(parents=True, exist_ok=True)
        (folder / room / "file.cpp").write_text(room)
    return Plugin(name, folder, "a test")


def hash_of(
    monkeypatch: pytest.MonkeyPatch, tree: SimpleNamespace, *active: Plugin, library: str = ""
) -> str:
    libraries = (Plugin("lib", Path(library), "a test"),) if library else ()
    monkeypatch.setattr(inputs, "paths", tree)
    monkeypatch.setattr(plugins, "active", lambda: active)
    monkeypatch.setattr(plugins, "libraries", lambda: libraries)
    inputs.package_code.cache_clear()
    try:
        return inputs.source_hash()
    finally:
        inputs.package_code.cache_clear()


def test_every_source_of_trimtab_and_its_plug_ins_has_another_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, plugin = fake_tree(tmp_path / "tree"), fake_plugin(tmp_path / "plugin")
    library = tmp_path / "operators.so"
    library.write_bytes(b"code")

    def current() -> str:
        return hash_of(monkeypatch, tree, plugin, library=str(library))

    before = current()
    assert current() == before
    assert hash_of(monkeypatch, tree, library=str(library)) != before
    assert hash_of(monkeypatch, tree, plugin) != before
    irrelevant = {f"{room}/file.cpp" for room in inputs.OTHER_ROOMS}
    changed, same = list[Path](), list[Path]()
    for path in (*tree.root().rglob("*.*"), *plugin.folder.rglob("*.*"), library):
        text = path.read_text()
        path.write_text(f"{text} ")
        (same if current() == before else changed).append(path)
        path.write_text(text)
    assert {path.relative_to(plugin.folder).as_posix() for path in same} == irrelevant
    assert len(changed) == 2 + len(inputs.FOLDERS) + len(plugins.ROOMS) + 1 - len(irrelevant) + 1


def test_the_places_of_checkout_and_plug_ins_are_not_in_the_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = []
    for place in ("here", "there"):
        tree, plugin = fake_tree(tmp_path / place / "tree"), fake_plugin(tmp_path / place / "p")
        hashes.append(hash_of(monkeypatch, tree, plugin))
        (plugin.folder / "ops" / "__pycache__").mkdir()
        (plugin.folder / "ops" / "__pycache__" / "file.pyc").write_text(place)
        for path in tmp_path.rglob("*"):
            os.utime(path, (1_700_000_000, 1_700_000_000))
        hashes.append(hash_of(monkeypatch, tree, plugin))
    assert len({*hashes}) == 1


def test_a_build_whose_inputs_change_meanwhile_is_not_kept(folder: Path) -> None:
    cache = BuildCache()
    cell = cell_in(folder)
    (folder / "archived").mkdir()

    def finish(key: str) -> BuildIdentity | None:
        identity = BuildIdentity("a" * 64, "b" * 64, 1.0)
        archived = FileBundle(f"{'a' * 20}-{'b' * 20}", folder, [folder / "plan.toml"])
        cache.store(cell, CellBuild(identity, archived, key))
        return cache.find(cell)

    task = cache.task(cell)
    write_network(folder, 2)
    assert finish(task.key) is None
    assert finish(cache.task(cell).key) is not None
    write_network(folder, 3)
    assert cache.find(cell) is None


def test_a_tuned_plan_is_that_of_the_present_weights(folder: Path) -> None:
    cell = dataclasses.replace(cell_in(folder), plan=TUNED)
    sweep = Sweep("s", "", (cell,), SweepProtocol())
    assert tuned_plans.known(sweep) == sweep
    file = tuned_plans.plan_file(cell, inputs.source_hash())
    file.parent.mkdir(parents=True)
    file.write_text("")
    assert tuned_plans.known(sweep).cells[0].plan == str(file)
    write_network(folder, 2)
    assert tuned_plans.known(sweep) == sweep


def test_all_files_of_a_network_travel_with_its_task(folder: Path, tmp_path: Path) -> None:
    network = BuildCache().task(cell_in(folder)).network
    assert network is not None
    sent = network.into(tmp_path / "store")
    names = {p.relative_to(sent).as_posix() for p in sent.rglob("*") if p.is_file()}
    assert names == {"net [v2].onnx", "data/w.bin"}
    weights = onnx.load(sent / "net [v2].onnx").graph.initializer[0].raw_data
    assert weights == (folder / "data" / "w.bin").read_bytes()


def test_a_core_that_is_fitted_anew_is_read_anew(folder: Path) -> None:
    assert cores.find(CORE).sum_cost == 1.5
    fit_the_core(folder, pytest.MonkeyPatch())
    assert cores.find(CORE).sum_cost == 2.25
