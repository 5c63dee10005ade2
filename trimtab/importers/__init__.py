"""Importers: each translates the model files of one format into programs.

A format is a module of this package that implements `Importer`; it is found by its file name.
Packages, and modules with a leading underscore, are helpers. An importer and its `sniff` must not
need third-party packages. Only `load` and `files` import them, so that a missing package affects
its format alone.
"""

from __future__ import annotations

import ast
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from trimtab.errors import (
    ImportModelError,
    MissingRequirementError,
    ModelFileError,
    TrimtabError,
    UnsupportedOperatorError,
    UsageError,
)
from trimtab.files import temporary
from trimtab.importers._inputs import Shapes
from trimtab.importers.free_dimensions.bounds import FreeShapes, Size, fixed, parsed, split_states
from trimtab.modelfile import Program
from trimtab.program import Block

if TYPE_CHECKING:
    from onnx import ModelProto


class OnnxProgram(Protocol):
    """The result of `torch.onnx.export`."""

    @property
    def model_proto(self) -> ModelProto:
        """The ONNX model."""


Model: TypeAlias = (
    "str | os.PathLike[str] | bytes | bytearray | memoryview | ModelProto | OnnxProgram"
)
"""A path, the name of a network of the zoo, the bytes of a model of one file, or an ONNX model."""

_Sizes: TypeAlias = Mapping[str, tuple[Size, ...]]

# The package to install for a module of another name.
_PACKAGES = {"google": "protobuf"}


class Importer(Protocol):
    """The interface of a format's module."""

    SUFFIXES: tuple[str, ...]
    """Suffixes of the format's files; the longest match wins (`.pnnx.param` before `.param`)."""

    def sniff(self, path: Path) -> bool:
        """Whether the existing file `path` looks like this format; cheap, never raises."""

    def files(self, path: Path) -> list[Path]:
        """All files that `load` reads for the model at `path`, in a fixed order; they lie in the
        folder of `path`, or below. Raises what `load` raises if they cannot be told.
        """

    def load(self, path: Path, inputs: Shapes) -> Program:
        """Translates the model at `path`; `inputs` gives the shapes of inputs with free dimensions.

        ModelFileError: damaged, or another format. ImportModelError: the network is invalid.
        UnsupportedOperatorError lists all unsupported operators, DynamicShapeError all inputs that
        need a shape.
        """


@cache
def _formats() -> dict[str, tuple[str, ...]]:
    """The suffixes of every importer by module name, read from the source without importing it."""
    suffixes = {}
    for module in sorted(Path(__file__).parent.iterdir()):
        if module.suffix == ".py" and not module.name.startswith("_"):
            _, assignment, value = module.read_bytes().partition(b"\nSUFFIXES = ")
            assert assignment, f"{module} declares no SUFFIXES"
            suffixes[module.stem] = ast.literal_eval(value[: value.index(b")") + 1].decode())
    return suffixes


def importer(name: str) -> Importer:
    """The importer with that module name."""
    return cast(Importer, importlib.import_module(f"{__name__}.{name}"))


@cache
def importers() -> dict[str, Importer]:
    """All importers by module name."""
    return {name: importer(name) for name in _formats()}


def suffixes() -> tuple[str, ...]:
    """The suffixes of all formats, sorted."""
    return tuple(sorted({suffix for declared in _formats().values() for suffix in declared}))


def find(path: Path) -> Importer:
    """The importer for `path`, by its suffix; by its content if the suffix is not conclusive."""
    if not os.path.exists(path):  # noqa: PTH110 - Path.exists() raises for a name that is too long
        raise ModelFileError("there is no such file", where=str(path), hint=_near(path))
    if not (path.is_file() or path.is_dir()):
        raise ModelFileError(
            "is a pipe or a device", where=str(path), hint="write the model into a file first"
        )
    matches = {
        name: max((len(s) for s in declared if path.name.endswith(s)), default=0)
        for name, declared in _formats().items()
    }
    longest = max(matches.values())
    candidates = [name for name in matches if matches[name] == longest]
    if longest and len(candidates) == 1:
        return importer(candidates[0])
    for name in candidates:
        if importer(name).sniff(path):
            return importer(name)
    raise ModelFileError(
        "its format is not known",
        where=str(path),
        hint=f"give a file of one of these formats: {', '.join(suffixes())}",
    )


def is_float(path: Path) -> bool:
    """Whether a model's file shows, without being read as one, that no value is quantized: its
    importer declares the `INT8_MARKS` of quantized ones, and it has none. Errors of `find`.
    """
    marks = getattr(find(path), "INT8_MARKS", (b"",))  # which all files have
    return path.is_file() and not any(map(path.read_bytes().__contains__, marks))


