"""Networks on a terminal: answers as bars; what they are made of, costs, and what looks odd."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from credo.app.console.console import print_remark, print_table
from credo.app.question.query_answer import Answer, RealAnswer, StateAnswer
from credo.graphs.factor import Factor
from credo.graphs.node.conditional_table import ConditionalTable
from credo.graphs.structure.adjacency import connected_parts
from credo.graphs.structure.directed import DirectedGraph
from credo.inference.engine.network import PlanReport
from credo.models.network.bayesian_network import BayesianNetwork
from credo.models.network.markov_random_field import MarkovRandomField
from credo.numerics.memory import bytes_text
from credo.plots.style import percent, shortened
from credo.study.counting import count
from credo.study.result.table_model import Remark

__all__ = [
    "bar",
    "network_findings",
    "network_lines",
    "print_answer",
    "print_info",
]

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
