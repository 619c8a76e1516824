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

// ---- Wavefront OBJ ---------------------------------------------------------------------------------------------

// Positions and faces (polygons as fans). `name` is used in messages.
sn_status sn_obj_parse(sn_context *ctx, const char *name, const char *text, size_t size, sn_mesh *out);
sn_status sn_obj_read(sn_context *ctx, const char *path, sn_mesh *out);
sn_status sn_obj_write(sn_context *ctx, const char *path, const sn_mesh *mesh, const float (*positions)[3]);
// The same with the texture coordinates of the triangles' corners (0 0 where some have none); nothing else of the surface is read.
struct sn_surface;
sn_status sn_obj_parse_uvs(sn_context *ctx, const char *name, const char *text, size_t size, sn_mesh *out,
                           struct sn_surface *uvs);
sn_status sn_obj_read_uvs(sn_context *ctx, const char *path, sn_mesh *out, struct sn_surface *uvs);

// ---- point caches --------------------------------------------------------------------------------------------------

// PointCache2 and Lightwave MDD, from bytes in memory. PC2 positions point into `bytes` when they are aligned.
sn_status sn_pc2_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_frames *out);
sn_status sn_mdd_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_frames *out);
sn_status sn_pc2_write(sn_context *ctx, const char *path, const sn_frames *frames);
// A PC2 whose frames the caller writes one after the other with sn_write, and then commits.
sn_status sn_pc2_begin(sn_context *ctx, const char *path, int vertex_count, int frame_count, sn_writer *out);

// How the numbers of a file become those of the scene: positions are multiplied by `scale` (0: 1) and turned by `axes` (zeros: not),
// and its time begins `offset` seconds behind its first key or sample.
typedef struct sn_adjust {
  double scale;
  sn_mat3 axes; // a permutation with signs
  double offset;
} sn_adjust;

typedef enum sn_file_kind { SN_FILE_REST, SN_FILE_FRAMES, SN_FILE_SKELETON } sn_file_kind;
enum { SN_FILE_KINDS = 3 };

// Adds an option of the command line, "scale", "axes" or "offset", to the adjustments of the files: "0.01" for all of them,
// "frames=0.01" for one kind.
sn_status sn_adjust_option(sn_context *ctx, const char *option, const char *text, sn_adjust adjust[SN_FILE_KINDS]);
sn_mat3 sn_adjust_linear(const sn_adjust *adjust); // scale and axes; NULL: the identity
bool sn_adjust_moves(const sn_adjust *adjust);     // by them
// "xz-y": which axes of the file, with signs, are x, y and z; "z-up" is short for it. False where it is neither.
bool sn_axes_parse(const char *text, sn_mat3 *out);

// What of a file is meant.
typedef struct sn_choice {
  double fps;       // frames per second of .abc, .glb and .gltf; 0: an .abc's own samples, 30 of a glTF clip
  const char *clip; // of a glTF; NULL: the first
  int object_count; // of an .abc: meshes, or what they are below; 0: all meshes
  const char *const *objects;
  sn_adjust adjust;
} sn_choice;

enum { SN_DEFAULT_FPS = 30 };

// Frames from .pc2, .mdd, .abc, a folder or a glob of .obj, .glb, .gltf or .ply files with the same triangles, one frame each, or an
// animated .glb/.gltf (without animations, but with morph targets: frame k is target k alone). Checked to be finite. `choice` may be NULL.
sn_status sn_frames_read(sn_context *ctx, const char *path, const sn_choice *choice, sn_frames *out);
// "file.glb" and "walk" of "file.glb#walk"; the path itself and NULL where there is no such clip in it. NULL: no memory.
const char *sn_clip_path(sn_context *ctx, sn_arena *memory, const char *path, const char **clip);
// Frames of a clip of `seconds`, its end included; -1, with a message that begins with `name`, where they are too many for
// what the file holds: 20,000 (eleven minutes at 30 per second) from any clip, beyond that 16 for every key. A small file that
// asks for millions of frames is a mistake, or an attack.
int sn_count_frames(sn_context *ctx, const char *name, double seconds, double fps, int key_count);
// By extension: .pc2, .mdd, .abc, or a folder (a path that ends in '/' or has no extension) of .obj with `mesh`'s triangles.
sn_status sn_frames_write(sn_context *ctx, const char *path, const sn_frames *frames, const sn_mesh *mesh);

// .obj, .glb, .gltf or the first frame of an .abc, in the file's order. `choice` may be NULL.
sn_status sn_mesh_read(sn_context *ctx, const char *path, const sn_choice *choice, sn_mesh *out);

