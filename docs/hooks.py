"""Run the examples of a page while the site is built, and show what they printed and drew.

A fenced block opened by ```` ```python run ```` is executed; the blocks of one page share one
namespace. Its printed output is placed below it, and each figure it leaves open is saved next
to the page. In a block opened by ```` ```console run ```` each line ``$ credo ...`` runs the
command line; a line that must fail ends in ``# exits with 2``. All blocks of a page run in one
new folder. An example that raises, warns or exits otherwise than it says stops the build.
"""

import contextlib
import io
import re
import shlex
import sys
import tempfile
import warnings
from html import escape
from typing import Any

import matplotlib as mpl
from click.testing import CliRunner
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from credo.app.cli.command_line import command_line

__all__ = ["on_page_markdown", "run_examples"]

BLOCK = re.compile(
    r"^```(?P<language>python|console) run\n(?P<code>.*?)^```$", flags=re.M | re.S
)


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
        language, code = match["language"], match["code"]
        is_python = language == "python"
        printed = _printed(code, namespace, stem) if is_python else _answered(code, stem)
        parts = [f"```{language}\n{code}```"]
        if printed:
            parts.append(f'<div class="output"><pre>{escape(printed)}</pre></div>')
        for picture in _open_figures():
            path = f"{stem}_{len(figures) + 1}.png"
            figures[path] = picture
            parts.append(f"![figure drawn by the example above]({path.rpartition('/')[2]})")
        return "\n\n".join(parts)

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return BLOCK.sub(shown, markdown), figures


def _printed(code: str, namespace: dict[str, Any], stem: str) -> str:
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


def _answered(code: str, stem: str) -> str:
    """Return what the commands after ``$`` print, errors included."""
    answers = []
    for line in code.splitlines():
        _, _, *arguments = shlex.split(line, comments=True)
        expected = int(line.partition("# exits with ")[2] or 0)
        # In this process, for what a command imports is most of what it takes.
        answer = CliRunner().invoke(command_line, arguments, env={"COLUMNS": "100"})
        if answer.exit_code != expected:
            raise PluginError(
                f"commands must exit with {expected}; in {stem}.md '{line}' exited with "
                f"{answer.exit_code}: {answer.output}. Correct the example, or what it runs."
            )
        answers.append(answer.output)
    return "".join(answers)


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
