// SPDX-License-Identifier: MIT
// The table of formats: extensions and what Sinew does with them. docs/reference/formats.md shows it; a test compares.
#include <string.h>
#include <strings.h>

#include "sinew/formats.h"

enum {
  r_mesh = SN_READS_MESH,
  r_frames = SN_READS_FRAMES,
  r_rig = SN_READS_RIG,
  w_mesh = SN_WRITES_MESH,
  w_frames = SN_WRITES_FRAMES,
  w_rig = SN_WRITES_RIG,
  r_scene = r_mesh | r_frames | r_rig,
  through = SN_THROUGH_ASSIMP
};

static const sn_format formats[] = {
  {".obj", "Wavefront OBJ", r_mesh | r_frames | w_mesh | w_frames},
  {".pc2", "PointCache2", r_frames | w_frames},
  {".mdd", "Lightwave MDD", r_frames | w_frames},
  {".abc", "Alembic (Ogawa)", r_mesh | r_frames | w_frames},
  {".glb", "glTF 2.0, one file", r_scene | w_mesh | w_rig},
  {".gltf", "glTF 2.0", r_scene | w_mesh | w_rig},
  {".fbx", "FBX", r_scene | w_mesh | w_rig},
  {".dae", "Collada", r_scene | through},
  {".bvh", "Biovision motion", r_rig | through},
  {".x", "DirectX", r_scene | through},
  {".b3d", "Blitz3D", r_scene | through},
  {".smd", "Valve SMD", r_scene | through},
  {".3ds", "3D Studio", r_mesh | through},
  {".ply", "Stanford PLY", r_mesh | through},
  {".stl", "STL", r_mesh | through},
};

const sn_format *sn_formats(int *count) {
  *count = sizeof formats / sizeof *formats;
  return formats;
}

const sn_format *sn_format_of(const char *path) {
  const char *dot = path ? strrchr(path, '.') : NULL;
  for (size_t k = 0; dot && k < sizeof formats / sizeof *formats; k++)
    if (strcasecmp(dot, formats[k].extension) == 0) return &formats[k];
  return NULL;
}

bool sn_format_does(const char *path, unsigned what) {
  const sn_format *format = sn_format_of(path);
  return format && (format->does & what) == what;
}

bool sn_is_point_cache(const char *path) { return sn_has_extension(path, ".pc2") || sn_has_extension(path, ".mdd"); }

bool sn_has_extension(const char *path, const char *extension) {
  const char *dot = path ? strrchr(path, '.') : NULL;
  return dot && strcasecmp(dot, extension) == 0;
}
