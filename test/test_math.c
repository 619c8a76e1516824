// SPDX-License-Identifier: MIT
// Properties of the small linear algebra over random and degenerate cases, checked against LAPACK.
#include "check.h"

#include <float.h>
#include <lapacke.h>

enum { kinds = 16, rounds = 40000 };

// Matrices of every awkward kind; `kind` cycles through them.
static sn_mat3 awkward(sn_random *rng, int kind) {
  sn_mat3 a, u = random_rotation(rng), v = random_rotation(rng);
  for (int k = 0; k < 9; k++) a.m[k / 3][k % 3] = sn_random_normal(rng);
  double s = sn_random_uniform(rng), t = sn_random_uniform(rng);
  switch (kind) {
  case 1: // reflected
    return sn_mat3_mul(sn_mat3_mul(u, sn_mat3_diagonal(1 + s, 1, -t)), v);
  case 2: // rank 2
    return sn_mat3_mul(sn_mat3_mul(u, sn_mat3_diagonal(1 + s, t, 0)), v);
  case 3: // rank 1
    return sn_mat3_outer(random_vec3(rng), random_vec3(rng));
  case 4:
    return (sn_mat3){0};
  case 5:
    return sn_mat3_scale(a, 1e-300);
  case 6:
    return sn_mat3_scale(a, 1e300);
  case 7: // nearly equal singular values
    return sn_mat3_mul(sn_mat3_mul(u, sn_mat3_diagonal(1 + 1e-15 * s, 1, 1 - 1e-14 * t)), v);
  case 8: // a rotation
    return u;
  case 9: // a reflection with equal singular values
    return sn_mat3_mul(u, sn_mat3_diagonal(1, 1, -1));
  case 10: // singular values far apart
    return sn_mat3_mul(sn_mat3_mul(u, sn_mat3_diagonal(1, 1e-8 * s, 1e-16 * t)), v);
  case 11: // whole numbers, often singular
    for (int k = 0; k < 9; k++) a.m[k / 3][k % 3] = sn_random_below(rng, 3) - 1;
    return a;
  case 12: // columns of very different sizes
    return sn_mat3_mul(a, sn_mat3_diagonal(1e150, 1, 1e-150));
  case 13: // subnormal
    return sn_mat3_scale(a, 1e-310);
  case 14: // minus a rotation
    return sn_mat3_scale(u, -1);
  case 15: // diagonal, zeros and signs
    return sn_mat3_diagonal(sn_random_below(rng, 3) - 1, sn_random_below(rng, 3) - 1, sn_random_below(rng, 5) - 2);
  default:
    return a;
  }
}

static double largest(sn_mat3 a) {
  double size = 0;
  for (int k = 0; k < 9; k++) size = fmax(size, fabs(a.m[k / 3][k % 3]));
  return size;
}

// The largest entry of a - b, over the size `scale` (exact zero for a zero scale).
static double difference(sn_mat3 a, sn_mat3 b, double scale) {
  double size = largest(sn_mat3_sub(a, b));
  return size == 0 ? 0 : size / scale;
}

static double orthogonality(sn_mat3 a) {
  return largest(sn_mat3_sub(sn_mat3_mul(sn_mat3_transpose(a), a), sn_mat3_identity()));
}

static void expect_rotation(sn_mat3 r) {
  assert_below(orthogonality(r), 1e-14);
  assert_near(sn_mat3_determinant(r), 1, 1e-14);
}

static void expect_same(sn_vec3 a, sn_vec3 b, double tolerance) { assert_below(sn_vec3_distance(a, b), tolerance); }

// ---- decompositions --------------------------------------------------------------------------------------------------

static void singular_values(sn_mat3 a, double *s) {
  double copy[9], superb[2], u[9], vt[9];
  for (int k = 0; k < 9; k++) copy[k] = a.m[k / 3][k % 3];
  // With vectors LAPACK iterates by QR; without, its values of nearly equal size are only good to 1e-14.
  int info = LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'A', 'A', 3, 3, copy, 3, s, u, 3, vt, 3, superb);
  assert_int_equal(info, 0);
}

