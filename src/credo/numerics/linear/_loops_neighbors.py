"""Loops that rank points by distance and sum over the nearest.

Arrays are C-contiguous float64, indices intp; only scores of the first screening are float32.
An order is always by distance, then by index, so that ties have one answer.
"""

import math

import numpy as np
from numpy.typing import NDArray

from credo.numerics._loops_compilation import compiled, compiled_part
from credo.numerics.array import Array

__all__ = ["keep_smallest", "ranked", "running_sums", "scan"]

Index = NDArray[np.intp]
Scores = NDArray[np.float32]

CHUNK = 64


@compiled()
def keep_smallest(tile: Scores, start: int, score: Scores, index: Index) -> None:
    """Merge a tile of scores, one row per query, into the sorted best of each row.

    ``start`` is the index of the first column of the tile. Counting in a chunk how many are
    small enough takes no branch, and for nearly all chunks none is.
    """
    last = score.shape[1] - 1
    n_whole = tile.shape[1] - tile.shape[1] % CHUNK
    for i in range(tile.shape[0]):
        row, worst = tile[i], score[i, last]
        for first in range(0, n_whole, CHUNK):
            n_small = np.int32(0)
            for j in range(CHUNK):
                n_small += np.int32(row[first + j] < worst)
            if n_small > 0:
                _merge(row, first, first + CHUNK, start, score[i], index[i])
                worst = score[i, last]
        _merge(row, n_whole, tile.shape[1], start, score[i], index[i])


@compiled_part()
def _merge(row: Scores, first: int, end: int, start: int, score: Scores, index: Index) -> None:
    """Insert those of a stretch of scores that are smaller than the largest kept."""
    last = score.shape[0] - 1
    for j in range(first, end):
        value = row[j]
        if value < score[last]:
            place = last
            while place > 0 and score[place - 1] > value:
                score[place] = score[place - 1]
                index[place] = index[place - 1]
                place -= 1
            score[place] = value
            index[place] = start + j


@compiled()
def ranked(points: Array, queries: Array, candidates: Index) -> tuple[Array, Index]:
    """Return squared distances of candidates and their indices, nearest first."""
    squared = np.empty(candidates.shape)
    index = np.empty(candidates.shape, np.intp)
    for i in range(candidates.shape[0]):
        for j in range(candidates.shape[1]):
            candidate = candidates[i, j]
            total = 0.0
            for f in range(points.shape[1]):
                step = queries[i, f] - points[candidate, f]
                total += step * step
            place = j
            while place > 0 and (
                squared[i, place - 1] > total
                or (squared[i, place - 1] == total and index[i, place - 1] > candidate)
            ):
                squared[i, place] = squared[i, place - 1]
                index[i, place] = index[i, place - 1]
                place -= 1
            squared[i, place] = total
            index[i, place] = candidate
    return squared, index


@compiled()
def scan(points: Array, queries: Array, k: int) -> tuple[Array, Index]:
    """Return the ``k`` nearest by looking at every point; a sum that is too large stops."""
    squared = np.full((queries.shape[0], k), np.inf)
    index = np.zeros((queries.shape[0], k), np.intp)
    for i in range(queries.shape[0]):
        for j in range(points.shape[0]):
            total = 0.0
            for f in range(points.shape[1]):
                step = queries[i, f] - points[j, f]
                total += step * step
                if total >= squared[i, k - 1]:
                    break
            if total < squared[i, k - 1]:
                place = k - 1
                while place > 0 and squared[i, place - 1] > total:
                    squared[i, place] = squared[i, place - 1]
                    index[i, place] = index[i, place - 1]
                    place -= 1
                squared[i, place] = total
                index[i, place] = j
    return squared, index


@compiled()
def running_sums(
    squared: Array, weight: Array, outcome: Array, width: float, first: int, last: int
) -> tuple[Array, Array, Array]:
    """Return weight (n, K), mean and scatter (n, K, m) of the nearest rows, by count.

    Counts run from ``first`` to ``last``; count k holds the nearest rows of total weight k,
    the last of them in part where need be. A row counts
    ``exp(-(d^2 - nearest d^2) / (2 width^2))``, one if the width is infinite.
    """
    n, n_outcomes, n_counts = squared.shape[0], outcome.shape[2], last - first + 1
    total = np.empty((n, n_counts))
    mean = np.empty((n, n_counts, n_outcomes))
    scatter = np.empty((n, n_counts, n_outcomes))
    rate = 0.5 / (width * width)
    known_mean = np.empty(n_outcomes)
    known_scatter = np.empty(n_outcomes)
    for i in range(n):
        known, reached, count, nearest = 0.0, 0.0, first, -1.0
        for o in range(n_outcomes):
            known_mean[o] = known_scatter[o] = 0.0
        for j in range(squared.shape[1]):
            if weight[i, j] <= 0.0:
                continue
            if nearest < 0.0:
                nearest = squared[i, j]
            factor = 1.0 if rate == 0.0 else math.exp(-(squared[i, j] - nearest) * rate)
            while count <= last and count <= reached + weight[i, j]:
                part = (count - reached) * factor
                pooled = known + part
                share = part / (pooled if pooled > 0.0 else 1.0)
                total[i, count - first] = pooled
                for o in range(n_outcomes):
                    shift = outcome[i, j, o] - known_mean[o]
                    mean[i, count - first, o] = known_mean[o] + share * shift
                    scatter[i, count - first, o] = known_scatter[o] + known * share * shift**2
                count += 1
            pooled = known + weight[i, j] * factor
            share = weight[i, j] * factor / (pooled if pooled > 0.0 else 1.0)
            for o in range(n_outcomes):
                shift = outcome[i, j, o] - known_mean[o]
                known_mean[o] += share * shift
                known_scatter[o] += known * share * shift**2
            known = pooled
            reached += weight[i, j]
        # Rounding may leave the weight of all rows just short of the last count.
        for late in range(count - first, n_counts):
            total[i, late] = known
            for o in range(n_outcomes):
                mean[i, late, o] = known_mean[o]
                scatter[i, late, o] = known_scatter[o]
    return total, mean, scatter
