// SPDX-License-Identifier: MIT
// Files: OBJ, PC2, MDD, Alembic, glTF 2.0 / GLB, torque tables. Every reader treats its file as hostile; every writer makes
// the file appear whole or not at all.
#ifndef SINEW_FORMATS_H
#define SINEW_FORMATS_H

#include "sinew/scene.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

// ---- formats ---------------------------------------------------------------------------------------------------------

enum {
  SN_READS_MESH = 1,
  SN_READS_FRAMES = 2,
  SN_READS_RIG = 4, // a skeleton and its motion, perhaps a skin
  SN_WRITES_MESH = 8,
  SN_WRITES_FRAMES = 16,
  SN_WRITES_RIG = 32,
  SN_THROUGH_ASSIMP = 64 // read by libassimp
};

typedef struct sn_format {
  const char *extension, *name;
  unsigned does;
} sn_format;

const sn_format *sn_formats(int *count);
const sn_format *sn_format_of(const char *path);                // by the extension; NULL for none
bool sn_format_does(const char *path, unsigned what);           // all of it
bool sn_has_extension(const char *path, const char *extension); // ".obj", in any case
bool sn_is_point_cache(const char *path);                       // frames without faces: .pc2, .mdd

// Surface attributes of a mesh's triangles and their corners.
typedef struct sn_surface {
  bool has_uvs, has_normals;
  float (*uvs)[2], (*normals)[3]; // of the three corners of every triangle
  int *materials;                 // of every triangle, -1 for none
  int material_count;
  const char **material_names;
  float (*colors)[3]; // of the materials, linear RGB 0..1; NULL if the file has none
  sn_arena memory;
} sn_surface;

void sn_surface_free(sn_surface *surface);
// ---- Wavefront OBJ ---------------------------------------------------------------------------------------------

// Positions and faces (polygons as fans); with `surface` (may be NULL), texture coordinates, (0, 0) at a corner without. Materials
// and normals are not read. `name` is used in messages.
sn_status sn_obj_parse(sn_context *ctx, const char *name, const char *text, size_t size, sn_mesh *out,
                       sn_surface *surface);
sn_status sn_obj_read(sn_context *ctx, const char *path, sn_mesh *out, sn_surface *surface);
// With the texture coordinates, normals and materials of `surface` (may be NULL).
sn_status sn_obj_write(sn_context *ctx, const char *path, const sn_mesh *mesh, const float (*positions)[3],
                       const sn_surface *surface);

// ---- point caches --------------------------------------------------------------------------------------------------

// PointCache2 or Lightwave MDD, by the extension of `name`. PC2 positions stay in the file's bytes where they are aligned; `out`
// then takes over the file.
sn_status sn_cache_parse(sn_context *ctx, const char *name, sn_file *file, sn_frames *out);
// Begins a PC2 file. The caller writes the frames with sn_write and then commits.
sn_status sn_pc2_begin(sn_context *ctx, const char *path, int vertex_count, int frame_count, sn_writer *out);

// Transform from a file to the scene: positions are multiplied by `scale` (0: 1) and rotated by `axes` (zeros: identity), and time
// begins `offset` seconds after the file's first key or sample.
typedef struct sn_adjust {
  double scale;
  sn_mat3 axes; // a permutation with signs
  double offset;
} sn_adjust;

typedef enum sn_file_kind { SN_FILE_REST, SN_FILE_FRAMES, SN_FILE_SKELETON } sn_file_kind;
enum { SN_FILE_KINDS = 3 };

// Applies a command-line option, "scale", "axes" or "offset", to `adjust`: "0.01" for all files, "frames=0.01" for one kind.
sn_status sn_adjust_option(sn_context *ctx, const char *option, const char *text, sn_adjust adjust[SN_FILE_KINDS]);
sn_mat3 sn_adjust_linear(const sn_adjust *adjust); // scale and axes; NULL: the identity
bool sn_adjust_moves(const sn_adjust *adjust);     // false if that is the identity

