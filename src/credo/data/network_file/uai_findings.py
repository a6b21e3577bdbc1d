"""Findings in the UAI format: which variables of a network are observed, and their states."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from credo.data.error import NetworkFileError
from credo.data.network_file.network_content import named_damage, network_content, text_of
from credo.data.network_file.network_part import fault
from credo.data.network_file.uai import UaiWords

__all__ = ["load_uai_findings", "read_uai_findings"]


def load_uai_findings(path: str | PathLike[str]) -> list[dict[str, int]]:
    """Return the cases of a UAI evidence file: for each, states by the name of the variable.

    Raises
    ------
    NetworkFileError
        If the file is absent or cut, or holds anything but whole numbers.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(f"{folder}/grid.uai.evid").write_text("2 0 1 5 0")
    ...     load_uai_findings(f"{folder}/grid.uai.evid")
    [{'0': 1, '5': 0}]
    """
    with named_damage(path):
        return read_uai_findings(text_of(network_content(path)))


def read_uai_findings(text: str) -> list[dict[str, int]]:
    """Return the cases in a text, in either dialect.

    One dialect is a single case, ``n variable state variable state ...``; the other puts the
    number of cases before them. A text that could be both is read as a single case, and an
    empty one as a case without findings.

    Examples
    --------
    >>> read_uai_findings("1 2 0 1 5 0"), read_uai_findings("0")
    ([{'0': 1, '5': 0}], [{}])
    """
    words = UaiWords(text)
    numbers = words.counts(len(words.words), "findings")
    if not numbers or len(numbers) == 1 + 2 * numbers[0]:
        return [_case(numbers[1:])]
    if numbers[0] >= len(numbers):
        raise _strange(numbers)
    cases, place = [], 1
    for _ in range(numbers[0]):
        end = place + 1 + 2 * (numbers[place] if place < len(numbers) else 0)
        cases.append(_case(numbers[place + 1 : end]))
        place = end
    if place != len(numbers):
        raise _strange(numbers)
    return cases


def _strange(numbers: Sequence[int]) -> NetworkFileError:
    return fault(
        0,
        "findings must be a number of variables and then each variable with its state; found "
        f"{len(numbers)} words of which the first is {numbers[0]}. If the file was cut, copy "
        "it again",
    )


def _case(numbers: Sequence[int]) -> dict[str, int]:
    return {str(v): state for v, state in zip(numbers[::2], numbers[1::2], strict=False)}
