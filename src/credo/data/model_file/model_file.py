"""Model files: ``save`` and ``load`` for what credo has learned.

A ``.credo`` file holds numbers and names, never code: loading one runs no pickle and imports
nothing that the file names. See `credo.data.model_file.codec` for what can be stored and
`credo.data.model_file.archive` for the container.
"""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any

from credo.data.error import ModelFileError
from credo.data.model_file.archive import read_arrays, read_document, write_archive
from credo.data.model_file.codec import Decoder, Encoder
from credo.data.model_file.registry import FORMER_NAMES, registered_name
from credo.data.output import atomic_file

__all__ = ["SCHEMA_VERSION", "ModelFileInfo", "load", "model_file_info", "save"]

SCHEMA_VERSION = 1

_FORMAT = "credo model"
_START = b"PK\x03\x04"
_LIBRARIES = ("credo-bayes", "numpy", "scipy", "scikit-learn", "pandas")
_KEYS = frozenset(
    ("format", "schema_version", "class", "created", "libraries", "fingerprint", "value")
).union(["arrays"])


@dataclass(frozen=True)
class ModelFileInfo:
    """What a model file says of itself.

    Attributes
    ----------
    class_name
        Class of the object, or "dict", "list" and the like.
    created
        When it was written, in UTC, ISO 8601.
    libraries
        Versions of the libraries that wrote it.
    fingerprint
        SHA-256 of the training data, or None.
    n_arrays, n_bytes
        Number of arrays, and size of the file.
    """

    class_name: str
    created: str
    libraries: dict[str, str]
    fingerprint: str | None
    schema_version: int
    n_arrays: int
    n_bytes: int


def save(value: Any, path: str | PathLike[str], fingerprint: str | None = None) -> None:
    """Write a model, or any value made of credo's own, to a file; all of it or nothing.

    Estimators keep their settings and all that fitting gave them.

    Parameters
    ----------
    value
        An estimator, distribution, basis or preparation of credo; a Pipeline of scikit-learn
        whose steps are credo's, "passthrough", or one of StandardScaler, MinMaxScaler,
        MaxAbsScaler, RobustScaler, PolynomialFeatures, PCA, SimpleImputer (of numbers) and
        Pipeline; or lists, tuples, dicts (with text keys), arrays, numbers and text that hold
        them.
    path
        Where to; by convention it ends in ``.credo``.
    fingerprint
        SHA-256 of the training data (`Table.fingerprint`); by default ``value.fingerprint_``
        if there is one.

    Raises
    ------
    ModelFileError
        If part of ``value`` is of a class that a model file cannot hold, such as an unknown
        step; nothing is written then.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save({"coverage": 0.9, "names": ("age", "dose")}, f"{folder}/settings.credo")
    ...     load(f"{folder}/settings.credo")
    {'coverage': 0.9, 'names': ('age', 'dose')}
    """
    encoder = Encoder()
    document = {
        "format": _FORMAT,
        "schema_version": SCHEMA_VERSION,
        "class": _class_name(value),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "libraries": {name: _version(name) for name in _LIBRARIES},
        "fingerprint": fingerprint or getattr(value, "fingerprint_", None),
        "value": encoder.encode(value, type(value).__name__),
    }
    with atomic_file(path) as file:
        write_archive(file, document, encoder.arrays)


def load(path: str | PathLike[str]) -> Any:
    """Return what `save` wrote; anything else is refused with a `ModelFileError`.

    Raises
    ------
    ModelFileError
        If the file is absent, not a model file, damaged, edited, of another version, larger
        than the limits, or holds anything that `save` would not have written.
    """
    with _opened(Path(path)) as archive:
        document = _checked_document(archive)
        decoder = Decoder(read_arrays(archive, document["arrays"]))
        value = decoder.decode(document["value"])
        if len(decoder.used) != len(decoder.arrays):
            raise ModelFileError("must use every array it holds; found one that is not used")
        head = str(document["class"])
        if FORMER_NAMES.get(head, head) != _class_name(value):
            raise ModelFileError(
                f"must hold the {head[:80]} that its head names; found a {_class_name(value)}"
            )
        if hasattr(value, "require_usable"):
            value.require_usable()
        return value.opened(document["fingerprint"]) if hasattr(value, "opened") else value


def model_file_info(path: str | PathLike[str]) -> ModelFileInfo:
    """Return what a model file says of itself, without loading the model."""
    path = Path(path)
    with _opened(path) as archive:
        document = _checked_document(archive)
        return ModelFileInfo(
            class_name=str(document["class"]),
            created=str(document["created"]),
            libraries={str(k): str(v) for k, v in dict(document["libraries"]).items()},
            fingerprint=document["fingerprint"],
            schema_version=document["schema_version"],
            n_arrays=len(document["arrays"]),
            n_bytes=path.stat().st_size,
        )


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except ModelFileError as error:
        raise ModelFileError(f"{path.name} {error}; save the model again.") from error
    except FileNotFoundError as error:
        raise ModelFileError(f"{path} must be a file; found none; check the path.") from error
    except IsADirectoryError as error:
        raise ModelFileError(
            f"{path} must be a model file; found a folder; pass a file that credo fit wrote."
        ) from error
    except zipfile.BadZipFile as error:
        raise ModelFileError(_not_whole(path)) from error
    # Whatever a hostile file makes a parser raise, the caller meets one exception.
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ModelFileError(
            f"{path.name} must be a whole credo model file; found one that cannot be read "
            f"({reason}); save the model again."
        ) from error


def _not_whole(path: Path) -> str:
    """Return what is wrong with a file that no zip reader takes."""
    with path.open("rb") as file:
        is_start = file.read(4) == _START
    found = (
        "one that is cut short or damaged; copy it or save the model again"
        if is_start
        else "that it is not a model file; pass one that credo fit wrote"
    )
    return f"{path.name} must be a whole credo model file; found {found}."


def _checked_document(archive: zipfile.ZipFile) -> dict[str, Any]:
    document = read_document(archive)
    found = document.get("schema_version")
    if document.get("format") != _FORMAT:
        raise ModelFileError("must be a credo model file; found another kind of file")
    if type(found) is not int or found != SCHEMA_VERSION:
        raise ModelFileError(
            f"must have schema version {SCHEMA_VERSION}, which this credo reads; found {found}"
        )
    if not isinstance(document.get("fingerprint"), str | None):
        raise ModelFileError("must have text as fingerprint, or none; found something else")
    if set(document) != _KEYS:
        strange = sorted(set(document) ^ _KEYS)
        raise ModelFileError(
            f"must hold known keys only; found {strange[:5]} unknown or absent"
        )
    return document


def _class_name(value: Any) -> str:
    return registered_name(type(value)) or type(value).__name__


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
