// SPDX-License-Identifier: MIT
// Writes mesh, skeleton, skin and clips as binary FBX for Maya, Blender, Unity and Unreal. Matrices are column-major; rotations are
// Euler angles in degrees, x first.
#include <math.h>
#include <string.h>

#include "formats/fbx/bytes.h"
#include "formats/gltf/gltf.h"

// Object ids, arbitrary but unique.
enum {
  id_geometry = 1000001,
  id_mesh,
  id_skin,
  id_pose,
  id_joints = 2000000,
  id_attributes = 3000000,
  id_clusters = 4000000,
  id_clips = 5000000,
  id_layers = 6000000,
  id_materials = 7000000
};
static const int64_t id_curves = INT64_C(1) << 32;
static const double ticks_per_second = 46186158000.0;

typedef struct fbx_job {
  fbx f;
  const sn_gltf_out *what;
  const char *path;
  int joint_count;
  sn_surface surface; // of the base; empty if there is none
  sn_affine *rest;  // of the joints, without scale: Blender's bones have no rest scale, and the skin does not need it
  sn_affine *local; // of the current frame
  double *angles;   // of the joints in the previous frame
} fbx_job;

static const char *const lcl[] = {"Lcl Translation", "Lcl Rotation", "Lcl Scaling"};
static const char *const axes[] = {"d|X", "d|Y", "d|Z"};

// ---- transforms -------------------------------------------------------------------------------------------------------------

typedef struct trs {
  double t[3], r[3], s[3];
} trs;

// Euler angles of R = Rz Ry Rx in degrees, each the multiple of 360 closest to `near`.
static void euler(sn_mat3 m, const double near[3], double out[3]) {
  double y = asin(fmax(-1, fmin(1, -m.m[2][0])));
  double x, z;
  if (fabs(m.m[2][0]) < 1 - 1e-12) {
    x = atan2(m.m[2][1], m.m[2][2]), z = atan2(m.m[1][0], m.m[0][0]);
  } else { // gimbal lock: x and z rotate about the same axis
    x = near[0] * SN_PI / 180;
    double other = atan2(-m.m[0][1], m.m[1][1]);
    z = m.m[2][0] < 0 ? other + x : other - x;
  }
  const double first[3] = {x, y, z}, second[3] = {x + SN_PI, SN_PI - y, z + SN_PI}; // the same rotation
  double best = INFINITY;
  for (int which = 0; which < 2; which++) {
    double angles[3], distance = 0;
    for (int k = 0; k < 3; k++) {
      double degrees = (which ? second : first)[k] * 180 / SN_PI;
      angles[k] = degrees + 360 * round((near[k] - degrees) / 360);
      distance += (angles[k] - near[k]) * (angles[k] - near[k]);
    }
    if (distance >= best) continue;
    best = distance;
    memcpy(out, angles, sizeof angles);
  }
}

static trs split(fbx_job *job, int joint, sn_affine a, const double near[3]) {
  static const double shear_limit = 1e-3; // shear, which FBX cannot represent
  sn_vec3 t, s;
  sn_quat q;
  double lost = sn_affine_to_trs(a, &t, &q, &s);
  if (lost > shear_limit)
    sn_fail_once(&job->f, SN_UNSUPPORTED,
                 "%s: joint %s is sheared (%.2g of its size), which FBX cannot hold; write .glb", job->path,
                 job->what->skeleton->names[joint], lost);
  trs out = {{t.x, t.y, t.z}, {0}, {s.x, s.y, s.z}};
  euler(sn_quat_to_mat3(q), near, out.r);
  return out;
}

static void no_size(fbx_job *job, int joint) {
  sn_fail_once(&job->f, SN_BAD_INPUT, "joint %s has no size", job->what->skeleton->names[joint]);
}

static sn_affine without_scale(sn_affine rest) {
  sn_mat3 rotation;
  sn_mat3_polar(sn_affine_linear(rest), &rotation, NULL);
  return sn_affine_make(rotation, sn_affine_translation(rest));
}

static int parent_of(const fbx_job *job, int j) { return job->what->affine ? -1 : job->what->skeleton->parents[j]; }

