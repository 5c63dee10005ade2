"""The .ttm file: writing, reading, and the detection of damage."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.engine.raw_runs import run_arrays
from tests.some import some
from trimtab import _engine, modelfile
from trimtab.errors import ModelFileError, TtmError
from trimtab.modelfile import records
from trimtab.program import Program, Quantization


@pytest.fixture(name="program")
def small_program() -> Program:
    """A convolution, a pooling and a head, with every kind of attribute."""
    rng = np.random.default_rng(7)
    program = Program("small")
    program.add_input("x", (1, 3, 9, 7))
    block = program.block
    w = block.add_constant(rng.standard_normal((5, 3, 3, 3), dtype=np.float32), "w")
    (y,) = block.add_op("conv", ["x", w], {"pads": (1, 1, 1, 1), "strides": (2, 2)})
    (y,) = block.add_op("sigmoid", [y])
    (y,) = block.add_op("resize", [y], {"sizes": (4, 6), "mode": "linear", "scales": (0.8, 1.5)})
    (y,) = block.add_op("global_average_pool", [y])
    (y,) = block.add_op("reshape", [y], {"shape": (1, 5)}, ["out"])
    program.outputs = [y]
    return program


def test_a_saved_program_survives_a_round_trip(program: Program, tmp_path: Path) -> None:
    program.save(tmp_path / "net.ttm")
    again = trimtab.load(tmp_path / "net.ttm")
    assert [(o.type, o.inputs, o.outputs) for o in again.ops] == [
        (o.type, o.inputs, o.outputs) for o in program.ops
    ]
    for op, twin in zip(program.ops, again.ops, strict=True):
        for key, value in op.attributes.items():
            assert twin.attributes[key] == pytest.approx(value), (op.type, key)
    assert {n: v.shape for n, v in again.vars.items()} == {
        n: v.shape for n, v in program.vars.items()
    }
    data = again.vars["w"].data
    assert data is not None
    np.testing.assert_array_equal(data, program.vars["w"].data)


def quantized() -> Program:
    """Bytes of one scale beside bytes with a scale for each channel."""
    program = Program("quantized")
    program.add_input("x", (1, 2, 3, 2), "u8")
    program.vars["x"].quantization = Quantization.of(0.1, 255)
    scales = Quantization.of(np.geomspace(1e-30, 1e30, 5), np.arange(5), 1)
    w = program.block.add_constant(np.full((1, 5, 3, 2), 7, np.uint8), "w", scales)
    program.outputs = program.block.add_op("concat", ["x", w], {"axis": 1}, ["y"])
    program.vars["y"].quantization = Quantization.of(3)
    return program


def test_quantization_survives_a_round_trip(tmp_path: Path) -> None:
    program = quantized()
    program.save(tmp_path / "net.ttm")
    again = trimtab.load(tmp_path / "net.ttm")
    assert {n: v.quantization for n, v in again.vars.items()} == {
        n: v.quantization for n, v in program.vars.items()
    }
    assert {v.quantization.axis for v in again.vars.values() if v.quantization} == {None, 1}


def test_equal_quantizations_are_written_once() -> None:
    program = quantized()
    program.vars["y"].quantization = program.vars["x"].quantization
    tables = modelfile.encode(program).tobytes()
    places = [records.variable(tables, i)[1].quantization_offset for i in range(3)]
    assert len(set(places)) == 2
    assert all(places)


def test_a_quantized_file_runs_on_its_stored_int8_values(tmp_path: Path) -> None:
    trimtab.optimize(quantized()).save(tmp_path / "net.ttm")
    x = np.arange(12, dtype=np.uint8).reshape(1, 2, 3, 2)
    session = trimtab.Session(trimtab.load(tmp_path / "net.ttm"))
    expected = np.concatenate([x, np.full((1, 5, 3, 2), 7, np.uint8)], axis=1)
    np.testing.assert_array_equal(session.run({"x": x})["y"], expected)


@pytest.mark.parametrize(
    ("at", "value"),
    [
        ("offset", 0xFFFFFFFC),
        ("offset", 8),
        ("axis", 4),
        ("axis", 0),
        ("axis", 0x80000000),
        ("count", 0xFFFFFFFF),
        ("count", 4),
        ("scale", 0x7FC00000),  # NaN
        ("scale", 0x7F800000),  # infinity
        ("scale", 0x80000001),  # negative
        ("scale", 0),
        ("zero point", 256),
        ("zero point", 0xFFFFFFFF),
    ],
)
def test_an_invalid_quantization_is_refused_by_engine_and_reader(at: str, value: int) -> None:
    image = modelfile.encode(quantized())
    tables_bytes = records.SEAL.unpack_from(image.data)[2]
    tables = image[:tables_bytes].tobytes()
    (index,) = (i for i in range(3) if records.variable(tables, i)[1].data_offset)
    place = records.variable(tables, index)[1].quantization_offset
    last_word = records.TABLES_AT + (index + 1) * records.VAR.size - 4
    places = {
        "offset": last_word - 4,
        "axis": place,
        "count": place + 4,
        "scale": place + 8 + 4,
        "zero point": place + 8 + 4 * 5 + 4,
    }
    struct.pack_into("<I", image.data, places[at], value)
    modelfile.seal(image)
    with pytest.raises(_engine.EngineError, match="bad quantization of a variable"):
        _engine.check_model(image)
    with pytest.raises(TtmError):
        _ = modelfile.decode(image, "damaged").block


def test_a_planned_file_computes_what_the_session_computes(
    program: Program, tmp_path: Path
) -> None:
    x = np.random.default_rng(1).standard_normal((1, 3, 9, 7), dtype=np.float32)
    session = trimtab.Session(program)
    session.program.save(tmp_path / "net.ttm")
    loaded = trimtab.Session(trimtab.load(tmp_path / "net.ttm"))
    np.testing.assert_array_equal(loaded.run({"x": x})["out"], session.run({"x": x})["out"])


def test_a_session_runs_a_planned_file_in_place(program: Program, tmp_path: Path) -> None:
    trimtab.optimize(program).save(tmp_path / "net.ttm")
    loaded = trimtab.load(tmp_path / "net.ttm")
    assert loaded.image is not None
    session = trimtab.Session(loaded)
    assert session.program is loaded
    imported = modules_of_a_session(tmp_path)
    assert "onnx" not in imported
    importers = [m for m in imported if m.startswith("trimtab.importers.")]
    free = "trimtab.importers.free_dimensions"
    assert sorted(importers) == [
        "trimtab.importers._inputs",
        free,
        f"{free}.bounds",
        "trimtab.importers.ttm",
    ]
    # OpenSSL and the planner take megabytes, more than a small network.
    assert not [m for m in imported if m == "hashlib" or m.startswith("trimtab.planner")]
    constants = [var.data for var in session.program.constants()]
    assert constants
    assert not any(data is not None and data.flags.writeable for data in constants)


def modules_of_a_session(folder: Path) -> list[str]:
    """The modules that a process imports to run folder/net.ttm."""
    code = """
