# SPDX-License-Identifier: MIT
"""What goes into C: the one place where the type, shape, order, alignment and range of arrays, numbers and texts are checked."""
import os
from ctypes import addressof, c_char
from operator import index

import numpy as np

FLOAT, DOUBLE, INT, SHORT, BYTE = map(np.dtype, (np.float32, np.float64, np.int32, np.uint16, np.uint8))
MOST = 2**31 - 1  # counts are ints in C
LEAST_RATE, MOST_RATE = 1e-3, 1e6  # frames per second, as of the command line's --fps


def _refuse(what, shape, have):
    needed = " x ".join("n" if n < 0 else str(n) for n in shape)
    raise ValueError(f"{what}: an array of {needed} is needed, not {' x '.join(map(str, have)) or 'a number'}")


def _converted(array, dtype, what):
    """A C-contiguous, aligned array of this type with the same numbers; numbers that the type cannot hold are refused."""
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{what}: numbers are needed, not {array.dtype}")
    with np.errstate(all="ignore"):
        out = np.require(array, dtype, ["C", "A"])
        if array.dtype == dtype:
            return out
        lost = out != array if dtype.kind in "iu" else np.isinf(out) & ~np.isinf(array)
    if lost.any():
        raise ValueError(f"{what}: {array[lost][0]} does not fit into {dtype}")
    return out


def _check_writable(value, dtype, what):
    """C writes here: numbers of a row side by side, rows may be apart, as in a vertex buffer."""
    row = value.shape[-1] * dtype.itemsize
    apart = all(step % dtype.itemsize == 0 and step >= row for n, step in zip(value.shape, value.strides[:-1]) if n > 1)
    if value.dtype != dtype or not value.flags.writeable or not value.flags.aligned:
        state = "" if value.flags.writeable and value.flags.aligned else ", read-only or not aligned"
        raise ValueError(f"{what}: a writable array of {dtype} is needed; this is {value.dtype}{state}")
    if value.size and not (apart and value.strides[-1] == dtype.itemsize):
        raise ValueError(f"{what}: the numbers of a row have to be side by side; a transposed or reversed array cannot be written")


def is_plain(value, dtype, shape):
    """An array that C may read and write as it is."""
    return type(value) is np.ndarray and value.dtype is dtype and value.shape == shape and value.flags.carray


def checked(value, dtype, shape, what, write=False):
    """`value` as C takes it: this dtype, this shape (-1: any length), aligned, C-contiguous; a converted copy where it is not.

    With `write`, C writes to it: it has to be such an array itself, but its rows may be apart.
    """
    if is_plain(value, dtype, shape):
        return value
    if write and not isinstance(value, np.ndarray):
        raise TypeError(f"{what}: a numpy array is needed, not {type(value).__name__}")
    array = np.asarray(value)
    if array.ndim != len(shape) or any(want not in (-1, have) for want, have in zip(shape, array.shape)):
        _refuse(what, shape, array.shape)
    if max(array.shape, default=0) > MOST:
        raise ValueError(f"{what}: at most {MOST} rows")
    if write:
        _check_writable(array, dtype, what)
        return array
    return _converted(array, dtype, what)


def address(array):
    """Where an array begins."""
    try:
        return addressof(c_char.from_buffer(array))  # a third of the time of array.ctypes
    except (TypeError, ValueError):  # read-only, not contiguous, or empty
        return array.ctypes.data


def whole(value, most, what, least=0):
    """A whole number: ctypes would wrap one that is too large."""
    if not least <= index(value) <= most:
        raise ValueError(f"{what}: {value} is not from {least} to {most}")
    return index(value)


def checked_rate(fps):
    """Frames per second, 0 for unknown."""
    if fps != 0 and not LEAST_RATE <= fps <= MOST_RATE:
        raise ValueError(f"{fps} frames per second: give a number from {LEAST_RATE:g} to {MOST_RATE:g}")
    return float(fps)


def is_path(value):
    return isinstance(value, (str, os.PathLike))


def _unbroken(encoded):
    if b"\0" in encoded:
        raise ValueError(f"{encoded!r}: a zero character would end this text in C")
    return encoded


def path_text(path):
    return _unbroken(os.fsencode(os.fspath(path)))


def text(value):
    return _unbroken(str(value).encode())
