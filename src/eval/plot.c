// SPDX-License-Identifier: MIT
// Line charts as SVG.
#include "base/scope.h"
#include "sinew/eval.h"

#include <math.h>

enum { width = 760, height = 420, left = 70, right = 190, top = 40, bottom = 50 };

// Okabe and Ito's colours, distinguishable to colour-blind people; dashes tell the lines apart without colour.
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
static const char *const dashes[] = {"none", "8 3", "2 3", "8 3 2 3", "12 4", "4 2", "1 2"};
enum { style_count = 7 };

typedef struct range {
  double low, high, step;
} range;

// About five round steps that cover low .. high.
static range nice_range(double low, double high) {
  if (!(high > low)) high = low + (low != 0 ? fabs(low) : 1);
  double step = pow(10, floor(log10((high - low) / 5)));
  double ratio = (high - low) / 5 / step;
  step *= ratio > 5 ? 10 : ratio > 2 ? 5 : ratio > 1 ? 2 : 1;
  return (range){floor(low / step) * step, ceil(high / step - 1e-9) * step, step};
}

static double to_x(range r, double x) { return left + (x - r.low) / (r.high - r.low) * (width - left - right); }
static double to_y(range r, double y) {
  return height - bottom - (y - r.low) / (r.high - r.low) * (height - top - bottom);
}

static void write_text(sn_writer *w, double x, double y, const char *attributes, const char *text) {
  sn_writef(w, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
  sn_write_escaped(w, text);
  sn_writef(w, "</text>\n");
}

static void write_axes(sn_writer *w, range x, range y) {
  for (double v = x.low; v <= x.high + x.step / 2; v += x.step) {
    sn_writef(
      w, "<path d=\"M%.1f %d V%d\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n",
      to_x(x, v), top, height - bottom, to_x(x, v), height - bottom + 16, fabs(v) < x.step / 2 ? 0 : v);
  }
  for (double v = y.low; v <= y.high + y.step / 2; v += y.step) {
    sn_writef(w,
              "<path d=\"M%d %.1f H%d\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n",
              left, to_y(y, v), width - right, left - 6, to_y(y, v) + 4, fabs(v) < y.step / 2 ? 0 : v);
  }
}

static void write_line(sn_writer *w, range x, range y, const sn_plot_line *line, int index) {
  const char *colour = colours[index % style_count], *dash = dashes[index % style_count];
  bool open = false;
  sn_writef(w, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" stroke-dasharray=\"%s\" d=\"", colour, dash);
  for (int k = 0; k < line->count; k++) {
    if (!isfinite(line->x[k]) || !isfinite(line->y[k])) {
      open = false;
      continue;
    }
    sn_writef(w, "%c%.2f %.2f", open ? 'L' : 'M', to_x(x, line->x[k]), to_y(y, line->y[k]));
    open = true;
  }
  double at = top + 10 + 18 * index;
  sn_writef(w, "\"/>\n<path d=\"M%d %.1f h26\" stroke=\"%s\" stroke-width=\"1.8\" stroke-dasharray=\"%s\"/>\n",
            width - right + 12, at, colour, dash);
  write_text(w, width - right + 44, at + 4, "", line->name);
}

sn_status sn_plot_write(sn_context *ctx, const char *path, const sn_plot *plot) {
  const sn_plot_line *lines = plot->lines;
  int line_count = plot->line_count;
  double low_x = INFINITY, high_x = -INFINITY, high_y = 0, low_y = 0;
  for (int l = 0; l < line_count; l++)
    for (int k = 0; k < lines[l].count; k++) {
      if (!isfinite(lines[l].x[k]) || !isfinite(lines[l].y[k])) continue;
      low_x = fmin(low_x, lines[l].x[k]), high_x = fmax(high_x, lines[l].x[k]);
      low_y = fmin(low_y, lines[l].y[k]), high_y = fmax(high_y, lines[l].y[k]);
    }
  if (!(low_x <= high_x)) return sn_fail(ctx, SN_BAD_INPUT, "%s: there is nothing to plot", path);
  sn_writer w;
  SN_TRY(sn_writer_open(ctx, path, &w));
  range x = nice_range(low_x, high_x), y = nice_range(low_y, high_y);
  sn_writef(&w,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<rect width=\"%d\" height=\"%d\" "
            "fill=\"#fff\"/>\n",
            width, height, width, height, width, height);
  write_text(&w, left, 22, "font-size=\"15\"", plot->title);
  write_axes(&w, x, y);
  write_text(&w, (left + width - right) / 2.0, height - 12, "text-anchor=\"middle\"", plot->x_title);
  sn_writef(&w, "<g transform=\"translate(18 %d) rotate(-90)\">", (top + height - bottom) / 2);
  write_text(&w, 0, 0, "text-anchor=\"middle\"", plot->y_title);
  sn_writef(&w, "</g>\n");
  for (int l = 0; l < line_count; l++) write_line(&w, x, y, &lines[l], l);
  sn_writef(&w, "</svg>\n");
  return sn_writer_commit(ctx, &w);
}

sn_status sn_plot_rates(sn_context *ctx, const char *path, const sn_train_report *report) {
  double x[SN_MOST_SCORED], y[SN_MOST_SCORED], across[3] = {0}, down[3] = {0};
  for (int k = 0; k < report->rate_count; k++) {
    const sn_rate *r = report->rates + k;
    x[k] = r->bytes, y[k] = r->cross_validated;
    if (r->is_chosen) across[1] = across[2] = r->bytes, down[0] = down[1] = r->cross_validated;
  }
  const sn_plot_line lines[] = {{"models", report->rate_count, x, y}, {"the choice", 3, across, down}};
  return sn_plot_write(
    ctx, path, &(sn_plot){"Error against size", "bytes of the model", "cross-validated enveloping error", lines, 2});
}