static void test_svd(void **state) {
  sn_random rng = sn_random_new(1);
  for (int round = 0; round < rounds; round++) {
    sn_mat3 a = awkward(&rng, round % kinds), u, v;
    sn_vec3 s;
    sn_mat3_svd(a, &u, &s, &v);
    assert_below(orthogonality(u), 2e-15 * 8);
    assert_below(orthogonality(v), 2e-15 * 8);
    assert_true(s.x >= s.y && s.y >= s.z && s.z >= 0);
    // Rebuilt from u (s0 scaled first, so that huge ones do not overflow).
    double scale = largest(a) > 0 ? largest(a) : 1;
    int exponent = ilogb(scale);
    sn_mat3 scaled = a,
            middle = sn_mat3_diagonal(scalbn(s.x, -exponent), scalbn(s.y, -exponent), scalbn(s.z, -exponent));
    for (int k = 0; k < 9; k++) scaled.m[k / 3][k % 3] = scalbn(a.m[k / 3][k % 3], -exponent);
    // Subnormal entries carry few bits: so do their singular values.
    double tolerance = scale < 1e-300 ? 1e-12 : 1e-14;
    assert_below(difference(sn_mat3_mul(sn_mat3_mul(u, middle), sn_mat3_transpose(v)), scaled, 1), tolerance);
    double expected[3];
    singular_values(scaled, expected);
    assert_near(middle.m[0][0], expected[0], tolerance);
    assert_near(middle.m[1][1], expected[1], tolerance);
    assert_near(middle.m[2][2], expected[2], tolerance);
  }
}

// One-sided Jacobi finds small singular values to high relative accuracy where only the columns' sizes differ.
static void test_svd_of_graded_columns(void **state) {
  sn_random rng = sn_random_new(2);
  for (int round = 0; round < 500; round++) {
    sn_mat3 q = random_rotation(&rng), u, v;
    sn_vec3 s;
    sn_mat3_svd(sn_mat3_mul(q, sn_mat3_diagonal(1, 1e-6, 1e-12)), &u, &s, &v);
    assert_near(s.x, 1, 1e-14);
    assert_near(s.y / 1e-6, 1, 1e-9);
    assert_near(s.z / 1e-12, 1, 1e-3);
  }
}

static void test_polar(void **state) {
  sn_random rng = sn_random_new(3);
  for (int round = 0; round < rounds; round++) {
    sn_mat3 a = awkward(&rng, round % kinds), r, p, alone;
    sn_mat3_polar(a, &r, &p);
    sn_mat3_polar(a, &alone, NULL);
    assert_memory_equal(&r, &alone, sizeof r);
    expect_rotation(r);
    double scale = largest(a);
    double tolerance = scale < 1e-300 ? 1e-12 : 2e-14;
    assert_below(difference(sn_mat3_transpose(p), p, scale), tolerance);
    assert_below(difference(sn_mat3_mul(r, p), a, scale), tolerance);
    // Nearest: tr(R^T A) is the largest of all rotations, so also of its neighbours.
    sn_mat3 unit = scale > 0 ? a : sn_mat3_identity();
    if (scale > 0)
      for (int k = 0; k < 9; k++) unit.m[k / 3][k % 3] = scalbn(a.m[k / 3][k % 3], -ilogb(scale));
    double best = sn_mat3_trace(sn_mat3_mul(sn_mat3_transpose(r), unit));
    for (int k = 0; k < 6 && scale > 0; k++) {
      sn_mat3 turn = k < 3 ? sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), 0.01)) : random_rotation(&rng);
      double other = sn_mat3_trace(sn_mat3_mul(sn_mat3_transpose(sn_mat3_mul(r, turn)), unit));
      assert_below(other, best + 1e-13);
    }
  }
}

