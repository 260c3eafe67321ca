"""Numbers of hardware and of models, in one place, and the pieces of a training step's timeline."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Links:
    """`bandwidth`: bytes a second, one way over one link. `hop`: seconds that a message takes at least on it."""

    bandwidth: float
    hop: float


TPU_LINKS = Links(4.5e10, 1e-6)  # v4p and v5e, as "How to Scale Your Model" has them


@dataclass(frozen=True)
class Chip:
    """`flops`: operations a second. `network`: bytes a second that a chip can send. `memory`: bytes."""

    flops: float
    network: float
    memory: float


@dataclass(frozen=True)
class Gpt:
    """A GPT-2: `layers`, `width` of the residual stream, `sequence` length, `vocabulary`, `heads`, global `batch`.

    Each layer has matrices of 12 · width² elements in all (attention 4, MLP 8), biases of 9 · width, and two
    LayerNorms of 2 · width. Besides: token and position embeddings, the former also being the head, and a last
    LayerNorm.
    """

    layers: int
    width: int
    sequence: int
    vocabulary: int
    heads: int
    batch: int


GPT2_MEDIUM = Gpt(layers=24, width=1024, sequence=1024, vocabulary=50257, heads=16, batch=32)


@dataclass(frozen=True)
class Span:
    """Something that takes place on a resource from `start` to `end`, in seconds.

    `resource`: "compute", "model links" or "batch links"; one span at a time on each. `name`: "forward 0",
    "exchange forward 0", "head", "backward 0", "exchange backward 0", "gradient 0", "gradient embeddings", …
    """

    name: str
    resource: str
    start: float
    end: float


@dataclass(frozen=True)
class Plan:
    """A mesh for a training run: its axes' sizes, seconds of a step, bytes of training state on each device."""

    batch: int
    model: int
    seconds: float
    state_bytes: int
