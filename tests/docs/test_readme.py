import contextlib
import io
import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def lines(text):
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_example_prints_what_the_page_says(number):
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[number]
    shown = re.findall(r"```text\n(.*?)```", README, re.DOTALL)[number]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert lines(printed.getvalue()) == lines(shown)
    assert len([line for line in lines(code) if line]) <= 15


def test_the_headline_is_that_of_the_capability_table():
    table = (Path(__file__).parents[2] / "docs" / "capabilities.md").read_text(encoding="utf-8")
    headline = re.search(r"\*\*(\d+ of 351 capabilities are done)", table).group(1)
    assert headline in README


def test_every_file_it_links_to_exists():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (Path(__file__).parents[2] / target).exists(), target


def test_the_page_on_tables_is_linked_from_here_and_from_how_to_choose():
    choose = (Path(__file__).parents[2] / "docs" / "choose.md").read_text(encoding="utf-8")
    assert "(docs/tables.md)" in README
    assert "[`credo.fit`](tables.md)" in choose
