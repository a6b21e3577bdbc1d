"""Published Bayesian networks that travel with credo, to try things on.

``asia`` is the chest clinic of S. L. Lauritzen and D. J. Spiegelhalter (1988); ``alarm``
watches patients under anesthesia, by I. A. Beinlich, H. J. Suermondt, R. M. Chavez and G. F.
Cooper (1989). See ``sets/README.md``.
"""

from __future__ import annotations

from pathlib import Path

from credo.data.network_file.network_file import load_network
from credo.data.table.column_name import quoted
from credo.models.network.bayesian_network import BayesianNetwork

__all__ = ["example_network_names", "example_network_path", "load_example_network"]

_FOLDER = Path(__file__).parent


def example_network_names() -> list[str]:
    """Return the names of the networks.

    Examples
    --------
    >>> "asia" in example_network_names()
    True
    """
    return sorted(path.stem for path in _FOLDER.glob("*.bif"))


def example_network_path(name: str) -> Path:
    """Return the BIF file of a network.

    Examples
    --------
    >>> example_network_path("asia").name
    'asia.bif'
    """
    if name not in example_network_names():
        raise ValueError(
            f"name must be one of {quoted(example_network_names())}; found {name!r}; choose "
            "one of these."
        )
    return _FOLDER / f"{name}.bif"


def load_example_network(name: str) -> BayesianNetwork:
    """Return a published network.

    Examples
    --------
    >>> alarm = load_example_network("alarm")
    >>> len(alarm.variables), alarm.n_parameters
    (37, 509)
    """
    net = load_network(example_network_path(name))
    if not isinstance(net, BayesianNetwork):
        raise TypeError(f"{name} must be a Bayesian network; found a {type(net).__name__}.")
    return net
