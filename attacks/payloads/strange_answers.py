def _strange():
    kind = _KNOWN["kind"]
    if kind == "huge":
        return 10**5_000
    if kind == "many":
        return [0] * _KNOWN["count"]
    value = []
    if kind == "self":
        value.append(value)
    for _ in range(_KNOWN["depth"] if kind == "deep" else 0):
        value = [value]
    return value


def _give(*arguments, **keywords):
    """Return it, or raise it: an exception's fields cross as well."""
    value = _strange()
    if _grader_socket() is None:
        return value
    error = ValueError("strange")
    error.field = value
    raise error


def _send():
    sock = _grader_socket()
    if sock is None or not _KNOWN.get("raw"):
        return
    import msgspec

    def strange(sequence):
        head = b"\x82" + msgspec.msgpack.encode("sequence") + msgspec.msgpack.encode(sequence)
        value = b"\x91" * _KNOWN.get("depth", 0) + b"\xc0"
        if _KNOWN["kind"] == "many":
            count = (_KNOWN["answer_mib"] << 20) - 100
            value = b"\xdd" + count.to_bytes(4, "big") + b"\x90" * count
        return head + msgspec.msgpack.encode("value") + value

    _answer_everything(sock, strange)


_send()
_replace_functions(_give)
