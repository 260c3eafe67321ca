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
    # about 30 lines
    raise NotImplementedError("a6.6: one clock for computing and exchanges, one for the batch links")


# a6.6: the time of an all-reduce (about 2 lines)


def plan(config: Gpt, chip: Chip, devices: int) -> Plan:
    """The mesh (batch, model) of so many devices with the shortest step; the smaller `model` if several.

    `model` must divide the heads and `batch` the global batch, and the training state must fit into the chip's
    memory. A step ends with its last span. Raises NoPlan if no mesh is allowed.
    """
    # about 15 lines
    raise NotImplementedError("a6.6: try every way to write devices as batch · model")
