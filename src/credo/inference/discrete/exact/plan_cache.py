"""Plans that were used lately, kept as long as their arrays fit the memory together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["PlanCache", "Sized"]


class Sized(Protocol):
    """Anything that knows how much memory its arrays take."""

    @property
    def n_bytes(self) -> int:
        """Bytes of the arrays that it holds now."""
        ...


Key = TypeVar("Key", bound=Hashable)
Plan = TypeVar("Plan", bound=Sized)


class PlanCache(Generic[Key, Plan]):
    """Plans by what they answer; those unused for longest go first. Safe to share by threads.

    A plan that grows while it is kept counts with its new size when the next one is made. The
    latest plan is kept whatever it takes. A copy, and what comes out of a pickle, is empty.

    Parameters
    ----------
    max_plans
        Most plans that are kept, however small.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> cache = PlanCache(max_plans=2)
    >>> for size in (10, 20, 30):
    ...     _ = cache.put(size, SimpleNamespace(n_bytes=size), max_bytes=1000.0)
    >>> 10 in cache, 20 in cache, cache.n_bytes
    (False, True, 50)
    """

    def __init__(self, max_plans: int = 64) -> None:
        self.max_plans = max_plans
        self._plans: OrderedDict[Key, Plan] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._plans)

    def __contains__(self, key: object) -> bool:
        return key in self._plans

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_plans,)

    @property
    def n_bytes(self) -> int:
        """Bytes of all plans as they are now."""
        with self._lock:
            return sum(plan.n_bytes for plan in self._plans.values())

    def get(self, key: Key) -> Plan | None:
        """Return the plan of a key, now the latest, or None."""
        with self._lock:
            kept = self._plans.get(key)
            if kept is not None:
                self._plans.move_to_end(key)
            return kept

    def put(self, key: Key, plan: Plan, max_bytes: float) -> Plan:
        """Return the plan after keeping it; of two threads that made one, the first wins.

        The oldest plans go until the rest fits.
        """
        with self._lock:
            first = self._plans.setdefault(key, plan)
            self._plans.move_to_end(key)
            total = sum(kept.n_bytes for kept in self._plans.values())
            while len(self._plans) > 1 and (
                total > max_bytes or len(self._plans) > self.max_plans
            ):
                total -= self._plans.popitem(last=False)[1].n_bytes
            return first
