// SPDX-License-Identifier: MIT
// Formats that libassimp reads. It is not ours to mend, so it runs in a child process with limits of memory and time; the
// child writes what it found as a GLB, and that is checked like any file.
#ifndef SINEW_IO_ASSIMP_H
#define SINEW_IO_ASSIMP_H

#include <assimp/scene.h>

#include "io/gltf_out.h"

// Whether the extension is one of those that go through assimp.
bool sn_assimp_reads(const char *path);
// The contents of `path` as a GLB in memory.
sn_status sn_assimp_open(sn_context *ctx, const char *path, sn_file *out);

// ---- in the child: the scene as a document (assimp_scene.c, assimp_skin.c, assimp_clips.c) ----------------------------

typedef struct assimp_node {
  const struct aiNode *node;
  int parent;
  sn_affine world;
  bool animated, joint; // joint: of a skin
} assimp_node;

typedef struct assimp_job {
  const struct aiScene *scene;
  gltf_builder b;
  int node_count;
  assimp_node *nodes;       // parents first; node k of the scene is node k of the document
  int joint_count, *joints; // of all skins, as nodes
} assimp_job;

sn_affine sn_assimp_affine(const struct aiMatrix4x4 *m);
int sn_assimp_find(const assimp_job *job, const struct aiString *name); // -1 where there is none
sn_status sn_assimp_write(sn_context *ctx, const struct aiScene *scene, const char *path);
void sn_assimp_add_meshes(assimp_job *job);
void sn_assimp_add_clips(assimp_job *job);
// Index of a new skin with these joints and inverse bind matrices.
int sn_assimp_add_skin(assimp_job *job, int count, const int *joints, const sn_affine *inverse_bind);

#endif