// Joint transforms relative to their parents; `pose` NULL: the rest pose.
static void local_transforms(fbx_job *job, const sn_affine *pose) {
  for (int j = 0; j < job->joint_count; j++) {
    int parent = parent_of(job, j);
    sn_affine world = pose ? sn_affine_mul(pose[j], job->rest[j]) : job->rest[j], inverse;
    job->local[j] = world;
    if (parent < 0) continue;
    sn_affine above = pose ? sn_affine_mul(pose[parent], job->rest[parent]) : job->rest[parent];
    if (!sn_affine_invert(above, &inverse)) return no_size(job, parent);
    job->local[j] = sn_affine_mul(inverse, world);
  }
}

// ---- the mesh: positions, triangles, texture coordinates, materials ---------------------------------------------------

// At least one: a mesh without materials gets a default.
static int material_count(const sn_surface *surface) {
  return surface->material_count > 0 ? surface->material_count : 1;
}

// Writes the materials with ids from `id` on.
static void put_materials(fbx *f, int64_t id, const sn_surface *surface) {
  for (int k = 0; k < material_count(surface); k++) {
    bool given = k < surface->material_count;
    double colour[3] = {0.8, 0.8, 0.8};
    for (int c = 0; given && surface->colors && c < 3; c++) colour[c] = (double)surface->colors[k][c];
    sn_fbx_put(f,
               "Material: %L, %N, '' { Version: 102 ShadingModel: 'phong' MultiLayer: 0 Properties70: {"
               " P: 'DiffuseColor', 'Color', '', 'A', %D, %D, %D } }",
               id + k, given ? surface->material_names[k] : "skin", "Material", colour[0], colour[1], colour[2]);
  }
}

// Texture coordinates per corner. In FBX v points up.
static void put_uvs(fbx *f, const sn_surface *surface, size_t corners, sn_arena *scratch) {
  double *uvs = SN_ROOM(f, scratch, 2 * corners, sizeof *uvs);
  int32_t *numbers = SN_ROOM(f, scratch, corners, sizeof *numbers);
  for (size_t c = 0; numbers && c < corners; c++) {
    uvs[2 * c] = (double)surface->uvs[c][0], uvs[2 * c + 1] = 1 - (double)surface->uvs[c][1];
    numbers[c] = (int32_t)c;
  }
  sn_fbx_put(f,
             "LayerElementUV: 0 { Version: 101 Name: 'uv' MappingInformationType: 'ByPolygonVertex'"
             " ReferenceInformationType: 'IndexToDirect' UV: %d UVIndex: %i }",
             uvs, 2 * corners, numbers, corners);
}

// Material index per triangle; triangles without one get the first.
static void put_material_layer(fbx *f, const sn_surface *surface, size_t triangles, sn_arena *scratch) {
  bool several = surface->material_count > 1;
  int32_t *numbers = SN_ROOM(f, scratch, several ? triangles : 1, sizeof *numbers);
  for (size_t t = 0; numbers && several && t < triangles; t++)
    numbers[t] = surface->materials[t] > 0 ? surface->materials[t] : 0;
  sn_fbx_put(f,
             "LayerElementMaterial: 0 { Version: 101 Name: '' MappingInformationType: %S"
             " ReferenceInformationType: 'IndexToDirect' Materials: %i }",
             several ? "ByPolygon" : "AllSame", numbers, several ? triangles : 1);
}

static void put_geometry(fbx *f, int64_t id, const sn_mesh *mesh, const sn_surface *surface) {
  SN_SCRATCH(scratch, f->ctx);
  size_t n = (size_t)mesh->vertex_count, m = (size_t)mesh->triangle_count;
  double *positions = SN_ROOM(f, &scratch, 3 * n, sizeof *positions);
  int32_t *corners = SN_ROOM(f, &scratch, 3 * m, sizeof *corners);
  for (size_t k = 0; corners && k < 3 * n; k++) positions[k] = (double)mesh->positions[k / 3][k % 3];
  for (size_t c = 0; corners && c < 3 * m; c++) {
    int vertex = mesh->triangles[c / 3][c % 3];
    corners[c] = c % 3 < 2 ? vertex : ~vertex; // the complement ends a polygon
  }
  sn_fbx_put(f, "Geometry: %L, %N, 'Mesh' { GeometryVersion: 124 Vertices: %d PolygonVertexIndex: %i", id, "mesh",
             "Geometry", positions, 3 * n, corners, 3 * m);
  if (surface->has_uvs) put_uvs(f, surface, 3 * m, &scratch);
  put_material_layer(f, surface, m, &scratch);
  sn_fbx_put(f, "Layer: 0 { Version: 100 LayerElement: { Type: 'LayerElementMaterial' TypedIndex: 0 }");
  if (surface->has_uvs) sn_fbx_put(f, "LayerElement: { Type: 'LayerElementUV' TypedIndex: 0 }");
  sn_fbx_put(f, "} }");
}

