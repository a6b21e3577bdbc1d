"""The public classes of the rooms that have laws, and the examples that they give."""

from importlib import import_module

from credo.evaluation.laws.kind import examples_of, kind_of

__all__ = ["ROOMS", "classes_with_laws", "every_example", "named"]

ROOMS = ("distributions", "families", "features", "graphs", "inference", "models")


def classes_with_laws(*rooms):
    """Return public classes of a kind that has laws."""
    modules = [import_module(f"credo.{room}") for room in rooms or ROOMS]
    public = [getattr(module, name) for module in modules for name in module.__all__]
    kinds = [(cls, kind_of(cls)) for cls in public if isinstance(cls, type)]
    return [cls for cls, kind in kinds if kind is not None]


def every_example(*rooms):
    """Return the examples of all these classes; none of a class that gives none."""
    giving = [cls for cls in classes_with_laws(*rooms) if hasattr(cls, "examples")]
    return [example for cls in giving for example in examples_of(cls)]


def named(example):
    """Return a short name of an example, for the list of tests."""
    return str(example.it)[:60]
