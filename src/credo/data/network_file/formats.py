"""The formats of network files, each a value: extensions, and functions that read and write.

A new format is a module with ``read(content)`` and ``write(net)``, and a line in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["FORMATS", "Format", "all_extensions", "main_extensions"]


@dataclass(frozen=True)
class Format:
    """A way to write networks in files.

    Attributes
    ----------
    name
        What people call it.
    extensions
        Ends of names of files, the usual one first, such as ``(".bif",)``.
    read
        Takes the bytes of a file, unpacked and not empty, and returns the network.
    write
        Takes a network and returns the text of its file, or raises a `NetworkFileError` if
        the format cannot hold it.

    Examples
    --------
    >>> {form.name: form.extensions for form in FORMATS}["XMLBIF"]
    ('.xmlbif', '.bifxml', '.xml')
    """

    name: str
    extensions: tuple[str, ...]
    read: Callable[[bytes], Any]
    write: Callable[[Any], str]


def _in_module(module: str, name: str, *extensions: str) -> Format:
    """Return a format whose module is loaded when a file is read or written, not before."""
    return Format(
        name,
        extensions,
        lambda content: import_module(module).read(content),
        lambda net: import_module(module).write(net),
    )


FORMATS = (
    _in_module("credo.data.network_file.bif", "BIF", ".bif"),
    _in_module("credo.data.network_file.xmlbif", "XMLBIF", ".xmlbif", ".bifxml", ".xml"),
    _in_module("credo.data.network_file.uai", "UAI", ".uai"),
    _in_module("credo.data.network_file.network_json", "JSON", ".json"),
)


def all_extensions() -> tuple[str, ...]:
    """Return every extension of every format."""
    return tuple(extension for form in FORMATS for extension in form.extensions)


def main_extensions() -> str:
    """Return the usual extension of each format, as people would list them.

    Examples
    --------
    >>> main_extensions().endswith(" or .json")
    True
    """
    *most, last = (form.extensions[0] for form in FORMATS)
    return f"{', '.join(most)} or {last}"
