# SPDX-License-Identifier: MIT
"""Operators that take a while: steps of a generator, one timer event after the other, so that Blender stays alive, shows how far
they are and lets Escape cancel. Headless, or called from a script, they run through."""
import threading
import time
import traceback

import bpy

from .module import sinew


class Failure(Exception):
    """What the user did wrong, or what went wrong: shown as a report."""


def in_thread(work):
    """A step: runs work(progress) on a thread of its own, yields its progress, returns its result. Closing the generator
    stops the work."""
    state = {"progress": ("starting", 0.0), "stop": False}

    def progress(task, done):
        state["progress"] = task, done
        return not state["stop"]

    def run():
        try:
            state["result"] = work(progress)
        except BaseException as error:  # raised where the result is waited for
            state["error"] = error

    thread = threading.Thread(target=run, name="sinew job")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.02)
            yield state["progress"]
    finally:
        state["stop"] = True
        thread.join()
    if "error" in state:
        raise state["error"]
    return state["result"]


class Job:
    """What the operators share. `steps(context)` yields (task, done) and returns a message for the user."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return context.mode == "OBJECT" and context.object is not None and context.object.type == "MESH"

    def _begin(self, context):
        self._scene = context.scene
        self._frame = context.scene.frame_current
        self._steps = self.steps(context)

    def _end(self):
        if self._scene.frame_current != self._frame:
            self._scene.frame_set(self._frame)

    def _next(self):
        """None to go on, or what the operator returns."""
        try:
            self._told = next(self._steps)
            return None
        except StopIteration as end:
            self._end()
            self.report({"INFO"}, end.value or "done")
            return {"FINISHED"}
        except Exception as error:
            if not isinstance(error, (Failure, sinew.Error, ValueError, MemoryError, OSError)):
                traceback.print_exc()  # not the user's doing
            self.report({"ERROR"}, str(error) or type(error).__name__)
            self._end()
            return {"CANCELLED"}

    def execute(self, context):
        self._begin(context)
        while True:
            result = self._next()
            if result:
                return result

    def invoke(self, context, event):
        if bpy.app.background:
            return self.execute(context)
        self._begin(context)
        self._timer = context.window_manager.event_timer_add(0.02, window=context.window)
        context.window_manager.progress_begin(0, 100)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC":
            self.cancel(context)
            self._end()
            self.report({"WARNING"}, "cancelled")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        until = time.monotonic() + 0.05  # several steps per event where they are short
        while time.monotonic() < until:
            result = self._next()
            if result:
                return self._leave(context, result)
        task, done = self._told
        context.window_manager.progress_update(100 * done)
        context.workspace.status_text_set(f"Sinew: {task}, {100 * done:.0f} %    Esc: cancel")
        return {"RUNNING_MODAL"}

    def cancel(self, context):
        """Escape; Blender calls it too, where another file is opened or Blender is left."""
        try:
            self._steps.close()
        finally:
            self._leave(context, None)

    def _leave(self, context, result):
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        if context.workspace:
            context.workspace.status_text_set(None)
        return result