// Whether `path` is a folder or a glob: no file has that name.
bool sn_is_sequence(const char *path);
// The meshes of a folder or a glob, all of one kind, in natural order (2 before 10).
sn_status sn_list_frames(sn_context *ctx, const char *path, sn_arena *memory, char ***out, int *count);

// ---- Alembic (Ogawa) -----------------------------------------------------------------------------------------------------

// An archive: polygon and subdivision meshes below transforms. Nothing but its list of objects is read when it is opened.
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
  int visibility_samples, hidden_samples; // 0, 0: says nothing about being visible
} sn_abc_object;

sn_status sn_abc_open(sn_context *ctx, const char *path, sn_abc **out);
sn_status sn_abc_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_abc **out);
void sn_abc_free(sn_abc *abc);
int sn_abc_object_count(const sn_abc *abc);
const sn_abc_object *sn_abc_get_object(const sn_abc *abc, int k);

// Chooses meshes by their paths, or by the paths of what they are below; none named: all that are not empty. Several
// become one, in the order of the list. Frames are the samples of their points and of the transforms above them.
sn_status sn_abc_choose(sn_context *ctx, sn_abc *abc, const char *const *objects, int count);
int sn_abc_vertex_count(const sn_abc *abc);
int sn_abc_frame_count(const sn_abc *abc);
double sn_abc_frame_time(const sn_abc *abc, int frame);
double sn_abc_rate(const sn_abc *abc); // frames per second, on average; 0 for a single one
bool sn_abc_even(const sn_abc *abc);   // false where the times between frames differ
// In world space; between samples by linear interpolation, before the first and after the last the ends hold.
sn_status sn_abc_positions(sn_context *ctx, sn_abc *abc, double t, float (*positions)[3]);
sn_status sn_abc_mesh(sn_context *ctx, sn_abc *abc, double t, sn_mesh *out);

// What lies on the triangles of a mesh, at their corners.
typedef struct sn_surface {
  bool has_uvs, has_normals;
  float (*uvs)[2], (*normals)[3]; // of the three corners of every triangle
  int *materials;                 // of every triangle, -1 for none
  int material_count;
  const char **material_names;
  float (*colors)[3]; // of the materials, linear RGB 0..1; NULL where the file does not say
  sn_arena memory;
} sn_surface;

void sn_surface_free(sn_surface *surface);
// As sn_mesh_read, with what lies on it; texture coordinates alone of an .obj. Where `surface` fails, `out` is there all the same.
sn_status sn_mesh_read_surface(sn_context *ctx, const char *path, const sn_choice *choice, sn_mesh *out,
                               sn_surface *surface);
// A mesh, and what lies on it (NULL: nothing), in the axes and unit of `adjust`.
void sn_adjust_surface(const sn_adjust *adjust, sn_mesh *mesh, sn_surface *surface);
// Texture coordinates and normals of the first sample of the chosen meshes, face sets as materials; normals in world space at t.
sn_status sn_abc_surface(sn_context *ctx, sn_abc *abc, double t, sn_surface *out);
// With texture coordinates, normals and materials where there are any. `surface` may be NULL.
sn_status sn_obj_write_surface(sn_context *ctx, const char *path, const sn_mesh *mesh, const float (*positions)[3],
                               const sn_surface *surface);

// Frames one after the other. Those of an .abc are read when they are asked for, in any order.
typedef struct sn_stream {
  int vertex_count, frame_count;
  double rate;            // 0 where the file does not say
  const sn_frames *given; // of sn_stream_of
  sn_frames frames;       // of formats that are read whole
  sn_abc *abc;
  bool resampled;
  sn_adjust adjust; // of an .abc
  sn_status (*read)(sn_context *ctx, const struct sn_stream *stream, int f, float (*positions)[3]);
  const char *name;
  sn_arena memory;
} sn_stream;

sn_status sn_stream_open(sn_context *ctx, const char *path, const sn_choice *choice, sn_stream *out);
sn_stream sn_stream_of(const sn_frames *frames); // borrows them; need not be closed
sn_status sn_stream_frame(sn_context *ctx, const sn_stream *stream, int f, float (*positions)[3]);
void sn_stream_close(sn_stream *stream);
// As sn_frames_write.
sn_status sn_stream_write(sn_context *ctx, const char *path, sn_stream *stream, const sn_mesh *mesh);

// One polygon mesh called /mesh/meshShape, its points at every frame. `mesh` gives the triangles.
sn_status sn_abc_write(sn_context *ctx, const char *path, sn_stream *frames, const sn_mesh *mesh);
sn_status sn_pc2_write_stream(sn_context *ctx, const char *path, sn_stream *frames);
sn_status sn_mdd_write_stream(sn_context *ctx, const char *path, sn_stream *frames);

