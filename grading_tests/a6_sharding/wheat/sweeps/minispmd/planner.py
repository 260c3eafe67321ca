"""Planning a training run, with a clock for each resource."""

from __future__ import annotations

from math import inf

from .cost import train_state_bytes
from .errors import NoPlan
from .hardware import Plan, Span


def step_timeline(config, chip, batch, model):
    tokens = config.batch * config.sequence / batch
    square = config.width**2
    clocks = {"compute": 0.0, "model links": 0.0, "batch links": 0.0}
    spans = []

    def book(name, resource, after, seconds):
        start = max(after, clocks[resource])
        clocks[resource] = start + seconds
        if seconds:
            spans.append(Span(name, resource, start, start + seconds))
        return start + seconds

    def network(elements, n):
        return 2 * (n - 1) / n * 4 * elements / chip.network

    done = 0.0
    layers = list(range(config.layers))
    for layer in layers:
        done = book(f"forward {layer}", "compute", done, 24 * square / model * tokens / chip.flops)
        done = book(f"exchange forward {layer}", "model links", done, 2 * network(tokens * config.width, model))
    done = book("head", "compute", done, 6 * config.vocabulary * config.width * tokens / chip.flops)
    for layer in layers[::-1]:
        over = book(f"backward {layer}", "compute", done, 48 * square / model * tokens / chip.flops)
        book(f"gradient {layer}", "batch links", over, network(12 * square / model + 13 * config.width, batch))
        done = book(f"exchange backward {layer}", "model links", over, 2 * network(tokens * config.width, model))
    rest = config.width * (config.vocabulary + config.sequence + 2)
    book("gradient embeddings", "batch links", over, network(rest, batch))
    return sorted(spans, key=lambda span: (span.start, span.end))


def plan(config, chip, devices):
    best, misses = None, []
    for batch in range(devices, 0, -1):
        model, rest = divmod(devices, batch)
        if rest or config.heads % model or config.batch % batch:
            continue
        state = train_state_bytes(config, model)
        if state > chip.memory:
            misses.append(f"{state} bytes of state on ({batch}, {model})")
            continue
        seconds = max((span.end for span in step_timeline(config, chip, batch, model)), default=inf)
        if best is None or seconds < best.seconds:
            best = Plan(batch, model, seconds, state)
    if best is None:
        raise NoPlan(devices, "; ".join(misses) or "no mesh divides heads and batch")
    return best