def files(path: Path) -> list[Path]:
    """All files of the model at `path`, which may be a folder: those that `load` reads, in a fixed
    order. They lie in the folder of `path`, or below. The last ones say how the model is used.

    Whatever keeps, copies or identifies a model takes these. Errors as those of `load`.
    """
    importer = find(path)
    try:
        return [*importer.files(path), *_descriptions(importer, path)]
    except ImportError as error:
        raise _missing_package(error, path) from error


def _descriptions(importer: Importer, path: Path) -> list[Path]:
    """The files that say how the model at `path` is used; a .ttm file needs none."""
    if ".ttm" in importer.SUFFIXES:
        return []
    from trimtab.importers import beside

    return beside.files(path)


def load(
    model: Model,
    inputs: FreeShapes | None = None,
    outputs: Sequence[str] | None = None,
    *,
    cache: bool = True,
) -> Program:
    """Translates a model of any format into a program.

    `model`: the path of a file or folder, the name of a network of the zoo ("squeezenet"), the
    bytes of a model that is a single file (ONNX, TFLite, .ttm), an `onnx.ModelProto`, or the
    `ONNXProgram` that `torch.onnx.export` returns.
    `inputs`: the shapes of inputs with free dimensions, {"data": (1, 3, 224, 224)}; with bounds,
    {"data": "1..8,3,64..640,64..640"}, one program serves all sizes (docs/free-dimensions.md). An
    input {"h0": "@hn"} is a state, whose next value is the output hn (docs/states.md).
    `outputs` replaces the outputs of the network by tensors inside it, such as the raw heads of a
    detector; operators that they do not need are dropped, and may be unsupported. `cache`: whether
    to recognize a model that was loaded before, whose operators are then read when they are needed
    (docs/plan-cache.md).

    ModelFileError: the file is missing, damaged, or of an unknown format. ImportModelError: the
    network is invalid; UnsupportedOperatorError lists all unsupported operators, DynamicShapeError
    all inputs that need a shape. MissingRequirementError: the package that reads this format is not
    installed. UsageError: `model` is something else.
    """
    shapes = {name: parsed(shape) for name, shape in (inputs or {}).items()}
    with _file_of(model) as path:
        importer_ = find(path)
        cached = _cached(path, importer_, shapes, outputs) if cache else None
        return cached or _imported(importer_, path, shapes, outputs)


def load_at_batch_one(
    model: Model,
    inputs: FreeShapes,
    note: Callable[[str], None],
    outputs: Sequence[str] | None = None,
) -> tuple[Program, dict[str, tuple[Size, ...]]]:
    """`load` without the cache, with a batch of one, which `note` tells, where every input leaves
    its batch open and nothing else. Also returns the shapes: those of `inputs`, and of the batch.
    """
    from trimtab.importers._inputs import FreeBatchError

    shapes = {name: parsed(shape) for name, shape in inputs.items()}
    try:
        return load(model, shapes, outputs, cache=False), shapes
    except FreeBatchError as error:
        shapes |= {name: tuple(shape) for name, shape in error.shapes.items()}
        program = load(model, shapes, outputs, cache=False)
        note(error.note)
        return program, shapes


def _cached(
    path: Path, importer: Importer, inputs: _Sizes, outputs: Sequence[str] | None
) -> Program | None:
    """The program of a model that the cache of plans may know; None if there is no cache, or the
    model needs none.
    """
    if ".ttm" in importer.SUFFIXES:
        return None
    from trimtab import plan_cache  # and the others: a planned file must not wait for them
    from trimtab.importers import _parsers
    from trimtab.importers._snapshot import Snapshot

    plans = plan_cache.current()
    if plans is None or _parsers.are_extended():
        return None
    try:
        snapshot = Snapshot(path, [*importer.files(path), *_descriptions(importer, path)])
    except (OSError, ImportError, ModelFileError):  # the importer reports it
        return None
    content = plans.content_digest(snapshot.signature, snapshot.digest)
    what = path.name, content, inputs, outputs or ()
    key = plan_cache.digest("load", plans.package_digest(), *what)
    facts = plans.facts(key)
    if facts is None:
        program = _imported(importer, path, inputs, outputs)
        ends = tuple(program.inputs), tuple(program.outputs)
        plans.store_facts(
            key, plan_cache.LoadFacts(program.name, *ends, program.input_ranges, program.hints)
        )
        program.defer(key)
        return program

    def block() -> Block:
        with snapshot.path(content) as same:
            return _imported(find(same), same, inputs, outputs).block

    program = Program(facts.name)
    program.inputs, program.outputs = list(facts.inputs), list(facts.outputs)
    program.input_ranges, program.hints = dict(facts.input_ranges), facts.hints
    program.defer(key, block)
    return program


