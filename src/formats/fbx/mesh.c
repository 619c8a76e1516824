// SPDX-License-Identifier: MIT
// The mesh of an FBX file: positions, triangles, texture coordinates, materials.
#include "formats/fbx/bytes.h"

int sn_fbx_material_count(const sn_surface *surface) {
  return surface->material_count > 0 ? surface->material_count : 1;
}

void sn_fbx_put_materials(fbx *f, int64_t id, const sn_surface *surface) {
  for (int k = 0; k < sn_fbx_material_count(surface); k++) {
    bool given = k < surface->material_count;
    double colour[3] = {0.8, 0.8, 0.8};
    for (int c = 0; given && surface->colors && c < 3; c++) colour[c] = (double)surface->colors[k][c];
    sn_fbx_put(f,
               "Material: %L, %N, '' { Version: 102 ShadingModel: 'phong' MultiLayer: 0 Properties70: {"
               " P: 'DiffuseColor', 'Color', '', 'A', %D, %D, %D } }",
               id + k, given ? surface->material_names[k] : "skin", "Material", colour[0], colour[1], colour[2]);
  }
}

// Two numbers for every corner. FBX counts v from below.
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

// The material of every triangle; those without one have the first.
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

void sn_fbx_put_geometry(fbx *f, int64_t id, const sn_mesh *mesh, const sn_surface *surface) {
  SN_SCRATCH(scratch, f->ctx);
  size_t n = (size_t)mesh->vertex_count, m = (size_t)mesh->triangle_count;
  double *positions = SN_ROOM(f, &scratch, 3 * n, sizeof *positions);
  int32_t *corners = SN_ROOM(f, &scratch, 3 * m, sizeof *corners);
  for (size_t k = 0; corners && k < 3 * n; k++) positions[k] = (double)mesh->positions[k / 3][k % 3];
  for (size_t c = 0; corners && c < 3 * m; c++) {
    int vertex = mesh->triangles[c / 3][c % 3];
    corners[c] = c % 3 < 2 ? vertex : ~vertex; // the end of a face
  }
  sn_fbx_put(f, "Geometry: %L, %N, 'Mesh' { GeometryVersion: 124 Vertices: %d PolygonVertexIndex: %i", id, "mesh",
             "Geometry", positions, 3 * n, corners, 3 * m);
  if (surface->has_uvs) put_uvs(f, surface, 3 * m, &scratch);
  put_material_layer(f, surface, m, &scratch);
  sn_fbx_put(f, "Layer: 0 { Version: 100 LayerElement: { Type: 'LayerElementMaterial' TypedIndex: 0 }");
  if (surface->has_uvs) sn_fbx_put(f, "LayerElement: { Type: 'LayerElementUV' TypedIndex: 0 }");
  sn_fbx_put(f, "} }");
}