static void test_polar_sign(void **state) {
  sn_random rng = sn_random_new(4);
  for (int round = 0; round < 300; round++) {
    sn_mat3 q = random_rotation(&rng), v = random_rotation(&rng), r, p;
    // det < 0: the smallest singular value carries the sign.
    sn_mat3 stretch = sn_mat3_mul(sn_mat3_mul(v, sn_mat3_diagonal(3, 2, -1)), sn_mat3_transpose(v));
    sn_mat3_polar(sn_mat3_mul(q, stretch), &r, &p);
    assert_below(difference(r, q, 1), 1e-13);
    assert_below(difference(p, stretch, 1), 1e-13);
  }
}

static void test_invert(void **state) {
  sn_random rng = sn_random_new(5);
  for (int round = 0; round < rounds; round++) {
    int kind = round % kinds;
    sn_mat3 a = awkward(&rng, kind), inverse;
    bool good = sn_mat3_invert(a, &inverse);
    if (kind == 2 || kind == 3 || kind == 4) assert_false(good);
    if (!good) {
      assert_true(largest(inverse) == 0);
      continue;
    }
    // a inverse = 1, measured against the sizes that are multiplied.
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++) {
        double sum = 0, size = 0;
        for (int k = 0; k < 3; k++) {
          sum += inverse.m[r][k] * a.m[k][c], size += fabs(inverse.m[r][k] * a.m[k][c]);
        }
        if (kind != 13) assert_near(sum, r == c, 1e-12 + 1e-13 * size);
      }
  }
  sn_mat3 graded = sn_mat3_diagonal(1, 1e-200, 1e-200), inverse;
  assert_true(sn_mat3_invert(graded, &inverse));
  assert_near(inverse.m[1][1] / 1e200, 1, 1e-12);
  assert_near(inverse.m[2][2] / 1e200, 1, 1e-12);
}

static void test_norm(void **state) {
  sn_mat3 a = {{{1, 2, 2}, {0, 0, 0}, {4, 0, 0}}};
  assert_near(sn_mat3_norm(a), 5, 1e-15);
  assert_near(sn_mat3_norm(sn_mat3_scale(a, 1e-300)) / 1e-300, 5, 1e-14);
  assert_near(sn_mat3_norm(sn_mat3_scale(a, 1e300)) / 1e300, 5, 1e-14);
  assert_true(sn_mat3_norm((sn_mat3){0}) == 0);
  a.m[1][1] = NAN;
  assert_true(isnan(sn_mat3_norm(a)));
}

static void test_vectors(void **state) {
  sn_random rng = sn_random_new(6);
  const double scales[] = {1, 1e-300, 1e300, 1e-320};
  for (int round = 0; round < 1000; round++) {
    sn_vec3 a = sn_vec3_scale(random_vec3(&rng), scales[round % 4]), zero = {0, 0, 0};
    sn_vec3 unit = sn_vec3_normalize(a, zero), side = sn_vec3_perpendicular(a);
    assert_near(sn_vec3_length(unit), 1, 1e-15 * 4);
    assert_near(sn_vec3_length(side), 1, 1e-15 * 4);
    assert_near(sn_vec3_dot(side, unit), 0, round % 4 == 3 ? 1e-2 : 1e-14);
  }
  sn_vec3 up = {0, 0, 1}, none = {0, 0, 0};
  expect_same(sn_vec3_normalize(none, up), up, 0);
  assert_near(sn_vec3_length(sn_vec3_perpendicular(none)), 1, 0);
}

// ---- Procrustes --------------------------------------------------------------------------------------------------------

static double misfit(int n, const sn_vec3 *x, const sn_vec3 *y, const double *w, sn_affine a) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    sn_vec3 d = sn_vec3_sub(sn_affine_apply(a, x[i]), y[i]);
    sum += (w ? w[i] : 1) * sn_vec3_dot(d, d);
  }
  return sum;
}