// ---- torques -----------------------------------------------------------------------------------------------------------

// CSV: `frame` and one column per joint name, a row per frame.
sn_status sn_torques_parse(sn_context *ctx, const char *name, const char *text, size_t size,
                           const sn_skeleton *skeleton, sn_torques *out);
sn_status sn_torques_read(sn_context *ctx, const char *path, const sn_skeleton *skeleton, sn_torques *out);

// ---- glTF 2.0 --------------------------------------------------------------------------------------------------------------

// A glTF document: its JSON and buffers, kept whole so that it can be written back with changes.
typedef struct sn_gltf sn_gltf;

// .glb or .gltf, external buffers too; .fbx; or what libassimp reads (.dae, .bvh, ...), through a child process.
sn_status sn_gltf_read(sn_context *ctx, const char *path, sn_gltf **out);
// What an FBX file says of its axes and units: 'x', 'y' or 'z' (0: nothing), and centimetres per unit
// (0: nothing). Neither changes a number.
void sn_gltf_units(const sn_gltf *gltf, char *up, double *centimetres);
// Whether sn_gltf_read is the one to ask, by the extension.
bool sn_is_document(const char *path);
// From memory. `folder` is where external files are looked for; NULL refuses them.
sn_status sn_gltf_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, const char *folder,
                        sn_gltf **out);
// The same of an FBX file, binary or text.
sn_status sn_fbx_parse(sn_context *ctx, const char *name, const uint8_t *bytes, size_t size, sn_gltf **out);
void sn_gltf_free(sn_gltf *gltf);

// All triangle primitives of the default scene's mesh nodes as one mesh, in the order of nodes and primitives, without
// morph targets. Skinned primitives are in their bind pose, brought into the scene's space where the armature has a scale
// or a turn (their node's transform is ignored, as glTF has it). Others that hang below a joint are put where that joint
// is in the rest pose, the rest where the scene has them.
sn_status sn_gltf_mesh(sn_context *ctx, const sn_gltf *gltf, sn_mesh *out);

// The normals of the flattened mesh where sn_gltf_mesh has it; NULL where a primitive has none.
sn_status sn_gltf_normals(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, float (**out)[3]);

// Tangents of the flattened mesh, and 1 or -1 for their hands; zeros where a primitive has none, NULL where all have none.
sn_status sn_gltf_tangents(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, float (**out)[4]);

// Texture coordinates (TEXCOORD_0, as glTF has them: v from the top) and materials of the flattened mesh.
sn_status sn_gltf_surface(sn_context *ctx, const sn_gltf *gltf, sn_surface *out);

// The skeleton of the skins in use (the first skin's joints, then those that others add, then nodes that move parts without a
// skin), and the skin of the flattened mesh (rows of unskinned parts follow the nearest joint above their node, or one that
// stands still); a document without a mesh has a skin of 0 vertices. SN_BAD_INPUT where nothing has joints. `skin` may be NULL.
sn_status sn_gltf_skeleton(sn_context *ctx, const sn_gltf *gltf, sn_skeleton *skeleton, sn_skin *skin);

// Which joints the file says are locked (the node's attribute demLock, as Dem Bones has it); false where none is. And how white
// the vertices of the flattened mesh are, 0 to 1 (COLOR_0): Dem Bones keeps their weights that far. NULL where none has a colour.
bool sn_gltf_locked_joints(const sn_gltf *gltf, bool *out);
sn_status sn_gltf_whiteness(sn_context *ctx, const sn_gltf *gltf, sn_arena *memory, float **out);

