"""Gibbs sampling: each block of a joint distribution is drawn given all others, in turn.

Every such draw leaves the joint distribution as it is, so that the chain comes to it in the end
[mackay2003]_. Strong dependence between blocks makes that slow; a block that is a function of
others can make it impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from credo.distributions.normal import Normal
from credo.inference.density.metropolis import chain_account
from credo.inference.engine.draws import Draws
from credo.inference.engine.engine import Drawn, Inference, Step
from credo.numerics.array import Array, as_float
from credo.numerics.example import Example
from credo.numerics.form import Form

__all__ = ["BlockProblem", "BlockState", "BlockStep", "Gibbs"]

Values = dict[str, Array]
Conditional = Callable[[Values], Any]

# Two log densities whose difference is found by subtraction agree to about this.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class BlockProblem:
    """A joint distribution, known by the conditional distribution of each of its blocks.

    Attributes
    ----------
    start
        Values by name to start from, or a function of a Generator that returns some, with
        which chains start apart.
    conditionals
        For each name, a function of all values that returns the distribution of that block
        given the others: a `Distribution`, such as ``parameters()`` of a conjugate belief, or
        a function of a Generator that draws from it.
    is_batched
        Whether conditionals take the values of all chains at once, with an axis of chains
        before those of the value, and return as many distributions. Much faster.

    Examples
    --------
    Two normal numbers of correlation 0.6:

    >>> problem = BlockProblem(
    ...     {"x": 0.0, "y": 0.0},
    ...     {
    ...         "x": lambda values: Normal(0.6 * values["y"], 0.8),
    ...         "y": lambda values: Normal(0.6 * values["x"], 0.8),
    ...     },
    ...     is_batched=True,
    ... )
    >>> from credo.inference import run
    >>> draws = run(Gibbs(2000), problem, np.random.default_rng(0)).posterior
    >>> bool(abs(np.corrcoef(draws.pooled("x"), draws.pooled("y"))[0, 1] - 0.6) < 0.05)
    True
    """

    start: Mapping[str, ArrayLike] | Callable[[Generator], Mapping[str, ArrayLike]]
    conditionals: Mapping[str, Conditional]
    is_batched: bool = False

    def __post_init__(self) -> None:
        names = set(self.conditionals) if callable(self.start) else set(self.start)
        if not self.conditionals or names != set(self.conditionals):
            raise ValueError(
                "start must have a value for each block that has a conditional; found values "
                f"of {sorted(names)} and conditionals of {sorted(self.conditionals)}. Name "
                "each once."
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the blocks, in the order in which they are drawn."""
        return tuple(self.conditionals)

    def first(self, rng: Generator) -> Values:
        """Return values to start a chain from."""
        given = self.start(rng) if callable(self.start) else self.start
        if set(given) != set(self.conditionals):
            raise ValueError(
                f"start must return values of {sorted(self.conditionals)}; found "
                f"{sorted(given)}. Name each once."
            )
        return {name: as_float(given[name]) for name in self.names}

    def drawn(self, name: str, values: Values, rng: Generator) -> Array:
        """Return a new value of a block, given the values of all others."""
        law = self.conditionals[name](values)
        if not hasattr(law, "sample") and not callable(law):
            raise TypeError(
                f"the conditional of {name!r} must return a distribution, or a function of a "
                f"Generator; found {law!r}. Write Normal(...), or lambda rng: ..."
            )
        found = as_float(law.sample(rng) if hasattr(law, "sample") else law(rng))
        if found.shape != values[name].shape or not np.isfinite(found).all():
            raise ValueError(
                f"a draw of {name!r} must be finite and have the shape {values[name].shape}; "
                f"found {found}. Check its conditional."
            )
        return found

    def require_consistent(
        self, log_joint: Callable[[Values], Any], rng: Generator, n: int = 5
    ) -> None:
        """Check conditionals that are distributions against a joint log density.

        Of two values of a block, with others as they are, the difference of log densities is
        the same under the conditional and under the joint distribution.

        Raises
        ------
        ValueError
            With the name of a block whose conditional is another.
        """
        values = self.first(rng)
        if self.is_batched:
            values = {name: value[None] for name, value in values.items()}
        for _ in range(n):
            for name in self.names:
                law = self.conditionals[name](values)
                moved = {**values, name: self.drawn(name, values, rng)}
                if hasattr(law, "log_prob"):
                    _require_equal(name, law, log_joint, values, moved)
                values = moved


@dataclass(frozen=True)
class BlockStep(Step):
    """Some sweeps over all blocks; the objective is the number of sweeps so far.

    Attributes
    ----------
    n_draws
        Draws of each chain so far, of the warm-up or of those that count.
    """

    n_draws: int


@dataclass(frozen=True, eq=False)
class BlockState:
    """Where chains are and have been, all blocks in one row.

    Attributes
    ----------
    values
        Values of each chain now, shape (c, d).
    draws
        Values after each sweep, shape (c, n, d).
    is_warm
        Whether the warm-up is over.
    """

    values: Annotated[Array, Form("c d")]
    draws: Annotated[Array, Form("c n d")]
    is_warm: bool


