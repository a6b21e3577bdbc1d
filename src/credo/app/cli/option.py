"""Commands whose arguments and options are the fields of a dataclass, and lists of names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

__all__ = ["QuoteFormulas", "named_columns", "with_fields"]

Options = TypeVar("Options")

QuoteFormulas = Annotated[
    bool,
    typer.Option(
        "--quote-formulas",
        help="Put ' before text that starts with =, +, - or @, which spreadsheets compute.",
    ),
]


def named_columns(names: str | None) -> tuple[str, ...]:
    """Return names that are separated by commas.

    Examples
    --------
    >>> named_columns("age, dose")
    ('age', 'dose')
    """
    return tuple(name.strip() for name in (names or "").split(",") if name.strip())


def with_fields(options: type[Options], run: Callable[[Options], None]) -> Callable[..., None]:
    """Return ``run`` as a function that takes each field of ``options`` by its name.

    Typer reads arguments off a function; a command with many is easier to read as a class.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Greeting:
    ...     name: str
    ...     is_loud: bool = False
    >>> greet = with_fields(Greeting, print)
    >>> greet(name="Ada")
    Greeting(name='Ada', is_loud=False)
    >>> list(inspect.signature(greet).parameters)
    ['name', 'is_loud']
    """

    def command(**values: Any) -> None:
        run(options(**values))

    hints = get_type_hints(options, include_extras=True)
    fields = inspect.signature(options).parameters.values()
    parameters = [field.replace(annotation=hints[field.name]) for field in fields]
    command.__name__ = getattr(run, "__name__", "command")
    command.__doc__ = run.__doc__
    command.__annotations__ = {field.name: hints[field.name] for field in fields}
    command.__dict__["__signature__"] = inspect.Signature(parameters)
    return command
