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

    A plan that grows while it is kept counts with its new size when it is next asked for. The
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
        self._plans: OrderedDict[Key, tuple[Plan, int]] = OrderedDict()
        self._total = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._plans)

    def __contains__(self, key: object) -> bool:
        return key in self._plans

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.max_plans,)

    @property
    def n_bytes(self) -> int:
        """Bytes of all plans, each as it was when last asked for."""
        return self._total

    def get(self, key: Key, max_bytes: float) -> Plan | None:
        """Return the plan of a key, or None; others go if it has grown beyond the memory."""
        with self._lock:
            kept = self._plans.get(key)
            if kept is not None:
                self._keep(key, kept[0], max_bytes)
            return None if kept is None else kept[0]

    def put(self, key: Key, plan: Plan, max_bytes: float) -> Plan:
        """Return the plan after keeping it; of two threads that made one, the first wins."""
        with self._lock:
            first = self._plans[key][0] if key in self._plans else plan
            self._keep(key, first, max_bytes)
            return first

    def _keep(self, key: Key, plan: Plan, max_bytes: float) -> None:
        """Make the plan the latest, and drop the oldest ones until the rest fits."""
        size = plan.n_bytes
        _, before = self._plans.pop(key, (plan, 0))
        self._plans[key] = plan, size
        self._total += size - before
        while len(self._plans) > 1 and (
            self._total > max_bytes or len(self._plans) > self.max_plans
        ):
            self._total -= self._plans.popitem(last=False)[1][1]
