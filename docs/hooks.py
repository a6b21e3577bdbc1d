"""Run the examples of a page while the site is built, and show what they printed and drew.

A fenced block opened by ```` ```python run ```` is executed; the blocks of one page share one
namespace. Its printed output is placed below it, and each figure it leaves open is saved next
to the page. An example that raises, or warns, stops the build.
"""

import contextlib
import io
import re
import sys
import warnings
from html import escape
from typing import Any

import matplotlib as mpl
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

__all__ = ["on_page_markdown", "run_examples"]

BLOCK = re.compile(r"^```python run\n(?P<code>.*?)^```$", flags=re.M | re.S)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with its examples executed; mkdocs calls this for every page."""
    stem = page.file.src_uri.removesuffix(".md")
    shown, figures = run_examples(markdown, stem)
    for path, picture in figures.items():
        files.append(File.generated(config, path, content=picture))
    return shown


def run_examples(markdown: str, stem: str) -> tuple[str, dict[str, bytes]]:
    """Return the page with outputs inserted, and its pictures by path.

    Parameters
    ----------
    markdown
        The text of the page.
    stem
        Path of the page without its suffix; pictures are named ``<stem>_<number>.png``.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    figures: dict[str, bytes] = {}

    def shown(match: re.Match[str]) -> str:
        code = match["code"]
        printed = _printed_by(code, namespace, stem)
        parts = [f"```python\n{code}```"]
        if printed:
            parts.append(f'<div class="output"><pre>{escape(printed)}</pre></div>')
        for picture in _open_figures():
            path = f"{stem}_{len(figures) + 1}.png"
            figures[path] = picture
            parts.append(f"![figure drawn by the example above]({path.rpartition('/')[2]})")
        return "\n\n".join(parts)

    return BLOCK.sub(shown, markdown), figures


def _printed_by(code: str, namespace: dict[str, Any], stem: str) -> str:
    mpl.use("Agg")
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(code, f"{stem}.md", "exec"), namespace)
    except Exception as error:
        first = code.strip().splitlines()[0]
        raise PluginError(
            f"examples must run; the one in {stem}.md that starts with '{first}' raised "
            f"{type(error).__name__}: {error}. Correct the example or the code it shows."
        ) from error
    return out.getvalue()


def _open_figures() -> list[bytes]:
    """Return the open figures as PNG and close them."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    pictures = []
    for number in pyplot.get_fignums() if pyplot else []:
        picture = io.BytesIO()
        pyplot.figure(number).savefig(picture, format="png", dpi=110, bbox_inches="tight")
        pyplot.close(number)
        pictures.append(picture.getvalue())
    return pictures
