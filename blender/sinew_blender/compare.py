# SPDX-License-Identifier: MIT
"""Compare: how far a baked or learned object is from its original, over the frames, as a colour of every vertex."""
import bpy
import numpy as np

from . import scene
from .job import Failure, Job

ATTRIBUTE = "sinew_error"
# From dark blue (none) through teal to yellow (the largest): readable by colour-blind people. As `sinew rig --heat`.
HEAT = np.array([[0.07, 0.0, 0.09], [0.05, 0.08, 0.24], [0.01, 0.28, 0.26], [0.12, 0.6, 0.12], [0.98, 0.8, 0.02]])


def heat(values):
    """Colours (n x 4) of numbers from 0 to 1."""
    at = np.linspace(0, 1, len(HEAT))
    return np.stack([np.interp(values, at, HEAT[:, c]) for c in range(3)] + [np.ones(len(values))], 1)


class SINEW_OT_compare(Job, bpy.types.Operator):
    """Colours this baked or learned mesh by its distance from the original over the frames (colour attribute sinew_error)"""

    bl_idname = "sinew.compare"
    bl_label = "Compare"

    def steps(self, context):
        obj = context.object
        original = bpy.data.objects.get(obj.get("sinew_source", ""))
        if original is None:
            raise Failure(f"{obj.name} was not made by Bake to Bones or Learn Skin, or its original is gone")
        numbers = scene.frame_numbers(context)
        squared, largest = 0.0, 0.0
        hidden = original.hide_get()
        original.hide_set(False)  # what is hidden is not evaluated
        try:
            truth = yield from scene.frames_of(context, [original], numbers)
            if truth.shape[1] != len(obj.data.vertices):
                raise Failure(f"{original.name} has {truth.shape[1]} vertices, {obj.name} {len(obj.data.vertices)}")
            for k, number in enumerate(numbers):
                context.scene.frame_set(number)
                away = scene.evaluated_positions(obj, context.evaluated_depsgraph_get()) - truth[k]
                each = (away.astype(np.float64) ** 2).sum(1)
                squared, largest = squared + each, max(largest, float(each.max()))
                yield f"comparing frame {number}", k / len(numbers)
        finally:
            original.hide_set(hidden)
        rms = np.sqrt(squared / len(numbers))
        mesh = obj.data
        if ATTRIBUTE in mesh.color_attributes:
            mesh.color_attributes.remove(mesh.color_attributes[ATTRIBUTE])
        attribute = mesh.color_attributes.new(name=ATTRIBUTE, type="FLOAT_COLOR", domain="POINT")
        attribute.data.foreach_set("color", heat(rms / rms.max() if rms.max() > 0 else rms).astype(np.float32).ravel())
        mesh.color_attributes.active_color = attribute
        diagonal = np.linalg.norm(np.ptp(truth[0].astype(np.float64), axis=0)) or 1.0
        return (f"error {100 * np.sqrt(np.mean(rms ** 2)) / diagonal:.3g} % of the size, largest "
                f"{100 * np.sqrt(largest) / diagonal:.3g} %; yellow is {100 * rms.max() / diagonal:.3g} %")