static void test_procrustes_recovers(void **state) {
  sn_random rng = sn_random_new(7);
  for (int round = 0; round < 500; round++) {
    sn_vec3 x[20], y[20];
    double weights[20];
    sn_affine motion = sn_affine_make(random_rotation(&rng), sn_vec3_scale(random_vec3(&rng), 10));
    int n = 3 + sn_random_below(&rng, 18), flat = round % 2;
    for (int i = 0; i < n; i++) {
      x[i] = random_vec3(&rng);
      if (flat) x[i].z = 0; // in a plane: still unique
      y[i] = sn_affine_apply(motion, x[i]);
      weights[i] = sn_random_uniform(&rng) + 0.01;
    }
    sn_affine found = sn_procrustes(n, x, y, round % 3 ? weights : NULL);
    assert_below(sqrt(misfit(n, x, y, NULL, found)), 1e-12);
    assert_below(sn_rotation_angle(sn_affine_linear(found), sn_affine_linear(motion)), 1e-8);
  }
}

static void test_procrustes_is_best(void **state) {
  sn_random rng = sn_random_new(8);
  for (int round = 0; round < 500; round++) {
    sn_vec3 x[10], y[10];
    double weights[10];
    for (int i = 0; i < 10; i++) {
      x[i] = random_vec3(&rng), y[i] = random_vec3(&rng), weights[i] = sn_random_uniform(&rng);
      if (round % 2) y[i] = sn_vec3_make(x[i].x, x[i].y, -x[i].z); // a mirror image: no rotation fits
    }
    sn_affine best = sn_procrustes(10, x, y, weights);
    expect_rotation(sn_affine_linear(best));
    double least = misfit(10, x, y, weights, best);
    for (int k = 0; k < 10; k++) {
      double size = k < 5 ? 0.01 : 2;
      sn_mat3 turn = sn_rotation_exp(sn_vec3_scale(random_vec3(&rng), size));
      sn_affine other = sn_affine_mul(sn_affine_make(turn, sn_vec3_scale(random_vec3(&rng), size * 0.1)), best);
      assert_below(least, misfit(10, x, y, weights, other) + 1e-12);
    }
  }
}

static void test_procrustes_degenerate(void **state) {
  sn_random rng = sn_random_new(9);
  sn_affine none = sn_procrustes(0, NULL, NULL, NULL), identity = sn_affine_identity();
  assert_memory_equal(&none, &identity, sizeof none);
  for (int round = 0; round < 300; round++) {
    sn_vec3 x[6], y[6], direction = random_vec3(&rng), away = random_vec3(&rng);
    double zeros[6] = {0};
    int n = round % 3 == 0 ? 1 : 6;
    sn_mat3 turn = random_rotation(&rng);
    for (int i = 0; i < n; i++) {
      x[i] = round % 3 == 1 ? sn_vec3_scale(direction, i * 0.3 - 1) : direction; // collinear, or all in one place
      y[i] = sn_vec3_add(sn_mat3_apply(turn, x[i]), away);
    }
    sn_affine found = sn_procrustes(n, x, y, NULL);
    expect_rotation(sn_affine_linear(found));
    assert_below(sqrt(misfit(n, x, y, NULL, found)), 1e-13 * 20);
    sn_affine weightless = sn_procrustes(n, x, y, zeros);
    assert_memory_equal(&weightless, &identity, sizeof weightless);
  }
}

static void test_kabsch(void **state) {
  sn_random rng = sn_random_new(10);
  for (int round = 0; round < rounds; round++) {
    sn_mat3 h = awkward(&rng, round % kinds);
    expect_rotation(sn_mat3_kabsch(h));
    sn_mat3 r, transposed = sn_mat3_transpose(h);
    sn_mat3_polar(transposed, &r, NULL); // argmax tr(R h) = argmax tr(R^T h^T): the same rotation where it is unique
    if (round % kinds == 0) assert_below(difference(r, sn_mat3_kabsch(h), 1), 1e-9);
  }
}

// ---- rotations ---------------------------------------------------------------------------------------------------------

