"""Python's operators for tracers: `x * y` is `bind("mul", x, y)` and nothing more.

`trace.py` derives its `Tracer` from `Operators` and supplies the two things missing here:
`_bind`, which applies a primitive, and `_refuse`, which answers Python when it wants data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .core import ShapedArray


class Operators:
    """Everything that a tracer can do because it looks like an array."""

    __slots__ = ()
    __array_priority__ = 1000  # NumPy arrays leave `array * tracer` to the tracer
    __hash__ = None  # type: ignore[assignment]  # == is elementwise, as for arrays

    aval: ShapedArray
    _bind: Callable[..., Any]

    def _refuse(self, operation: str) -> NoReturn:
        """Raise the error for Python asking for data, by `bool(x)` or otherwise."""
        raise NotImplementedError

    # What is known while tracing.

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype:
        """The elements' dtype."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.aval.size

    def __repr__(self) -> str:
        return f"Traced<{self.aval}>"

    # What is not: each of these would need the data.

    def __bool__(self) -> bool:
        self._refuse("bool")

    def __int__(self) -> int:
        self._refuse("int")

    def __float__(self) -> float:
        self._refuse("float")

    def __index__(self) -> int:
        self._refuse("__index__")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        self._refuse("__array__")

    def __getitem__(self, index: Any) -> Any:
        self._refuse("indexing")

    def __iter__(self) -> Any:
        self._refuse("iteration")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{self} has no axes, so it has no length.")
        return self.shape[0]

    # Arithmetic.

    def __add__(self, other: Any) -> Any:
        return self._bind("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._bind("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._bind("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._bind("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._bind("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._bind("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._bind("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._bind("div", other, self)

    def __matmul__(self, other: Any) -> Any:
        return self._bind("dot", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._bind("dot", other, self)

    def __neg__(self) -> Any:
        return self._bind("neg", self)

    def __pos__(self) -> Any:
        return self

    def __pow__(self, exponent: int) -> Any:
        """A positive integer power, by multiplication: x ** 3 is x * x * x."""
        if type(exponent) is not int or exponent < 1:
            raise TypeError(
                f"{self} ** {exponent!r}: only positive integer powers are defined; "
                f"write minijax.exp(p * minijax.log(x)) for others."
            )
        result: Any = self
        for _ in range(exponent - 1):
            result = self._bind("mul", result, self)
        return result

    # Comparison. eq and gt are primitives, the rest is made of them.

    def __eq__(self, other: object) -> Any:
        return self._bind("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self._bind("select", self._bind("eq", self, other), False, True)

    def __gt__(self, other: Any) -> Any:
        return self._bind("gt", self, other)

    def __lt__(self, other: Any) -> Any:
        return self._bind("gt", other, self)

    def __ge__(self, other: Any) -> Any:
        return self._bind("select", self._bind("eq", self, other), True, self > other)

    def __le__(self, other: Any) -> Any:
        return self._bind("select", self._bind("eq", self, other), True, self < other)

    # The methods of arrays are the functions of numpy_api.

    @property
    def T(self) -> Any:
        """All axes reversed."""
        return self.transpose()

    def transpose(self, *axes: Any) -> Any:
        """`numpy_api.transpose`; the axes may be one tuple or several arguments."""
        from . import numpy_api

        return numpy_api.transpose(self, _one_tuple(axes) or None)

    def reshape(self, *shape: Any) -> Any:
        """`numpy_api.reshape`; the shape may be one tuple or several arguments."""
        from . import numpy_api

        return numpy_api.reshape(self, _one_tuple(shape))

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        """`numpy_api.sum`."""
        from . import numpy_api

        return numpy_api.sum(self, axis, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        """`numpy_api.max`."""
        from . import numpy_api

        return numpy_api.max(self, axis, keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        """`numpy_api.mean`."""
        from . import numpy_api

        return numpy_api.mean(self, axis, keepdims)

    def astype(self, dtype: Any) -> Any:
        """`numpy_api.astype`."""
        from . import numpy_api

        return numpy_api.astype(self, dtype)


def _one_tuple(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """`(2, 3)` for both `f(2, 3)` and `f((2, 3))`."""
    if len(arguments) == 1 and isinstance(arguments[0], tuple | list):
        return tuple(arguments[0])
    return arguments
