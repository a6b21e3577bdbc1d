"""Networks in files, in the formats that other programs use and in credo's own."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from credo.data.error import NetworkFileError
from credo.data.network_file.formats import FORMATS, Format, all_extensions
from credo.data.network_file.network_content import (
    named_damage,
    named_fault,
    network_content,
    write_content,
)
from credo.graphs.variable import nearest
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField

__all__ = ["NETWORK_EXTENSIONS", "load_network", "save_network"]

DiscreteNetwork = BayesianNetwork | MarkovRandomField

NETWORK_EXTENSIONS = all_extensions()
"""Extensions of files that hold networks; each may be followed by ``.gz``."""


def load_network(path: str | PathLike[str], format: Format | None = None) -> DiscreteNetwork:
    """Return the network in a file; its extension says the format.

    States in ``.bif`` and XMLBIF files stay text, even where they look like numbers. A ``.uai``
    file gives variables named "0", "1", ... with whole numbers as states. A ``.json`` file of
    credo keeps every type.

    Parameters
    ----------
    path
        A file that ends in one of ``credo.data.NETWORK_EXTENSIONS``, or in one of these and
        ``.gz``.
    format
        A `Format` of your own, whatever the extension.

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
    form = format or _format_of(path)
    with named_damage(path):
        content = network_content(path)
        if not content.strip():
            raise NetworkFileError(
                "the file must hold a network; found it empty. Copy or save it again."
            )
        net: DiscreteNetwork = form.read(content)
        return net


def save_network(
    net: DiscreteNetwork, path: str | PathLike[str], format: Format | None = None
) -> None:
    """Write a network to a file, all of it or nothing; the extension says the format.

    Orders of states and parents are kept, and every number has all its digits. Text formats
    hold tables and text only: labels are written as text, and compact nodes as whole tables.
    UAI files hold neither names nor labels. JSON holds everything. A `Format` of your own is
    used whatever the extension.

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
    form = format or _format_of(path)
    if not isinstance(net, BayesianNetwork | MarkovRandomField):
        raise TypeError(
            "net must be a BayesianNetwork, MarkovRandomField or FactorGraph; found "
            f"{type(net).__name__}. Save estimators with credo.save."
        )
    with named_fault(path):
        write_content(path, form.write(net))


def _format_of(path: str | PathLike[str]) -> Format:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes = suffixes[:-1]
    extension = suffixes[-1] if suffixes else ""
    for form in FORMATS:
        if extension in form.extensions:
            return form
    raise NetworkFileError(
        f"{Path(path).name} must end in one of {', '.join(NETWORK_EXTENSIONS)} (or that and "
        f".gz); found {extension or 'no extension'!r}.{nearest(extension, NETWORK_EXTENSIONS)}"
    )
