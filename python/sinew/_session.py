# SPDX-License-Identifier: MIT
"""A session of the library: errors as exceptions, progress, arrays that stay alive as long as somebody looks at them."""
import ctypes
import json
import sys
import threading
import time

import numpy as np

from ._arrays import address, is_path, path_text, text, whole
from ._library import Array, lib

MOST_THREADS = 1024
DTYPES = {b"f": np.float32, b"d": np.float64, b"i": np.int32, b"H": np.uint16, b"B": np.uint8}


def listed(value):
    """One or several of something, as a list; None is none. An array is one thing."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


class Error(RuntimeError):
    """What the library says went wrong. `status` is its name in the C interface, as SN_BAD_INPUT."""

    def __init__(self, message, status="SN_BAD_INPUT"):
        super().__init__(message)
        self.status = status


class Stopped(Error):
    """A progress callback returned False."""


class Bar:
    """progress=True: a bar with the time left on a terminal and in a notebook, sparse lines elsewhere; nothing in the first two
    seconds."""

    def __init__(self, stream=None):
        self.stream = stream or sys.stderr
        self.start = self.last = time.monotonic()
        self.shown = False
        notebook = type(self.stream).__module__.startswith("ipykernel")
        self.live = notebook or self.stream.isatty()  # a line may be written over
        self.clear = "\r" + " " * 79 + "\r" if notebook else "\r\033[K"

    def __call__(self, task, done):
        now = time.monotonic()
        if now - self.start < 2 or now - self.last < (0.1 if self.live else 10):
            return
        self.last, self.shown = now, True
        left = f", about {(now - self.start) * (1 - done) / done:.0f} s left" if done > 0.01 else ""
        if self.live:
            filled = "#" * int(30 * done)
            self.stream.write(f"{self.clear}{task:<10} [{filled:.<30}] {100 * done:3.0f} %{left}")
        else:
            self.stream.write(f"{task}: {100 * done:.0f} %{left}\n")
        self.stream.flush()

    def close(self):
        if self.shown and self.live:
            self.stream.write(self.clear)


class _View:
    """Memory of a session, for numpy; keeps the session."""

    def __init__(self, session, array):
        shape = tuple(array.shape[: array.dimensions])
        self.session = session
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": np.dtype(DTYPES[array.kind]).str,
            "data": (array.data, True),  # read-only: it may be a mapped file
        }


class Session:
    """Work runs on a separate thread while the caller's waits, so that Ctrl-C and progress callbacks are handled."""

    def __init__(self, threads=0, seed=1, progress=None):
        self.handle = lib.sn_session_new()
        if not self.handle:
            raise MemoryError("sinew: out of memory")
        self.kept = []  # what the library looks at
        self.lock = threading.Lock()  # one thread at a time
        self.stop = ctypes.c_int(0)
        self.bar = Bar() if progress is True else None
        self.ask = self.bar if progress is True else progress or None
        if self.ask is not None and not callable(self.ask):
            raise TypeError("progress is True, or a function of (task, done)")
        lib.sn_session_run_with(self.handle, whole(threads, MOST_THREADS, "threads"), whole(seed, 2**64 - 1, "seed"), self.stop)

    def __del__(self):
        if getattr(self, "handle", None):
            lib.sn_session_free(self.handle)

    def __reduce__(self):
        raise TypeError("a session is memory of this process: copy or pickle a rig's skeleton, model and report instead")

    def _tell(self):
        """Reports progress to the caller's callback, which returns whether to continue."""
        if self.ask is not None:
            task = ctypes.create_string_buffer(32)
            done = lib.sn_session_progress(self.handle, task)
            if self.ask(task.value.decode(errors="replace") or "working", done) is False:
                self.stop.value = 1

    def do(self, function, *arguments):
        """A function of the library that works for a while and returns a status."""
        result, ended = [], threading.Event()

        def work():
            try:
                result.append(function(self.handle, *arguments))
            except BaseException as error:  # arguments that ctypes refuses
                result.append(error)
            finally:
                ended.set()

        worker = threading.Thread(target=work, name="sinew")
        with self.lock:
            self._tell()
            try:
                worker.start()
                while not ended.wait(0.05):
                    self._tell()
                self._tell()
            except BaseException:  # KeyboardInterrupt, or what the callback raises: when the library has cleaned up
                self.stop.value = 1
                raise
            finally:
                if worker.ident is not None:
                    worker.join()
                if self.bar:
                    self.bar.close()
        if isinstance(result[0], BaseException):
            raise result[0]
        self.check(result[0])

    def check(self, status):
        if status == 0:
            return
        name = lib.sn_status_name(status).decode()
        message = lib.sn_session_message(self.handle).decode(errors="replace")
        if name == "SN_NO_MEMORY":
            raise MemoryError(message)
        raise (Stopped if name == "SN_STOPPED" else Error)(message or name, name)

    def set(self, **options):
        """Options by the command line's names, with _ for -: None and False are left out, True is a switch, a list is
        several of one."""
        for name, value in options.items():
            for part in listed(value):
                given = b"1" if part is True else path_text(part) if is_path(part) else text(part)
                if part is not False:
                    self.check(lib.sn_session_option(self.handle, name.replace("_", "-").encode(), given))

    def keep(self, array):
        """The address of a checked array that lives as long as this session. Do not change it while a solve runs."""
        self.kept.append(array)
        return address(array)

    def own(self, array):
        """The address of a copy: what somebody does to the array later is nothing to the library."""
        return self.keep(np.array(array))

    def view(self, name):
        """An array of the library without a copy, read-only; None where there is none."""
        found = Array()
        if not lib.sn_session_get(self.handle, text(name), ctypes.byref(found)):
            return None
        return np.asarray(_View(self, found))

    def array(self, name):
        """A copy of an array of the library; None where there is none."""
        found = self.view(name)
        return None if found is None else np.array(found)

    def names(self, count):
        return [lib.sn_session_joint_name(self.handle, j).decode(errors="replace") for j in range(count)]

    def report(self):
        whole = json.loads(lib.sn_session_report(self.handle).decode())
        return {**whole["result"], "input": whole["input"]}
