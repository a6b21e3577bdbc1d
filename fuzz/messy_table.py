"""Tables with every kind of mess that people's files have, most of them good enough to fit.

Everything is drawn from a `random.Random`: a seed gives a table, and hypothesis, which can
stand in for one, can search and shrink (see `fuzz.strategy`).
"""

import csv
import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from random import Random

import pandas as pd

__all__ = [
    "MISSING",
    "MessyTable",
    "TextFormat",
    "broken_bytes",
    "later_table",
    "messy_table",
    "text_format",
    "write_parquet",
]

MISSING = ("", "NA", "?", "-", "null", "NaN", "None", " ")
WORDS = ("red", "green", "blue", "north", "south", "ash", "oak", "elm", "yes", "no")
ODD_WORDS = (
    *("naïve", "日本語", "Ελλάδα", "😀 smile", "a,b", "c;d", 'say "hi"', "line\nbreak"),
    *(
        "=1+1",
        "@SUM(A1)",
        "-5 to 5",
        "1e5x",
        "true",
        "<b>bold</b>",
        "{brace}",
        "[bold]x[/bold]",
    ),
    *("tab\there", "  padded  ", "0x1F", "e\u0301", "\u202eabc", "A" * 90, "%s %d", "\\n"),
)
ODD_NUMBERS = ("0", "-999", "1e3", "-1e-69", "007", "1e6", "3.0")
NAMES = (
    "x",
    "dose",
    "Größe",
    "a b",
    "a,b",
    "1",
    "x y/z",
    "_",
    "price ($)",
    "日付",
    "=x",
    "[red]",
)
SCALES = (1.0, 1.0, 1.0, 1e-3, 1e3, 1e-9, 1e9, 1e-30, 1e30, 1e-60, 1e60)

Latent = Sequence[float]
Column = Callable[[Random, Latent], list[str]]


