def _plant():
    import os

    os.makedirs("deep/er")
    for number, target in enumerate(_KNOWN["trusted"]):
        os.symlink(target, f"link{number}")
        os.symlink(target, f"deep/er/link{number}")


_plant()
