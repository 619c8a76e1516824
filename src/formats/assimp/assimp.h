// SPDX-License-Identifier: MIT
// Formats read by libassimp. It is not trusted with malformed files, so it runs in a child process with limits on memory and time;
// the child writes a GLB, which is checked like any file.
#ifndef SINEW_FORMATS_ASSIMP_ASSIMP_H
#define SINEW_FORMATS_ASSIMP_ASSIMP_H

#include <assimp/scene.h>

#include "formats/gltf/out.h"

// Whether files with this extension are read by assimp.
bool sn_assimp_reads(const char *path);
// The contents of `path` as a GLB in memory.
sn_status sn_assimp_open(sn_context *ctx, const char *path, sn_file *out);

// ---- in the child: the scene as a document (scene.c, mesh.c, clips.c) ----------------------------

typedef struct assimp_node {
  const struct aiNode *node;
  int parent;
  sn_affine world;
  bool animated, joint; // joint: belongs to a skin
} assimp_node;

typedef struct assimp_job {
  const struct aiScene *scene;
  gltf_builder b;
  int node_count;
  assimp_node *nodes; // parents first; node indices are those of the document
} assimp_job;

sn_affine sn_assimp_affine(const struct aiMatrix4x4 *m);
int sn_assimp_find(const assimp_job *job, const struct aiString *name); // -1: none
sn_status sn_assimp_write(sn_context *ctx, const struct aiScene *scene, const char *path);
void sn_assimp_add_meshes(assimp_job *job);
void sn_assimp_add_clips(assimp_job *job);

#endif