static sn_vec3 random_axis(sn_random *rng) { return sn_vec3_normalize(random_vec3(rng), sn_vec3_make(1, 0, 0)); }

// Rodrigues' formula, for comparison.
static sn_mat3 rodrigues(sn_vec3 axis, double angle) {
  sn_mat3 k = {{{0, -axis.z, axis.y}, {axis.z, 0, -axis.x}, {-axis.y, axis.x, 0}}};
  return sn_mat3_add(sn_mat3_add(sn_mat3_identity(), sn_mat3_scale(k, sin(angle))),
                     sn_mat3_scale(sn_mat3_mul(k, k), 1 - cos(angle)));
}

static void test_rotation_exp_log(void **state) {
  sn_random rng = sn_random_new(11);
  for (int round = 0; round < rounds; round++) {
    sn_vec3 axis = random_axis(&rng);
    double small = pow(10, -16 * sn_random_uniform(&rng));
    double angle = round % 4 == 0 ? small : round % 4 == 1 ? SN_PI - small : SN_PI * sn_random_uniform(&rng);
    sn_vec3 r = sn_vec3_scale(axis, angle);
    sn_mat3 m = sn_rotation_exp(r);
    expect_rotation(m);
    assert_below(difference(m, rodrigues(axis, angle), 1), 4e-15);
    sn_vec3 back = sn_rotation_log(m);
    assert_below(sn_vec3_length(back), SN_PI + 1e-15);
    if (angle < SN_PI - 1e-14) {
      // Near 0 accurate relative to the angle; near pi as well as the matrix tells.
      expect_same(back, r, round % 4 == 0 ? 1e-14 * angle + 1e-300 : 1e-14);
    } else {
      assert_below(fmin(sn_vec3_distance(back, r), sn_vec3_distance(back, sn_vec3_scale(r, -1))), 1e-13);
    }
  }
  assert_true(sn_vec3_length(sn_rotation_log(sn_mat3_identity())) == 0);
}

static void test_rotation_log_at_pi(void **state) {
  sn_random rng = sn_random_new(12);
  for (int round = 0; round < 1000; round++) {
    sn_vec3 axis = random_axis(&rng);
    if (round % 4 == 1) axis = sn_vec3_make(round % 3 == 0, round % 3 == 1, round % 3 == 2);
    if (round % 4 == 2) axis = sn_vec3_normalize(sn_vec3_make(axis.x, 1e-9 * axis.y, 0), axis);
    // 2 a a^T - 1 is 180 degrees exactly.
    sn_mat3 half = sn_mat3_sub(sn_mat3_scale(sn_mat3_outer(axis, axis), 2), sn_mat3_identity());
    sn_vec3 r = sn_rotation_log(half);
    assert_near(sn_vec3_length(r), SN_PI, 1e-14);
    assert_below(sn_vec3_length(sn_vec3_cross(sn_vec3_scale(r, 1 / SN_PI), axis)), 1e-14);
    // The branch is the caller's choice: whichever of the two is nearer to the reference.
    for (int sign = -1; sign <= 1; sign += 2) {
      sn_vec3 reference = sn_vec3_scale(axis, sign * 3.0);
      expect_same(sn_rotation_log_near(half, reference), sn_vec3_scale(axis, sign * SN_PI), 1e-13);
    }
  }
}

// All logarithms up to several times 360 degrees, one after another.
static double nearest_log(sn_vec3 r, sn_vec3 reference) {
  double angle = sn_vec3_length(r), best = INFINITY;
  sn_vec3 axis = sn_vec3_normalize(r, sn_vec3_normalize(reference, sn_vec3_make(1, 0, 0)));
  if (fabs(remainder(angle, 2 * SN_PI)) < 1e-13) axis = sn_vec3_normalize(reference, axis);
  for (int k = -12; k <= 12; k++) {
    best = fmin(best, sn_vec3_distance(sn_vec3_scale(axis, angle + 2 * SN_PI * k), reference));
  }
  return best;
}

