"""What a report says, as plain values: texts, tables, and pictures that are yet to be drawn.

They are made where the results are, and become a page where there is matplotlib and jinja2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from credo.plots.drawing import Drawing

__all__ = [
    "Blocks",
    "Card",
    "Page",
    "Part",
    "Picture",
    "Section",
    "Sentences",
    "Table",
    "Text",
    "Tile",
    "figure",
]


@dataclass(frozen=True)
class Tile:
    """One large number and what it means."""

    value: str
    meaning: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class Sentences:
    """Sentences, each with its tone: fact, good or caution."""

    kind: ClassVar[str] = "sentences"
    said: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Cells of text; rows whose first cell is in ``strong`` stand out."""

    kind: ClassVar[str] = "table"
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    strong: tuple[str, ...] = ()
    is_words: bool = False


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawing with its size in inches, and a name that no other picture of a page has."""

    kind: ClassVar[str] = "picture"
    name: str
    size: tuple[float, float]
    drawing: Drawing


Part = Text | Sentences | Table | Picture


@dataclass(frozen=True, eq=False)
class Card:
    """A framed box: a title, a sentence, and what it holds.

    Attributes
    ----------
    is_wide
        Whether it takes the whole width of the page.
    is_small
        Whether its parts stand side by side, as small as can be read.
    """

    title: str
    text: str
    parts: tuple[Part, ...]
    is_wide: bool = False
    is_small: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """A headed part of a page, with a sentence that says how to read it."""

    title: str
    lead: str
    cards: tuple[Card, ...]


@dataclass(frozen=True, eq=False)
class Page:
    """A whole report.

    Attributes
    ----------
    title
        What a browser calls it.
    kicker, headline
        What it is on, and the answer in a sentence.
    tiles
        The numbers that matter most.
    sections
        All the rest, in order.
    footer
        How it can be made again.
    """

    title: str
    kicker: str
    headline: str
    tiles: tuple[Tile, ...]
    sections: tuple[Section, ...]
    footer: str

    def pictures(self) -> Iterator[tuple[str, Picture]]:
        """Yield all pictures, each with the title of its card."""
        for section in self.sections:
            for card in section.cards:
                yield from ((card.title, p) for p in card.parts if isinstance(p, Picture))


@dataclass(frozen=True, eq=False)
class Blocks:
    """What reports on numbers and on classes say each in their own way.

    Attributes
    ----------
    headline
        The answer.
    tiles
        The numbers that matter most.
    said
        Remarks in any order.
    sections
        Models, predictions, decisions, and what moves them.
    """

    headline: str
    tiles: tuple[Tile, ...]
    said: Sentences
    sections: tuple[Section, ...]


def figure(title: str, text: str, picture: Picture, is_wide: bool = False) -> Card:
    """Return a card that holds one picture."""
    return Card(title, text, (picture,), is_wide)