// ---- parts of the file -------------------------------------------------------------------------------------------------------

static void put_head(fbx *f) {
  static const uint8_t file_id[16] = {0x28, 0xb3, 0x2a, 0xeb, 0xb6, 0x24, 0xcc, 0xc2,
                                      0xbf, 0xc8, 0xb0, 0x2a, 0xa9, 0x2b, 0xfc, 0xf1}; // matches the time below
  sn_fbx_put(f,
             "FBXHeaderExtension: { FBXHeaderVersion: 1003 FBXVersion: %I EncryptionType: 0 Creator: %S } FileId: %R"
             " CreationTime: '1970-01-01 10:00:00:000' Creator: %S",
             FBX_VERSION, "Sinew " SN_VERSION, file_id, sizeof file_id, "Sinew " SN_VERSION);
}

// Unit scale 100: glTF's metres in FBX's centimetres. Time mode 14: the custom rate that follows.
static void put_settings(fbx *f, double fps, double seconds) {
  static const char *const axes_of[] = {"UpAxis",    "UpAxisSign",    "FrontAxis",      "FrontAxisSign",
                                        "CoordAxis", "CoordAxisSign", "OriginalUpAxis", "OriginalUpAxisSign"};
  sn_fbx_put(f, "GlobalSettings: { Version: 1000 Properties70: {");
  for (int k = 0; k < 8; k++) sn_fbx_put(f, "P: %S, 'int', 'Integer', '', %I", axes_of[k], k == 2 ? 2 : k != 4);
  sn_fbx_put(f,
             "P: 'UnitScaleFactor', 'double', 'Number', '', %D"
             " P: 'OriginalUnitScaleFactor', 'double', 'Number', '', %D"
             " P: 'TimeMode', 'enum', '', '', 14 P: 'CustomFrameRate', 'double', 'Number', '', %D"
             " P: 'TimeSpanStart', 'KTime', 'Time', '', %L P: 'TimeSpanStop', 'KTime', 'Time', '', %L } }",
             100.0, 100.0, fps, INT64_C(0), (int64_t)(seconds * ticks_per_second));
}