static void test_rotation_log_near(void **state) {
  sn_random rng = sn_random_new(13);
  for (int round = 0; round < rounds; round++) {
    sn_vec3 axis = random_axis(&rng), r = sn_vec3_scale(axis, SN_PI * sn_random_uniform(&rng));
    sn_vec3 reference = round % 2 ? sn_vec3_scale(axis, 40 * sn_random_uniform(&rng) - 20)
                                  : sn_vec3_scale(random_vec3(&rng), 8 * sn_random_uniform(&rng));
    sn_mat3 m = sn_rotation_exp(r);
    sn_vec3 found = sn_rotation_log_near(m, reference);
    assert_below(difference(sn_rotation_exp(found), m, 1), 1e-13); // still the same rotation
    assert_near(sn_vec3_distance(found, reference), nearest_log(sn_rotation_log(m), reference), 1e-9);
    sn_vec3 turned = sn_vec3_scale(axis, sn_vec3_length(r) + 2 * SN_PI * (sn_random_below(&rng, 7) - 3));
    expect_same(sn_rotation_unwrap(turned, reference), found, 1e-6);
  }
}

static void test_rotation_unwrap_at_the_identity(void **state) {
  sn_random rng = sn_random_new(14);
  sn_vec3 zero = {0, 0, 0};
  for (int round = 0; round < 500; round++) {
    sn_vec3 axis = random_axis(&rng), reference = sn_vec3_scale(axis, 20 * sn_random_uniform(&rng));
    sn_vec3 expected = sn_vec3_scale(axis, 2 * SN_PI * rint(sn_vec3_length(reference) / (2 * SN_PI)));
    expect_same(sn_rotation_unwrap(zero, reference), expected, 1e-12);
    expect_same(sn_rotation_log_near(sn_mat3_identity(), reference), expected, 1e-12);
    // 360 degrees about any axis is the identity too.
    expect_same(sn_rotation_unwrap(sn_vec3_scale(random_axis(&rng), 2 * SN_PI), reference), expected, 1e-12);
  }
  expect_same(sn_rotation_unwrap(zero, zero), zero, 0);
  expect_same(sn_rotation_unwrap(sn_vec3_make(0, 2 * SN_PI, 0), zero), zero, 1e-14);
}

// A joint that rotates past 180 degrees: following the last logarithm gives a smooth curve.
static void test_rotation_log_follows(void **state) {
  sn_random rng = sn_random_new(15);
  for (int round = 0; round < 100; round++) {
    sn_vec3 axis = random_axis(&rng), last = {0, 0, 0};
    for (int k = 0; k <= 200; k++) {
      double angle = k * 0.1;
      last = sn_rotation_log_near(sn_rotation_exp(sn_vec3_scale(axis, angle)), last);
      expect_same(last, sn_vec3_scale(axis, angle), 1e-9);
    }
  }
}

// ---- quaternions --------------------------------------------------------------------------------------------------------

static void test_quaternions(void **state) {
  sn_random rng = sn_random_new(17);
  for (int round = 0; round < rounds; round++) {
    sn_mat3 a = random_rotation(&rng), b = random_rotation(&rng);
    sn_quat p = sn_quat_from_mat3(a), q = sn_quat_from_mat3(b);
    assert_true(p.w >= 0);
    assert_near(sn_quat_dot(p, p), 1, 1e-15 * 4);
    assert_below(difference(sn_quat_to_mat3(p), a, 1), 1e-14);
    assert_below(difference(sn_quat_to_mat3(sn_quat_scale(p, -3)), a, 1), 1e-14);
    assert_below(difference(sn_quat_to_mat3(sn_quat_mul(p, q)), sn_mat3_mul(a, b), 1), 1e-14);
    assert_below(difference(sn_quat_to_mat3(sn_quat_conjugate(p)), sn_mat3_transpose(a), 1), 1e-14);
    double angle = sn_rotation_angle(a, b), trace = sn_mat3_trace(sn_mat3_mul(sn_mat3_transpose(a), b));
    assert_near(cos(angle), (trace - 1) / 2, 1e-14);
  }
  sn_quat zero = {0, 0, 0, 0};
  assert_true(sn_quat_normalize(zero).w == 1);
}

