"""The command ``credo network draw``."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from rich.text import Text

from credo.app.console.console import progress_bar, stderr, stdout
from credo.app.question.network_question import (
    QuestionError,
    answering,
    findings_text,
    opened_network,
    require_answers,
    require_free,
    typed_findings,
    typed_settings,
)
from credo.data.output import atomic_file, require_apart, require_writable
from credo.graphs.variable import nearest
from credo.plots.network import network_figure

__all__ = ["DrawSettings", "draw", "picture_bytes"]

PICTURES = (".svg", ".png", ".pdf")
PIXELS_PER_INCH = 150
MOST_PIXELS = 30_000
# Nothing about when and by what a picture was made, so that equal pictures are equal files.
ORIGINS: dict[str, dict[str, Any]] = {
    ".svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
    ".png": {"Software": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}


@dataclass(frozen=True)
class DrawSettings:
    """A drawing, as typed: findings, interventions, lines per node, and names only or not."""

    given: Sequence[str] = ()
    do: Sequence[str] = ()
    max_states: int = 6
    names_only: bool = False


def draw(path: Path, out: Path, settings: DrawSettings) -> None:
    """Draw a network with what is believed of each variable, into an SVG, PNG or PDF file."""
    if out.suffix.lower() not in PICTURES:
        raise QuestionError(
            f"{out} must end in {', '.join(PICTURES)}; found {out.suffix or 'no extension'!r}."
            f"{nearest(out.suffix, PICTURES)}"
        )
    require_writable(out)
    require_apart(out, path)
    console = stderr()
    net = opened_network(path, console)
    findings = typed_findings(settings.given, net.variables)
    set_to = typed_settings(settings.do, net.variables)
    require_free((), findings, set_to)
    if not settings.names_only:
        require_answers(net, path.name, set_to)
    with progress_bar(console) as advance, answering(path.name, console):
        advance(0.2, "asking and drawing")
        figure = network_figure(
            net,
            findings,
            set_to,
            settings.max_states,
            not settings.names_only,
            _title(findings, set_to),
        )
        picture = picture_bytes(figure, out.suffix.lower())
    with atomic_file(out) as file:
        file.write(picture)
    stdout().print(Text(f"picture: {out}", "bold"), soft_wrap=True)


def picture_bytes(figure: Figure, extension: str) -> bytes:
    """Return a figure as the content of a file; text in SVG stays text.

    The same figure gives the same content. Very large pictures get larger pixels.
    """
    buffer = io.BytesIO()
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "credo"}
    with warnings.catch_warnings(record=True) as caught, rc_context(settings):
        warnings.simplefilter("always")
        figure.savefig(
            buffer,
            format=extension.lstrip("."),
            dpi=min(PIXELS_PER_INCH, MOST_PIXELS / max(figure.get_size_inches())),
            metadata=ORIGINS.get(extension, {}),
        )
    # In SVG the viewer's fonts show what matplotlib's font lacks.
    if extension != ".svg" and any("Glyph" in str(one.message) for one in caught):
        warnings.warn(
            "The font of the picture lacks letters of some names; save it as .svg to see them.",
            stacklevel=2,
        )
    return buffer.getvalue()


def _title(given: Mapping[str, Any], do: Mapping[str, Any]) -> str:
    parts = (("given", given), ("set", do))
    return "; ".join(f"{what} {findings_text(part)}" for what, part in parts if part)
