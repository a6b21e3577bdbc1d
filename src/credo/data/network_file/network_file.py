"""Networks in files, in the formats that other programs use and in credo's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from credo.data.error import NetworkFileError
from credo.data.network_file.bif import bif_text, read_bif
from credo.data.network_file.network_assembly import (
    network_of_parts,
    network_of_uai,
    parts_of_network,
    uai_of_network,
)
from credo.data.network_file.network_content import (
    named_damage,
    named_fault,
    network_content,
    text_of,
    write_content,
)
from credo.data.network_file.network_json import json_text, read_json
from credo.data.network_file.uai import read_uai, uai_text
from credo.data.network_file.xmlbif import read_xmlbif, xmlbif_text
from credo.graphs.variable import nearest
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField

__all__ = ["NETWORK_EXTENSIONS", "load_network", "save_network"]

DiscreteNetwork = BayesianNetwork | MarkovRandomField


@dataclass(frozen=True)
class _Format:
    read: Callable[[bytes], DiscreteNetwork]
    text: Callable[[DiscreteNetwork], str]


_BIF = _Format(
    lambda content: network_of_parts(read_bif(text_of(content))),
    lambda net: bif_text(parts_of_network(net)),
)
_XMLBIF = _Format(
    lambda content: network_of_parts(read_xmlbif(content)),
    lambda net: xmlbif_text(parts_of_network(net)),
)
_UAI = _Format(
    lambda content: network_of_uai(read_uai(text_of(content))),
    lambda net: uai_text(uai_of_network(net)),
)
_JSON = _Format(lambda content: read_json(text_of(content)), json_text)
_FORMATS: Mapping[str, _Format] = {
    ".bif": _BIF,
    ".xmlbif": _XMLBIF,
    ".bifxml": _XMLBIF,
    ".xml": _XMLBIF,
    ".uai": _UAI,
    ".json": _JSON,
}
NETWORK_EXTENSIONS = tuple(_FORMATS)
"""Extensions of files that hold networks; each may be followed by ``.gz``."""


def load_network(path: str | PathLike[str]) -> DiscreteNetwork:
    """Return the network in a file; its extension says the format.

    States in ``.bif`` and XMLBIF files stay text, even where they look like numbers. A ``.uai``
    file gives variables named "0", "1", ... with whole numbers as states. A ``.json`` file of
    credo keeps every type.

    Parameters
    ----------
    path
        A file that ends in ``.bif``, ``.xmlbif``, ``.bifxml``, ``.xml``, ``.uai`` or
        ``.json``, or in one of these and ``.gz``.

    Returns
    -------
    BayesianNetwork | MarkovRandomField
        The latter from a ``.uai`` file that says ``MARKOV``, or from a ``.json`` file of one.

    Raises
    ------
    NetworkFileError
        If the file is absent, cut, or says what no network can be; the message names the line.

    Examples
    --------
    >>> from credo.data import example_network_path
    >>> asia = load_network(example_network_path("asia"))
    >>> asia.variables["smoke"].states, asia.graph.parents("dysp")
    (('yes', 'no'), ('bronc', 'either'))
    """
    form = _format_of(path)
    with named_damage(path):
        content = network_content(path)
        if not content.strip():
            raise NetworkFileError(
                "the file must hold a network; found it empty. Copy or save it again."
            )
        return form.read(content)


def save_network(net: DiscreteNetwork, path: str | PathLike[str]) -> None:
    """Write a network to a file, all of it or nothing; the extension says the format.

    Orders of states and parents are kept, and every number has all its digits. Text formats
    hold tables and text only: labels are written as text, and compact nodes as whole tables.
    UAI files hold neither names nor labels. JSON holds everything.

    Raises
    ------
    NetworkFileError
        If the format cannot hold the network.
    OutputError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> net = BayesianNetwork("rain -> wet", {"rain": [0.8, 0.2], "wet": [[1, 0], [0.1, 0.9]]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_network(net, f"{folder}/rain.json")
    ...     load_network(f"{folder}/rain.json").variables["wet"].states
    (False, True)
    """
    form = _format_of(path)
    if not isinstance(net, BayesianNetwork | MarkovRandomField):
        raise TypeError(
            "net must be a BayesianNetwork, MarkovRandomField or FactorGraph; found "
            f"{type(net).__name__}. Save estimators with credo.save."
        )
    with named_fault(path):
        write_content(path, form.text(net))


def _format_of(path: str | PathLike[str]) -> _Format:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes = suffixes[:-1]
    extension = suffixes[-1] if suffixes else ""
    if extension not in _FORMATS:
        raise NetworkFileError(
            f"{Path(path).name} must end in one of {', '.join(_FORMATS)} (or that and .gz); "
            f"found {extension or 'no extension'!r}.{nearest(extension, _FORMATS)}"
        )
    return _FORMATS[extension]
