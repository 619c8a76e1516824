# SPDX-License-Identifier: MIT
"""The Python module: the copy that the add-on's zip carries, or the one that is installed."""
try:
    from . import sinew
except ImportError:
    try:
        import sinew
    except ImportError as error:
        raise ImportError(f"the Python module sinew is neither in the add-on nor installed ({error}); `make blender` puts it into the zip") from None

__all__ = ["sinew"]
