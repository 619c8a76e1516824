// SPDX-License-Identifier: MIT
// Applies an sn_adjust, and finds the one that files need.
#ifndef SINEW_FORMATS_COMMON_ADJUST_H
#define SINEW_FORMATS_COMMON_ADJUST_H

#include <string.h>

#include "formats/common/reader.h"
#include "sinew/formats.h"

void sn_adjust_points(const sn_adjust *a, float (*points)[3], int count);
void sn_adjust_mesh(const sn_adjust *a, sn_mesh *mesh, sn_surface *surface); // `surface` may be NULL
// Changes the basis of transforms: S M S^-1.
void sn_adjust_matrices(const sn_adjust *a, sn_affine *matrices, size_t count);

static inline bool sn_affine_is_identity(const sn_affine *a) {
  sn_affine identity = sn_affine_identity();
  return memcmp(a, &identity, sizeof identity) == 0;
}

// For SN_FREED_BY.
static inline void sn_gltf_close(sn_gltf **gltf) { sn_gltf_free(*gltf); }
static inline void sn_abc_close(sn_abc **abc) { sn_abc_free(*abc); }

// Calls `call` for every frame in order, until it fails.
typedef sn_status (*sn_frame_fn)(void *user, int f, const float (*positions)[3]);
sn_status sn_stream_each(sn_context *ctx, const sn_stream *stream, sn_frame_fn call, void *user);

// Prefixes the message with the file's name if it lacks it.
sn_status sn_fail_name(sn_context *ctx, sn_status status, const char *path);

// The 48 signed permutations of axes; the first is the identity.
enum { SN_AXES = 48 };
sn_mat3 sn_axes_number(int k);
// The known ratio of length units within `slack` of the scale; else the scale.
double sn_known_scale(double scale, double slack);
// The options equivalent to `given` followed by `more`: "`scale` frames=0.01 `axes` frames=xz-y".
void sn_adjust_text(const sn_adjust *given, sn_mat3 more, sn_file_kind kind, char *out, size_t size);

#endif
