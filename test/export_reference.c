// Numbers of a driver table and of poses on standard input (export_reference.mjs), what examples/helpers/helpers.h makes of them on
// standard output.
#include <stdio.h>
#include <stdlib.h>

#include "helpers.h"

static void floats(float *out, int count) {
  for (int k = 0; k < count; k++)
    if (scanf("%f", out + k) != 1) exit(1);
}

static int integer(void) {
  int n;
  if (scanf("%d", &n) != 1) exit(1);
  return n;
}

// Groups of terms, then shapes: how many there are, and all terms in a row.
enum { most_groups = 64, most_terms = 1024 };
static helper_group groups[most_groups];
static float centres[most_terms][3];
static double shapes[32][most_terms];
static int group_count, shape_count, term_count;

static void read_shapes(void) {
  group_count = integer(), shape_count = integer();
  for (int g = 0; g < group_count; g++) {
    groups[g].driver_count = integer();
    for (int d = 0; d < groups[g].driver_count; d++) groups[g].drivers[d] = integer();
    groups[g].count = integer();
    floats(&groups[g].width, 1);
    if (groups[g].width > 0) {
      groups[g].centres = (const float(*)[3])(centres + term_count);
      floats(centres[term_count], 3 * groups[g].count);
    }
    term_count += groups[g].count;
  }
  for (int n = 0; n < shape_count * term_count; n++)
    if (scanf("%lf", &shapes[n / term_count][n % term_count]) != 1) exit(1);
}

static void write_shapes(const float (*terms)[9]) {
  static double all[most_terms];
  int count = 0;
  for (int g = 0; g < group_count; count += groups[g++].count) helper_group_terms(groups + g, terms, all + count);
  for (int n = 0; n < shape_count; n++) {
    double sum = 0;
    for (int k = 0; k < count; k++) sum += shapes[n][k] * all[k];
    printf("%.9g\n", sum);
  }
}

int main(void) {
  static helper_driver drivers[64];
  static helper helpers[64];
  static helper_function functions[64][4];
  static helper_product products[64][32];
  static float ranges[64][2]; // of values; of joints 0, 0
  static float terms[64][9];
  int driver_count = integer(), helper_count = integer(), pose_count = integer();
  for (int d = 0; d < driver_count; d++)
    floats(drivers[d].before, 4), floats(drivers[d].after, 4), floats(drivers[d].rest, 3), floats(ranges[d], 2);
  for (int h = 0; h < helper_count; h++) {
    floats(helpers[h].translation, 3), floats(helpers[h].rotation, 4), floats(helpers[h].low, 7),
      floats(helpers[h].high, 7);
    helpers[h].function_count = integer(), helpers[h].functions = functions[h];
    for (int f = 0; f < helpers[h].function_count; f++)
      functions[h][f].driver = integer(), floats(functions[h][f].mix[0], 63);
    helpers[h].product_count = integer(), helpers[h].products = products[h];
    for (int k = 0; k < helpers[h].product_count; k++) {
      helper_product *p = products[h] + k;
      p->driver_count = integer();
      for (int d = 0; d < p->driver_count; d++) p->drivers[d] = integer();
      floats(p->mix, 9);
    }
  }
  read_shapes();
  for (int p = 0; p < pose_count; p++) {
    for (int d = 0; d < driver_count; d++) {
      float q[4];
      floats(q, 4);
      const float *range = ranges[d], inside = fminf(fmaxf(q[0], range[0]), range[1]);
      helper_terms(drivers + d, q, terms[d]);
      if (range[1] > range[0]) terms[d][0] = (inside - range[0]) / (range[1] - range[0]);
    }
    for (int h = 0; h < helper_count; h++) {
      helper_place at = helper_evaluate(helpers + h, (const float(*)[9])terms);
      const float *t = at.translation, *q = at.rotation;
      printf("%.9g %.9g %.9g %.9g %.9g %.9g %.9g %.9g", t[0], t[1], t[2], q[0], q[1], q[2], q[3], at.scale);
      for (int k = 0; helpers[h].product_count > 0 && k < 12; k++) printf(" %.9g", at.added[k / 3][k % 3]);
      putchar('\n');
    }
    write_shapes((const float(*)[9])terms);
  }
  return 0;
}
