def _read_everything():
    import os

    def show(path):
        try:
            with open(path, "rb") as handle:
                text = handle.read().decode("latin-1")
        except OSError as error:
            print(path, error, flush=True)
            return
        place = text.find(_KNOWN["canary"])
        print("found:", path, text[place : place + 80] if place >= 0 else "nothing", flush=True)

    for root in _KNOWN["trusted"]:
        if os.path.isdir(root):
            for folder, _, names in os.walk(root):
                for name in names:
                    show(os.path.join(folder, name))
        else:
            show(root)


_read_everything()
