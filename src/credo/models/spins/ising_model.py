"""The Ising model: spins on a grid or graph that prefer to equal their neighbors.

It is a Markov random field, asked by the names of its spins or by arrays of them. Engines for
spins solve the spins themselves, all others the same as tables. Observations of spins have a
model of their noise: the likelihood of both values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Protocol, Self, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credo.graphs.factor import Factor
from credo.graphs.variable import Variable
from credo.inference.discrete.table_engine import TableApproximation
from credo.inference.engine.engine import Inference, Seconds
from credo.inference.engine.findings import Findings
from credo.inference.engine.method import Method, question_for
from credo.inference.engine.network import Auto
from credo.inference.spins.grid_sweep import SpinGrid
from credo.inference.spins.problem import IsingProblem
from credo.inference.spins.spin_engine import KINDS, SpinApproximation, SpinEngine, spin_tables
from credo.inference.spins.sweep import SpinGraph, Spins
from credo.models.network.markov_random_field import MarkovRandomField
from credo.models.network.network import Names
from credo.models.network.value.findings import Given, is_frame
from credo.numerics.array import Array, as_float
from credo.numerics.quotation import quote

__all__ = [
    "BitFlip",
    "GaussianNoise",
    "IsingModel",
    "SpinNoise",
    "SpinStructure",
    "as_noise",
    "check_levels",
    "field_by_name",
    "lattice_edges",
    "noise_beyond",
    "spin_factors",
    "spin_problem",
    "spin_variables",
    "spread",
    "structure_of",
]

Random = np.random.Generator | int | None


class IsingModel(MarkovRandomField):
    """A distribution of spins -1 and 1, ``p(x) = exp(sum w_ij x_i x_j + sum h_i x_i) / Z``.

    The first sum counts every edge once. A positive coupling w favors equal neighbors. What is
    observed of the spins (`observe`) gives another such model, the posterior. It is a Markov
    random field over the named spins, with all verbs of networks; besides, `mean`,
    `most_probable`, `sample` and `log_prob` take and give arrays in the shape of the spins.

    Parameters
    ----------
    shape_or_edges
        Shape of a grid of any number of dimensions, such as (128, 128); or pairs of
        neighbors, each pair once. Nodes 0, 1, ... keep their number as place, others are
        placed in order of appearance.
    coupling
        One number, or one for each edge in the order of ``edges``.
    field
        Half the log odds of each spin without neighbors: one number, an array in the shape of
        the spins, or a dictionary by name.
    periodic
        Whether the edges of a grid are joined.

    Attributes
    ----------
    shape
        Shape of arrays of spins.
    names
        Name of each spin, in the order of ``ravel``: "2,3" on a grid.
    edges
        Pairs of places, shape (n_edges, 2).
    log_constant
        What is added to the log density: after `observe`, the part of the likelihood that
        does not depend on the spins, so that ``posterior.log_partition() -
        prior.log_partition()`` is the log evidence of the observations.

    Examples
    --------
    >>> prior = IsingModel((2, 2), coupling=0.2)
    >>> posterior = prior.observe([[0.5, -0.3], [0.1, 0.8]], noise=1.0)
    >>> posterior.mean(method="exact").round(4)
    array([[ 0.4709, -0.0658],
           [ 0.3034,  0.6616]])
    >>> posterior.most_probable()
    array([[1, 1],
           [1, 1]], dtype=int8)
    """

    def __init__(
        self,
        shape_or_edges: Any,
        coupling: ArrayLike = 1.0,
        field: ArrayLike | Mapping[str, float] = 0.0,
        periodic: bool = False,
    ) -> None:
        self.structure: SpinStructure = structure_of(shape_or_edges, periodic)
        weight = spread(coupling, (len(self.edges),), "coupling", "edge")
        if isinstance(field, Mapping):
            field = field_by_name(field, self.structure)
        own = spread(field, self.shape, "field", "spin")
        self.problem = spin_problem(self.structure, weight, own, 0.0)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of arrays of spins."""
        return self.structure.shape

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each spin."""
        return self.structure.names

    @property
    def edges(self) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Pairs of places that are neighbors, each once."""
        return self.structure.edges

    @property
    def coupling(self) -> Array:
        """Weight of each edge."""
        return self.problem.graph.coupling

    @property
    def field(self) -> Array:
        """Field of each spin, in the shape of the spins."""
        return self.problem.graph.field.reshape(self.shape)

    @property
    def log_constant(self) -> float:
        """What is added to the log density whatever the spins are."""
        return self.problem.log_constant

    # Other networks set these; of many thousand spins they are made when first asked for.
    variables = cast(
        "dict[str, Variable]", cached_property(lambda self: spin_variables(self.names))
    )
    factors = cast(
        "tuple[Factor, ...]",
        cached_property(lambda self: spin_factors(self.variables, self.problem)),
    )

    def observe(self, y: ArrayLike, noise: Noise = 1.0) -> Self:
        """Return the posterior after one observation of each spin, NaN where there is none.

        A log likelihood ``L_i(x_i)`` adds ``(L_i(1) - L_i(-1)) / 2`` to the field.

        Parameters
        ----------
        noise
            Standard deviation of normal noise around -1 and 1; or `GaussianNoise`, `BitFlip`,
            any object with ``log_likelihood(y)``; or a function L(y, x) that gives the log
            likelihoods of the array y for x = -1 and for x = 1.
        """
        given = self._shaped(y, "y")
        if isinstance(noise, Real):
            check_levels(given, float(noise))
        low, high = as_noise(noise).log_likelihood(given)
        seen = ~np.isnan(given)
        if not np.all(np.isfinite(low[seen]) & np.isfinite(high[seen])):
            raise ValueError(
                "log likelihoods of both values of a spin must be finite; found some that are "
                "not. Give impossible values a small probability instead of zero."
            )
        field = np.where(seen, (high - low) / 2.0, 0.0) + self.field
        constant = self.log_constant + float(((low + high) / 2.0)[seen].sum())
        return self._with(field, constant)

    def log_density(self, x: ArrayLike) -> Array:
        """Return the log density of spins, shape (..., *shape), not normalized."""
        spins = as_float(x)
        n_axes = len(self.shape)
        if spins.shape[-n_axes:] != self.shape or not np.all(np.abs(spins) == 1):
            raise ValueError(
                f"x must hold -1 and 1 in the shape {self.shape}; found shape {spins.shape}"
                f"{'' if np.all(np.abs(spins) == 1) else ' and other values'}. "
                "Code the two values as -1 and 1."
            )
        flat = spins.reshape(*spins.shape[:-n_axes], self.problem.n_spins)
        return self.problem.log_density(flat)

    def energy(self, x: ArrayLike) -> Array:
        """Return minus the log density of spins."""
        return -self.log_density(x)

    def log_prob(
        self, findings: Any, method: Method = "auto", do: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the normalized log probability of spins, or of findings by name.

        Parameters
        ----------
        findings
            An array of spins, shape (..., *shape); or findings as every network takes them.
        """
        if isinstance(findings, Mapping) or is_frame(findings):
            return super().log_prob(findings, method, do)
        return self.log_density(findings) - self.log_partition(method=method)

    def log_partition(self, given: Given = None, method: Method = "auto") -> Any:
        """Return log Z, the sum over all spins or over those that are not given.

        Parameters
        ----------
        given
            Findings by name, as a Markov random field takes them.
        method
            "exact" sums spin by spin, as by a transfer matrix, or by the plans of a Markov
            random field where those are quicker. "annealing", or an `IsingAnnealing`, is an
            estimate whose error that engine tells. "auto" is exact where that fits; elsewhere
            annealing, with a warning that tells the standard error. Other methods are those
            of a Markov random field.
        """
        if given is not None:
            return super().log_partition(given, method)
        total, _ = self.answers().total(self._rooted(Findings(1)), method)
        return float(total[0])

    def infer(
        self, method: Method = "auto", rng: Random = None, max_seconds: float = np.inf
    ) -> Inference:
        """Return means of all spins with how they came about; see `mean`."""
        stop = None if np.isinf(max_seconds) else Seconds(max_seconds)
        return self._spins.means(method, _generator(rng), stop)

    def mean(self, method: Method = "auto", rng: Random = None) -> Array:
        """Return the mean of each spin, in the shape of the spins.

        Parameters
        ----------
        method
            "gibbs", "mean_field", "exact", or an engine such as `IsingGibbs(n_draws=5000)`;
            "auto" is exact where that is quick, and Gibbs elsewhere.
        rng
            For Gibbs: a generator or a seed; always the same numbers by default.
        """
        mean: Array = self.infer(method, rng).posterior.mean
        return mean.reshape(self.shape)

    def most_probable(
        self,
        variables: Names | None = None,
        given: Given = None,
        method: Method = "auto",
        do: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the most probable spins, an array; of named or given spins as networks do.

        Parameters
        ----------
        variables
            Names of spins; all by default. The name of a method may stand here as well.
        method
            "max_flow", exact where no coupling is negative; "exact", for narrow graphs with
            any couplings; "icm", iterated conditional modes, a local optimum; "auto" is the
            first of them that can be.
        """
        if isinstance(variables, str) and variables not in self._spins.numbers:
            return self.most_probable(method=variables)
        if variables is not None or given is not None or do:
            return super().most_probable(variables, given, method, do)
        return self._spins.mode(method, _generator(None)).spins.reshape(self.shape)

    def sample(
        self,
        n: int,
        given: Given | Random = None,
        rng: Random = None,
        do: Mapping[str, Any] | None = None,
        method: Method = "auto",
        burn_in: int = 200,
        n_between: int = 10,
    ) -> Any:
        """Return draws, shape (n, *shape); with spins given a table of draws by name.

        Parameters
        ----------
        given
            Findings by name; a generator or a seed may stand here as well.
        method
            "exact" draws are independent; "gibbs" takes them from one chain, ``n_between``
            sweeps apart after ``burn_in`` sweeps; "auto" is exact where that is quick.
        """
        if isinstance(given, Integral | np.random.Generator):
            given, rng = None, given
        if given is not None or do:
            if (method, burn_in, n_between) != ("auto", 200, 10):
                raise ValueError(
                    "method, burn_in and n_between must be left out with spins given; found "
                    f"{method!r}, {burn_in} and {n_between}. Draws then come from exact sums, "
                    "or from a chain where those do not fit."
                )
            return super().sample(n, given, rng, do)
        generator = np.random.default_rng(rng)
        draws = self._spins.spins(n, method, generator, burn_in, n_between)
        return draws.reshape(n, *self.shape)

    def denoise(
        self,
        image: ArrayLike,
        noise: Noise | None = None,
        method: Method = "gibbs",
        rng: Random = None,
    ) -> Spins:
        """Return spins for a noisy image of them.

        "auto", "gibbs", "mean_field" and "exact" give each spin its more probable value, which
        makes the fewest errors in expectation; "max_flow" and "icm" give the most probable
        image as a whole.

        Parameters
        ----------
        noise
            As for `observe`. If left out it is normal around -1 and 1, with the standard
            deviation that the image has beyond those: ``sqrt(mean(image ** 2) - 1)``.
        """
        question = question_for(method, ("marginals", "mode"), KINDS, "spins")
        posterior = self.observe(image, noise_beyond(image) if noise is None else noise)
        if question == "mode":
            image_found: Spins = posterior.most_probable(method=method)
            return image_found
        return np.where(posterior.mean(method, rng) < 0, -1, 1).astype(np.int8)

    def to_markov_random_field(self) -> MarkovRandomField:
        """Return the same distribution as tables over variables with the states -1 and 1."""
        return MarkovRandomField(self.factors)

    def __repr__(self) -> str:
        what = "x".join(map(str, self.shape)) if self.structure.is_grid else "graph of spins"
        return f"IsingModel({what}, {self.problem.n_spins} spins, {len(self.edges)} edges)"

    @cached_property
    def _spins(self) -> SpinEngine:
        is_flat = self.structure.is_grid and len(self.shape) <= 2
        return SpinEngine(
            self.names, self.problem, is_flat, self.limits.memory, self.limits.seconds
        )

    @cached_property
    def _answers(self) -> Auto:
        ways = (SpinApproximation(self._spins), TableApproximation(self._spins))
        return Auto(self._spins, ways, "spins")

    def _with(self, field: Array, constant: float) -> Self:
        other = object.__new__(type(self))
        other.structure = self.structure
        other.problem = spin_problem(self.structure, self.coupling, field, constant)
        other.limits, other.root = self.limits, self.root
        return other

    def _shaped(self, values: ArrayLike, name: str) -> Array:
        array = as_float(values)
        if array.shape != self.shape:
            raise ValueError(
                f"{name} must have the shape of the spins, {self.shape}; found {array.shape}. "
                "Build the model with the shape of the observations."
            )
        return array


ROOT = 0
"""Random numbers of answers for which none are given."""

LARGEST_SUM = 1e300
"""Below it sums of a few log densities are finite."""


def spin_problem(
    structure: SpinStructure, coupling: Array, field: Array, log_constant: float
) -> IsingProblem:
    """Return the problem, as a grid for the fast loops where they serve it."""
    _require_finite_sums(coupling, field)
    graph = SpinGraph(structure.edges, coupling, np.ascontiguousarray(field).ravel())
    problem = IsingProblem(graph, None, log_constant)
    is_even = bool(np.all(coupling == coupling[:1]))
    if not (structure.is_grid and len(structure.shape) == 2 and is_even):
        return problem
    weight = float(coupling[0]) if len(coupling) else 0.0
    grid = SpinGrid(graph.field.reshape(structure.shape), weight, structure.is_periodic)
    return replace(problem, grid=grid) if grid.is_served else problem


def _require_finite_sums(coupling: Array, field: Array) -> None:
    with np.errstate(over="ignore"):
        total = np.abs(coupling).sum() + np.abs(field).sum()
    if not total < LARGEST_SUM:
        raise ValueError(
            f"couplings and fields must add up to less than {LARGEST_SUM:g} in size, so that "
            f"the log density of spins is finite; found {total:g}. Spins that are all but "
            "bound need no coupling above 1,000."
        )


def spin_variables(names: Sequence[str]) -> dict[str, Variable]:
    """Return the spins by name, as variables with the states -1 and 1."""
    return {name: Variable(name, (-1, 1)) for name in names}


def spin_factors(spins: Mapping[str, Variable], problem: IsingProblem) -> tuple[Factor, ...]:
    """Return one table per spin and per edge, whose product is the density."""
    variables = [*spins.values()]
    return tuple(
        Factor(tuple(variables[i] for i in table.scope), table.values, table.log_scale)
        for table in spin_tables(problem).tables
    )


@dataclass(frozen=True, eq=False)
class SpinStructure:
    """Spins of a grid or of a graph.

    Attributes
    ----------
    shape
        Shape of arrays of spins; (n,) for a graph.
    names
        One per spin, in the order of ``ravel``: "2,3" on a grid, the node itself as text in a
        graph.
    edges
        Pairs of places, each pair of neighbors once, shape (n_edges, 2).
    is_grid, is_periodic
        Whether it is a grid, and whether its edges are joined.
    """

    shape: tuple[int, ...]
    names: tuple[str, ...]
    edges: NDArray[np.intp]
    is_grid: bool
    is_periodic: bool


def structure_of(shape_or_edges: Any, periodic: bool) -> SpinStructure:
    """Return the structure of a grid's shape, or of pairs of neighbors."""
    if isinstance(shape_or_edges, Integral):
        return _grid((int(shape_or_edges),), periodic)
    parts = list(getattr(shape_or_edges, "edges", shape_or_edges))
    if parts and all(isinstance(part, Integral) for part in parts):
        return _grid(tuple(int(part) for part in parts), periodic)
    if periodic:
        raise ValueError(
            "periodic must be False for a list of edges; found True. "
            "List the edges that close the ring, or pass the shape of a grid."
        )
    return _graph([tuple(pair) for pair in parts])


def _generator(rng: Random) -> np.random.Generator:
    return np.random.default_rng(ROOT if rng is None else rng)


def lattice_edges(shape: tuple[int, ...], is_periodic: bool = False) -> NDArray[np.intp]:
    """Return pairs of neighbors, each once, shape (n_edges, 2), axis by axis.

    Places are counted as in ``ravel``. On a periodic grid the last place along an axis is a
    neighbor of the first, unless the axis is so short that it already was.

    Examples
    --------
    >>> lattice_edges((2, 2)).tolist()
    [[0, 2], [1, 3], [0, 1], [2, 3]]
    >>> lattice_edges((3,), is_periodic=True).tolist()
    [[0, 1], [1, 2], [2, 0]]
    """
    place = np.arange(int(np.prod(shape)), dtype=np.intp).reshape(shape)
    parts = []
    for axis, length in enumerate(shape):
        along = np.moveaxis(place, axis, 0)
        parts.append((along[:-1], along[1:]))
        if is_periodic and length > 2:
            parts.append((along[-1:], along[:1]))
    pairs = [np.stack([a.ravel(), b.ravel()], axis=1) for a, b in parts]
    return np.concatenate(pairs) if pairs else np.empty((0, 2), dtype=np.intp)


def spread(values: ArrayLike, shape: tuple[int, ...], name: str, unit: str) -> Array:
    """Return one finite number per edge or spin."""
    array = as_float(values)
    if array.shape not in ((), shape) or not np.all(np.isfinite(array)):
        raise ValueError(
            f"{name} must be one finite number, or one for each {unit}, shape {shape}; found "
            f"shape {array.shape}{'' if np.all(np.isfinite(array)) else ' with NaN or inf'}. "
            "Order numbers as `edges` and `names` do."
        )
    return np.broadcast_to(array, shape).copy()


def field_by_name(field: Mapping[str, float], structure: SpinStructure) -> Array:
    """Return fields in the shape of the spins, zero where none is named."""
    values = np.zeros(len(structure.names))
    for place, value in _by_place(field, structure, "field").items():
        values[place] = value
    return values.reshape(structure.shape)


def _by_place(values: Mapping[str, Any], structure: SpinStructure, what: str) -> dict[int, Any]:
    place = {name: k for k, name in enumerate(structure.names)}
    unknown = [name for name in values if str(name) not in place]
    if unknown:
        raise ValueError(
            f"{what} must name spins of the model; found {quote(unknown[0])}. "
            f"Names are {quote(list(structure.names[:4]))} and so on."
        )
    return {place[str(name)]: value for name, value in values.items()}


def _grid(shape: tuple[int, ...], periodic: bool) -> SpinStructure:
    if min(shape) < 1:
        raise ValueError(
            f"shape must hold positive lengths; found {shape}. Pass (n_rows, n_columns), or a "
            "list of pairs of neighbors."
        )
    names = tuple(",".join(map(str, place)) for place in np.ndindex(*shape))
    return SpinStructure(shape, names, lattice_edges(shape, periodic), True, periodic)


def _graph(pairs: Sequence[tuple[Any, ...]]) -> SpinStructure:
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise ValueError(
            "edges must be pairs of nodes, at least one; found "
            f"{next((p for p in pairs if len(p) != 2), 'none')}. Pass [(0, 1), (1, 2), ...]."
        )
    seen: set[frozenset[Any]] = set()
    for pair in pairs:
        if pair[0] == pair[1] or frozenset(pair) in seen:
            raise ValueError(
                f"edges must join two different nodes, each pair once; found {pair} "
                f"{'twice' if pair[0] != pair[1] else 'at one node'}. Add up couplings first."
            )
        seen.add(frozenset(pair))
    nodes = _nodes(node for pair in pairs for node in pair)
    place = {node: k for k, node in enumerate(nodes)}
    edges = np.array([[place[a], place[b]] for a, b in pairs], dtype=np.intp)
    return SpinStructure((len(nodes),), _distinct_names(nodes), edges, False, False)


def _distinct_names(nodes: Sequence[Any]) -> tuple[str, ...]:
    """Return the nodes as text, by which spins are asked for."""
    named: dict[str, Any] = {}
    for node in nodes:
        if str(node) in named:
            raise ValueError(
                f"nodes must differ when written as text, for that names the spins; found "
                f"{quote(named[str(node)])} and {quote(node)}. Rename one of them."
            )
        named[str(node)] = node
    return tuple(named)


def _nodes(ends: Iterable[Any]) -> list[Any]:
    """Return all nodes: 0 to the largest if they are integers, else in order of appearance."""
    nodes = list(dict.fromkeys(ends))
    if all(isinstance(node, Integral) and int(node) >= 0 for node in nodes):
        return list(range(max(int(node) for node in nodes) + 1))
    return nodes


# Fewer observations than this may all lie on one side by chance.
_ENOUGH = 64
# Below this standard deviation nothing would be left for the neighbors to say.
_LEAST_NOISE = 0.1


@runtime_checkable
class SpinNoise(Protocol):
    """An observation model: the log likelihood of each observation, for spin -1 and spin 1."""

    def log_likelihood(self, y: Array) -> tuple[Array, Array]:
        """Return log p(y | -1) and log p(y | 1), in the shape of ``y``."""
        ...


Noise = float | SpinNoise | Callable[[Array, float], ArrayLike]


@dataclass(frozen=True)
class GaussianNoise:
    """An observation is ``low`` or ``high``, for spin -1 or 1, plus normal noise.

    Attributes
    ----------
    scale
        Standard deviation of the noise.
    low, high
        Expected observations of the two values.

    Examples
    --------
    >>> low, high = GaussianNoise(1.0).log_likelihood(np.array([0.5]))
    >>> float(high[0] - low[0])
    1.0
    """

    scale: float = 1.0
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(
                f"scale of the noise must be positive; found {self.scale}. "
                "Pass a standard deviation in the units of the observations."
            )

    def log_likelihood(self, y: Array) -> tuple[Array, Array]:
        """Return log normal densities of the observations."""
        norm = -0.5 * np.log(2 * np.pi) - np.log(self.scale)
        low, high = ((y - level) / self.scale for level in (self.low, self.high))
        return norm - 0.5 * low**2, norm - 0.5 * high**2


@dataclass(frozen=True)
class BitFlip:
    """An observation is the spin itself, or with some probability its opposite.

    Attributes
    ----------
    probability
        Of a flip, between 0 and 1 and neither.
    """

    probability: float

    def __post_init__(self) -> None:
        if not 0 < self.probability < 1:
            raise ValueError(
                f"probability of a flip must be between 0 and 1; found {self.probability}. "
                "For observations without error fix the spins instead."
            )

    def log_likelihood(self, y: Array) -> tuple[Array, Array]:
        """Return log probabilities of observed spins -1 and 1."""
        found = y[~(np.isnan(y) | (np.abs(y) == 1))]
        if found.size:
            raise ValueError(
                f"observations through BitFlip must be -1 or 1; found {found[0]:g}. "
                "Code the two values as -1 and 1, or use GaussianNoise."
            )
        kept, flipped = np.log1p(-self.probability), np.log(self.probability)
        low, high = np.where(y < 0, kept, flipped), np.where(y < 0, flipped, kept)
        return np.where(np.isnan(y), np.nan, low), np.where(np.isnan(y), np.nan, high)


@dataclass(frozen=True)
class _Function:
    """An observation model from a function L(y, x), called with every y and x = -1 or 1."""

    function: Callable[[Array, float], ArrayLike]

    def log_likelihood(self, y: Array) -> tuple[Array, Array]:
        low, high = (
            np.where(np.isnan(y), np.nan, as_float(self.function(y, x))) for x in (-1.0, 1.0)
        )
        return low, high


def as_noise(
    noise: Noise,
) -> SpinNoise:
    """Return an observation model from a standard deviation, a model or a function."""
    if isinstance(noise, SpinNoise):
        return noise
    if callable(noise):
        return _Function(noise)
    return GaussianNoise(float(noise))


def noise_beyond(y: ArrayLike) -> float:
    """Return the standard deviation of noise around -1 and 1, from the mean of squares.

    Whatever the spins are, ``E[y ** 2] = 1 + noise ** 2``.

    Examples
    --------
    >>> round(noise_beyond([1.5, -1.5, 0.5, -0.5, 2.0, -1.0]), 4)
    0.8165
    """
    squares = float(np.nanmean(as_float(y) ** 2)) if np.size(y) else 1.0
    return max(float(np.sqrt(max(squares - 1.0, 0.0))), _LEAST_NOISE)


def check_levels(y: Array, scale: float) -> None:
    """Raise if observations cannot be -1 or 1 plus noise: gray levels, or zeros and ones.

    The mean of such observations is between -1 and 1, and of many with small values on one
    side of zero some are on the other.
    """
    seen = y[~np.isnan(y)]
    if not seen.size:
        return
    # A deviation of few observations is no measure of their noise.
    own = float(seen.std()) if seen.size >= _ENOUGH // 4 else max(scale, float(seen.std()))
    spread = own / np.sqrt(seen.size)
    size = np.abs(seen)
    one_sided = bool(np.all(seen >= 0) or np.all(seen <= 0)) and seen.size >= _ENOUGH
    if abs(float(seen.mean())) <= 1.0 + 6.0 * spread and not (
        one_sided and np.mean(size < 0.5) > 0.25
    ):
        return
    raise ValueError(
        "observations with normal noise must lie around -1 and 1; found values from "
        f"{seen.min():.4g} to {seen.max():.4g} with mean {seen.mean():.4g}. Pass "
        "noise=GaussianNoise(scale, low, high) with the levels of the two values, or rescale."
    )