static void test_slerp(void **state) {
  sn_random rng = sn_random_new(18);
  for (int round = 0; round < rounds; round++) {
    sn_quat a = sn_quat_from_mat3(random_rotation(&rng)), b = sn_quat_from_mat3(random_rotation(&rng));
    if (round % 3 == 1) b = sn_quat_scale(b, -1);
    if (round % 3 == 2) { // close together
      sn_vec3 r = sn_vec3_scale(random_vec3(&rng), pow(10, -12 * sn_random_uniform(&rng)));
      b = sn_quat_mul(a, sn_quat_from_mat3(sn_rotation_exp(r)));
    }
    sn_mat3 from = sn_quat_to_mat3(a), to = sn_quat_to_mat3(b);
    assert_below(difference(sn_quat_to_mat3(sn_quat_slerp(a, b, 0)), from, 1), 1e-14);
    assert_below(difference(sn_quat_to_mat3(sn_quat_slerp(a, b, 1)), to, 1), 1e-14);
    double whole = sn_rotation_angle(from, to);
    for (int k = 1; k < 8; k++) {
      sn_quat q = sn_quat_slerp(a, b, k / 8.0);
      assert_near(sn_quat_dot(q, q), 1, 1e-14);
      sn_mat3 m = sn_quat_to_mat3(q);
      assert_near(sn_rotation_angle(from, m), whole * k / 8, 1e-12); // constant speed, the short way
      assert_near(sn_rotation_angle(m, to), whole * (8 - k) / 8, 1e-12);
    }
  }
}

static double affine_difference(sn_affine a, sn_affine b) {
  return fmax(largest(sn_mat3_sub(sn_affine_linear(a), sn_affine_linear(b))),
              sn_vec3_distance(sn_affine_translation(a), sn_affine_translation(b)));
}

static void test_dual_quaternions(void **state) {
  sn_random rng = sn_random_new(19);
  for (int round = 0; round < rounds; round++) {
    sn_affine a = sn_affine_make(random_rotation(&rng), random_vec3(&rng));
    sn_affine b = sn_affine_make(random_rotation(&rng), random_vec3(&rng));
    sn_dualquat p = sn_dualquat_from_rigid(a), q = sn_dualquat_from_rigid(b);
    assert_near(sn_quat_dot(p.real, p.real), 1, 1e-14);
    assert_near(sn_quat_dot(p.real, p.dual), 0, 1e-14);
    assert_below(affine_difference(sn_dualquat_to_rigid(p), a), 1e-14);
    sn_dualquat scaled = {sn_quat_scale(p.real, -2.5), sn_quat_scale(p.dual, -2.5)};
    assert_below(affine_difference(sn_dualquat_to_rigid(scaled), a), 1e-14);
    // (p0 + e p1)(q0 + e q1) is the product of the motions.
    sn_dualquat product = {sn_quat_mul(p.real, q.real),
                           sn_quat_add(sn_quat_mul(p.real, q.dual), sn_quat_mul(p.dual, q.real))};
    assert_below(affine_difference(sn_dualquat_to_rigid(product), sn_affine_mul(a, b)), 2e-14);
  }
}

// ---- affine maps -----------------------------------------------------------------------------------------------------------

