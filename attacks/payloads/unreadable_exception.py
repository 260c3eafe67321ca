def _raise(*arguments, **keywords):
    """An exception about which nothing can be asked."""

    class Meta(type):
        @property
        def __name__(cls):
            raise RuntimeError("no name")

        @property
        def __mro__(cls):
            raise RuntimeError("no ancestors")

    class Unreadable(ValueError, metaclass=Meta):
        def __str__(self):
            raise RuntimeError("no message")

        __repr__ = __str__

        @property
        def __dict__(self):
            raise RuntimeError("no fields")

    raise Unreadable


_replace_functions(_raise)