// Selects part of a file, and how to sample and adjust it.
typedef struct sn_choice {
  double fps;       // frames per second of .abc, .glb and .gltf; 0: the samples of an .abc, 30 for a glTF clip
  const char *clip; // of a glTF; NULL: the first
  int object_count; // of an .abc: meshes or their ancestors; 0: all meshes
  const char *const *objects;
  sn_adjust adjust;
} sn_choice;

enum { SN_DEFAULT_FPS = 30 };

// Frames from .pc2, .mdd, .abc, a folder or a glob of .obj, .glb, .gltf or .ply files with the same triangles (one frame each), or
// an animated .glb/.gltf (without animations: frame k is morph target k). Fails on non-finite positions. `choice` may be NULL.
sn_status sn_frames_read(sn_context *ctx, const char *path, const sn_choice *choice, sn_frames *out);
// Splits "file.glb#walk" into "file.glb" and clip "walk"; without a clip, the path and NULL. Returns NULL if memory runs out.
const char *sn_clip_path(sn_context *ctx, sn_arena *memory, const char *path, const char **clip);
// Number of frames of a clip of `seconds`, its end included. Fails (-1, message prefixed by `name`) above 20,000 frames plus 16
// per key: a small file that requests millions of frames is a mistake, or an attack.
int sn_count_frames(sn_context *ctx, const char *name, double seconds, double fps, int key_count);
// By extension: .pc2, .mdd, .abc, or a folder (a path that ends in '/' or has no extension) of .obj with `mesh`'s triangles.
sn_status sn_frames_write(sn_context *ctx, const char *path, const sn_frames *frames, const sn_mesh *mesh);

// Whether `path` is a folder or a glob, not a file.
bool sn_is_sequence(const char *path);
// The meshes of a folder or a glob, all of one kind, in natural order (2 before 10).
sn_status sn_list_frames(sn_context *ctx, const char *path, sn_arena *memory, char ***out, int *count);

// ---- Alembic (Ogawa) -----------------------------------------------------------------------------------------------------

// An archive: polygon and subdivision meshes below transforms. Opening it reads the list of objects only.
typedef struct sn_abc sn_abc;

typedef struct sn_abc_object {
  const char *path;                       // "/above/name"
  const char *kind;                       // "polygon mesh", "transform", "camera", ...
  int parent;                             // index of the object above, -1 at the top
  bool mesh, uvs, normals;                // mesh: of polygons or a subdivision surface (its cage)
  bool animated, instance;                // instance: the same object as another
  int points, faces;                      // of the first sample; faces of a face set
  int samples;                            // of its points or its transform; 0: none
  double start, end;                      // seconds of the first and last sample
  int changes_at;                         // the first sample with other faces or another number of points; -1: none
  int visibility_samples, hidden_samples; // 0, 0: no visibility property
} sn_abc_object;

sn_status sn_abc_open(sn_context *ctx, const char *path, sn_abc **out);
sn_status sn_abc_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_abc **out);
void sn_abc_free(sn_abc *abc);
int sn_abc_object_count(const sn_abc *abc);
const sn_abc_object *sn_abc_get_object(const sn_abc *abc, int k);

// Chooses meshes by their paths or their ancestors' paths; count 0: all non-empty ones. They are merged in the order of the list.
// Frames are the samples of their points and of the transforms above them.
sn_status sn_abc_choose(sn_context *ctx, sn_abc *abc, const char *const *objects, int count);
int sn_abc_vertex_count(const sn_abc *abc);
int sn_abc_frame_count(const sn_abc *abc);
double sn_abc_frame_time(const sn_abc *abc, int frame);
double sn_abc_rate(const sn_abc *abc); // frames per second, on average; 0 for a single one
bool sn_abc_even(const sn_abc *abc);   // false where the times between frames differ
// In world space; linear interpolation between samples, clamped to the first and the last.
sn_status sn_abc_positions(sn_context *ctx, sn_abc *abc, double t, float (*positions)[3]);
sn_status sn_abc_mesh(sn_context *ctx, sn_abc *abc, double t, sn_mesh *out);