@dataclass(frozen=True)
class MessyTable:
    """Names and cells of a table, with the recipes that made its columns.

    Attributes
    ----------
    recipes
        How each column was made, to make more rows like it.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    recipes: tuple[Column, ...]
    target: str


@dataclass(frozen=True)
class TextFormat:
    """How a table is written as text."""

    separator: str = ","
    line_end: str = "\n"
    quoting: int = csv.QUOTE_MINIMAL
    has_mark: bool = False
    is_packed: bool = False

    def bytes_of(self, table: MessyTable) -> bytes:
        """Return the file."""
        text = io.StringIO()
        writer = csv.writer(
            text, delimiter=self.separator, lineterminator=self.line_end, quoting=self.quoting
        )
        writer.writerow(table.names)
        writer.writerows(table.rows)
        raw = text.getvalue().encode("utf-8-sig" if self.has_mark else "utf-8")
        return gzip.compress(raw) if self.is_packed else raw


def messy_table(
    random: Random, n_rows: int | None = None, *, has_gaps: bool = False
) -> MessyTable:
    """Return a table whose last or other column is a target that hangs on the others.

    By default it is small, and some of its input columns have gaps; all of them if told so.
    """
    n = random.choice((8, 12, 15, 18, 20, 25, 30, 40, 60)) if n_rows is None else n_rows
    n_columns = random.choice((1, 1, 2, 2, 3, 3, 4, 5, 7))
    recipes = [_recipe(random, has_gaps) for _ in range(n_columns)]
    place = random.randrange(n_columns + 1)
    recipes.insert(place, _target_recipe(random))
    names = _names(random, n_columns + 1)
    target = names[place]
    if random.random() < 0.05:
        twin = random.randrange(n_columns + 1)
        recipes[twin] = recipes[place]
    return MessyTable(names, _rows(random, recipes, n), tuple(recipes), target)


def later_table(random: Random, table: MessyTable) -> MessyTable:
    """Return a table to predict: rows of the same recipes, and what happens to files later."""
    n = random.choice((1, 2, 3, 5, 10, 30))
    rows = [list(row) for row in _rows(random, table.recipes, n)]
    for _ in range(random.choice((0, 0, 1, 3, 10))):
        row, place = random.randrange(n), random.randrange(len(table.names))
        is_number = _is_number(rows[row][place])
        others = ODD_NUMBERS if is_number and random.random() < 0.95 else ODD_WORDS
        rows[row][place] = random.choice((*MISSING, *others))
    if random.random() < 0.1:
        place = random.randrange(len(table.names))
        for row in rows:
            row[place] = random.choice(MISSING)
    later = replace(table, rows=tuple(map(tuple, rows)))
    for chance, change in (
        (0.5, lambda t: _without(t, t.names.index(t.target))),
        (0.2, lambda t: _shuffled(random, t)),
        (0.1, lambda t: _with_extra(random, t)),
        (0.04, lambda t: _without(t, random.randrange(len(t.names)))),
    ):
        if random.random() < chance and (len(later.names) > 1 or chance < 0.2):
            later = change(later)
    return later


def text_format(random: Random) -> TextFormat:
    """Return a way to write text that credo reads."""
    return TextFormat(
        random.choice((",", ",", ",", ";", "\t")),
        random.choice(("\n", "\n", "\r\n")),
        random.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)),
        random.random() < 0.2,
        random.random() < 0.1,
    )


def write_parquet(random: Random, table: MessyTable, path: Path) -> None:
    """Write the columns as the types that they look like, some of them odd."""
    columns = {}
    for place, name in enumerate(table.names):
        cells = pd.Series([row[place] for row in table.rows], dtype=object)
        numbers = pd.to_numeric(cells, errors="coerce")
        if numbers.notna().sum() * 2 > len(cells):
            columns[name] = numbers.astype(random.choice(("float64", "float32", "Float64")))
        elif random.random() < 0.3:
            columns[name] = cells.astype("category")
        else:
            columns[name] = cells.where(~cells.isin(MISSING), None).astype("str")
    pd.DataFrame(columns).to_parquet(path)


def broken_bytes(random: Random, raw: bytes) -> bytes:
    """Return a file that was damaged on its way."""
    place = random.randrange(len(raw) + 1)
    return random.choice(
        (
            lambda: raw[:place],
            lambda: raw[:place] + b"\x00" + raw[place:],
            lambda: raw[:place] + b"\xff\xfe" + raw[place:],
            lambda: raw[:place] + b"\r" + raw[place:],
            lambda: raw[:place] + b'"' + raw[place:],
            lambda: raw[:place] + b"," + raw[place:],
            lambda: raw[:place] + b"\n" + raw[place:],
            lambda: raw.replace(b"\n", b"\r"),
            lambda: b"\n\n" + raw,
            lambda: raw + raw,
            lambda: raw.decode("utf-8", "replace").encode("utf-16"),
            lambda: gzip.compress(raw)[: place // 2],
            lambda: random.randbytes(random.randrange(60)),
        )
    )()


def _rows(random: Random, recipes: Sequence[Column], n: int) -> tuple[tuple[str, ...], ...]:
    latent = [_about_normal(random) for _ in range(n)]
    columns = [recipe(random, latent) for recipe in recipes]
    rows = list(zip(*columns, strict=True))
    if random.random() < 0.1:
        rows = [random.choice(rows) for _ in rows]
    return tuple(rows)


def _recipe(random: Random, has_gaps: bool) -> Column:
    made = random.choice((_number, _number, _number, _whole, _category, _category, _date, _odd))
    recipe = made(random)
    share = random.choice((*(() if has_gaps else (0.0, 0.0, 0.0)), 0.05, 0.3, 0.9))
    return _with_gaps(recipe, share, random.choice(MISSING)) if share else recipe


def _number(random: Random) -> Column:
    scale, shift = random.choice(SCALES), random.choice((0.0, 0.0, 1.0, 1e6))
    signal, digits = random.random(), random.choice((3, 6, 17))

    def column(draw: Random, latent: Latent) -> list[str]:
        values = ((signal * z + _about_normal(draw) + shift) * scale for z in latent)
        return [f"{value:.{digits}g}" for value in values]

    return column


def _whole(random: Random) -> Column:
    most = random.choice((1, 2, 3, 10, 1000, 10**12))
    sentinel = random.random() < 0.2

    def column(draw: Random, latent: Latent) -> list[str]:
        found = [str(draw.randint(0, most) + (z > 0)) for z in latent]
        return [("-999" if sentinel and draw.random() < 0.1 else cell) for cell in found]

    return column


def _category(random: Random) -> Column:
    pool = random.choice((WORDS, WORDS, ODD_WORDS, (*WORDS, *ODD_WORDS)))
    words = random.sample(pool, random.choice((1, 2, 3, 5)))
    hold = random.random()

    def column(draw: Random, latent: Latent) -> list[str]:
        return [
            words[min(int((z + 2) / 4 * len(words)), len(words) - 1)]
            if z > -2 and draw.random() < hold
            else draw.choice(words)
            for z in latent
        ]

    return column


def _date(random: Random) -> Column:
    form = random.choice(("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S", "%Y"))
    start = date(random.choice((1, 1700, 1970, 2024, 9000)), 1, 1)

    def column(draw: Random, latent: Latent) -> list[str]:
        days = [start + timedelta(draw.randrange(900)) for _ in latent]
        return [day.strftime(form) for day in days]

    return column


def _odd(random: Random) -> Column:
    cells: Callable[[Random, int, float], str] = random.choice(
        (
            lambda draw, i, z: "7",
            lambda draw, i, z: "",
            lambda draw, i, z: str(i),
            lambda draw, i, z: f"id-{i}",
            lambda draw, i, z: f"{z * 1000:,.2f}",
            lambda draw, i, z: f"{z:.2f}".replace(".", ","),
            lambda draw, i, z: f"{z:.1f} kg",
            lambda draw, i, z: f"{abs(z):.1%}",
            lambda draw, i, z: f"{draw.randrange(100000):05d}",
            lambda draw, i, z: str(z > 0),
            lambda draw, i, z: draw.choice(("3", "x", "2024-01-01", "")),
            lambda draw, i, z: "5" if i else "5.0000000001",
            lambda draw, i, z: draw.choice(ODD_WORDS) + str(i),
            lambda draw, i, z: f"{z:.3e}",
            lambda draw, i, z: draw.choice(("1", "1.0", "1e0", "+1", " 1", "2")),
            lambda draw, i, z: "0" if z < 1.5 else "1",
            lambda draw, i, z: f"{10 ** (z * 20):.4g}",
        )
    )

    def column(draw: Random, latent: Latent) -> list[str]:
        return [cells(draw, i, z) for i, z in enumerate(latent)]

    return column


def _target_recipe(random: Random) -> Column:
    recipe = random.choice(
        (_number, _number, _number_target, _class_target, _class_target, _whole)
    )
    made = recipe(random)
    if random.random() < 0.15:
        return _with_gaps(made, 0.1, random.choice(MISSING))
    return _odd(random) if random.random() < 0.06 else made


def _number_target(random: Random) -> Column:
    scale, noise = random.choice(SCALES), random.choice((0.0, 1e-6, 0.1, 1.0, 10.0))

    def column(draw: Random, latent: Latent) -> list[str]:
        values = [(2 * z + noise * _about_normal(draw)) * scale for z in latent]
        return [f"{value:.12g}" for value in values]

    return column


def _class_target(random: Random) -> Column:
    words = random.sample((*WORDS, *ODD_WORDS), random.choice((2, 2, 2, 3, 4)))
    noise = random.choice((0.0, 0.5, 3.0))
    rarity = random.choice((1.0, 1.0, 3.0))

    def column(draw: Random, latent: Latent) -> list[str]:
        last = len(words) - 1
        codes = [int(abs(z + noise * _about_normal(draw)) / rarity * 2) for z in latent]
        if len(codes) >= 4 * len(words):
            codes[: 4 * len(words)] = [i % len(words) for i in range(4 * len(words))]
        return [words[min(code, last)] for code in codes]

    return column


def _with_gaps(recipe: Column, share: float, word: str) -> Column:
    def column(draw: Random, latent: Latent) -> list[str]:
        return [word if draw.random() < share else cell for cell in recipe(draw, latent)]

    return column


def _names(random: Random, n: int) -> tuple[str, ...]:
    odd = random.random() < 0.3
    plain = [f"c{i}" for i in range(n)]
    return tuple(random.sample(NAMES, n)) if odd else tuple(plain)


def _without(table: MessyTable, place: int) -> MessyTable:
    names = table.names[:place] + table.names[place + 1 :]
    rows = tuple(row[:place] + row[place + 1 :] for row in table.rows)
    return replace(table, names=names, rows=rows)


def _shuffled(random: Random, table: MessyTable) -> MessyTable:
    order = random.sample(range(len(table.names)), len(table.names))
    names = tuple(table.names[i] for i in order)
    return replace(
        table, names=names, rows=tuple(tuple(r[i] for i in order) for r in table.rows)
    )


def _with_extra(random: Random, table: MessyTable) -> MessyTable:
    name = random.choice(("extra", table.names[0], "", table.target))
    rows = tuple((*row, random.choice(ODD_WORDS)) for row in table.rows)
    return replace(table, names=(*table.names, name), rows=rows)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _about_normal(random: Random) -> float:
    # Bounded, because hypothesis tries every float that a normal draw could be.
    return 2 * (random.random() + random.random() + random.random()) - 3