static void put_definitions(fbx_job *job) {
  fbx *f = &job->f;
  int joint_count = job->joint_count, clips = joint_count > 0 ? job->what->clip_count : 0;
  int materials = material_count(&job->surface);
  sn_fbx_put(f,
             "Documents: { Count: 1 Document: %L, 'Scene', 'Scene' { RootNode: %L } } References: "
             "Definitions: { Version: 100 Count: %I",
             INT64_C(999999), INT64_C(0), 3 + materials + 3 * joint_count + 1 + clips * (2 + 12 * joint_count));
  const struct {
    const char *name;
    int count;
  } kinds[] = {{"GlobalSettings", 1},
               {"Geometry", 1},
               {"Material", materials},
               {"Model", 1 + joint_count},
               {"NodeAttribute", joint_count},
               {"Deformer", joint_count > 0 ? 1 + joint_count : 0},
               {"Pose", joint_count > 0},
               {"AnimationStack", clips},
               {"AnimationLayer", clips},
               {"AnimationCurveNode", 3 * clips * joint_count},
               {"AnimationCurve", 9 * clips * joint_count}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (kinds[k].count > 0) sn_fbx_put(f, "ObjectType: %S { Count: %I }", kinds[k].name, kinds[k].count);
  sn_fbx_put(f, "}");
}

// InheritType 1 (RSrs): matrices multiply.
static void put_model(fbx *f, int64_t id, const char *name, const char *type, const trs *place) {
  sn_fbx_put(f, "Model: %L, %N, %S { Version: 232 Properties70: { P: 'InheritType', 'enum', '', '', 1", id, name,
             "Model", type);
  for (int k = 0; k < 3; k++) {
    const double *v = (const double *[]){place->t, place->r, place->s}[k];
    sn_fbx_put(f, "P: %S, %S, '', 'A', %D, %D, %D", lcl[k], lcl[k], v[0], v[1], v[2]);
  }
  sn_fbx_put(f, "} Culling: 'CullingOff' }");
}

static void put_joints(fbx_job *job) {
  fbx *f = &job->f;
  const double none[3] = {0};
  local_transforms(job, NULL);
  for (int j = 0; f->status == SN_OK && j < job->joint_count; j++) {
    const char *name = job->what->skeleton->names[j];
    trs place = split(job, j, job->local[j], none);
    sn_fbx_put(f,
               "NodeAttribute: %L, %N, 'LimbNode' { TypeFlags: 'Skeleton' Properties70: {"
               " P: 'Size', 'double', 'Number', '', %D } }",
               (int64_t)(id_attributes + j), name, "NodeAttribute", 1.0);
    put_model(f, id_joints + j, name, "LimbNode", &place);
  }
}

static void put_cluster(fbx_job *job, int j, int32_t *indices, double *weights) {
  fbx *f = &job->f;
  const sn_skin *skin = job->what->skin;
  const sn_skeleton *skeleton = job->what->skeleton;
  size_t count = 0, k = (size_t)skin->influences;
  for (int i = 0; i < skin->vertex_count; i++) {
    double weight = 0;
    for (size_t s = 0; s < k; s++)
      if (skin->joints[(size_t)i * k + s] == j) weight += (double)skin->weights[(size_t)i * k + s];
    if (weight > 0) indices[count] = i, weights[count++] = weight;
  }
  sn_affine inverse;
  if (!sn_affine_invert(job->rest[j], &inverse)) return no_size(job, j);
  sn_fbx_put(f, "Deformer: %L, %N, 'Cluster' { Version: 100 UserData: '', ''", (int64_t)(id_clusters + j),
             skeleton->names[j], "SubDeformer");
  if (count > 0) sn_fbx_put(f, "Indexes: %i Weights: %d", indices, count, weights, count);
  double transform[16], link[16];
  sn_affine_to_columns(inverse, transform), sn_affine_to_columns(job->rest[j], link);
  sn_fbx_put(f, "Transform: %d TransformLink: %d }", transform, (size_t)16, link, (size_t)16);
}

static void put_skin(fbx_job *job) {
  fbx *f = &job->f;
  SN_SCRATCH(scratch, f->ctx);
  size_t vertices = (size_t)job->what->skin->vertex_count;
  int32_t *indices = SN_ROOM(f, &scratch, vertices, sizeof *indices);
  double *weights = SN_ROOM(f, &scratch, vertices, sizeof *weights);
  sn_fbx_put(f, "Deformer: %L, %N, 'Skin' { Version: 101 Link_DeformAcuracy: %D }", (int64_t)id_skin, "skin",
             "Deformer", 50.0);
  for (int j = 0; f->status == SN_OK && j < job->joint_count; j++) put_cluster(job, j, indices, weights);
}

// The mesh's bind matrix is the identity.
static void put_bind_pose(fbx_job *job) {
  sn_fbx_put(&job->f, "Pose: %L, %N, 'BindPose' { Type: 'BindPose' Version: 100 NbPoseNodes: %I", (int64_t)id_pose,
             "bind", "Pose", 1 + job->joint_count);
  for (int j = -1; j < job->joint_count; j++) {
    double place[16];
    sn_affine_to_columns(j < 0 ? sn_affine_identity() : job->rest[j], place);
    sn_fbx_put(&job->f, "PoseNode: { Node: %L Matrix: %d }", (int64_t)(j < 0 ? id_mesh : id_joints + j), place,
               (size_t)16);
  }
  sn_fbx_put(&job->f, "}");
}

// ---- clips -------------------------------------------------------------------------------------------------------------------

// Objects of clip c, joint j: three curve nodes, then nine curves.
static int64_t curve_id(const fbx_job *job, int c, int j, int k) {
  return id_curves + ((int64_t)c * job->joint_count + j) * 12 + k;
}

static void put_curve(fbx *f, int64_t id, const int64_t *times, const float *values, size_t count) {
  const int32_t linear = 1 << 2 | 1 << 8 | 1 << 13 | 1 << 14, keys = (int32_t)count;
  const float data[4] = {0, 0, 0, 0};
  sn_fbx_put(f,
             "AnimationCurve: %L, %N, '' { Default: %D KeyVer: 4008 KeyTime: %l KeyValueFloat: %f KeyAttrFlags: %i"
             " KeyAttrDataFloat: %f KeyAttrRefCount: %i }",
             id, "", "AnimCurve", (double)values[0], times, count, values, count, &linear, (size_t)1, data, (size_t)4,
             &keys, (size_t)1);
}

static void put_curve_node(fbx *f, int64_t id, const char *name, const float *first, size_t stride) {
  sn_fbx_put(f, "AnimationCurveNode: %L, %N, '' { Properties70: {", id, name, "AnimCurveNode");
  for (size_t k = 0; k < 3; k++) sn_fbx_put(f, "P: %S, 'Number', '', 'A', %D", axes[k], (double)first[k * stride]);
  sn_fbx_put(f, "} }");
}

// values: nine numbers per joint, each at all frames.
static void sample_clip(fbx_job *job, const sn_gltf_clip_out *clip, float *values) {
  int count = clip->frame_count;
  memset(job->angles, 0, 3 * (size_t)job->joint_count * sizeof *job->angles);
  for (int k = 0; job->f.status == SN_OK && k < count; k++) {
    local_transforms(job, sn_pose(clip->poses, clip->first_frame + k));
    for (int j = 0; job->f.status == SN_OK && j < job->joint_count; j++) {
      trs now = split(job, j, job->local[j], job->angles + 3 * j);
      memcpy(job->angles + 3 * j, now.r, sizeof now.r);
      for (int c = 0; c < 9; c++) {
        const double *part = c < 3 ? now.t : c < 6 ? now.r : now.s;
        values[((size_t)j * 9 + (size_t)c) * (size_t)count + (size_t)k] = (float)part[c % 3];
      }
    }
  }
}

static void put_clip(fbx_job *job, int c) {
  fbx *f = &job->f;
  const sn_gltf_clip_out *clip = &job->what->clips[c];
  size_t count = (size_t)clip->frame_count;
  SN_SCRATCH(scratch, f->ctx);
  int64_t *times = SN_ROOM(f, &scratch, count, sizeof *times);
  float *values = SN_ROOM(f, &scratch, 9 * (size_t)job->joint_count * count, sizeof *values);
  sample_clip(job, clip, values);
  if (f->status == SN_OK) {
    for (size_t k = 0; k < count; k++) times[k] = (int64_t)round((double)k / job->what->fps * ticks_per_second);
    sn_fbx_put(f,
               "AnimationStack: %L, %N, '' { Properties70: { P: 'LocalStop', 'KTime', 'Time', '', %L"
               " P: 'ReferenceStop', 'KTime', 'Time', '', %L } } AnimationLayer: %L, %N, '' { }",
               (int64_t)(id_clips + c), clip->name, "AnimStack", times[count - 1], times[count - 1],
               (int64_t)(id_layers + c), "base", "AnimLayer");
    for (int j = 0; j < job->joint_count; j++) {
      const float *first = values + (size_t)j * 9 * count;
      for (int k = 0; k < 3; k++)
        put_curve_node(f, curve_id(job, c, j, k), (const char *[]){"T", "R", "S"}[k], first + 3 * (size_t)k * count,
                       count);
      for (int k = 0; k < 9; k++) put_curve(f, curve_id(job, c, j, 3 + k), times, first + (size_t)k * count, count);
    }
  }
}

// ---- connections ----------------------------------------------------------------------------------------------------------

static void connect(fbx *f, int64_t child, int64_t parent) { sn_fbx_put(f, "C: 'OO', %L, %L", child, parent); }

static void connect_property(fbx *f, int64_t child, int64_t parent, const char *property) {
  sn_fbx_put(f, "C: 'OP', %L, %L, %S", child, parent, property);
}

static void connect_clips(fbx_job *job) {
  fbx *f = &job->f;
  for (int c = 0; c < job->what->clip_count; c++) {
    connect(f, id_layers + c, id_clips + c);
    for (int j = 0; j < job->joint_count; j++)
      for (int k = 0; k < 3; k++) {
        connect(f, curve_id(job, c, j, k), id_layers + c);
        connect_property(f, curve_id(job, c, j, k), id_joints + j, lcl[k]);
        for (int a = 0; a < 3; a++)
          connect_property(f, curve_id(job, c, j, 3 + 3 * k + a), curve_id(job, c, j, k), axes[a]);
      }
  }
}

static void put_connections(fbx_job *job) {
  fbx *f = &job->f;
  sn_fbx_put(f, "Connections: {");
  connect(f, id_mesh, 0);
  connect(f, id_geometry, id_mesh);
  for (int k = 0; k < material_count(&job->surface); k++) connect(f, id_materials + k, id_mesh);
  for (int j = 0; j < job->joint_count; j++) {
    int parent = parent_of(job, j);
    connect(f, id_joints + j, parent < 0 ? 0 : id_joints + parent);
    connect(f, id_attributes + j, id_joints + j);
  }
  if (job->joint_count > 0) connect(f, id_skin, id_geometry);
  for (int j = 0; j < job->joint_count; j++) {
    connect(f, id_clusters + j, id_skin);
    connect(f, id_joints + j, id_clusters + j);
  }
  if (job->joint_count > 0) connect_clips(job);
  sn_fbx_put(f, "}");
}

// ---- the file ---------------------------------------------------------------------------------------------------------------

static void put_objects(fbx_job *job) {
  const trs nowhere = {.s = {1, 1, 1}};
  fbx *f = &job->f;
  sn_fbx_put(f, "Objects: {");
  put_geometry(f, id_geometry, job->what->mesh, &job->surface);
  put_model(f, id_mesh, "mesh", "Mesh", &nowhere);
  put_materials(f, id_materials, &job->surface);
  if (job->joint_count > 0) {
    put_joints(job);
    put_skin(job);
    put_bind_pose(job);
    for (int c = 0; c < job->what->clip_count; c++) put_clip(job, c);
  }
  sn_fbx_put(f, "}");
}

sn_status sn_fbx_write(sn_context *ctx, const char *path, const sn_gltf_out *what) {
  fbx_job job = {.f = {.ctx = ctx}, .what = what, .path = path};
  if (!what->mesh) return sn_fail(ctx, SN_UNSUPPORTED, "%s: without a mesh only .glb is copied", path);
  if (what->morph_count > 0) {
    return sn_fail(ctx, SN_UNSUPPORTED, "%s: corrections as morph targets are written to .glb, not to .fbx", path);
  }
  if (what->skeleton && what->skin) job.joint_count = what->skeleton->joint_count;
  bool same = what->base && what->base->triangle_count == what->mesh->triangle_count;
  if (same && sn_gltf_surface(ctx, what->base, &job.surface) != SN_OK) return ctx->error.status;
  SN_SCRATCH(scratch, ctx);
  size_t n = (size_t)job.joint_count;
  job.local = SN_ROOM(&job.f, &scratch, n, sizeof *job.local);
  job.angles = SN_ROOM(&job.f, &scratch, 3 * n, sizeof *job.angles);
  job.rest = SN_ROOM(&job.f, &scratch, n, sizeof *job.rest);
  for (size_t j = 0; job.rest && j < n; j++) job.rest[j] = without_scale(what->skeleton->rest[j]);
  int longest = 0;
  for (int c = 0; c < what->clip_count; c++)
    if (what->clips[c].frame_count > longest) longest = what->clips[c].frame_count;
  if (job.f.status == SN_OK) {
    put_head(&job.f);
    put_settings(&job.f, what->fps > 0 ? what->fps : SN_DEFAULT_FPS, longest > 0 ? (longest - 1) / what->fps : 0);
    put_definitions(&job);
    put_objects(&job);
    put_connections(&job);
  }
  sn_surface_free(&job.surface);
  return sn_fbx_save(&job.f, path);
}
