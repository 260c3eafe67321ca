def _hunt():
    import gc

    def parts(thing):
        if isinstance(thing, dict):
            return list(thing.values())
        return thing if isinstance(thing, list | tuple | set | frozenset) else ()

    found = set()
    for thing in gc.get_objects():
        for value in parts(thing):
            for text in (value, *parts(value)):
                if isinstance(text, str) and _KNOWN["canary"] in text and len(text) > len(_KNOWN["canary"]):
                    found.add(text)
    print(found, flush=True)


_hunt()
