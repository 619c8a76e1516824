# SPDX-License-Identifier: MIT
import bpy

from . import player, scene
from .module import sinew


# Methods that need nothing but a mesh, frames and a skeleton; the first is the default.
OFFERED = ("psd", "helpers", "rotreg", "eigenskin", "lbs", "dqs", "rigid")


def _methods(self, context):
    if not _METHODS:
        known = sinew.methods()
        _METHODS.extend((name, name, known[name]["summary"]) for name in OFFERED if name in known)
    return _METHODS


_METHODS = []  # Blender keeps pointers to these texts


class SinewSettings(bpy.types.PropertyGroup):
    use_range: bpy.props.BoolProperty(name="Own Range", description="Other frames than the scene's")
    frame_start: bpy.props.IntProperty(name="Start", default=1)
    frame_end: bpy.props.IntProperty(name="End", default=250)
    bones_auto: bpy.props.BoolProperty(name="Auto", description="Find the number of bones", default=True)
    bones: bpy.props.IntProperty(name="Bones", description="The most to use", default=20, min=1, max=1000)
    influences: bpy.props.IntProperty(name="Influences", description="Most bones of a vertex", default=4, min=1, max=8)
    helpers: bpy.props.IntProperty(name="Helpers", description="Free bones to add to the armature that is there", default=0, min=0, max=100)
    method: bpy.props.EnumProperty(name="Method", description="How the skin is learned", items=_methods)
    keys: bpy.props.IntProperty(name="Every", description="Learn from every n-th frame; the others test the model",
                                default=2, min=1, max=100)


class SINEW_PT_panel(bpy.types.Panel):
    bl_label = "Sinew"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Sinew"

    def draw(self, context):
        layout, settings = self.layout, context.scene.sinew
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column(align=True)
        column.prop(settings, "use_range")
        if settings.use_range:
            column.prop(settings, "frame_start")
            column.prop(settings, "frame_end")
        box = layout.box()
        box.label(text="To bones", icon="BONE_DATA")
        mesh = context.object is not None and context.object.type == "MESH"
        follows = mesh and scene.armature_of(context.object) is not None
        if follows:
            box.prop(settings, "helpers")
        else:
            box.prop(settings, "bones_auto")
            if not settings.bones_auto:
                box.prop(settings, "bones")
        box.prop(settings, "influences")
        box.operator("sinew.bake", icon="ARMATURE_DATA")
        box = layout.box()
        box.label(text="To a model", icon="MOD_ARMATURE")
        box.prop(settings, "method")
        box.prop(settings, "keys")
        row = box.row()
        row.enabled = follows
        row.operator("sinew.learn", icon="MOD_MESHDEFORM")
        row = box.row()
        row.enabled = mesh and player.MODEL in context.object
        row.operator("sinew.export", icon="EXPORT")
        layout.operator("sinew.compare", icon="COLOR")
