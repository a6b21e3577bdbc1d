"""Write docs/capabilities.md from docs/capabilities.toml, refusing claims that do not hold."""

import ast
import importlib
import tomllib
from pathlib import Path
from typing import Any

__all__ = ["claims_that_fail", "headline", "page", "read_table"]

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "docs" / "capabilities.toml"
PAGE = ROOT / "docs" / "capabilities.md"
CLAIM = {"name", "symbol", "test", "done"}

Table = dict[str, Any]


def read_table() -> Table:
    """Return the data file: ``areas`` maps codes to names, ``rows`` maps ids to claims."""
    return tomllib.loads(SOURCE.read_text(encoding="utf-8"))


def claims_that_fail(rows: Table) -> list[str]:
    """Return one sentence for each row that claims something which is not so."""
    return [f"{key} {problem}" for key, row in rows.items() for problem in _problems(row)]


def _problems(row: Table) -> list[str]:
    if not row.get("done", False):
        extra = sorted(set(row) - {"name", "done"})
        return [f"is not done but names its {', '.join(extra)}"] if extra else []
    if set(row) != CLAIM:
        return [f"is done but has the keys {sorted(row)} instead of {sorted(CLAIM)}"]
    checks = {
        f"names a symbol that does not import: {row['symbol']}": _imports(row["symbol"]),
        f"names a test that does not exist: {row['test']}": _is_test(row["test"]),
    }
    return [problem for problem, holds in checks.items() if not holds]


def _imports(symbol: str) -> bool:
    """Say whether ``symbol`` is a dotted path that starts at the package ``credo``."""
    parts = symbol.split(".")
    found: Any = importlib.import_module("credo")
    for i, part in enumerate(parts[1:], start=2):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(parts[:i]))
            except ImportError:
                return False
    return parts[0] == "credo" and len(parts) > 1


def _is_test(reference: str) -> bool:
    """Say whether ``tests/path.py::test_name`` names a function of that file."""
    path, _, name = reference.partition("::")
    file = ROOT / path
    if not (name.startswith("test_") and path.startswith("tests/") and file.is_file()):
        return False
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body)


def headline(table: Table) -> str:
    """Return one sentence: how many capabilities are done, of how many."""
    done = sum(row.get("done", False) for row in table["rows"].values())
    return f"{done} of {len(table['rows'])} capabilities are done."


def page(table: Table) -> str:
    """Return the whole Markdown page: headline, counts by area, one row per capability."""
    return "\n".join(
        [
            "# Capabilities",
            "",
            "<!-- Written by docs/write_capabilities.py from docs/capabilities.toml. -->",
            "",
            f"**{headline(table)}** A row is done when its symbol imports and its test exists",
            "and passes; anything else is not yet.",
            "",
            *_counts(table),
            *(line for code in table["areas"] for line in _area(code, table)),
        ]
    )


def _counts(table: Table) -> list[str]:
    lines = ["| area | done | of |", "|---|---:|---:|"]
    for code, name in table["areas"].items():
        rows = _rows_of(code, table)
        done = sum(row.get("done", False) for row in rows.values())
        anchor = name.lower().replace(" ", "-")
        lines.append(f"| [{name}](#{anchor}) | {done} | {len(rows)} |")
    return [*lines, ""]


def _area(code: str, table: Table) -> list[str]:
    rows = _rows_of(code, table)
    head = [f"## {table['areas'][code]}", ""]
    columns = ["| id | capability | symbol | proven by | state |", "|---|---|---|---|---|"]
    return [*head, *columns, *(_line(key, row) for key, row in rows.items()), ""]


def _line(key: str, row: Table) -> str:
    if not row.get("done", False):
        return f"| {key} | {row['name']} | | | not yet |"
    return f"| {key} | {row['name']} | `{row['symbol']}` | `{row['test']}` | **done** |"


def _rows_of(code: str, table: Table) -> Table:
    return {key: row for key, row in table["rows"].items() if key.startswith(code)}


def main() -> None:
    """Write the page, or stop with the claims that fail."""
    table = read_table()
    failed = claims_that_fail(table["rows"])
    if failed:
        raise SystemExit("\n".join(failed))
    PAGE.write_text(page(table), encoding="utf-8")
    print(headline(table))


if __name__ == "__main__":
    main()
