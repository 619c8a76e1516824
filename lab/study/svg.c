// SPDX-License-Identifier: MIT
// Meshes as SVG.
#include <math.h>
#include <stdlib.h>

#include "lab/study/study.h"

static sn_writer svg_open(study *s, const char *name, int width, int height, const char *title) {
  sn_writer w = study_open(s, name);
  sn_writef(&w,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            width, height, width, height);
  sn_writef(&w, "<text x=\"%d\" y=\"20\" text-anchor=\"middle\" font-size=\"14\">%s</text>\n", width / 2, title);
  return w;
}

static void svg_text(sn_writer *w, double x, double y, const char *anchor, const char *text) {
  sn_writef(w, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, text);
}

static void svg_close(study *s, sn_writer *w) {
  sn_writef(w, "</svg>\n");
  study_close(s, w);
}

enum { panel_width = 300, panel_height = 240, panel_columns = 3 };

typedef struct frame_of_view {
  double x, y, scale; // centre, pixels per unit
} frame_of_view;

// Leaves a margin around the mesh, because the predicted meshes may be larger.
static frame_of_view view_of(const float (*positions)[3], int count) {
  sn_vec3 low, high;
  sn_points_bounds(positions, count, &low, &high);
  double across = 0.85 * panel_width / fmax(high.x - low.x, 1e-9),
         up = 0.75 * panel_height / fmax(high.y - low.y, 1e-9);
  return (frame_of_view){(low.x + high.x) / 2, (low.y + high.y) / 2, fmin(across, up)};
}

typedef struct drawn {
  int triangle;
  double depth;
} drawn;

static int by_depth(const void *a, const void *b) {
  const drawn *p = a, *q = b;
  if (p->depth != q->depth) return p->depth < q->depth ? -1 : 1;
  return p->triangle - q->triangle;
}

static void write_colour(sn_writer *w, double value, double light) {
  double v = fmin(1, fmax(0, value)), red = 0.35 + 0.65 * v, blue = 1 - 0.65 * v, green = 1 - 1.3 * fabs(v - 0.5);
  if (isnan(value)) red = green = blue = 0.85;
  sn_writef(w, "fill=\"#%02x%02x%02x\"", (unsigned)(255 * red * light), (unsigned)(255 * green * light),
            (unsigned)(255 * blue * light));
}

// Clipped to the panel.
static void write_panel(study *s, sn_writer *w, const sn_mesh *mesh, const svg_panel *panel, frame_of_view view,
                        int x0, int y0) {
  drawn *order = calloc((size_t)mesh->triangle_count, sizeof *order);
  if (!order) study_must(s, sn_fail(&s->ctx, SN_NO_MEMORY, "out of memory for a picture"));
  int count = 0;
  for (int t = 0; t < mesh->triangle_count; t++) {
    double depth = 0;
    for (int c = 0; c < 3; c++) depth += (double)panel->positions[mesh->triangles[t][c]][2];
    order[count++] = (drawn){t, depth};
  }
  qsort(order, (size_t)count, sizeof *order, by_depth);
  sn_writef(w, "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">\n", x0, y0, panel_width, panel_height);
  for (int n = 0; n < count; n++) {
    const int *corner = mesh->triangles[order[n].triangle];
    sn_vec3 p[3];
    for (int c = 0; c < 3; c++) p[c] = sn_vec3_from(panel->positions[corner[c]]);
    sn_vec3 normal = sn_vec3_cross(sn_vec3_sub(p[1], p[0]), sn_vec3_sub(p[2], p[0]));
    double length = sn_vec3_length(normal);
    if (!(normal.z > 0) || !(length > 0)) continue;
    double light = 0.35 + 0.65 * fmax(0, (0.3 * normal.x + 0.5 * normal.y + 0.81 * normal.z) / length);
    sn_writef(w, "<path d=\"M");
    for (int c = 0; c < 3; c++) {
      sn_writef(w, "%.1f %.1f%s", panel_width / 2.0 + (p[c].x - view.x) * view.scale,
                panel_height / 2.0 + 10 - (p[c].y - view.y) * view.scale, c < 2 ? "L" : "z\" ");
    }
    write_colour(w, panel->value ? panel->value[order[n].triangle] : NAN, fmin(1, light));
    sn_writef(w, "/>\n");
  }
  for (int i = 0; panel->dots && i < mesh->vertex_count; i++) {
    if (!panel->dots[i]) continue;
    sn_writef(w, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1\" fill=\"#d00\"/>\n",
              panel_width / 2.0 + ((double)panel->positions[i][0] - view.x) * view.scale,
              panel_height / 2.0 + 10 - ((double)panel->positions[i][1] - view.y) * view.scale);
  }
  svg_text(w, panel_width / 2.0, 14, "middle", panel->title);
  sn_writef(w, "</svg>\n");
  free(order);
}

void svg_write_panels(study *s, const char *name, const char *title, const sn_mesh *mesh, const svg_panel *panels,
                      int count) {
  int columns = count < panel_columns ? count : panel_columns, lines = (count + columns - 1) / columns;
  sn_writer w = svg_open(s, name, columns * panel_width, 30 + lines * panel_height, title);
  frame_of_view view = view_of(panels[0].positions, mesh->vertex_count);
  for (int k = 0; k < count; k++)
    write_panel(s, &w, mesh, &panels[k], view, k % columns * panel_width, 30 + k / columns * panel_height);
  svg_close(s, &w);
}
