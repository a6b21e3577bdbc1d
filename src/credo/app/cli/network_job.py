"""The commands on networks: query, once or for each case of a table, info and convert.

On a terminal answers are bars; networks show what they are made of, costs, and what looks odd.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from credo.app.console.console import (
    print_notes,
    print_remark,
    print_table,
    progress_bar,
    stderr,
    stdout,
)
from credo.app.console.csv_place import CsvPlace
from credo.app.question.network_question import (
    Answer,
    QuestionError,
    RealAnswer,
    StateAnswer,
    answering,
    case_answers,
    found_log_prob,
    opened_network,
    require_answers,
    require_free,
    require_names,
    typed_findings,
    typed_settings,
)
from credo.data.network_file.case_table import read_cases
from credo.data.network_file.network_file import save_network
from credo.data.output import require_apart, require_writable
from credo.graphs.factor import Factor
from credo.graphs.node.conditional_table import ConditionalTable
from credo.graphs.structure.adjacency import connected_parts
from credo.graphs.structure.directed import DirectedGraph
from credo.graphs.variable import nearest
from credo.inference.engine.method import engine_of, methods
from credo.inference.engine.network import PlanReport
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField
from credo.models.network.network import Network
from credo.models.network.value.findings import read_findings
from credo.numerics.memory import bytes_text
from credo.plots.style import percent, shortened
from credo.study.counting import count
from credo.study.result.table_model import Remark

__all__ = ["QuerySettings", "convert", "info", "query"]

N_DIGITS = 10
MOST_JOINT = 10_000


@dataclass(frozen=True)
class QuerySettings:
    """A question, as typed.

    Attributes
    ----------
    of
        Variables asked for; all that are not given if empty.
    given, do
        Findings and interventions, such as "smoke=yes".
    is_joint
        Whether the variables are asked for jointly.
    method
        How to answer, as for ``net.query``.
    """

    of: Sequence[str] = ()
    given: Sequence[str] = ()
    do: Sequence[str] = ()
    is_joint: bool = False
    method: str = "auto"


def info(path: Path) -> None:
    """Print what a network is made of, what exact answers cost, and what looks odd."""
    net = opened_network(path, stderr())
    with answering(path.name, stderr()):
        print_info(stdout(), path, net)


def convert(source: Path, out: Path) -> None:
    """Write a network in the format that the extension of ``out`` says."""
    require_writable(out)
    require_apart(out, source)
    net = opened_network(source, stderr())
    save_network(net, out)
    stdout().print(Text(f"network: {out}", "bold"), soft_wrap=True)


def query(path: Path, settings: QuerySettings, data: Path | None, place: CsvPlace) -> None:
    """Answer a question about a network, on the terminal or in a CSV file."""
    place.require_free(path, data)
    net = opened_network(path, stderr())
    require_names(settings.of, net.variables, "of")
    given = typed_findings(settings.given, net.variables)
    do = typed_settings(settings.do, net.variables)
    require_free(settings.of, given, do)
    require_answers(net, path.name, do)
    _require_method(settings.method)
    if data is not None:
        _answer_cases(net, settings, given, do, data, place)
        return
    with answering(path.name, stderr(), settings.method):
        answer = answered(net, settings, given, do)
    print_answer(stdout(), answer)
    if place.path is not None:
        place.write(answer.frame(), N_DIGITS)


def answered(
    net: Network, settings: QuerySettings, given: Mapping[str, Any], do: Mapping[str, Any]
) -> Answer:
    """Return what a network says of the variables asked for."""
    names = list(settings.of) or [n for n in net.variables if n not in given and n not in do]
    method = settings.method
    found: dict[str, Any]
    account: Mapping[Any, Any] = {}
    if settings.is_joint and len(names) > 1:
        _require_few(names, net)
        found = {", ".join(names): net.query(names, given, do or None, method)}
    elif len(names) == 1:
        found = {names[0]: net.query(names[0], given, do or None, method)}
    else:
        every = net.marginals(given, do or None, method)
        found = {name: every[name] for name in names}
        account = every.account.attrs()
    account = account or _account(*found.values())
    known = read_findings(net.variables, given)
    return Answer(
        [_part(title, one) for title, one in found.items()],
        given,
        do,
        float(found_log_prob(net, given, do, method)) if given else None,
        str(account.get("method", "exact")),
        bool(account.get("is_exact", True)),
        "" if account.get("is_exact", True) else _error(account),
        bool(known.values),
        any(((table != 0) & (table != 1)).any() for table in known.likelihood.values()),
    )


def _account(one: Any) -> Mapping[Any, Any]:
    """Return how an answer was found; distributions without an account are exact."""
    if hasattr(one, "account"):
        return dict(one.account.attrs())
    return dict(getattr(one, "attrs", {}))


def _part(title: str, one: Any) -> StateAnswer | RealAnswer:
    if isinstance(one, pd.Series):
        return StateAnswer.of(title, one)
    return RealAnswer(title, float(one.mean()), float(one.std()))


def _error(attributes: Mapping[Any, Any]) -> str:
    error, kind = attributes.get("error"), str(attributes.get("error_kind", "error"))
    if error is None:
        return ""
    if kind.startswith("largest change"):
        return f"changed last by {error:.2g}; how far off it is, is not known"
    return f"{kind} {error:.2g}"


def _answer_cases(
    net: Network,
    settings: QuerySettings,
    given: Mapping[str, Any],
    do: Mapping[str, Any],
    data: Path,
    place: CsvPlace,
) -> None:
    if not settings.of or do or settings.is_joint:
        raise QuestionError(
            "`data` needs `of` with the variables asked for in each row, and neither `do` nor "
            "`joint`; found another question; write for example --data cases.csv --of lung."
        )
    cases = read_cases(data, net.variables, settings.of)
    console = stderr()
    with progress_bar(console) as advance, answering(cases.name, console, settings.method):
        found = case_answers(net, cases, settings.of, given, settings.method, advance)
    place.write(found.frame, N_DIGITS)
    print_notes(console, found.notes)
    if place.path is not None:
        print_notes(console, [f"{count(len(found.frame), 'row')} in {place.path}."])


def _require_method(method: str) -> None:
    try:
        engine_of(method, "marginals")
    except ValueError as error:
        known = methods()
        raise QuestionError(
            f"`method` must be one of {', '.join(known)}; found {method!r}."
            f"{nearest(method, known)}"
        ) from error


def _require_few(names: Sequence[str], net: Network) -> None:
    """Raise a `QuestionError` if the joint states are too many to be read one by one."""
    real = [name for name in names if not net.variables[name].is_discrete]
    if real:
        raise QuestionError(
            f"`joint` must ask for variables with states; found {', '.join(real)}, which are "
            "real-valued; leave out `joint`."
        )
    n_states = prod(net.variables[name].n_states for name in names)
    if n_states > MOST_JOINT:
        raise QuestionError(
            f"`joint` must ask for at most {MOST_JOINT:,} joint states; found "
            f"{count(len(names), 'variable')} with {n_states:.3g}; name fewer with `of`, or "
            "leave out `joint`."
        )


Net = BayesianNetwork | MarkovRandomField
N_LARGEST = 5
BAR_CELLS = 30
LABEL_LENGTH = 32
EIGHTHS = " ▏▎▍▌▋▊▉█"


def print_answer(console: Console, answer: Answer) -> None:
    """Print the distribution of each variable asked for, then how it was found."""
    width = max((_label_width(part) for part in answer.parts), default=0)
    for part in answer.parts:
        console.print(Text(part.name, "bold"))
        if isinstance(part, StateAnswer):
            _print_bars(console, part, width)
        else:
            console.print(Text(f"  mean {part.mean:.6g}, sd {part.sd:.4g}"))
    if answer.parts:
        console.print()
    for line in answer.lines():
        console.print(Text(line, "dim"), soft_wrap=True)


def print_info(console: Console, path: Path, net: Net) -> None:
    """Print lines on variables and graph, the largest tables, the cost, and the checks.

    Nodes that are kept as a few numbers, such as a noisy OR, have no table to show.
    """
    plan, tables = _plan(net), _stored_tables(net)
    console.print(Text(f"{path.name}: {_kind(net)}", "bold"), soft_wrap=True)
    for line in network_lines(net, plan):
        console.print(Text(line), soft_wrap=True)
    if tables:
        largest = sorted(tables, key=lambda factor: -factor.values.size)[:N_LARGEST]
        console.print()
        headings = ("largest tables", "given", "  cells", "  zeros")
        print_table(console, headings, [_cells(net, factor) for factor in largest])
    findings = network_findings(net, plan, tables)
    if findings:
        console.print()
    for finding in findings:
        print_remark(console, finding)


def network_lines(net: Net, plan: PlanReport | None) -> list[str]:
    """Return sentences on the variables, the graph, the parameters and the plan."""
    variables = net.variables.values()
    sizes = [v.n_states for v in variables if v.is_discrete]
    n_real = len(net.variables) - len(sizes)
    said = []
    if sizes:
        span = str(min(sizes)) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
        said.append(
            f"{count(len(sizes), 'discrete variable')} with {span} states ({sum(sizes):,})"
        )
    said += [count(n_real, "real variable")] if n_real else []
    lines = ["variables: " + "; ".join(said), "graph: " + _graph_line(net)]
    if isinstance(net, BayesianNetwork):
        lines.append(f"parameters: {net.n_parameters:,} free")
    else:
        lines.append(f"factors: {sum(f.values.size for f in net.factors):,} entries")
    return lines + _plan_lines(plan)


def network_findings(
    net: Net, plan: PlanReport | None, tables: Sequence[Factor]
) -> list[Remark]:
    """Return what the checks say: of lonely variables, and of states that cannot be."""
    found = []
    if plan is not None and not plan.fits:
        text = "Exact marginals do not fit the memory allowed; answers will be approximate."
        found.append(Remark("caution", text))
    alone = [name for name, near in _neighbors(net).items() if not near]
    if alone and len(net.variables) > 1:
        found.append(Remark("caution", f"Joined to no other variable: {_some(alone)}."))
    single = [v.name for v in net.variables.values() if v.is_discrete and v.n_states == 1]
    if single:
        found.append(Remark("caution", f"Only one state: {_some(single)}."))
    never = [_never(factor) for factor in tables]
    names = list(dict.fromkeys(name for part in never for name in part))
    if names:
        found.append(Remark("caution", f"Impossible whatever else holds: {_some(names)}."))
    return found


def bar(share: float, n_cells: int = BAR_CELLS) -> str:
    """Return a bar of block characters, to an eighth of a cell.

    Examples
    --------
    >>> bar(0.5, 4), bar(0.03, 4), bar(0.0, 4)
    ('██', '▏', '')
    """
    eighths = round(8 * n_cells * min(max(share, 0.0), 1.0))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _label_width(part: StateAnswer | RealAnswer) -> int:
    if isinstance(part, RealAnswer):
        return 0
    return max(len(shortened(label, LABEL_LENGTH)) for label in part.labels)


def _print_bars(console: Console, part: StateAnswer, width: int) -> None:
    top = max(part.shares)
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(min_width=width + 2, no_wrap=True)
    grid.add_column(width=BAR_CELLS, no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    for label, share in zip(part.labels, part.shares, strict=True):
        style = "bold" if share == top else ""
        name = Text(f"  {shortened(label, LABEL_LENGTH)}", style)
        grid.add_row(name, Text(bar(share), "blue"), Text(percent(share), style))
    console.print(grid)


def _kind(net: Net) -> str:
    n = len(net.graph.edges)
    if isinstance(net, BayesianNetwork):
        return (
            f"a Bayesian network of {count(len(net.variables), 'variable')}, {count(n, 'arc')}"
        )
    return (
        f"a Markov random field of {count(len(net.variables), 'variable')}, "
        f"{count(len(net.factors), 'factor')}, {count(n, 'edge')}"
    )


def _graph_line(net: Net) -> str:
    neighbors = _neighbors(net)
    parts = count(len(connected_parts(neighbors)), "connected part")
    if not isinstance(net.graph, DirectedGraph):
        most = max(len(near) for near in neighbors.values())
        return f"{parts}; {count(most, 'neighbor')} at most"
    graph = net.graph
    n_roots = sum(not graph.parents(name) for name in graph.nodes)
    n_leaves = sum(not graph.children(name) for name in graph.nodes)
    most = max(len(graph.parents(name)) for name in graph.nodes)
    return (
        f"{parts}; {count(n_roots, 'root')}, {n_leaves:,} without children; "
        f"{count(most, 'parent')} at most"
    )


def _stored_tables(net: Net) -> list[Factor]:
    """Return the tables that the network holds; those of compact nodes may fit nowhere."""
    if not isinstance(net, BayesianNetwork):
        return list(net.factors)
    nodes = net.conditionals.values()
    return [node.table() for node in nodes if isinstance(node, ConditionalTable)]


def _neighbors(net: Net) -> Mapping[str, Sequence[str]]:
    graph = net.graph
    if isinstance(graph, DirectedGraph):
        return {name: (*graph.parents(name), *graph.children(name)) for name in graph.nodes}
    return {name: graph.neighbors(name) for name in graph.nodes}


def _plan_lines(plan: PlanReport | None) -> list[str]:
    """Return what it takes to find all marginals with nothing given."""
    if plan is None:
        return []
    how = "plan of all marginals" if plan.is_exact else "weighted draws for all marginals"
    return [
        f"{how}: width {plan.width}, {plan.cells:,} cells, "
        f"{bytes_text(plan.bytes)}, {_time(plan.seconds)}"
    ]


def _plan(net: Net) -> PlanReport | None:
    """Return the cost of all marginals, unless only the structure is known."""
    is_known = isinstance(net, MarkovRandomField) or bool(net.conditionals)
    return net.plan() if is_known else None


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return "less than 1 ms"
    return f"about {1e3 * seconds:.2g} ms" if seconds < 1 else f"about {seconds:.2g} s"


def _cells(net: Net, factor: Factor) -> tuple[str, ...]:
    """Return the row of a table: its child, its parents, cells, and the share of zeros."""
    zeros = float((factor.values == 0).mean())
    share = f"{100 * zeros:.0f} %" if zeros else "-"
    *parents, child = factor.names
    if not isinstance(net, BayesianNetwork):
        parents, child = [], " ".join(factor.names)
    return child, " " + (listed_short(parents) or "-"), f" {factor.values.size:,}", f" {share}"


def listed_short(names: Sequence[str], most: int = 4) -> str:
    """Return some names, and how many more there are.

    Examples
    --------
    >>> listed_short(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def _some(names: Sequence[str]) -> str:
    return listed_short(names, 6)


def _never(factor: Factor) -> Iterable[str]:
    """Return the states that this factor alone rules out, as ``name = state``."""
    for axis, variable in enumerate(factor.variables):
        others = tuple(i for i in range(len(factor.variables)) if i != axis)
        top = factor.values.max(axis=others)
        yield from (
            f"{variable.name} = {state}"
            for state, value in zip(variable.labels, top, strict=True)
            if value == 0
        )