// .obj, .glb, .gltf or the first frame of an .abc, in the file's order. `choice` and `surface` (.obj: only texture coordinates) may
// be NULL. `out` is valid even if reading `surface` fails.
sn_status sn_mesh_read(sn_context *ctx, const char *path, const sn_choice *choice, sn_mesh *out, sn_surface *surface);
// Texture coordinates and normals of the first sample of the chosen meshes, face sets as materials; normals in world space at t.
sn_status sn_abc_surface(sn_context *ctx, sn_abc *abc, double t, sn_surface *out);

// A glTF document: its JSON and buffers, kept whole so that it can be written back with changes.
typedef struct sn_gltf sn_gltf;

// The frames of a file: frame f is at `start` + f / fps of the clip; without animations (clip -1), frame k is morph target k at
// weight 1.
typedef struct sn_sampling {
  int clip, frame_count;
  double start, fps;
} sn_sampling;

// The frames of a document by clip, rate (0: 30 per second) and offset of `choice`.
sn_status sn_gltf_sampling(sn_context *ctx, const sn_gltf *gltf, const sn_choice *choice, sn_sampling *out);

// A sequence of frames with random access. Archives and documents are sampled on demand.
typedef struct sn_stream {
  int vertex_count, frame_count;
  double rate;      // 0 if unknown
  sn_frames frames; // of formats that are read whole
  sn_abc *abc;
  sn_gltf *gltf;
  sn_sampling sampling; // fps 0: the archive's samples
  sn_adjust adjust;
  sn_status (*read)(sn_context *ctx, const struct sn_stream *stream, int f, float (*positions)[3]);
  const char *name;
  sn_arena memory;
} sn_stream;

sn_status sn_stream_open(sn_context *ctx, const char *path, const sn_choice *choice, sn_stream *out);
void sn_stream_close(sn_stream *stream);
// As sn_frames_write.
sn_status sn_stream_write(sn_context *ctx, const char *path, sn_stream *stream, const sn_mesh *mesh);

// One polygon mesh called /mesh/meshShape, its points at every frame. `mesh` gives the triangles.
sn_status sn_abc_write(sn_context *ctx, const char *path, sn_stream *frames, const sn_mesh *mesh);
sn_status sn_cache_write(sn_context *ctx, const char *path, const sn_stream *frames); // .pc2 or .mdd

// ---- torques -----------------------------------------------------------------------------------------------------------

// CSV: `frame` and one column per joint name, a row per frame.
sn_status sn_torques_parse(sn_context *ctx, const char *name, const char *text, size_t size,
                           const sn_skeleton *skeleton, sn_torques *out);
sn_status sn_torques_read(sn_context *ctx, const char *path, const sn_skeleton *skeleton, sn_torques *out);

// ---- glTF 2.0 --------------------------------------------------------------------------------------------------------------

// .glb or .gltf, external buffers too; .fbx; or what libassimp reads (.dae, .bvh, ...), through a child process.
sn_status sn_gltf_read(sn_context *ctx, const char *path, sn_gltf **out);
// The up axis 'x', 'y' or 'z' (0: unknown) and centimetres per unit (0: unknown) declared in an FBX file. Readers do not apply
// them.
void sn_gltf_units(const sn_gltf *gltf, char *up, double *centimetres);
// Whether sn_gltf_read reads files of this extension.
bool sn_is_document(const char *path);
// From memory. `folder` is where external files are looked for; NULL refuses them.
sn_status sn_gltf_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, const char *folder,
                        sn_gltf **out);
// The same for an FBX file, binary or text.
sn_status sn_fbx_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_gltf **out);
void sn_gltf_free(sn_gltf *gltf);

// All triangle primitives of the default scene's mesh nodes, flattened to one mesh in the order of nodes and primitives,
// without morph targets. Skinned primitives are in their bind pose, transformed to scene space if the armature is scaled or
// rotated (their node's transform is ignored, as glTF specifies). Unskinned primitives below a joint are placed by that
// joint's rest pose, others by their node.
sn_status sn_gltf_mesh(sn_context *ctx, const sn_gltf *gltf, sn_mesh *out);

