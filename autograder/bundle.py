"""Zips that come out the same byte for byte whenever and wherever they are made."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_TIME = (1980, 1, 1, 0, 0, 0)


def zip_bytes(files: Mapping[str, bytes], executable: frozenset[str] = frozenset()) -> bytes:
    """A zip of these files: sorted names, one fixed time, fixed modes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(entry, files[name])
    return buffer.getvalue()
