"""Real data sets that travel with credo, to try things on.

Three are from the UCI Machine Learning Repository under CC BY 4.0, with shorter column names:
``biopsy`` is *Breast Cancer Wisconsin (Original)* by William H. Wolberg (1992,
doi:10.24432/C5HP4Z);
``concrete`` is *Concrete Compressive Strength* by I-Cheng Yeh (1998, doi:10.24432/C5PK67);
``yacht`` is *Yacht Hydrodynamics* by J. Gerritsma, R. Onnink and A. Versluis (1981,
doi:10.24432/C5XG7R). Two are series of monthly numbers: ``air_passengers`` of Box and Jenkins
(1976) and ``co2`` on Mauna Loa, by C. D. Keeling and T. P. Whorf. Two have clusters and no
target: ``faithful`` of Azzalini and Bowman (1990) and ``galaxies`` of Roeder (1990). Two are
series with hidden states: ``earthquakes`` of a year, as in Zucchini and MacDonald (2009), and
daily returns of ``sp500``. Columns and units are described in ``sets/README.md``.
"""

from pathlib import Path

import pandas as pd

__all__ = ["load_set", "set_names", "set_path"]

_FOLDER = Path(__file__).parent


def set_names() -> list[str]:
    """Return the names of the data sets.

    Examples
    --------
    >>> "yacht" in set_names()
    True
    """
    return sorted(path.stem for path in _FOLDER.glob("*.csv"))


def set_path(name: str) -> Path:
    """Return the CSV file of a data set.

    Examples
    --------
    >>> set_path("yacht").name
    'yacht.csv'
    """
    if name not in set_names():
        raise ValueError(
            f"name must be one of {', '.join(map(repr, set_names()))}; found {name!r}; choose "
            "one of these."
        )
    return _FOLDER / f"{name}.csv"


def load_set(name: str) -> pd.DataFrame:
    """Return a data set as a data frame; the target is the last column.

    Examples
    --------
    >>> concrete = load_set("concrete")
    >>> concrete.shape, concrete.columns[-1]
    ((1030, 9), 'strength')
    """
    return pd.read_csv(set_path(name))