// The normals of the mesh of sn_gltf_mesh; NULL if a primitive has none.
sn_status sn_gltf_normals(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, float (**out)[3]);

// Tangents of the flattened mesh with handedness 1 or -1; zeros for primitives without, NULL if none has any.
sn_status sn_gltf_tangents(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, float (**out)[4]);

// Texture coordinates (TEXCOORD_0, with glTF's v from the top) and materials of the flattened mesh.
sn_status sn_gltf_surface(sn_context *ctx, const sn_gltf *gltf, sn_surface *out);

// The union of the used skins' skeletons (the first skin's joints, then further joints of others, then nodes that move unskinned
// parts), and the skin of the flattened mesh (unskinned parts follow the nearest joint above their node, or a static joint). A
// document without a mesh has a skin of 0 vertices. SN_BAD_INPUT if there are no joints. `skin` may be NULL.
sn_status sn_gltf_skeleton(sn_context *ctx, const sn_gltf *gltf, sn_skeleton *skeleton, sn_skin *skin);

// Which joints are locked (node attribute demLock of Dem Bones); returns false if none is. And the whiteness, 0 to 1 (COLOR_0), of
// the flattened mesh's vertices: as in Dem Bones, the fraction of their weights that is kept. NULL if no vertex has a colour.
bool sn_gltf_locked_joints(const sn_gltf *gltf, bool *out);
sn_status sn_gltf_whiteness(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, float **out);

// Appearance of the flattened mesh: base colour (linear) and texture of every part, texture coordinates of every vertex. The
// document or the look owns the bytes of images. `plain`: no part has a material.
typedef struct sn_look_image {
  const uint8_t *bytes;
  size_t size;
  const char *type; // "image/png", ...; NULL for types that browsers do not show
} sn_look_image;

typedef struct sn_look_part {
  int first_triangle, triangle_count;
  float colour[3];
  int image; // -1: none
} sn_look_part;

typedef struct sn_look {
  int part_count, image_count, vertex_count, triangle_count;
  bool plain;
  sn_look_part *parts;
  sn_look_image *images;
  float (*uv)[2];
  sn_arena memory;
} sn_look;

// Free it with sn_look_free before the document, even on failure.
sn_status sn_gltf_look(sn_context *ctx, const sn_gltf *gltf, sn_look *out);
void sn_look_free(sn_look *look);

// Text of the scale and rotation from the skins' bind poses to scene space; false if it is the identity.
bool sn_gltf_place_text(const sn_gltf *gltf, char *out, size_t size);

typedef struct sn_clip_info {
  const char *name;             // may be "" ; lives as long as the document
  double start, end;            // first and last key time, seconds
  int channel_count, key_count; // key_count: the largest of any channel
} sn_clip_info;

// Counts of a document: meshes and skins of all scenes, materials, textures.
typedef struct sn_gltf_counts {
  int meshes, parts, skins, materials, textures;
  int joints, carriers; // of sn_gltf_skeleton; carriers: joints that are nodes with unskinned parts
} sn_gltf_counts;

sn_gltf_counts sn_gltf_count(const sn_gltf *gltf);

int sn_gltf_clip_count(const sn_gltf *gltf);
sn_clip_info sn_gltf_clip(const sn_gltf *gltf, int clip);
// By name, else by index ("0" or "#0"); NULL is the first. On failure, the message lists all clips.
sn_status sn_gltf_find_clip(sn_context *ctx, const sn_gltf *gltf, const char *name, int *out);

// Skinning matrices (rest pose to pose) of every joint at time t, in the file's seconds, clamped to the first and last
// key. clip -1 gives the document's static pose.
sn_status sn_gltf_pose(sn_context *ctx, const sn_gltf *gltf, int clip, double t, sn_affine *matrices);
// Positions of the flattened mesh at time t: morph targets, then linear skinning, then node transforms.
sn_status sn_gltf_deform(sn_context *ctx, const sn_gltf *gltf, int clip, double t, float (*positions)[3]);

