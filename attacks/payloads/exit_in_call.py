def _leave(*arguments, **keywords):
    import os

    os._exit(0)


_replace_functions(_leave)