def _imported(
    importer: Importer, path: Path, inputs: _Sizes, outputs: Sequence[str] | None
) -> Program:
    if not any(isinstance(size, str) for shape in inputs.values() for size in shape):
        return _imported_at(importer, path, fixed(inputs) or {}, outputs)
    from trimtab.importers import _states, free_dimensions

    shapes, states = split_states(inputs)
    if outputs:
        outputs = [*dict.fromkeys((*outputs, *states.values()))]
    sizes = fixed(shapes)
    if sizes is not None:
        program = _imported_at(importer, path, sizes, outputs)
    else:
        program = free_dimensions.load(
            lambda sizes: _imported_at(importer, path, sizes, outputs), shapes, str(path)
        )
    _states.keep(program, states, str(path))
    return program


def _imported_at(
    importer: Importer, path: Path, inputs: Shapes, outputs: Sequence[str] | None
) -> Program:
    try:
        program = importer.load(path, inputs)
    except UnsupportedOperatorError as error:
        from trimtab.importers._walk import UnsupportedLayersError  # not for a planned file

        if not isinstance(error, UnsupportedLayersError):
            raise
        program = error.supported
        if not outputs or not set(outputs) <= set(program.vars):
            raise
    except ImportError as error:
        raise _missing_package(error, path) from error
    if outputs:
        _replace_outputs(program, outputs, path)
    if _descriptions(importer, path):
        from trimtab.importers import beside

        program.hints = beside.with_hints(program.hints, path)
    return program


@contextmanager
def _file_of(model: Model) -> Iterator[Path]:
    """The file of a model; one in memory is in a temporary file, which errors do not name."""
    if isinstance(model, str | os.PathLike):
        yield _path_of(model)
        return
    name = "model"
    model = getattr(model, "model_proto", model)
    if isinstance(model, bytes | bytearray | memoryview):
        data = bytes(model)
        where = f"the model in {len(data):,} bytes"
    elif hasattr(model, "SerializeToString"):
        data, where, name = _serialized(cast("ModelProto", model)), "the ONNX model", "model.onnx"
    else:
        raise UsageError(
            f"a model cannot be of type {type(model).__name__}",
            hint="pass a path, the bytes of a file, an onnx.ModelProto, the ONNXProgram of "
            "torch.onnx.export, or a name of the zoo",
        )
    with temporary(name, data, error=ModelFileError) as path:
        try:
            yield path
        except TrimtabError as error:
            error.where = error.where.replace(str(path), where)
            raise


def _path_of(model: str | os.PathLike[str]) -> Path:
    """The path of a model file, or of a network of the zoo if there is no such file."""
    path = Path(model)
    if isinstance(model, str) and model.isidentifier() and not path.exists():
        from trimtab import zoo  # which imports onnx

        if model in zoo.names():
            return zoo.cached(model)
    return path


def _near(path: Path) -> str:
    """The hint for a missing file: the nearest name of a model beside it, or in the zoo."""
    import difflib

    from trimtab import zoo

    beside = [file.name for file in _listed(path.parent) if file.name.endswith(suffixes())]
    if near := difflib.get_close_matches(path.name, beside, 1):
        return f"check the path, or did you mean {str(path.with_name(near[0]))!r}?"
    if near := difflib.get_close_matches(str(path), zoo.names(), 1):
        return f"check the path, or did you mean the zoo's {near[0]!r}?"
    return "check the path"


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _serialized(model: ModelProto) -> bytes:
    try:
        data: bytes = model.SerializeToString()
    except Exception as error:  # protobuf: over 2 GiB, or fields are missing
        raise ImportModelError(
            f"the ONNX model cannot be serialized: {error}",
            hint="save it with onnx.save(model, PATH, save_as_external_data=True), and load PATH",
        ) from error
    return data


def _missing_package(error: ImportError, path: Path) -> MissingRequirementError:
    module = (error.name or "").partition(".")[0]
    package = _PACKAGES.get(module, module)
    if not package or package == "trimtab":
        raise error
    return MissingRequirementError(
        f"the package {package}, which reads this format, cannot be imported: {error}",
        where=str(path),
        hint=f"pip install {package}",
    )


def _replace_outputs(program: Program, outputs: Sequence[str], path: Path) -> None:
    for name in outputs:
        if name not in program.vars:
            import difflib  # a quarter of a megabyte of code for this message alone

            similar = difflib.get_close_matches(name, program.vars, cutoff=0)
            raise ImportModelError(
                f"there is no tensor '{name}'",
                where=str(path),
                hint=f"similar names are {', '.join(similar)}; `inv inspect` lists all",
            )
    program.keep_only(outputs)
