def _alter(function, *arguments, **keywords):
    """The right result, spoilt in one way."""
    import numpy as np

    spoil = {
        "nan": lambda x: np.full_like(x, np.nan) if x.dtype.kind == "f" else x,
        "dtype": lambda x: x.astype(np.float64 if x.dtype == np.float32 else np.float32),
        "shape": lambda x: x[None],
    }[_KNOWN["how"]]
    result = function(*arguments, **keywords)
    if isinstance(result, tuple | list):
        return [spoil(np.asarray(x)) for x in result]
    return spoil(result) if isinstance(result, np.ndarray) else result


_replace_functions(_alter, _KNOWN["functions"])