// What the flattened mesh looks like: base colour (linear) and texture of every part, texture coordinates of every vertex. Bytes of
// images are the document's or the look's. `plain`: no part has a material.
typedef struct sn_look_image {
  const uint8_t *bytes;
  size_t size;
  const char *type; // "image/png", ...; NULL where no browser shows it
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

// To be freed by sn_look_free, before the document, also where it fails.
sn_status sn_gltf_look(sn_context *ctx, const sn_gltf *gltf, sn_look *out);
void sn_look_free(sn_look *look);

// By what the bind poses of the skins were scaled and turned to be in the scene's space; false where they were left alone.
bool sn_gltf_place_text(const sn_gltf *gltf, char *out, size_t size);

typedef struct sn_clip_info {
  const char *name;             // may be "" ; lives as long as the document
  double start, end;            // first and last key time, seconds
  int channel_count, key_count; // keys of the channel that has most
} sn_clip_info;

// What a document has, besides what the functions below tell: meshes and skins of all scenes, materials, textures.
typedef struct sn_gltf_counts {
  int meshes, parts, skins, materials, textures;
  int joints, carriers; // of sn_gltf_skeleton; how many of them are nodes that carry parts without a skin
} sn_gltf_counts;

sn_gltf_counts sn_gltf_count(const sn_gltf *gltf);

int sn_gltf_clip_count(const sn_gltf *gltf);
sn_clip_info sn_gltf_clip(const sn_gltf *gltf, int clip);
// By name, else by index ("0" or "#0"); NULL is the first. Fails listing what there is.
sn_status sn_gltf_find_clip(sn_context *ctx, const sn_gltf *gltf, const char *name, int *out);

// Skinning matrices (rest pose to pose) of every joint at time t, seconds as in the file. Before the first key and
// after the last the ends hold. clip -1 gives the document's static pose.
sn_status sn_gltf_pose(sn_context *ctx, const sn_gltf *gltf, int clip, double t, sn_affine *matrices);
// Positions of the flattened mesh at time t: morph targets, then linear skinning, then node transforms.
sn_status sn_gltf_deform(sn_context *ctx, const sn_gltf *gltf, int clip, double t, float (*positions)[3]);

// The morph targets of the scene's mesh nodes: their names (the exporter's, else "target0"; no two alike, "NODE.NAME" where two
// nodes share one), and their weights at time t, one for each. Frame f of a clip is at its start + f / fps.
int sn_gltf_morph_count(const sn_gltf *gltf);
const char *sn_gltf_morph_name(const sn_gltf *gltf, int morph);
sn_status sn_gltf_morph_weights(sn_context *ctx, const sn_gltf *gltf, int clip, double t, double *weights);

// Positions of the flattened mesh in the static pose, with that morph target alone at weight 1.
sn_status sn_gltf_morph_shape(sn_context *ctx, const sn_gltf *gltf, int morph, float (*positions)[3]);

// Poses at frames f = 0 .. frame_count-1, at the clip's first key time + f / fps. frame_count < 0: as many as the clip
// has. A clip that ends more than half a frame before the last one is an error that names both lengths.
sn_status sn_gltf_poses(sn_context *ctx, const sn_gltf *gltf, int clip, double fps, int frame_count, sn_poses *out);
// The same at the rate of `choice`, its `adjust` applied: the clip begins at the offset, poses are in those axes and that unit.
sn_status sn_gltf_poses_adjusted(sn_context *ctx, const sn_gltf *gltf, int clip, const sn_choice *choice,
                                 int frame_count, sn_poses *out);
// Normals (width 3) or tangents (width 4); NULL is none.
void sn_adjust_directions(const sn_adjust *adjust, float *directions, int width, int count);
// What sn_gltf_mesh and sn_gltf_skeleton read, in the axes and unit of `adjust`. Either may be NULL.
void sn_adjust_rig(const sn_adjust *adjust, sn_mesh *mesh, sn_skeleton *skeleton);

// What to write. Absent parts are NULL. With `base`, the document is kept (materials, textures, UVs, extras, unknown
// extensions), its mesh nodes get the new skin and its old skins go; joints with the names of its old joints take their
// nodes, and then animations of other names than the new clips stay. `base` needs a skin (`mesh` NULL: the document's own), or nothing else: then it is copied.
typedef struct sn_gltf_clip_out {
  const char *name;
  const sn_poses *poses; // skinning matrices, one row per frame
  int first_frame, frame_count;
  const float *morph_weights; // frame_count * morph_count, or NULL
  double seconds;             // the last frame is at this time where that is earlier than its own; 0: at its own
} sn_gltf_clip_out;

struct json_t;
typedef struct sn_gltf_out {
  const sn_gltf *base;
  const sn_mesh *mesh;        // in the vertex order of base's flattened mesh, where there is a base
  const float (*normals)[3];  // computed where NULL and there is no base
  bool posed;                 // mesh is another pose than base's, whose tangents and morph targets do not fit it
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
  const sn_mat3 *turn;            // `base` alone: a node above its scene turns and scales it
  int new_joints;                 // joints at the end that `base` has not: children of their parents' nodes
  // Adds to the finished JSON, `nodes` are the joints'; false where memory is short. May be NULL.
  bool (*finish)(void *user, struct json_t *root, const int *nodes);
  void *user;
} sn_gltf_out;

// Mesh, skeleton, skin and clips as binary FBX, with the texture coordinates and materials (names and colours) of `base`; no
// morph targets, joints without shear.
sn_status sn_fbx_write(sn_context *ctx, const char *path, const sn_gltf_out *what);
// .glb (one file), .gltf (with a .bin beside it) or .fbx.
sn_status sn_gltf_write(sn_context *ctx, const char *path, const sn_gltf_out *what);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
