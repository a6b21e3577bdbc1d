"""Try an installed credo, away from its source: ``python inside.py README.md``.

Run by `release.wheel` inside an empty environment, so that it may import nothing but credo.
"""

import contextlib
import doctest
import io
import re
import subprocess
import sys
from pathlib import Path

import credo
from credo.data import load_example_network, save_network

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def main(readme: Path) -> None:
    """Run the demo, a query, and the examples of the front page; raise where one fails."""
    place = Path(credo.__file__).resolve()
    assert place.is_relative_to(Path(sys.prefix).resolve()), f"imported from {place}"
    assert place.with_name("py.typed").exists()
    command = str(Path(sys.executable).with_name("credo"))
    shown = _output(command, "demo", "--folder", "demo")
    assert "strength" in shown
    assert {path.name for path in Path("demo").iterdir()} >= {"concrete.credo", "concrete.html"}
    save_network(load_example_network("asia"), "asia.bif")
    answer = _output(command, "query", "asia.bif", "--of", "lung", "--given", "smoke=yes")
    # P(lung = yes | smoke = yes) is a number of the table of the network.
    assert "10 %" in answer, answer
    n_blocks = _run_page(readme.read_text(encoding="utf-8"))
    n_examples = _run_doctests()
    print(f"credo {credo.__version__}: demo, query, {n_blocks} blocks of the README, ", end="")
    print(f"{n_examples} examples of public names")


def _output(*command: str) -> str:
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def _run_page(text: str) -> int:
    """Run the blocks of Python of a page, and compare what they print where it is shown."""
    pairs = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", text, flags=re.S)
    for code, shown in pairs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), {})
        assert _lines(printed.getvalue()) == _lines(shown), printed.getvalue()
    assert pairs
    return len(pairs)


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def _run_doctests() -> int:
    """Run the examples of what ``credo`` itself offers."""
    runner, finder = doctest.DocTestRunner(optionflags=FLAGS), doctest.DocTestFinder()
    for name in credo.__all__:
        value = getattr(credo, name)
        module = sys.modules[getattr(value, "__module__", None) or value.__name__]
        for test in finder.find(value, name, module=module, globs=dict(vars(module))):
            runner.run(test)
    assert runner.failures == 0
    return runner.tries


if __name__ == "__main__":
    main(Path(sys.argv[1]))
