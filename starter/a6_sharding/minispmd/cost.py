"""What it costs: seconds of collectives on a torus, bytes of training.

Two estimates of a ring's time are in use, and they differ.

- *Whole blocks*, hop by hop: every block travels both ways round until all have it, ⌊n/2⌋ hops on a ring that
  wraps around and n − 1 on a line. Each hop takes the larger of the hop latency and the block's bytes /
  bandwidth. This is what planning uses, since it knows about latency.
- *Halved blocks*: half of each block goes either way, (n − 1)/n of the array over two links. It is what bandwidth
  alone allows on one ring.
"""

from __future__ import annotations

from .hardware import Gpt, Links

BYTES_OF_STATE = 16  # for a parameter: itself, its gradient and two moments, each in float32
FLOAT32 = 4


def hops(n: int, wrap: bool = True) -> int:
    """Over how many links a block travels at most when it goes both ways: ⌊n/2⌋ round a ring, n − 1 on a line."""
    # about 1 line
    raise NotImplementedError("a6.6: two cases")


def collective_seconds(kind: str, block_bytes: float, n: int, links: Links, wrap: bool = True) -> float:
    """Seconds of a collective along one axis of n devices, in whole blocks.

    kind: "all_gather" or "reduce_scatter": hops · max(hop latency, block / bandwidth), `block_bytes` being what
    each device has before the gather or after the scatter. "all_reduce": both, `block_bytes` being 1/n of the
    array. "all_to_all": as a gather of a quarter of each block. Raises ValueError for another kind.
    """
    # about 8 lines
    raise NotImplementedError("a6.6: one formula, three variations")


def halved_seconds(total_bytes: float, n: int, links: Links) -> float:
    """Seconds of an all-gather of `total_bytes` in halved blocks: (n − 1)/n · total / (2 · bandwidth)."""
    # about 1 line
    raise NotImplementedError("a6.6: the formula")


def torus_bound(total_bytes: float, axes: int, links: Links) -> float:
    """A bound for an all-gather over several axes that wrap around: all of it, over both links of every axis."""
    # about 1 line
    raise NotImplementedError("a6.6: bytes over 2 links an axis")


def two_phase_seconds(block_bytes: float, sizes: tuple[int, int], links: Links) -> float:
    """Seconds of an all-gather over two axes, x and y, that wrap around, in two phases of whole blocks.

    Each device's block is halved. One half is gathered along x and then, grown by |x|, along y; at the same time
    the other half along y and then along x. A phase ends when both have ended it.
    """
    # about 7 lines
    raise NotImplementedError("a6.6: the slower half of each phase")


def parameter_count(config: Gpt) -> int:
    """All parameters of the model: matrices, biases, LayerNorms, embeddings (see `Gpt`)."""
    # about 2 lines
    raise NotImplementedError("a6.6: layers, embeddings, the last LayerNorm")


def sharded_parameter_count(config: Gpt) -> int:
    """Those that can be cut along `model`: the layers' matrices."""
    # about 1 line
    raise NotImplementedError("a6.6: twelve squares a layer")


def device_parameters(config: Gpt, model: int) -> int:
    """Parameters on each device, the matrices being cut into `model` parts."""
    # about 2 lines
    raise NotImplementedError("a6.6: a part of the matrices, all of the rest")


def train_state_bytes(config: Gpt, model: int) -> int:
    """Bytes of training state on each device: 16 for each of its parameters."""
    # about 1 line
    raise NotImplementedError("a6.6: the formula")


def gradient_bytes(config: Gpt, batch: int, model: int) -> float:
    """Bytes that each device sends to all-reduce its float32 gradients along `batch`, in one step."""
    # about 1 line
    raise NotImplementedError("a6.6: twice (n − 1)/n of them")


def activation_bytes(config: Gpt, batch: int, model: int) -> float:
    """Bytes that each device sends along `model` to exchange float32 activations, in one step.

    Four all-reduces a layer, two forward and two backward, of [config.batch / batch, sequence, width].
    """
    # about 2 lines
    raise NotImplementedError("a6.6: four a layer")