static void test_affine(void **state) {
  sn_random rng = sn_random_new(20);
  for (int round = 0; round < 1000; round++) {
    sn_affine a = sn_affine_make(awkward(&rng, 0), random_vec3(&rng)),
              b = sn_affine_make(awkward(&rng, 0), random_vec3(&rng));
    sn_vec3 v = random_vec3(&rng), centre = random_vec3(&rng);
    expect_same(sn_affine_apply(sn_affine_mul(a, b), v), sn_affine_apply(a, sn_affine_apply(b, v)), 1e-13);
    sn_affine inverse;
    if (fabs(sn_mat3_determinant(sn_affine_linear(a))) > 0.01) {
      assert_true(sn_affine_invert(a, &inverse));
      expect_same(sn_affine_apply(inverse, sn_affine_apply(a, v)), v, 1e-10);
    }
    sn_mat3 r = random_rotation(&rng);
    sn_affine about = sn_affine_about(r, centre);
    expect_same(sn_affine_apply(about, centre), centre, 1e-14);
    assert_below(difference(sn_affine_linear(about), r, 1), 0);
  }
  sn_affine flat = sn_affine_make(sn_mat3_diagonal(1, 1, 0), sn_vec3_make(1, 2, 3)), inverse;
  assert_false(sn_affine_invert(flat, &inverse));
}

static void test_trs(void **state) {
  sn_random rng = sn_random_new(21);
  const double choices[] = {1, -1, 2, -0.5, 0, 1e-6, 300};
  for (int round = 0; round < rounds; round++) {
    sn_vec3 s = {choices[sn_random_below(&rng, 7)], choices[sn_random_below(&rng, 7)],
                 choices[sn_random_below(&rng, 7)]};
    sn_affine a = sn_affine_from_trs(random_vec3(&rng), sn_quat_from_mat3(random_rotation(&rng)), s);
    sn_vec3 t, scale;
    sn_quat r;
    double shear = sn_affine_to_trs(a, &t, &r, &scale);
    assert_below(shear, 1e-9);
    assert_near(sn_quat_dot(r, r), 1, 1e-14);
    expect_same(t, sn_affine_translation(a), 0);
    double size = fmax(1e-300, fmax(fabs(s.x), fmax(fabs(s.y), fabs(s.z))));
    assert_below(affine_difference(sn_affine_from_trs(t, r, scale), a) / size, 1e-9);
  }
}

static void test_shear_is_reported(void **state) {
  sn_random rng = sn_random_new(22);
  for (int round = 0; round < 500; round++) {
    double amount = 0.01 + sn_random_uniform(&rng);
    sn_mat3 shear = sn_mat3_identity();
    shear.m[0][1] = amount;
    sn_affine a = sn_affine_make(sn_mat3_mul(random_rotation(&rng), shear), random_vec3(&rng));
    sn_vec3 t, s;
    sn_quat r;
    double lost = sn_affine_to_trs(a, &t, &r, &s);
    double actual = sn_mat3_norm(sn_mat3_sub(sn_affine_linear(sn_affine_from_trs(t, r, s)), sn_affine_linear(a)));
    assert_near(lost, actual / sn_mat3_norm(sn_affine_linear(a)), 1e-12);
    assert_true(lost > 0.1 * amount);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_svd),
    cmocka_unit_test(test_svd_of_graded_columns),
    cmocka_unit_test(test_polar),
    cmocka_unit_test(test_polar_sign),
    cmocka_unit_test(test_invert),
    cmocka_unit_test(test_norm),
    cmocka_unit_test(test_vectors),
    cmocka_unit_test(test_procrustes_recovers),
    cmocka_unit_test(test_procrustes_is_best),
    cmocka_unit_test(test_procrustes_degenerate),
    cmocka_unit_test(test_kabsch),
    cmocka_unit_test(test_rotation_exp_log),
    cmocka_unit_test(test_rotation_log_at_pi),
    cmocka_unit_test(test_rotation_log_near),
    cmocka_unit_test(test_rotation_unwrap_at_the_identity),
    cmocka_unit_test(test_rotation_log_follows),
    cmocka_unit_test(test_quaternions),
    cmocka_unit_test(test_slerp),
    cmocka_unit_test(test_dual_quaternions),
    cmocka_unit_test(test_affine),
    cmocka_unit_test(test_trs),
    cmocka_unit_test(test_shear_is_reported),
  };
  return cmocka_run_group_tests_name("math", tests, NULL, NULL);
}
