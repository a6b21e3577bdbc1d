"""The container of a model file: a zip of arrays and one JSON document, read with suspicion.

``model.json`` lists the SHA-256 of every array; the comment of the zip holds that of
``model.json`` itself. Members are stored as they are, so nothing in a file of ours expands.
"""

import io
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from credo.data.error import ModelFileError
from credo.data.model_file.codec import array_fault

__all__ = [
    "DOCUMENT",
    "MAX_DOCUMENT_SIZE",
    "MAX_MEMBERS",
    "MAX_MEMBER_SIZE",
    "MAX_RATIO",
    "MAX_TOTAL_SIZE",
    "read_arrays",
    "read_document",
    "write_archive",
]

DOCUMENT = "model.json"
MAX_MEMBERS = 100_000
MAX_DOCUMENT_SIZE = 1 << 26
MAX_MEMBER_SIZE = 1 << 31
MAX_TOTAL_SIZE = 1 << 32
MAX_RATIO = 100

_COMMENT = b"credo sha256 "
_MEMBER = re.compile(r"arrays/(0|[1-9]\d{0,5})\.npy")
_ENCRYPTED = 0x1


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
