import re
from pathlib import Path

import pytest

import credo
from credo.app.console.flag import with_flags

BELOW = ("data", "study", "models", "evaluation", "plots")


@pytest.mark.parametrize(
    ("sentence", "typed"),
    [
        ("pass `target='age'`.", "pass --target age."),
        ('pass `target="the man\'s age"`.', "pass --target 'the man'\"'\"'s age'."),
        ("pass a smaller `test_share`.", "pass a smaller --test-share."),
        ("`loss` and `reject` need classes", "--loss and --reject need classes"),
        ("found '`seed`', \"`seed`\" and `seed`", "found '`seed`', \"`seed`\" and --seed"),
        ("found 'it\\'s `seed`'", "found 'it\\'s `seed`'"),
        ("the men's `seed` and 'dose'", "the men's --seed and 'dose'"),
        ("`target='a\\x1...'`", "--target 'a\\x1...'"),
        ("no argument", "no argument"),
    ],
)
def test_arguments_become_options_and_what_is_quoted_stays(sentence, typed):
    assert with_flags(sentence) == typed


@pytest.mark.parametrize("room", BELOW)
def test_rooms_below_name_arguments_and_no_options(room):
    option = re.compile(r"(?<![\w-])--[a-z]")
    modules = (Path(credo.__file__).parent / room).rglob("*.py")
    assert [str(path) for path in modules if option.search(path.read_text())] == []
