"""Exceptions of this package: facts first, the sentence built from them."""

from __future__ import annotations


class EmptyRowError(ValueError):
    """A mask in which a query sees no key; `row` is the first such query."""

    def __init__(self, row: int) -> None:
        self.row = row
        super().__init__(
            f"query {row} sees no key: its softmax would divide by a sum of nothing. Let it see at least one key, "
            "or leave it out"
        )