import sys, trimtab
trimtab.Session(trimtab.load(sys.argv[1]))
print(*sys.modules)
"""
    command = [sys.executable, "-c", code, str(folder / "net.ttm")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_a_program_that_was_changed_after_loading_runs_with_the_changes(
    program: Program, tmp_path: Path
) -> None:
    trimtab.optimize(program).save(tmp_path / "net.ttm")
    inside, renamed = (trimtab.load(tmp_path / "net.ttm") for _ in range(2))
    op = next(op for op in inside.ops if op.type == "reshape")
    op.attributes["shape"] = (5, 1)
    inside.vars[op.outputs[0]].shape = (5, 1)
    renamed.outputs = []
    assert inside.image is renamed.image is None
    x = np.ones((1, 3, 9, 7), np.float32)
    assert trimtab.Session(inside).run({"x": x})["out"].shape == (5, 1)


def test_a_session_holds_its_weights_once(tmp_path: Path) -> None:
    net = Program("wide")
    net.add_input("x", (1, 1024))
    weights = np.zeros((4096, 1024), np.float32)
    net.outputs = net.block.add_op("gemm", ["x", net.block.add_constant(weights, "w")])
    session = trimtab.Session(net)
    image = session.program.image
    assert image is not None
    packed = [v.data for v in session.program.constants() if v.packed and v.data is not None]
    assert packed
    assert all(np.may_share_memory(array, image) for array in packed)


def test_only_pages_that_inferences_read_stay_in_memory(tmp_path: Path) -> None:
    """Weights of 8 MB that are packed at load, with small ones that are not before and behind."""
    net = Program("wide")
    block, rng = net.block, np.random.default_rng(1)
    net.add_input("x", (1, 1024))
    (y,) = block.add_op("mul", ["x", block.add_constant(rng.random((1, 1024), np.float32), "a")])
    (y,) = block.add_op("gemm", [y, block.add_constant(rng.random((2047, 1024), np.float32), "w")])
    (y,) = block.add_op("mul", [y, block.add_constant(rng.random((1, 2047), np.float32), "b")])
    net.outputs = [y]
    trimtab.optimize(net).save(tmp_path / "net.ttm")
    assert modelfile.is_mapped(trimtab.load(tmp_path / "net.ttm").image)
    code = """
