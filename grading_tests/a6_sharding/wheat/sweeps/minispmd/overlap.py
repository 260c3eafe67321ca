"""Collective matmul: the left half of every block's columns goes one way round, the right half the other way."""

from __future__ import annotations

from .schedule import DotBlock, Receive, SendBlock


def collective_matmul(problem):
    n, tiles = problem.devices, problem.tiles_n
    half = (tiles + 1) // 2

    def parts(start, stop):
        count = min(3, stop - start)
        edges = [start + (stop - start) * i // count for i in range(count + 1)]
        return list(zip(edges, edges[1:]))

    ways = [(1, parts(0, half)), (-1, parts(half, tiles))] if tiles > 1 else [(1, parts(0, tiles))]
    schedule = []
    for device in range(n):
        actions = []
        for distance in range(n):
            for step, columns in ways:
                rows = problem.own_rows((device - step * distance) % n)
                for piece in columns:
                    if distance:
                        actions.append(Receive((device - step) % n))
                    if distance < n - 1:
                        actions.append(SendBlock((device + step) % n, rows, piece))
                    actions.append(DotBlock(rows, piece))
        schedule.append(actions)
    return schedule