// The morph targets of the scene's mesh nodes: their unique names (the exporter's, else "target0"; "NODE.NAME" if two nodes have
// the same), and their weights at time t. Frame f of a clip is at its start + f / fps.
int sn_gltf_morph_count(const sn_gltf *gltf);
const char *sn_gltf_morph_name(const sn_gltf *gltf, int morph);
sn_status sn_gltf_morph_weights(sn_context *ctx, const sn_gltf *gltf, int clip, double t, double *weights);

// Positions of the flattened mesh in the static pose, with this morph target at weight 1 and the others at 0.
sn_status sn_gltf_morph_shape(sn_context *ctx, const sn_gltf *gltf, int morph, float (*positions)[3]);

// Poses at frames f = 0 .. frame_count-1 at the rate of `choice`, from the clip's first key time and the offset of `choice` on;
// its axes and unit are applied. frame_count < 0: the whole clip. Fails if the clip ends more than half a frame before the last.
sn_status sn_gltf_poses(sn_context *ctx, const sn_gltf *gltf, int clip, const sn_choice *choice, int frame_count,
                        sn_poses *out);
// Rotates normals (width 3) or tangents (width 4); may be NULL.
void sn_adjust_directions(const sn_adjust *adjust, float *directions, int width, int count);
// Applies `adjust` to the results of sn_gltf_mesh and sn_gltf_skeleton. Either may be NULL.
void sn_adjust_rig(const sn_adjust *adjust, sn_mesh *mesh, sn_skeleton *skeleton);

// Contents to write; NULL: absent. With `base`, the document is kept (materials, textures, UVs, extras, unknown extensions), and
// the new skin replaces its skins. Joints with the names of old joints reuse their nodes; then animations with other names than
// the new clips are kept. `base` needs a skin (`mesh` NULL: the document's mesh), or no other part: then it is copied.
typedef struct sn_gltf_clip_out {
  const char *name;
  const sn_poses *poses; // skinning matrices, one row per frame
  int first_frame, frame_count;
  const float *morph_weights; // frame_count * morph_count, or NULL
  double seconds;             // end of the clip: clamps the time of the last frame; 0: no clamping
} sn_gltf_clip_out;

struct json_t;
typedef struct sn_gltf_out {
  const sn_gltf *base;
  const sn_mesh *mesh;        // in the vertex order of base's flattened mesh, where there is a base
  const float (*normals)[3];  // NULL: computed if there is no base
  bool posed;                 // mesh is in another pose than base, whose tangents and morph targets are dropped
  const float (*tangents)[4]; // for parts of `base` with normals and texture coordinates, but without tangents
  const float (*colors)[3];   // COLOR_0, linear RGB 0..1, e.g. a heat map
  const sn_skeleton *skeleton;
  const sn_skin *skin; // 1 to 8 influences
  int clip_count;
  const sn_gltf_clip_out *clips;
  double fps;
  int morph_count;
  const float (*morph_deltas)[3]; // morph_count * vertex_count
  const char *const *morph_names; // may be NULL
  bool affine;                    // joint poses may have shear: two nodes per joint; skeleton parents are ignored
  const sn_mat3 *turn;            // with only `base`: rotation and scale of a new node above its scene
  int new_joints;                 // joints at the end that are not in `base`: children of their parents' nodes
  // Extends the finished JSON; `nodes` are the joints' nodes. False if memory runs out. May be NULL.
  bool (*finish)(void *user, struct json_t *root, const int *nodes);
  void *user;
} sn_gltf_out;

// Mesh, skeleton, skin and clips as binary FBX, with the texture coordinates and materials (names and colours) of `base`; without
// morph targets and shear of joints.
sn_status sn_fbx_write(sn_context *ctx, const char *path, const sn_gltf_out *what);
// .glb (one file), .gltf (with a .bin beside it) or .fbx.
sn_status sn_gltf_write(sn_context *ctx, const char *path, const sn_gltf_out *what);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
