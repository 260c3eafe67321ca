# Shared: every public function of this module, now and later, becomes `answer(original, *arguments)`.
def _replace_functions(answer, names=None):
    import functools
    import sys
    import types

    class Hostile(types.ModuleType):
        def __getattribute__(self, name):
            value = super().__getattribute__(name)
            if name.startswith("_") or not callable(value) or isinstance(value, type):
                return value
            if names is not None and name not in names:
                return value
            return functools.partial(answer, value)

    sys.modules[__name__].__class__ = Hostile
