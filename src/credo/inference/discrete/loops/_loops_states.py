"""Loops that move joint states: Gibbs draws, conditional modes, draws guided by messages."""

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from credo.inference.discrete.loops._loops_messages import Mail, edges_of, read
from credo.inference.discrete.loops.flat_tables import FlatTables
from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["conditional", "gibbs", "heard", "modes", "propose", "propose_all"]

Index = NDArray[np.intp]
NOTHING = -np.inf
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
