"""Model files: ``save`` and ``load`` for what credo has learned.

A ``.credo`` file holds numbers and names, never code: loading one runs no pickle and imports
nothing that the file names. See `credo.data.model_file.codec` for what can be stored.

The container is a zip of arrays and one JSON document, read with suspicion: ``model.json``
lists the SHA-256 of every array, and the comment of the zip holds that of ``model.json``.
Members are stored as they are, so nothing in a file of ours expands.
"""

import io
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from credo.data.error import ModelFileError
from credo.data.model_file.codec import Decoder, Encoder, array_fault
from credo.data.model_file.registry import FORMER_NAMES, registered_name
from credo.data.output import atomic_file

__all__ = [
    "DOCUMENT",
    "MAX_DOCUMENT_SIZE",
    "MAX_MEMBERS",
    "MAX_MEMBER_SIZE",
    "MAX_RATIO",
    "MAX_TOTAL_SIZE",
    "SCHEMA_VERSION",
    "ModelFileInfo",
    "load",
    "model_file_info",
    "read_arrays",
    "read_document",
    "save",
    "write_archive",
]

SCHEMA_VERSION = 1

DOCUMENT = "model.json"
MAX_MEMBERS = 100_000
MAX_DOCUMENT_SIZE = 1 << 26
MAX_MEMBER_SIZE = 1 << 31
MAX_TOTAL_SIZE = 1 << 32
MAX_RATIO = 100

_FORMAT = "credo model"
_START = b"PK\x03\x04"
_COMMENT = b"credo sha256 "
_MEMBER = re.compile(r"arrays/(0|[1-9]\d{0,5})\.npy")
_ENCRYPTED = 0x1
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


def write_archive(
    file: BinaryIO, document: dict[str, Any], arrays: Sequence[NDArray[Any]]
) -> None:
    """Write the zip; ``document`` gets the checksums of the arrays under ``"arrays"``."""
    _require_limits([array.nbytes for array in arrays])
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        checksums = []
        for place, array in enumerate(arrays):
            buffer = io.BytesIO()
            npy.write_array(buffer, array, allow_pickle=False)
            checksums.append(sha256(buffer.getbuffer()).hexdigest())
            archive.writestr(_info(f"arrays/{place}.npy"), buffer.getbuffer())
        content = json.dumps({**document, "arrays": checksums}, allow_nan=False).encode()
        _require_limits([len(content)], MAX_DOCUMENT_SIZE)
        archive.writestr(_info(DOCUMENT), content)
        archive.comment = _COMMENT + sha256(content).hexdigest().encode()


def read_document(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the JSON document after checking the zip's directory and the checksum."""
    infos = archive.infolist()
    _require_members(infos)
    _require_limits([info.file_size for info in infos])
    for info in infos:
        _require_plain(info)
    _require_limits([archive.getinfo(DOCUMENT).file_size], MAX_DOCUMENT_SIZE)
    content = _content(archive, DOCUMENT)
    if archive.comment != _COMMENT + sha256(content).hexdigest().encode():
        raise ModelFileError(f"must be as it was written; found {DOCUMENT} edited or damaged")
    document = json.loads(content, object_pairs_hook=_unique, parse_constant=_no_constant)
    if not isinstance(document, dict):
        raise ModelFileError("must hold a JSON object; found another JSON value")
    return document


def read_arrays(archive: zipfile.ZipFile, checksums: Any) -> list[NDArray[Any]]:
    """Return the arrays after comparing each with its checksum."""
    if not isinstance(checksums, list) or len(checksums) + 1 != len(archive.namelist()):
        raise ModelFileError("must list every array; found arrays without a checksum, or none")
    arrays = []
    for place, checksum in enumerate(checksums):
        name = f"arrays/{place}.npy"
        content = _content(archive, name)
        if sha256(content).hexdigest() != checksum:
            raise ModelFileError(f"must be as it was written; found {name} edited or damaged")
        arrays.append(_array(content, name))
    return arrays


def _info(name: str) -> zipfile.ZipInfo:
    # A fixed date makes equal content equal bytes.
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    return info


def _require_members(infos: Sequence[zipfile.ZipInfo]) -> None:
    names = [info.filename for info in infos]
    if len(names) > MAX_MEMBERS:
        raise ModelFileError(f"must have at most {MAX_MEMBERS} members; found {len(names)}")
    strange = [name for name in names if name != DOCUMENT and not _MEMBER.fullmatch(name)]
    if strange:
        raise ModelFileError(f"must hold only its own members; found {strange[0][:80]!r}")
    if len(set(names)) < len(names):
        raise ModelFileError("must hold each member once; found one twice")
    if DOCUMENT not in names:
        raise ModelFileError(f"must hold {DOCUMENT}; found none")


def _require_limits(sizes: Iterable[int], largest: int = MAX_MEMBER_SIZE) -> None:
    sizes = list(sizes)
    if max(sizes, default=0) > largest:
        raise ModelFileError(f"must have members up to {largest} bytes; found {max(sizes)}")
    if sum(sizes) > MAX_TOTAL_SIZE:
        raise ModelFileError(
            f"must unpack to {MAX_TOTAL_SIZE} bytes at most; found {sum(sizes)}"
        )


def _require_plain(info: zipfile.ZipInfo) -> None:
    if info.flag_bits & _ENCRYPTED:
        raise ModelFileError(f"must not be encrypted; found {info.filename} encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ModelFileError(f"must be stored plainly; found {info.filename} compressed oddly")
    if info.file_size > MAX_RATIO * max(info.compress_size, 1):
        ratio = info.file_size // max(info.compress_size, 1)
        raise ModelFileError(
            f"must not expand more than {MAX_RATIO} times; found {info.filename} {ratio} times"
        )


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    size = archive.getinfo(name).file_size
    with archive.open(name) as member:
        content = member.read(size + 1)
    if len(content) != size:
        raise ModelFileError(f"must be whole; found {name} longer or shorter than it says")
    return content


def _array(content: bytes, name: str) -> NDArray[Any]:
    """Return the array in ``.npy`` bytes; its header is checked before memory is taken."""
    buffer = io.BytesIO(content)
    version = npy.read_magic(buffer)
    if version not in ((1, 0), (2, 0)):
        raise ModelFileError(f"must hold arrays of npy version 1 or 2; found {version}")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(buffer)
    fault = array_fault(dtype, len(shape))
    if fault:
        raise ModelFileError(f"must hold arrays of numbers or text; found {fault} in {name}")
    expected = dtype.itemsize * int(np.prod([int(n) for n in shape], dtype=object))
    if expected != len(content) - buffer.tell() or min(shape, default=0) < 0:
        raise ModelFileError(f"must hold whole arrays; found {name} of another size")
    if dtype.kind == "U" and _largest_letter(content[buffer.tell() :], dtype) > sys.maxunicode:
        raise ModelFileError(f"must hold text of Unicode; found {name} with other letters")
    buffer.seek(0)
    return np.asarray(npy.read_array(buffer, allow_pickle=False))


def _largest_letter(content: bytes, dtype: np.dtype[Any]) -> int:
    letters = np.frombuffer(content, dtype=np.dtype(np.uint32).newbyteorder(dtype.byteorder))
    return int(letters.max(initial=0))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ModelFileError("must hold each JSON key once; found one twice")
    return dict(pairs)


def _no_constant(word: str) -> Any:
    raise ModelFileError(f"must hold strict JSON; found {word}")
