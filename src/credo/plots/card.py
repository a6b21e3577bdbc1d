"""A rounded box with a name on top: the frame of every node of a drawn network, in inches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol
from unicodedata import east_asian_width

from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path

from credo.plots.style import GRAY, INK, ORANGE, shortened

__all__ = [
    "PAD",
    "ROW",
    "ROW_SIZE",
    "TITLE",
    "Box",
    "Card",
    "FactorCard",
    "NameCard",
    "draw_frame",
    "text_width",
    "title_width",
    "write",
]

Box = tuple[float, float, float, float]
"""Left, top, width and height; y grows downward."""

PAD = 0.07
TITLE = 0.23
ROW = 0.15
FACTOR = 0.19
TITLE_SIZE = 8.0
ROW_SIZE = 7.0
MARK_SIZE = 6.0
NAME_LENGTH = 30
POINTS_PER_INCH = 72.0
# Fonts of other viewers may be somewhat wider than the one measured here.
SPARE = 1.04

PLAIN_FACE, MARKED_FACE = "#F2F5F9", "#FBE6D9"


class Card(Protocol):
    """What stands for a node: it knows its size and draws itself into a box of that size."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        ...

    def draw(self, ax: Axes, box: Box) -> None:
        """Draw on axes whose unit is an inch."""
        ...


@dataclass(frozen=True)
class NameCard:
    """A node of which only the name is shown.

    Attributes
    ----------
    name
        Of the variable.
    mark
        A word in the corner, such as "given"; empty if there is nothing to mark.
    """

    name: str
    mark: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return title_width(self.name, self.mark), TITLE

    def draw(self, ax: Axes, box: Box) -> None:
        """Draw the name in its box."""
        draw_frame(ax, box, self.name, self.mark)


@dataclass(frozen=True)
class FactorCard:
    """A factor of a factor graph: its name on a dark ground."""

    name: str

    @property
    def size(self) -> tuple[float, float]:
        """Width and height."""
        return text_width(shortened(self.name, NAME_LENGTH), ROW_SIZE) + 2 * PAD, FACTOR

    def draw(self, ax: Axes, box: Box) -> None:
        """Draw the name in its box."""
        left, top, width, height = box
        ground = _rounded(left, top, width, height)
        ground.set(facecolor=INK, edgecolor="none", zorder=3)
        ax.add_artist(ground)
        shown = shortened(self.name, NAME_LENGTH)
        style = {"color": "white", "ha": "center", "zorder": 4}
        write(ax, left + width / 2, top + height / 2, shown, **style)


@lru_cache(maxsize=20_000)
def text_width(text: str, points: float, weight: str = "normal") -> float:
    """Return how wide a text is in inches.

    Examples
    --------
    >>> 0.2 < text_width("smoke", 7.0) < 0.5
    True
    """
    # Letters as wide as high are in no font that comes with matplotlib.
    is_wide = [east_asian_width(letter) in ("W", "F") for letter in text]
    narrow = "".join(x for x, wide in zip(text, is_wide, strict=True) if not wide)
    font = FontProperties(family="DejaVu Sans", size=points, weight=weight)
    width = text_to_path.get_text_width_height_descent(narrow, font, ismath=False)[0]
    return float(SPARE * (width + points * sum(is_wide)) / POINTS_PER_INCH)


def title_width(name: str, mark: str) -> float:
    """Return the width that a name and its mark need."""
    own = text_width(shortened(name, NAME_LENGTH), TITLE_SIZE, "bold") + 2 * PAD
    return own + (text_width(mark, MARK_SIZE, "bold") + 3 * PAD if mark else 0.0)


def write(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write a text, its middle at height ``y``; signs of formulas have no meaning."""
    settings: dict[str, Any] = {"fontsize": ROW_SIZE, "color": INK, "va": "center_baseline"}
    ax.text(x, y, text, parse_math=False, **{**settings, **style})


def draw_frame(ax: Axes, box: Box, name: str, mark: str) -> None:
    """Draw the outline and the title; marked nodes are orange and say why."""
    left, top, width, height = box
    color, face = (ORANGE, MARKED_FACE) if mark else (GRAY, PLAIN_FACE)
    body = _rounded(left, top, width, height)
    body.set(facecolor="white", edgecolor="none", zorder=3)
    title = _rounded(left, top, width, height)
    title.set(facecolor=face, edgecolor="none", zorder=3.1)
    outline = _rounded(left, top, width, height)
    outline.set(facecolor="none", edgecolor=color, linewidth=1.6 if mark else 0.8, zorder=3.4)
    for patch in (body, title, outline):
        ax.add_artist(patch)
    if height > TITLE:
        # The title band is the rounded box, covered by white below the title.
        cover = _rounded(left, top + TITLE, width, height - TITLE)
        cover.set(facecolor="white", edgecolor="none", zorder=3.2)
        ax.add_artist(cover)
    _write_title(ax, box, name, mark)


def _write_title(ax: Axes, box: Box, name: str, mark: str) -> None:
    left, top, width, _ = box
    middle = top + TITLE / 2
    shown = shortened(name, NAME_LENGTH)
    if not mark:
        style = {"fontsize": TITLE_SIZE, "fontweight": "bold", "zorder": 4, "ha": "center"}
        write(ax, left + width / 2, middle, shown, **style)
        return
    style = {"fontsize": TITLE_SIZE, "fontweight": "bold", "zorder": 4, "ha": "left"}
    write(ax, left + PAD, middle, shown, **style)
    badge_width = text_width(mark, MARK_SIZE, "bold") + 1.2 * PAD
    badge_left = left + width - PAD - badge_width
    badge = _rounded(badge_left, middle - 0.065, badge_width, 0.13)
    badge.set(facecolor=ORANGE, edgecolor="none", zorder=3.5)
    ax.add_artist(badge)
    style = {"fontsize": MARK_SIZE, "fontweight": "bold", "color": "white", "zorder": 4}
    write(ax, badge_left + badge_width / 2, middle, mark, ha="center", **style)


def _rounded(left: float, top: float, width: float, height: float) -> FancyBboxPatch:
    return FancyBboxPatch(
        (left, top), width, height, boxstyle="round,pad=0,rounding_size=0.045"
    )