@dataclass(frozen=True)
class Gibbs:
    """Draw each block given all others, sweep by sweep.

    Attributes
    ----------
    n_draws
        Sweeps of each chain that count.
    warm_up
        Sweeps of each chain before those, in which it leaves its start.
    n_chains
        Chains, one after the other.
    scan
        "systematic" draws blocks in their order, "random" picks as many at random.
    """

    n_draws: int = 1000
    warm_up: int = 500
    n_chains: int = 4
    scan: str = "systematic"

    block_size: ClassVar[int] = 100
    problem = BlockProblem
    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.scan not in ("systematic", "random"):
            raise ValueError(
                f"scan must be 'systematic' or 'random'; found {self.scan!r}. Use 'systematic'."
            )
        if min(self.n_draws, self.n_chains) < 1:
            raise ValueError(
                f"n_draws and n_chains must be at least 1; found {self.n_draws} and "
                f"{self.n_chains}. Leave them out."
            )

    @property
    def stop(self) -> Drawn:
        """All is drawn."""
        return Drawn(self.n_draws, self.warm_up)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return engines for the laws, each with a problem to solve."""
        problem = _two_normals()
        return (
            Example(cls(120, 110, 2), problem=problem),
            Example(cls(150, 0, 1, "random"), problem=problem),
        )

    def init(self, problem: BlockProblem, rng: Generator) -> BlockState:
        """Return chains at their starts."""
        rows = [_flat(problem.first(rng)) for _ in range(self.n_chains)]
        values = np.stack(rows)
        return BlockState(values, np.empty((self.n_chains, 0, values.shape[1])), False)

    def step(
        self, problem: BlockProblem, state: BlockState, rng: Generator
    ) -> tuple[BlockState, BlockStep]:
        """Make some sweeps of every chain."""
        most = self.n_draws if state.is_warm or not self.warm_up else self.warm_up
        left = most - state.draws.shape[1]
        n = min(self.block_size, left) if left > 0 else self.block_size
        shapes = _shapes(problem)
        new = np.empty((len(state.values), n, state.values.shape[1]))
        if problem.is_batched:
            values = _named(state.values, shapes)
            for i in range(n):
                values = self._swept(problem, values, rng)
                new[:, i] = _flat(values, len(new))
        else:
            for chain, row in enumerate(state.values):
                values = _named(row, shapes)
                for i in range(n):
                    values = self._swept(problem, values, rng)
                    new[chain, i] = _flat(values)
        draws = np.concatenate([state.draws, new], axis=1)
        after = replace(state, values=new[:, -1].copy(), draws=draws)
        return after, BlockStep(float(draws.shape[1]), draws.shape[1])

    def warmed(self, problem: BlockProblem, state: BlockState) -> BlockState:
        """Return the chains where they are, with no draw that counts yet."""
        return BlockState(state.values, state.draws[:, :0], True)

    def joined(self, problem: BlockProblem, states: Sequence[BlockState]) -> BlockState:
        """Return the chains of several states side by side, as long as the shortest."""
        n = min(state.draws.shape[1] for state in states)
        return BlockState(
            np.concatenate([state.values for state in states]),
            np.concatenate([state.draws[:, :n] for state in states]),
            states[0].is_warm,
        )

    def posterior(self, problem: BlockProblem, state: BlockState) -> Inference:
        """Return the draws by name."""
        is_over = state.is_warm or not self.warm_up
        account = chain_account("Gibbs sampling", state.draws, is_over)
        return Inference(Draws(_named(state.draws, _shapes(problem))), account=account)

    def _swept(self, problem: BlockProblem, values: Values, rng: Generator) -> Values:
        """Return values after one sweep."""
        names: Sequence[str] = problem.names
        if self.scan == "random":
            names = [problem.names[i] for i in rng.integers(len(names), size=len(names))]
        for name in names:
            values = {**values, name: problem.drawn(name, values, rng)}
        return values


def _shapes(problem: BlockProblem) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the blocks, which any start has."""
    return {
        name: value.shape for name, value in problem.first(np.random.default_rng(0)).items()
    }


def _flat(values: Values, *n_chains: int) -> Array:
    """Return all values in one row, or in one for each chain."""
    return np.concatenate([x.reshape(*n_chains, -1) for x in values.values()], axis=-1)


def _named(rows: Array, shapes: Mapping[str, tuple[int, ...]]) -> Values:
    """Return values by name from rows, shape (..., d)."""
    sizes = [int(np.prod(shape, dtype=np.intp)) for shape in shapes.values()]
    parts = np.split(rows, np.cumsum(sizes)[:-1], axis=-1)
    return {
        name: part.reshape((*rows.shape[:-1], *shape))
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def _require_equal(
    name: str, law: Any, log_joint: Callable[[Values], Any], values: Values, moved: Values
) -> None:
    # A batch of chains has one log joint density for each.
    mine = float(np.sum(law.log_prob(moved[name])) - np.sum(law.log_prob(values[name])))
    theirs = float(np.sum(log_joint(moved))) - float(np.sum(log_joint(values)))
    # A start far out has no density to compare with.
    if not np.isfinite(mine) or not np.isfinite(theirs):
        return
    if abs(mine - theirs) > ROUNDING * (1.0 + abs(mine)):
        raise ValueError(
            f"the conditional of {name!r} must be that of the joint distribution; found that "
            f"between two values its log density rises by {mine:.6g}, and the joint one by "
            f"{theirs:.6g}. Derive it again from the terms of the joint density that hold "
            f"{name!r}."
        )


def _two_normals() -> BlockProblem:
    """Return two normal numbers of correlation one half."""
    root = float(np.sqrt(0.75))
    return BlockProblem(
        {"x": 0.0, "y": 0.0},
        {
            "x": lambda values: Normal(0.5 * values["y"], root),
            "y": lambda values: Normal(0.5 * values["x"], root),
        },
        is_batched=True,
    )
