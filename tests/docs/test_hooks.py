"""Examples on the pages are executed, and a broken one stops the build."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from mkdocs.exceptions import PluginError

from credo import __version__

ROOT = Path(__file__).resolve().parents[2]
run_examples = runpy.run_path(str(ROOT / "docs" / "hooks.py"))["run_examples"]


@pytest.fixture(autouse=True)
def _no_open_figures():
    """Close what other tests have drawn: a page shows all figures that are open."""
    plt.close("all")


def page(*blocks):
    return "\n\n".join(f"```python run\n{block}\n```" for block in blocks)


def test_printed_output_stands_below_its_block():
    shown, figures = run_examples(page("print(6 * 7)"), "a")
    assert shown == (
        '```python\nprint(6 * 7)\n```\n\n<div class="output"><pre>42\n</pre></div>'
    )
    assert figures == {}


def test_blocks_of_one_page_share_a_namespace_and_pages_do_not():
    shown, _ = run_examples(page("x = 20", "print(x + 1)"), "a")
    assert "<pre>21\n</pre>" in shown
    with pytest.raises(PluginError, match="NameError"):
        run_examples(page("print(x)"), "b")


def test_output_that_looks_like_markup_is_escaped():
    shown, _ = run_examples(page("print('<b> & </b>')"), "a")
    assert "&lt;b&gt; &amp; &lt;/b&gt;" in shown


def test_a_block_without_the_mark_is_left_alone():
    text = "```python\nraise ValueError\n```\n"
    assert run_examples(text, "a") == (text, {})


def test_figures_are_saved_next_to_the_page_and_numbered():
    draw = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([0, 1])"
    shown, figures = run_examples(page(draw, draw), "deep/a")
    assert list(figures) == ["deep/a_1.png", "deep/a_2.png"]
    assert all(picture.startswith(b"\x89PNG") for picture in figures.values())
    assert "](a_1.png)" in shown
    assert "](a_2.png)" in shown


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("assert 1 == 2", "AssertionError"),
        ("x =", "SyntaxError"),
    ],
)
def test_an_example_that_raises_stops_the_build_and_is_named(code, cause):
    with pytest.raises(PluginError, match=rf"one in a\.md that starts with .* raised {cause}"):
        run_examples(page(code), "a")


def test_an_example_that_warns_stops_the_build():
    code = "import warnings\nwarnings.warn('careful')"
    with pytest.raises(PluginError, match="UserWarning: careful"):
        run_examples(page(code), "a")


def console(*lines):
    return "```console run\n" + "\n".join(lines) + "\n```"


def test_commands_run_and_their_answer_stands_below():
    shown, _ = run_examples(console("$ credo --version"), "a")
    assert shown.startswith("```console\n$ credo --version\n")
    assert f'<div class="output"><pre>credo {__version__}\n</pre></div>' in shown


def test_a_command_that_fails_stops_the_build_unless_it_says_so():
    failing = "$ credo fit nothing.csv --target y"
    with pytest.raises(PluginError, match="exited with 2"):
        run_examples(console(failing), "a")
    shown, _ = run_examples(console(f"{failing}  # exits with 2"), "a")
    assert "nothing.csv" in shown.partition("<pre>")[2]
    with pytest.raises(PluginError, match="must exit with 2"):
        run_examples(console("$ credo --version  # exits with 2"), "a")


def test_blocks_of_one_page_share_a_folder_that_is_gone_afterwards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write = page(
        "from credo.data import load_example_network, save_network\n"
        "save_network(load_example_network('asia'), 'kept.bif')"
    )
    read = console("$ credo network convert kept.bif kept.json")
    again = page("from pathlib import Path\nprint(len(Path('kept.json').read_text()) > 100)")
    shown, _ = run_examples(f"{write}\n\n{read}\n\n{again}", "a")
    assert "<pre>True\n</pre>" in shown
    assert Path.cwd() == tmp_path
    assert list(tmp_path.iterdir()) == []
