// SPDX-License-Identifier: MIT
// Bar charts and meshes as SVG.
#include <math.h>
#include <stdlib.h>

#include "lab/study/study.h"

// The colours of the line charts of `compare --plot`.
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
enum { colour_count = 7 };

sn_writer svg_open(study *s, const char *name, int width, int height, const char *title) {
  sn_writer w = study_open(s, name);
  sn_writef(&w,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
            width, height, width, height);
  sn_writef(&w, "<text x=\"%d\" y=\"20\" text-anchor=\"middle\" font-size=\"14\">%s</text>\n", width / 2, title);
  return w;
}

void svg_text(sn_writer *w, double x, double y, const char *anchor, const char *text) {
  sn_writef(w, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, text);
}

void svg_close(study *s, sn_writer *w) {
  sn_writef(w, "</svg>\n");
  study_close(s, w);
}

// ---- bars -------------------------------------------------------------------------------------------------------------

enum { bars_width = 860, bars_height = 400, bars_left = 60, bars_right = 180, bars_top = 40, bars_bottom = 60 };

static double largest_of(const svg_bars *b) {
  double largest = 0;
  for (int n = 0; n < b->series_count * b->place_count; n++) largest = fmax(largest, b->values[n]);
  return largest > 0 ? largest : 1;
}

static double bar_y(double value, double top) {
  return bars_height - bars_bottom - value / top * (bars_height - bars_top - bars_bottom);
}

static void write_bar(sn_writer *w, const svg_bars *b, int series, int place, double top) {
  int n = series * b->place_count + place;
  double wide = (double)(bars_width - bars_left - bars_right) / b->place_count;
  double each = 0.8 * wide / b->series_count, x = bars_left + wide * (place + 0.1) + each * series;
  double y = bar_y(b->values[n], top);
  sn_writef(w, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y,
            fmax(each - 1, 0.5), bars_height - bars_bottom - y, colours[series % colour_count]);
}

void svg_write_bars(study *s, const char *name, const svg_bars *b) {
  sn_writer w = svg_open(s, name, bars_width, bars_height, b->title);
  double top = 1.05 * largest_of(b), wide = (double)(bars_width - bars_left - bars_right) / b->place_count;
  for (int k = 0; k <= 4; k++) {
    double y = bar_y(top * k / 4, top);
    sn_writef(&w,
              "<path d=\"M%d %.1f H%d\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n",
              bars_left, y, bars_width - bars_right, bars_left - 6, y + 4, top * k / 4);
  }
  sn_writef(&w, "<text transform=\"translate(16 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
            bars_height / 2, b->unit);
  for (int p = 0; p < b->place_count; p++) {
    if (b->places[p])
      svg_text(&w, bars_left + wide * (p + 0.5), bars_height - bars_bottom + 16, "middle", b->places[p]);
    for (int k = 0; k < b->series_count; k++) write_bar(&w, b, k, p, top);
  }
  for (int k = 0; k < b->series_count; k++) {
    double y = bars_top + 18.0 * k;
    sn_writef(&w, "<rect x=\"%d\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
              bars_width - bars_right + 12, y, colours[k % colour_count]);
    svg_text(&w, bars_width - bars_right + 30, y + 10, "start", b->series[k]);
  }
  svg_close(s, &w);
}

// ---- meshes -------------------------------------------------------------------------------------------------------------

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

static void write_panel(study *s, sn_writer *w, const sn_mesh *mesh, const svg_panel *panel, frame_of_view view,
                        double x0, double y0) {
  drawn *order = calloc((size_t)mesh->triangle_count, sizeof *order);
  if (!order) study_must(s, sn_fail(&s->ctx, SN_NO_MEMORY, "no memory for a picture"));
  int count = 0;
  for (int t = 0; t < mesh->triangle_count; t++) {
    double depth = 0;
    for (int c = 0; c < 3; c++) depth += (double)panel->positions[mesh->triangles[t][c]][2];
    order[count++] = (drawn){t, depth};
  }
  qsort(order, (size_t)count, sizeof *order, by_depth);
  svg_text(w, x0 + panel_width / 2.0, y0 + 14, "middle", panel->title);
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
      sn_writef(w, "%.1f %.1f%s", x0 + panel_width / 2.0 + (p[c].x - view.x) * view.scale,
                y0 + panel_height / 2.0 + 10 - (p[c].y - view.y) * view.scale, c < 2 ? "L" : "z\" ");
    }
    write_colour(w, panel->value ? panel->value[order[n].triangle] : NAN, fmin(1, light));
    sn_writef(w, "/>\n");
  }
  for (int i = 0; panel->dots && i < mesh->vertex_count; i++) {
    if (!panel->dots[i]) continue;
    sn_writef(w, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1\" fill=\"#d00\"/>\n",
              x0 + panel_width / 2.0 + ((double)panel->positions[i][0] - view.x) * view.scale,
              y0 + panel_height / 2.0 + 10 - ((double)panel->positions[i][1] - view.y) * view.scale);
  }
  free(order);
}

void svg_write_panels(study *s, const char *name, const char *title, const sn_mesh *mesh, const svg_panel *panels,
                      int count) {
  int columns = count < panel_columns ? count : panel_columns, lines = (count + columns - 1) / columns;
  sn_writer w = svg_open(s, name, columns * panel_width, 30 + lines * panel_height, title);
  frame_of_view view = view_of(panels[0].positions, mesh->vertex_count);
  for (int k = 0; k < count; k++)
    write_panel(s, &w, mesh, &panels[k], view, (double)(k % columns) * panel_width,
                30 + (double)(k / columns) * panel_height);
  svg_close(s, &w);
}
