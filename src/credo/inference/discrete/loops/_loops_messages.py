"""Loops of belief propagation, and loops that move joint states or draw them by its messages.

Messages go from tables to variables, in logs, largest zero. ``log_message`` has one entry per
state of every edge. ``total`` and ``n_zero`` have one per state of every variable: the sum of
the finite log messages to it, and how many are -inf. A message without one of its terms is then
found by subtraction even where terms are zero.

Joint states are moved by Gibbs draws and to conditional modes, and drawn one variable after the
other, guided by messages.

Each loop takes the arrays it needs, not the whole product of tables: numba counts a reference
for every array that it hands on or looks up.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.loops.flat_tables import FlatTables
from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = [
    "Edges",
    "Mail",
    "bethe",
    "conditional",
    "decode",
    "edges_of",
    "gibbs",
    "heard",
    "modes",
    "propose",
    "propose_all",
    "read",
    "sort_mail",
    "sweep",
]

Index = NDArray[np.intp]
NOTHING = -np.inf
# A message may go on falling for ever where it has long ceased to matter.
FLOOR = -100.0


class Mail(NamedTuple):
    """Messages from tables to variables, and the sum of them at each variable."""

    log_message: Array
    total: Array
    n_zero: Index


class Edges(NamedTuple):
    """Where the entries of each edge begin, in messages and in states."""

    message: Index
    state: Index


class Desk(NamedTuple):
    """Room to work: messages to and from a table, sums, and where the states of a cell are."""

    incoming: Array
    fresh: Array
    sums: Array
    place: Index


@compiled_part()
def _desk(net: FlatTables, n: int) -> Desk:
    most = 0
    for t in range(len(net.edge_start) - 1):
        most = max(most, net.edge_start[t + 1] - net.edge_start[t])
    return Desk(np.empty(n), np.empty(n), np.empty(n), np.empty(most, np.intp))


@compiled()
def edges_of(net: FlatTables) -> Edges:
    """Return the part of a product of tables that messages need."""
    return Edges(net.message_start, net.state_start[net.edge_variable])


@compiled()
def sort_mail(net: FlatTables, log_message: Array) -> Mail:
    """Return the messages with their sums, summed afresh."""
    n = net.state_start[-1]
    mail, edges = Mail(log_message, np.zeros(n), np.zeros(n, np.intp)), edges_of(net)
    message, state = edges.message, edges.state
    total, n_zero = mail.total, mail.n_zero
    for e in range(len(state)):
        for place in range(message[e], message[e + 1]):
            k = state[e] + place - message[e]
            if log_message[place] == NOTHING:
                n_zero[k] += 1
            else:
                total[k] += log_message[place]
    return mail


@compiled()
def read(edges: Edges, mail: Mail, first: int, last: int, incoming: Array) -> float:
    """Write what variables hear elsewhere, largest zero; return the sum of the shifts.

    The edges are those of one table, from first to last; -inf says that a variable has no
    state left.
    """
    message, state = edges.message, edges.state
    log_message, total, n_zero = mail.log_message, mail.total, mail.n_zero
    shift = 0.0
    for e in range(first, last):
        top = NOTHING
        for place in range(message[e], message[e + 1]):
            k, own = state[e] + place - message[e], log_message[place]
            if own == NOTHING:
                entry = NOTHING if n_zero[k] > 1 else total[k]
            else:
                entry = NOTHING if n_zero[k] else total[k] - own
            incoming[place] = entry
            top = max(top, entry)
        shift += top
        for place in range(message[e], message[e + 1]):
            incoming[place] -= top if top > NOTHING else 0.0
    return shift


@compiled_part()
def _score(place: Index, n: int, start: float, incoming: Array) -> tuple[float, int]:
    """Return the log entry of a cell times its possible messages, and how many are zero."""
    n_zero = 0
    for j in range(n):
        entry = incoming[place[j]]
        if entry == NOTHING:
            n_zero += 1
        else:
            start += entry
    return start, n_zero


@compiled_part()
def _begin(
    message: Index, first: int, last: int, place: Index, out: Array, value: float
) -> None:
    """Go to the first cell of a table, and fill what goes out from there with a value."""
    for e in range(first, last):
        place[e - first] = message[e]
    for at in range(message[first], message[last]):
        out[at] = value


@compiled_part()
def _advance(message: Index, first: int, n: int, place: Index) -> None:
    """Move on to the next cell in C order; places are where its states are in messages."""
    for j in range(n - 1, -1, -1):
        place[j] += 1
        if place[j] < message[first + j + 1]:
            return
        place[j] = message[first + j]


@compiled_part()
def _largest(message: Index, desk: Desk, first: int, last: int, cells: Array) -> None:
    """Write the largest term over the cells of a table, for each entry going out.

    A cell with one impossible state counts only for the edge of that state, one with two for
    no edge.
    """
    incoming, largest, place, n = desk.incoming, desk.fresh, desk.place, last - first
    _begin(message, first, last, place, largest, NOTHING)
    for cell in range(len(cells)):
        score, n_zero = _score(place, n, cells[cell], incoming)
        if score > NOTHING and n_zero < 2:
            for j in range(n):
                at = place[j]
                own = incoming[at]
                if own == NOTHING:
                    largest[at] = max(largest[at], score)
                elif n_zero == 0:
                    largest[at] = max(largest[at], score - own)
        _advance(message, first, n, place)


@compiled_part()
def _sums(message: Index, desk: Desk, first: int, last: int, cells: Array) -> None:
    """Turn the largest terms into the logs of the sums of all terms."""
    incoming, fresh, sums, place = desk.incoming, desk.fresh, desk.sums, desk.place
    n = last - first
    _begin(message, first, last, place, sums, 0.0)
    for cell in range(len(cells)):
        score, n_zero = _score(place, n, cells[cell], incoming)
        if score > NOTHING and n_zero < 2:
            for j in range(n):
                at = place[j]
                own = incoming[at]
                if own == NOTHING:
                    sums[at] += math.exp(score - fresh[at])
                elif n_zero == 0:
                    sums[at] += math.exp(score - own - fresh[at])
        _advance(message, first, n, place)
    for at in range(message[first], message[last]):
        if fresh[at] > NOTHING:
            fresh[at] += math.log(sums[at])


@compiled_part()
def _damp(fresh: Array, old: Array, a: int, b: int, damping: float) -> bool:
    """Shift and damp the entries from a to b; return whether a state is left.

    What is impossible is so at once.
    """
    top = NOTHING
    for place in range(a, b):
        top = max(top, fresh[place])
    if top == NOTHING:
        return False
    blended = NOTHING
    for place in range(a, b):
        fresh[place] -= top
        if fresh[place] > NOTHING and old[place] > NOTHING:
            fresh[place] += damping * (old[place] - fresh[place])
        blended = max(blended, fresh[place])
    for place in range(a, b):
        fresh[place] -= blended
    return True


@compiled_part()
def _post(edges: Edges, mail: Mail, e: int, fresh: Array) -> float:
    """Replace the message of an edge; return the largest change of an entry that matters."""
    message, state = edges.message, edges.state
    log_message, total, n_zero = mail.log_message, mail.total, mail.n_zero
    change = 0.0
    for place in range(message[e], message[e + 1]):
        old, new, k = log_message[place], fresh[place], state[e] + place - message[e]
        if new == old:
            continue
        change = max(change, abs(max(new, FLOOR) - max(old, FLOOR)))
        n_zero[k] += (new == NOTHING) - (old == NOTHING)
        total[k] += (0.0 if new == NOTHING else new) - (0.0 if old == NOTHING else old)
        log_message[place] = new
    return change


@compiled_part()
def _all_have_states(state_start: Index, n_zero: Index) -> bool:
    """Return whether the messages leave each variable some state."""
    for i in range(len(state_start) - 1):
        if n_zero[state_start[i] : state_start[i + 1]].min() > 0:
            return False
    return True


@compiled()
def sweep(
    net: FlatTables, order: Index, log_message: Array, is_max: bool, damping: float
) -> float:
    """Visit all tables backward and forward; return the largest change of a log message.

    Messages are replaced in place. NaN says that the tables contradict each other.
    """
    mail, edges = sort_mail(net, log_message), edges_of(net)
    edge_start, cell_start, log_values = net.edge_start, net.cell_start, net.log_values
    desk, message = _desk(net, len(log_message)), net.message_start
    incoming, fresh = desk.incoming, desk.fresh
    change, n = 0.0, len(order)
    for visit in range(2 * n):
        t = order[n - 1 - visit] if visit < n else order[visit - n]
        first, last = edge_start[t], edge_start[t + 1]
        cells = log_values[cell_start[t] : cell_start[t + 1]]
        read(edges, mail, first, last, incoming)
        _largest(message, desk, first, last, cells)
        if not is_max:
            _sums(message, desk, first, last, cells)
        for e in range(first, last):
            if not _damp(fresh, log_message, message[e], message[e + 1], damping):
                return math.nan
            change = max(change, _post(edges, mail, e, fresh))
    return change if _all_have_states(net.state_start, mail.n_zero) else math.nan


@compiled_part()
def _log_sum(values: Array) -> float:
    top = values.max()
    return top + math.log(np.exp(values - top).sum()) if top > NOTHING else NOTHING


@compiled()
def bethe(net: FlatTables, log_message: Array) -> float:
    """Return ``sum_t log Z_t + sum_i (1 - degree_i) log Z_i``, the Bethe log partition."""
    mail, edges = sort_mail(net, log_message), edges_of(net)
    desk, message, found = _desk(net, len(log_message)), net.message_start, 0.0
    for t in range(len(net.edge_start) - 1):
        first, last = net.edge_start[t], net.edge_start[t + 1]
        found += read(edges, mail, first, last, desk.incoming)
        score = net.log_values[net.cell_start[t] : net.cell_start[t + 1]].copy()
        _begin(message, first, last, desk.place, desk.fresh, 0.0)
        for cell in range(len(score)):
            known, n_zero = _score(desk.place, last - first, score[cell], desk.incoming)
            score[cell] = NOTHING if n_zero else known
            _advance(message, first, last - first, desk.place)
        found += _log_sum(score)
    for i in range(len(net.n_states)):
        total = mail.total[net.state_start[i] : net.state_start[i + 1]].copy()
        for k in range(len(total)):
            if mail.n_zero[net.state_start[i] + k]:
                total[k] = NOTHING
        found += (1 - (net.slot_start[i + 1] - net.slot_start[i])) * _log_sum(total)
    return found


@compiled_part()
def _best_cell(net: FlatTables, t: int, incoming: Array, states: Index) -> int:
    """Return the best cell of a table that agrees with the states known so far, or -1."""
    best, best_cell = NOTHING, -1
    for cell in range(net.cell_start[t + 1] - net.cell_start[t]):
        score = net.log_values[net.cell_start[t] + cell]
        for e in range(net.edge_start[t], net.edge_start[t + 1]):
            i = net.edge_variable[e]
            at = cell // net.edge_stride[e] % net.n_states[i]
            if states[i] < 0:
                score += incoming[net.message_start[e] + at]
            elif states[i] != at:
                score = NOTHING
        if score > best:
            best, best_cell = score, cell
    return best_cell


@compiled()
def decode(net: FlatTables, order: Index, log_message: Array) -> Index:
    """Return a joint state read off max-product messages, table by table.

    Each table completes what earlier ones left open; on a tree that is the mode, however many
    ties there are.
    """
    mail, edges = sort_mail(net, log_message), edges_of(net)
    incoming = np.empty(len(log_message))
    states = np.full(len(net.n_states), -1, np.intp)
    for t in order:
        first, last = net.edge_start[t], net.edge_start[t + 1]
        read(edges, mail, first, last, incoming)
        cell = _best_cell(net, t, incoming, states)
        for e in range(first, last):
            i = net.edge_variable[e]
            if cell >= 0:
                states[i] = cell // net.edge_stride[e] % net.n_states[i]
    states[states < 0] = 0
    return states


FOUND, GAVE_UP, IMPOSSIBLE = 1, 0, -1


@compiled()
def conditional(net: FlatTables, i: int, states: Index, log_weight: Array) -> None:
    """Write the log weight of each state of a variable, all others as they are."""
    edge_start, edge_variable, edge_stride = net.edge_start, net.edge_variable, net.edge_stride
    log_values, slot_edge = net.log_values, net.slot_edge
    n = net.n_states[i]
    log_weight[:n] = 0.0
    for slot in range(net.slot_start[i], net.slot_start[i + 1]):
        own = slot_edge[slot]
        t, step = net.edge_table[own], edge_stride[own]
        cell = net.cell_start[t] - step * states[i]
        for e in range(edge_start[t], edge_start[t + 1]):
            cell += edge_stride[e] * states[edge_variable[e]]
        for k in range(n):
            log_weight[k] += log_values[cell + k * step]


@compiled_part()
def _draw(weight: Array, n: int, uniform: float) -> int:
    """Turn log weights into probabilities and return the state that a uniform number picks."""
    top = weight[0]
    for k in range(1, n):
        top = max(top, weight[k])
    total = 0.0
    for k in range(n):
        weight[k] = math.exp(weight[k] - top)
        total += weight[k]
    rest, picked = uniform * total, -1
    for k in range(n):
        if picked < 0 and rest < weight[k]:
            picked = k
        rest -= weight[k]
        weight[k] /= total
    if picked < 0:
        # Rounding can leave a crumb of the uniform number; it belongs to the likeliest state.
        picked = int(weight[:n].argmax())
    return picked


@compiled()
def gibbs(
    net: FlatTables, states: Index, n_sweeps: int, is_random: bool, rng: Generator, sums: Array
) -> None:
    """Move one chain in place and add up, per state, the probability or the visits.

    A scan in order adds the conditional probability of every update, which varies less than the
    draw from it; a random scan, where variables have their turn unequally often, adds the state
    each is in after as many updates as there are variables.
    """
    n = len(states)
    n_states, state_start = net.n_states, net.state_start
    weight = np.empty(n_states.max())
    for _ in range(n_sweeps):
        for turn in range(n):
            i = min(int(rng.random() * n), n - 1) if is_random else turn
            size = n_states[i]
            if size > 1:
                conditional(net, i, states, weight)
                states[i] = _draw(weight, size, rng.random())
                if not is_random:
                    sums[state_start[i] : state_start[i] + size] += weight[:size]
        for i in range(n):
            if is_random or n_states[i] == 1:
                sums[state_start[i] + states[i]] += 1.0


@compiled()
def modes(net: FlatTables, states: Index) -> int:
    """Give each variable in turn its likeliest state; return how many moved.

    A state as likely as the one held, up to rounding, is no reason to move.
    """
    n_moved = 0
    weight = np.empty(net.n_states.max())
    for i in range(len(states)):
        conditional(net, i, states, weight)
        best = weight[: net.n_states[i]].argmax()
        held = weight[states[i]]
        if weight[best] > held + 1e-12 * (1.0 + abs(held) if held > NOTHING else 0.0):
            states[i] = best
            n_moved += 1
    return n_moved


@compiled()
def heard(net: FlatTables, mail: Mail) -> Array:
    """Return what every variable tells each of its tables, per state of every edge."""
    edges, incoming = edges_of(net), np.empty(len(mail.log_message))
    for t in range(len(net.edge_start) - 1):
        read(edges, mail, net.edge_start[t], net.edge_start[t + 1], incoming)
    return incoming


@compiled_part()
def _open_edges(net: FlatTables, own: int, states: Index, opened: Index) -> tuple[int, int]:
    """List the edges of a table whose states are open; return how many, and where it starts.

    The start is the cell where known variables are as they are and the others in state zero.
    """
    t, n = net.edge_table[own], 0
    cell = net.cell_start[t]
    for e in range(net.edge_start[t], net.edge_start[t + 1]):
        known = states[net.edge_variable[e]]
        if known >= 0:
            cell += net.edge_stride[e] * known
        elif e != own:
            opened[n] = e
            n += 1
    return n, cell


@compiled_part()
def _offset(
    message: Index, stride: Index, opened: Index, combination: int, incoming: Array
) -> tuple[int, float]:
    """Return how far on a combination of open states is, and the sum of its messages."""
    cell, score = 0, 0.0
    for e in opened:
        size = message[e + 1] - message[e]
        at = combination % size
        combination //= size
        cell += stride[e] * at
        score += incoming[message[e] + at]
    return cell, score


@compiled_part()
def _add_table(
    net: FlatTables, own: int, start: int, opened: Index, incoming: Array, log_weight: Array
) -> None:
    """Add what one table says about the states of a variable, summed over open variables."""
    message, stride, log_values = net.message_start, net.edge_stride, net.log_values
    step, n = stride[own], len(log_weight)
    n_combinations = 1
    for e in opened:
        n_combinations *= message[e + 1] - message[e]
    top, total = np.full(n, NOTHING), np.zeros(n)
    for combination in range(n_combinations):
        cell, score = _offset(message, stride, opened, combination, incoming)
        for k in range(n):
            value = score + log_values[start + cell + k * step]
            if value > top[k]:
                total[k] = total[k] * math.exp(top[k] - value) + 1.0
                top[k] = value
            elif value > NOTHING:
                total[k] += math.exp(value - top[k])
    for k in range(n):
        log_weight[k] += top[k] + math.log(total[k]) if total[k] > 0 else NOTHING


@compiled_part()
def _guide(
    net: FlatTables, i: int, states: Index, incoming: Array, opened: Index, log_weight: Array
) -> None:
    """Write the log weight of each state of a variable, given known states and messages."""
    log_weight[:] = 0.0
    for slot in range(net.slot_start[i], net.slot_start[i + 1]):
        own = net.slot_edge[slot]
        n_open, start = _open_edges(net, own, states, opened)
        if n_open:
            _add_table(net, own, start, opened[:n_open], incoming, log_weight)
        else:
            for k in range(len(log_weight)):
                log_weight[k] += net.log_values[start + k * net.edge_stride[own]]


@compiled_part()
def _lift(log_weight: Array, floor: float) -> None:
    """Raise the share of every possible state to the floor; messages may be too sure."""
    top = log_weight.max()
    if floor == 0.0 or top == NOTHING:
        return
    least = top + math.log(floor * np.exp(log_weight - top).sum())
    for k in range(len(log_weight)):
        if NOTHING < log_weight[k] < least:
            log_weight[k] = least


@compiled()
def propose(
    net: FlatTables,
    order: Index,
    incoming: Array,
    max_returns: int,
    floor: float,
    rng: Generator,
    states: Index,
) -> tuple[int, float]:
    """Draw one variable after the other; on a dead end go back, at most so many times.

    Returns whether a state was found, and the log probability of having drawn it without a
    return. On a forest with settled messages the draw is exact.
    """
    room, opened = np.empty(net.n_states.max()), np.empty(len(order), np.intp)
    is_tried = np.zeros(net.state_start[-1], np.bool_)
    states[:] = -1
    log_prob, depth, n_returns = 0.0, 0, 0
    while depth < len(order):
        i = order[depth]
        states[i], weight = -1, room[: net.n_states[i]]
        tried = is_tried[net.state_start[i] : net.state_start[i + 1]]
        _guide(net, i, states, incoming, opened, weight)
        _lift(weight, floor)
        weight[tried] = NOTHING
        if weight.max() == NOTHING:
            tried[:] = False
            depth -= 1
            n_returns += 1
            if depth < 0:
                return IMPOSSIBLE, NOTHING
            if n_returns > max_returns:
                return GAVE_UP, NOTHING
            continue
        k = _draw(weight, len(weight), rng.random())
        log_prob += math.log(weight[k])
        tried[k], states[i] = True, k
        depth += 1
    return FOUND, log_prob


@compiled()
def propose_all(
    net: FlatTables, order: Index, incoming: Array, floor: float, rng: Generator, states: Index
) -> Array:
    """Fill rows with draws that never go back; return their log probabilities."""
    log_prob = np.empty(len(states))
    for row in range(len(states)):
        _, log_prob[row] = propose(net, order, incoming, 0, floor, rng, states[row])
    return log_prob
