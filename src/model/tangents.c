// SPDX-License-Identifier: MIT
// A finished model with tangents.
#include "runtime/packed.h"
#include "sinew/model.h"

enum { lanes = SN_RT_LANES };

// A unit tangent this close to the normal (1.1 degrees) has no direction at right angles to it that could be meant.
static const double least_along = 0.02;

// What a file says of its tangents counts, where it is a direction along the surface.
static void take_given(size_t count, const float (*normals)[3], const float (*given)[4], float (*out)[4]) {
  for (size_t i = 0; i < count; i++) {
    sn_vec3 n = sn_vec3_from(normals[i]), t = sn_vec3_from(given[i]);
    sn_vec3 along = sn_vec3_mad(t, n, -sn_vec3_dot(t, n));
    if (!(sn_vec3_length(along) > least_along)) continue;
    sn_vec3_store(sn_vec3_normalize(along, t), out[i]);
    out[i][3] = given[i][3] < 0 ? -1.0f : 1.0f;
  }
}

sn_status sn_model_add_tangents(sn_context *ctx, const sn_rt_model *model, const float (*uvs)[2],
                                const float (*given)[4], sn_model *out) {
  *out = (sn_model){0};
  if (sn_rt_get_order(model, NULL))
    return sn_fail(ctx, SN_BAD_INPUT, "the model's vertices are renumbered: add tangents before");
  sn_arena scratch = sn_arena_new(ctx);
  sn_mesh mesh = {0};
  size_t vertices = model->info.vertex_count, blocks = model->info.block_count;
  float(*normals)[3] = sn_arena_alloc(ctx, &scratch, vertices, sizeof *normals);
  float(*tangents)[4] = sn_arena_alloc(ctx, &scratch, vertices, sizeof *tangents);
  float(*rows)[4][lanes] = sn_arena_alloc(ctx, &scratch, blocks, sizeof *rows);
  sn_status status = normals && tangents && rows ? sn_model_mesh(ctx, model, &mesh) : ctx->error.status;
  if (status == SN_OK) {
    sn_rt_get_rest(model, &(sn_rt_rest){.positions = mesh.positions, .normals = normals}, NULL);
    status = sn_mesh_tangents(ctx, &mesh, (const float(*)[3])normals, uvs, tangents);
  }
  if (status == SN_OK) {
    if (given) take_given(vertices, (const float(*)[3])normals, given, tangents);
    for (sn_rt_block b = {0}; sn_rt_next_block(model, &b);)
      for (int n = 0; n < 4 * lanes; n++)
        rows[b.block][n / lanes][n % lanes] = tangents[b.vertex[n % lanes]][n / lanes];
    sn_model_section section = {sn_rt_section_name(SN_SECTION_SKIN_TANGENTS), rows, blocks * sizeof *rows, false};
    status = sn_model_replace(ctx, model, model->info.correct, &section, 1, out);
  }
  sn_mesh_free(&mesh);
  sn_arena_free(&scratch);
  return status;
}
