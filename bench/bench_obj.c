// SPDX-License-Identifier: MIT
// OBJ parsing on one core, next to copying the same bytes and to a plain parser made of strtod and strtol.
#include "sinew/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct text {
  char *bytes;
  size_t size;
} text;

// Of this thread alone: the machines are shared.
static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// A sphere-like mesh: v lines in `format`, with texture coordinates and normals in the faces where `full`.
static text make_obj(int rings, int sides, const char *format, bool full) {
  text out = {0};
  FILE *stream = open_memstream(&out.bytes, &out.size);
  if (!stream) return out;
  sn_random rng = sn_random_new(1);
  for (int r = 0; r < rings; r++)
    for (int s = 0; s < sides; s++) {
      double a = SN_PI * (r + 0.5) / rings, b = 2 * SN_PI * s / sides, c = 1 + 0.1 * sn_random_uniform(&rng);
      double x = c * sin(a) * cos(b), y = c * cos(a), z = c * sin(a) * sin(b);
      fprintf(stream, format, x, y, z);
      if (full) fprintf(stream, "vt %.6f %.6f\nvn %.4f %.4f %.4f\n", b / 7, a / 4, x, y, z);
    }
  for (int r = 0; r + 1 < rings; r++)
    for (int s = 0; s < sides; s++) {
      int i[4] = {r * sides + s + 1, r * sides + (s + 1) % sides + 1, (r + 1) * sides + (s + 1) % sides + 1,
                  (r + 1) * sides + s + 1};
      fprintf(stream, "f");
      for (int k = 0; k < 4; k++) {
        full ? fprintf(stream, " %d/%d/%d", i[k], i[k], i[k]) : fprintf(stream, " %d", i[k]);
      }
      fprintf(stream, "\n");
    }
  fclose(stream);
  return out;
}

// What most programs do. Returns a sum so that nothing is optimised away.
static double parse_plainly(const char *p) {
  double sum = 0;
  while (*p) {
    char *end;
    if (p[0] == 'v' && p[1] == ' ') {
      p += 2;
      for (int c = 0; c < 3; c++) sum += strtod(p, &end), p = end;
    } else if (p[0] == 'f' && p[1] == ' ') {
      p += 2;
      while (*p && *p != '\n') {
        sum += (double)strtol(p, &end, 10);
        p = end + strcspn(end, " \n");
        if (*p == ' ') p++;
      }
    }
    const char *newline = strchr(p, '\n');
    if (!newline) break;
    p = newline + 1;
  }
  return sum;
}

typedef enum task { COPY, PLAIN, SINEW } task;

static double best_of(task what, const text *obj, int repeats) {
  double best = 1e9;
  char *copy = malloc(obj->size);
  volatile double keep = 0;
  for (int k = 0; copy && k < repeats; k++) {
    double start = seconds();
    if (what == COPY) {
      memcpy(copy, obj->bytes, obj->size);
      keep = copy[obj->size / 2];
    } else if (what == PLAIN) {
      keep = parse_plainly(obj->bytes);
    } else {
      sn_context ctx = sn_context_default();
      ctx.threads = 1;
      sn_mesh mesh;
      if (sn_obj_parse(&ctx, "bench.obj", obj->bytes, obj->size, &mesh, NULL) != SN_OK) {
        fprintf(stderr, "%s\n", ctx.error.message);
        exit(1);
      }
      sn_mesh_free(&mesh);
    }
    double time = seconds() - start;
    if (time < best) best = time;
  }
  (void)keep;
  free(copy);
  return best;
}

int main(void) {
  static const struct {
    const char *name, *format;
    int rings, sides;
    bool full;
  } cases[] = {
    {"positions and faces, 6 decimals", "v %.6f %.6f %.6f\n", 900, 1000, false},
    {"with normals and texture coordinates", "v %.6f %.6f %.6f\n", 420, 1000, true},
    {"positions and faces, 9 digits", "v %.9g %.9g %.9g\n", 850, 1000, false},
    {"positions and faces, 17 digits", "v %.17g %.17g %.17g\n", 600, 1000, false},
  };
  printf("OBJ parsing, one core, best of 5, MB per second of processor time\n%-40s %8s %8s %8s %8s\n", "text", "MB",
         "memcpy", "strtod", "sinew");
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    text obj = make_obj(cases[k].rings, cases[k].sides, cases[k].format, cases[k].full);
    if (!obj.bytes) return 1;
    double mb = (double)obj.size / 1e6;
    printf("%-40s %8.1f %8.0f %8.0f %8.0f\n", cases[k].name, mb, mb / best_of(COPY, &obj, 5),
           mb / best_of(PLAIN, &obj, 2), mb / best_of(SINEW, &obj, 5));
    fflush(stdout);
    free(obj.bytes);
  }
  return 0;
}