import sys, numpy, trimtab
session = trimtab.Session(trimtab.load(sys.argv[1]))
assert session.memory["prepared_bytes"] >= 8 << 20
session.run({"x": numpy.ones((1, 1024), numpy.float32)})
text = open("/proc/self/smaps").read()
print(text[text.index("net.ttm"):].split("Rss:")[1].split()[0])
"""
    command = [sys.executable, "-c", code, str(tmp_path / "net.ttm")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # With huge pages in the page cache, a whole huge page is mapped again.
    assert int(done.stdout) << 10 <= 3 << 20


def test_a_file_without_names_runs_by_position(program: Program, tmp_path: Path) -> None:
    trimtab.optimize(program).save(tmp_path / "net.ttm", names=False)
    content = (tmp_path / "net.ttm").read_bytes()
    assert b"global_average_pool" not in content
    assert b"small" not in content
    session = trimtab.Session(trimtab.load(tmp_path / "net.ttm"))
    x = np.ones((1, 3, 9, 7), np.float32)
    (out,) = session.run({session.input_names[0]: x}).values()
    np.testing.assert_array_equal(out, trimtab.Session(program).run({"x": x})["out"])


def test_constants_are_aligned_to_64_bytes(program: Program) -> None:
    image = modelfile.encode(program)
    var_count = struct.unpack_from("<I", image.data, 76)[0]
    offsets = [struct.unpack_from("<Q", image.data, 128 + 72 * i + 32)[0] for i in range(var_count)]
    assert any(offsets)
    assert all(offset % 64 == 0 for offset in offsets)
    assert image.ctypes.data % 64 == 0


def test_every_changed_byte_is_detected(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "net.ttm"
    program.save(path)
    content = path.read_bytes()
    for at in some(range(len(content))):
        changed = bytearray(content)
        changed[at] ^= 1 << (at % 8)
        path.write_bytes(changed)
        with pytest.raises((TtmError, ModelFileError)):
            trimtab.load(path)


def test_the_engine_detects_damaged_weights_only_when_verifying(program: Program) -> None:
    image = modelfile.encode(trimtab.optimize(program))
    image[-64] ^= 1
    run_arrays(_engine.Executor(image), [np.ones((1, 3, 9, 7), np.float32)])
    with pytest.raises(_engine.EngineError, match="the weights' checksum does not match"):
        _engine.check_model(image)


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 128, 1000])
def test_a_truncated_file_is_refused(program: Program, tmp_path: Path, length: int) -> None:
    path = tmp_path / "net.ttm"
    program.save(path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises((TtmError, ModelFileError)):
        trimtab.load(path)


@pytest.mark.parametrize(
    ("version", "next_step"),
    [
        (4, "make it again: ./inv convert MODEL {path}"),
        (99, "use the trimtab that wrote it, or make it again: ./inv convert MODEL {path}"),
    ],
)
def test_another_version_is_refused_by_name_with_a_remedy(
    program: Program, tmp_path: Path, version: int, next_step: str
) -> None:
    path = tmp_path / "net.ttm"
    image = modelfile.encode(program)
    struct.pack_into("<I", image.data, 8, version)
    image.tofile(path)
    with pytest.raises(TtmError, match=rf"file of version {version}, .* reads version 5") as caught:
        trimtab.load(path)
    assert caught.value.where == str(path)
    assert caught.value.hint == next_step.format(path=path)
    with pytest.raises(
        _engine.EngineError, match=rf"make it again by `trimtab convert`: .* \(5, {version}\)"
    ):
        _engine.Executor(image)


def test_the_version_of_a_file_that_ends_behind_it_is_told(
    program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "net.ttm"
    image = modelfile.encode(program)
    struct.pack_into("<I", image.data, 8, 99)
    image[: records.SEAL.size].tofile(path)
    with pytest.raises(TtmError, match="file of version 99"):
        trimtab.load(path)


def test_a_program_keeps_its_name_and_one_without_names_has_that_of_its_file(
    program: Program, tmp_path: Path
) -> None:
    for names, name in ((True, program.name), (False, "other")):
        program.save(tmp_path / "other.ttm", names=names)
        assert trimtab.load(tmp_path / "other.ttm").name == name != ""


@pytest.mark.parametrize("threads", [1, 3])
def test_the_metadata_have_the_threads_of_a_plan_for_several(
    program: Program, threads: int
) -> None:
    program.threads = threads
    image = modelfile.encode(program)
    offset, length = struct.unpack_from("<II", image.data, 92)
    metadata = json.loads(image.tobytes()[offset : offset + length])
    assert metadata.get("threads") == (3 if threads == 3 else None)
    assert modelfile.decode(image, "net").threads == threads


def test_equal_constants_are_stored_once_and_others_do_not_overlap() -> None:
    program = Program("constants")
    x = program.add_input("x", (1, 1000))
    values = [np.full((1, 1000), value, np.float32) for value in (1, 2, 1)]
    for i, array in enumerate(values):
        (x,) = program.block.add_op("add", [x, program.block.add_constant(array, f"c{i}")])
    program.outputs = [x]
    image = modelfile.encode(program)
    tables_bytes = records.SEAL.unpack_from(image.data)[2]
    assert 2 * 4000 <= image.size - tables_bytes < 2 * 4000 + 2 * records.ALIGNMENT
    block = modelfile.decode(image, "constants").block
    for i, array in enumerate(values):
        np.testing.assert_array_equal(block.vars[f"c{i}"].data, array)


def test_a_failed_write_leaves_nothing_behind(program: Program, tmp_path: Path) -> None:
    target = tmp_path / "folder.ttm"
    target.mkdir()
    with pytest.raises(ModelFileError):
        program.save(target)
    assert [p.name for p in tmp_path.iterdir()] == ["folder.ttm"]


def test_an_operator_of_another_schema_is_refused_by_name(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "net.ttm"
    program.save(path)
    image = modelfile.encode(program)
    (var_count,) = struct.unpack_from("<I", image.data, 76)
    struct.pack_into("<I", image.data, 128 + 72 * var_count + 20, 0xBAD)
    modelfile.seal(image)
    image.tofile(path)
    with pytest.raises(TtmError, match="operator conv was written with another schema"):
        trimtab.load(path)
    with pytest.raises(TtmError, match="operator conv was written with another schema"):
        _ = modelfile.decode(image, "net").block  # which the engine has not checked
    with pytest.raises(_engine.EngineError, match=r"another operator schema.* operator 0 \(conv\)"):
        _engine.Executor(image)


def test_writing_takes_the_memory_of_one_constant_and_not_of_the_file(tmp_path: Path) -> None:
    """In a process of its own, whose peak is that of the write."""
    script = f"""
import resource, numpy as np
from trimtab import modelfile
from trimtab.program import Program
program = Program("large")
value = program.add_input("x", (1, 1 << 20))
for i in range(24):
    weights = np.full((1, 1 << 20), i, np.float32)
    (value,) = program.block.add_op("add", [value, program.block.add_constant(weights, "w")])
program.outputs = [value]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
modelfile.write(program, __import__("pathlib").Path({str(tmp_path / "large.ttm")!r}))
print(peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    path, constant = tmp_path / "large.ttm", 4 << 20
    assert path.stat().st_size > 24 * constant
    assert int(done.stdout) < 4 * constant
    fifth = [np.asarray(var.data) for var in modelfile.read(path).constants()][5]
    assert np.array_equal(fifth, np.full((1, 1 << 20), 5))
