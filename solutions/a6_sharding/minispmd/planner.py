"""Planning a training run: which communication hides behind computing, and which mesh is fastest.

Data parallelism sends gradients, and a layer's gradient can travel as soon as its backward pass is over, while
earlier layers are still computing. Tensor parallelism sends activations, and the next layer cannot start without
them: they are on the critical path.
"""

from __future__ import annotations

from .cost import FLOAT32, train_state_bytes
from .errors import NoPlan
from .hardware import Chip, Gpt, Plan, Span


def step_timeline(config: Gpt, chip: Chip, batch: int, model: int) -> list[Span]:
    """One training step on each device of a mesh (batch, model), as spans in order of their start.

    With t = config.batch / batch · sequence tokens on a device: a layer's forward pass takes 2 · 12 · width² /
    model · t operations, its backward pass twice as many. The head takes 3 · 2 · vocabulary · width · t, between
    the two, and is not cut. After a layer's forward pass, two all-reduces of its float32 activations [t, width]
    along `model`, as one span "exchange forward 0" on the "model links", and likewise after its backward pass;
    the next computation waits for it. The gradients of a layer, float32, 12 · width² / model + 13 · width of
    them, are all-reduced along `batch` ("gradient 0" on the "batch links"), and last those of everything else
    ("gradient embeddings"), each as soon as its backward pass is over (the exchange need not be) and the links
    are free; the embeddings' when the last backward pass is. An all-reduce of b bytes among n takes 2(n − 1)/n ·
    b / chip.network. Spans of no length are left out.
    """
    ### BEGIN SOLUTION a6.6: one clock for computing and exchanges, one for the batch links
    tokens = config.batch / batch * config.sequence
    matrices = 12 * config.width**2 / model
    forward = 2 * matrices * tokens / chip.flops
    exchange = 2 * _all_reduce_seconds(FLOAT32 * tokens * config.width, model, chip)
    spans: list[Span] = []
    now = free = 0.0

    def work(name: str, resource: str, seconds: float) -> None:
        nonlocal now
        if seconds > 0:
            spans.append(Span(name, resource, now, now + seconds))
            now += seconds

    def reduce(name: str, parameters: float, ready: float) -> None:
        nonlocal free
        seconds = _all_reduce_seconds(FLOAT32 * parameters, batch, chip)
        if seconds > 0:
            start = max(ready, free)
            spans.append(Span(name, "batch links", start, free := start + seconds))

    for layer in range(config.layers):
        work(f"forward {layer}", "compute", forward)
        work(f"exchange forward {layer}", "model links", exchange)
    work("head", "compute", 3 * 2 * config.vocabulary * config.width * tokens / chip.flops)
    backward_over = now
    for layer in reversed(range(config.layers)):
        work(f"backward {layer}", "compute", 2 * forward)
        backward_over = now
        reduce(f"gradient {layer}", matrices + 13 * config.width, backward_over)
        work(f"exchange backward {layer}", "model links", exchange)
    embeddings = (config.vocabulary + config.sequence) * config.width + 2 * config.width
    reduce("gradient embeddings", embeddings, backward_over)
    return sorted(spans, key=lambda span: span.start)
    ### END SOLUTION


### BEGIN SOLUTION a6.6: the time of an all-reduce
def _all_reduce_seconds(nbytes: float, n: int, chip: Chip) -> float:
    return 2 * (n - 1) / n * nbytes / chip.network


### END SOLUTION


def plan(config: Gpt, chip: Chip, devices: int) -> Plan:
    """The mesh (batch, model) of so many devices with the shortest step; the smaller `model` if several.

    `model` must divide the heads and `batch` the global batch, and the training state must fit into the chip's
    memory. A step ends with its last span. Raises NoPlan if no mesh is allowed.
    """
    ### BEGIN SOLUTION a6.6: try every way to write devices as batch · model
    found: list[Plan] = []
    problem = f"model must divide {config.heads} heads and batch must divide {config.batch}"
    for model in (model for model in range(1, devices + 1) if devices % model == 0):
        batch = devices // model
        if config.heads % model or config.batch % batch:
            continue
        state = train_state_bytes(config, model)
        if state > chip.memory:
            problem = f"with model={model} the training state takes {state:,} bytes of {chip.memory:,.0f}"
            continue
        seconds = max(span.end for span in step_timeline(config, chip, batch, model))
        found.append(Plan(batch, model, seconds, state))
    if not found:
        raise NoPlan(devices, problem)
    return min(found, key=lambda choice: (choice.seconds, choice.model))
    ### END SOLUTION
