"""Files beside a model that say how it is used, as hints: a module for each program that writes
such files.

They are read strictly: a step that no camera takes is a sentence in the hints, which whoever wants
the steps sees. Loading a model never fails by them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from trimtab import strict_json
from trimtab.importers.beside import (
    paddle_detection,
    paddle_inference,
    timm,
    transformers,
    ultralytics,
)
from trimtab.program import ModelHints

LIMIT_BYTES = 1 << 18  # names of 1,000 classes are 30 KB

_READERS: Mapping[str, Callable[[Mapping[str, Any]], ModelHints]] = {
    "metadata.yaml": ultralytics.of_ultralytics,
    "infer_cfg.yml": paddle_detection.read,
    "inference.yml": paddle_inference.read,
    "preprocessor_config.json": transformers.read,
    "config.json": timm.read,
}
"""Names of files and what reads their content, the first that says the steps first."""


def files(model: Path) -> list[Path]:
    """The files beside a model, or in its folder, that `hints` may read."""
    folder = model if model.is_dir() else model.parent
    return [path for name in _READERS if (path := folder / name).is_file()]


def metadata(model: Path) -> Mapping[str, Any]:
    """The metadata of Ultralytics beside a model; none if there are none, or malformed ones."""
    path = (model if model.is_dir() else model.parent) / "metadata.yaml"
    try:
        content = _parsed(path) if path.is_file() and path.stat().st_size <= LIMIT_BYTES else {}
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def with_hints(hints: ModelHints, model: Path) -> ModelHints:
    """The hints of a model's own file, and those of files beside it where that says nothing."""
    for path in files(model):
        other = _read(path)
        is_new = {
            f.name: getattr(other, f.name) for f in fields(other) if not getattr(hints, f.name)
        }
        if hints.camera:
            is_new.pop("refusal")
        hints = replace(hints, **is_new)
    return hints


def _read(path: Path) -> ModelHints:
    try:
        if path.stat().st_size > LIMIT_BYTES:
            raise ValueError(f"it has more than {LIMIT_BYTES:,} bytes")
        content = _parsed(path)
    except (OSError, ValueError) as error:
        return ModelHints(refusal=f"{path.name}: {error}")
    other = _READERS[path.name](content) if isinstance(content, dict) else ModelHints()
    return replace(other, refusal=other.refusal and f"{path.name}: {other.refusal}")


def _parsed(path: Path) -> Any:
    """The content of a JSON or YAML file; ValueError if it is malformed."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return strict_json.loads(text)
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        first = str(error).splitlines()[0] if str(error) else "it is nested too deeply"
        raise ValueError(f"is not YAML: {first}") from error
