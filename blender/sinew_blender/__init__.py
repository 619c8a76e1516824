# SPDX-License-Identifier: MIT
"""Sinew in Blender: meshes that anything deforms, baked to bones; heavy skins, learned; how far both are from the truth."""
bl_info = {
    "name": "Sinew",
    "description": "Bake deforming meshes to bones, learn real-time skins",
    "author": "Sinew",
    "version": (0, 2, 0),
    "blender": (3, 4, 0),
    "location": "3D view > Sidebar > Sinew",
    "category": "Rigging",
}

import bpy

from . import bake, compare, export, learn, panel, player

CLASSES = (panel.SinewSettings, bake.SINEW_OT_bake, learn.SINEW_OT_learn, export.SINEW_OT_export, compare.SINEW_OT_compare,
           panel.SINEW_PT_panel)


def register():
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.sinew = bpy.props.PointerProperty(type=panel.SinewSettings)
    player.register()


def unregister():
    player.unregister()
    del bpy.types.Scene.sinew
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
