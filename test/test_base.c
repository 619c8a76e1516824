// SPDX-License-Identifier: MIT
// Errors, arenas, parallel loops, random numbers, files.
#include <stdio.h>

#include "check.h"
#include "sinew/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

// ---- errors -------------------------------------------------------------------------------------------------------

static void test_messages(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  assert_int_equal(sn_fail(&ctx, SN_BAD_FILE, "vertex %d: %s", 7, "gone"), SN_BAD_FILE);
  assert_int_equal(ctx.error.status, SN_BAD_FILE);
  assert_string_equal(ctx.error.message, "vertex 7: gone");
  assert_int_equal(sn_fail_prefix(&ctx, "%s: ", "a.obj"), SN_BAD_FILE);
  assert_string_equal(ctx.error.message, "a.obj: vertex 7: gone");
}

static void test_long_messages(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  char text[3000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  sn_fail(&ctx, SN_IO, "%s", text);
  assert_int_equal(strlen(ctx.error.message), sizeof ctx.error.message - 1);
  sn_fail_prefix(&ctx, "front: ");
  assert_int_equal(strncmp(ctx.error.message, "front: xxx", 10), 0);
  assert_int_equal(strlen(ctx.error.message), sizeof ctx.error.message - 1);
  sn_fail_prefix(&ctx, "%s", text);
  assert_int_equal(strlen(ctx.error.message), sizeof ctx.error.message - 1);
}

static bool stop_at_half(void *user, const char *task, double done) {
  *(int *)user += strcmp(task, "work") == 0;
  return done < 0.5;
}

static void test_progress(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  assert_true(sn_progress(&ctx, "work", 1));
  int calls = 0;
  ctx.progress = stop_at_half, ctx.progress_user = &calls;
  assert_true(sn_progress(&ctx, "work", 0.2));
  assert_false(sn_progress(&ctx, "work", 0.7));
  assert_int_equal(calls, 2);
}

// ---- memory -------------------------------------------------------------------------------------------------------

static void test_arena_alignment(void **state) {
  (void)state;
  failing_allocator allocator = {.countdown = -1};
  sn_context ctx = failing_context(&allocator);
  sn_arena arena = sn_arena_new(&ctx);
  for (size_t size = 0; size < 300; size++) {
    unsigned char *bytes = sn_arena_alloc(&ctx, &arena, size, 1);
    assert_non_null(bytes);
    assert_int_equal((uintptr_t)bytes % 64, 0);
    for (size_t k = 0; k < size; k++) assert_int_equal(bytes[k], 0);
    if (size > 0) memset(bytes, 0xFF, size); // a wrong block would trip the sanitizer or the next block
  }
  assert_int_equal(allocator.live, 300);
  sn_arena_free(&arena);
  assert_int_equal(allocator.live, 0);
  sn_arena_free(&arena);
}

static void test_arena_overflow(void **state) {
  (void)state;
  failing_allocator allocator = {.countdown = -1};
  sn_context ctx = failing_context(&allocator);
  sn_arena arena = sn_arena_new(&ctx);
  const size_t counts[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8 + 1, SIZE_MAX / 12};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    ctx.error = (sn_error){0};
    assert_null(sn_arena_alloc(&ctx, &arena, counts[k], 16));
    assert_int_equal(ctx.error.status, SN_NO_MEMORY);
    assert_non_null(strstr(ctx.error.message, "out of memory"));
  }
  assert_int_equal(allocator.live, 0);
  sn_arena_free(&arena);
}

static void test_arena_failure(void **state) {
  (void)state;
  for (int n = 1; n <= 5; n++) {
    failing_allocator allocator = {.countdown = n};
    sn_context ctx = failing_context(&allocator);
    sn_arena arena = sn_arena_new(&ctx);
    int got = 0;
    while (got < 10 && SN_NEW(&ctx, &arena, double, 10)) got++;
    assert_int_equal(got, n - 1);
    assert_int_equal(ctx.error.status, SN_NO_MEMORY);
    sn_arena_free(&arena);
    assert_int_equal(allocator.live, 0);
  }
}

static void test_arena_text_and_zeroed_arena(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  sn_arena arena = {0}; // takes the context's allocator on first use
  char *copy = sn_arena_text(&ctx, &arena, "naïve");
  assert_string_equal(copy, "naïve");
  assert_null(sn_arena_text(&ctx, &arena, NULL));
  sn_arena_free(&arena);
}

// ---- parallel loops -----------------------------------------------------------------------------------------------

typedef struct coverage {
  int64_t count, grain;
  int threads;
  int *hits, bad;
} coverage;

static void cover(void *user, int64_t begin, int64_t end, int worker) {
  coverage *c = user;
  bool good = begin % c->grain == 0 && begin < end && end - begin <= c->grain && end <= c->count && worker >= 0 &&
              worker < c->threads && (end - begin == c->grain || end == c->count);
  if (!good) __atomic_add_fetch(&c->bad, 1, __ATOMIC_RELAXED);
  for (int64_t k = begin; k < end; k++) __atomic_add_fetch(&c->hits[k], 1, __ATOMIC_RELAXED);
}

static void test_parallel_for(void **state) {
  (void)state;
  const int threads[] = {1, 2, 3, 7};
  const int64_t counts[] = {0, 1, 2, 63, 64, 65, 1000}, grains[] = {1, 7, 64, 5000};
  for (int t = 0; t < 4; t++)
    for (int n = 0; n < 7; n++)
      for (int g = 0; g < 4; g++) {
        int hits[1000] = {0};
        sn_context ctx = sn_context_default();
        ctx.threads = threads[t];
        coverage c = {counts[n], grains[g], sn_threads(&ctx), hits, 0};
        assert_int_equal(c.threads, threads[t]);
        sn_parallel_for(&ctx, counts[n], grains[g], cover, &c);
        assert_int_equal(c.bad, 0);
        for (int k = 0; k < 1000; k++) assert_int_equal(hits[k], k < counts[n] ? 1 : 0);
      }
  sn_context ctx = sn_context_default();
  assert_true(sn_threads(&ctx) >= 1);
}

static double sum_range(void *user, int64_t begin, int64_t end) {
  const double *numbers = user;
  double sum = 0;
  for (int64_t k = begin; k < end; k++) sum += numbers[k];
  return sum;
}

static void test_parallel_sum(void **state) {
  (void)state;
  enum { count = 100003 };
  double *numbers = malloc(count * sizeof *numbers), exact = 0;
  assert_non_null(numbers);
  sn_random rng = sn_random_new(3);
  // Numbers of very different sizes, so that another order of additions would show.
  long double careful = 0;
  for (int k = 0; k < count; k++) {
    numbers[k] = sn_random_normal(&rng) * exp(10 * sn_random_normal(&rng));
    careful += numbers[k], exact += fabs(numbers[k]);
  }
  const int64_t grains[] = {1, 17, 1000, 1000000};
  for (int g = 0; g < 4; g++) {
    sn_context ctx = sn_context_default();
    ctx.threads = 1;
    double one = sn_parallel_sum(&ctx, count, grains[g], sum_range, numbers);
    assert_near(one, (double)careful, 1e-12 * exact);
    for (int threads = 2; threads <= 7; threads++) {
      ctx.threads = threads;
      double many = sn_parallel_sum(&ctx, count, grains[g], sum_range, numbers);
      assert_memory_equal(&one, &many, sizeof one);
    }
    assert_true(sn_parallel_sum(&ctx, 0, grains[g], sum_range, numbers) == 0);
  }
  free(numbers);
}

// ---- random numbers -------------------------------------------------------------------------------------------------

static void test_random(void **state) {
  (void)state;
  sn_random a = sn_random_new(42), b = sn_random_new(42), c = sn_random_new(43);
  int differ = 0;
  for (int k = 0; k < 1000; k++) {
    uint64_t x = sn_random_next(&a);
    assert_true(x == sn_random_next(&b));
    differ += x != sn_random_next(&c);
  }
  assert_int_equal(differ, 1000);
  // The published first output of SplitMix64 for the seed 1234567.
  sn_random known = sn_random_new(1234567);
  assert_true(sn_random_next(&known) == UINT64_C(6457827717110365317));
}

static void test_random_distributions(void **state) {
  (void)state;
  enum { count = 200000, bins = 20 };
  sn_random rng = sn_random_new(7);
  int uniform[bins] = {0}, below[bins] = {0};
  double sum = 0, squares = 0, fourth = 0;
  for (int k = 0; k < count; k++) {
    double u = sn_random_uniform(&rng), n = sn_random_normal(&rng);
    int i = sn_random_below(&rng, bins);
    assert_true(u >= 0 && u < 1 && i >= 0 && i < bins && isfinite(n));
    uniform[(int)(u * bins)]++, below[i]++;
    sum += n, squares += n * n, fourth += n * n * n * n;
  }
  double expected = (double)count / bins, chi_uniform = 0, chi_below = 0;
  for (int k = 0; k < bins; k++) {
    chi_uniform += (uniform[k] - expected) * (uniform[k] - expected) / expected;
    chi_below += (below[k] - expected) * (below[k] - expected) / expected;
  }
  assert_below(chi_uniform, 43.8); // 99.9 % of chi-square with 19 degrees of freedom
  assert_below(chi_below, 43.8);
  assert_near(sum / count, 0, 0.01);
  assert_near(squares / count, 1, 0.015);
  assert_near(fourth / count, 3, 0.12);
  for (int k = 0; k < 100; k++) assert_int_equal(sn_random_below(&rng, 1), 0);
}

// ---- files ------------------------------------------------------------------------------------------------------------

static const char *in_folder(const char *folder, const char *name) {
  static char path[8192];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int entries(const char *folder) {
  DIR *listing = opendir(folder);
  assert_non_null(listing);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(listing));)
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(listing);
  return count;
}

static void write_text(sn_context *ctx, const char *path, const char *text) {
  sn_writer writer;
  assert_ok(ctx, sn_writer_open(ctx, path, &writer));
  sn_write(&writer, text, strlen(text));
  assert_ok(ctx, sn_writer_commit(ctx, &writer));
}

static void expect_contents(sn_context *ctx, const char *path, const char *text) {
  sn_file file;
  assert_ok(ctx, sn_file_open(ctx, path, &file));
  assert_int_equal(file.size, strlen(text));
  assert_memory_equal(file.bytes, text, file.size);
  sn_file_close(&file);
}

static void test_reading(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  const char *folder = scratch_folder();
  sn_file file;
  assert_fails(&ctx, sn_file_open(&ctx, in_folder(folder, "none"), &file), "none: cannot open: No such file");
  assert_int_equal(ctx.error.status, SN_IO);
  assert_null(file.bytes);
  assert_fails(&ctx, sn_file_open(&ctx, folder, &file), "is a folder, not a file");
  assert_fails(&ctx, sn_file_open(&ctx, "/dev/null", &file), "not a regular file");
  write_text(&ctx, in_folder(folder, "empty"), "");
  assert_ok(&ctx, sn_file_open(&ctx, in_folder(folder, "empty"), &file));
  assert_int_equal(file.size, 0);
  assert_non_null(file.bytes);
  sn_file_close(&file);
  sn_file_close(&file);
  write_text(&ctx, in_folder(folder, "some"), "hello");
  expect_contents(&ctx, in_folder(folder, "some"), "hello");
}

static void test_writing(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  const char *folder = scratch_folder(), *path = in_folder(folder, "out");
  write_text(&ctx, path, "first");
  sn_writer writer;
  assert_ok(&ctx, sn_writer_open(&ctx, path, &writer));
  sn_writef(&writer, "%d-%s", 5, "second");
  fflush(writer.stream);
  expect_contents(&ctx, path, "first"); // until it is committed
  assert_ok(&ctx, sn_writer_commit(&ctx, &writer));
  expect_contents(&ctx, path, "5-second");
  assert_int_equal(entries(folder), 1);

  assert_ok(&ctx, sn_writer_open(&ctx, path, &writer));
  sn_writef(&writer, "third");
  sn_writer_abort(&ctx, &writer);
  expect_contents(&ctx, path, "5-second");
  assert_int_equal(entries(folder), 1);

  struct stat info;
  mode_t mask = umask(022);
  umask(mask);
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
}

static void test_two_writers_of_one_file(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  const char *folder = scratch_folder(), *path = in_folder(folder, "out");
  sn_writer one, two;
  assert_ok(&ctx, sn_writer_open(&ctx, path, &one));
  assert_ok(&ctx, sn_writer_open(&ctx, path, &two));
  sn_writef(&one, "one");
  sn_writef(&two, "two");
  assert_ok(&ctx, sn_writer_commit(&ctx, &two));
  expect_contents(&ctx, path, "two");
  assert_ok(&ctx, sn_writer_commit(&ctx, &one));
  expect_contents(&ctx, path, "one");
  assert_int_equal(entries(folder), 1);
}

static void test_writing_where_it_cannot_be(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  const char *folder = scratch_folder();
  sn_writer writer;
  assert_fails(&ctx, sn_writer_open(&ctx, in_folder(folder, "no/such"), &writer), "such: cannot write: No such file");
  assert_int_equal(ctx.error.status, SN_IO);
  assert_null(writer.stream);
  assert_fails(&ctx, sn_writer_open(&ctx, folder, &writer), "is a folder; give the name of a file");
  assert_fails(&ctx, sn_writer_open(&ctx, "/dev/null", &writer), "is a device or a pipe");
  assert_int_equal(entries(folder), 0);
}

// A disk that is full, as far as a limit on the size of files can play it: the write fails half way.
static void full_disk(size_t early, size_t late) {
  sn_context ctx = sn_context_default();
  const char *folder = scratch_folder(), *path = in_folder(folder, "out");
  write_text(&ctx, path, "previous");
  char *bytes = calloc(early + late, 1);
  assert_non_null(bytes);
  struct rlimit before, limit;
  getrlimit(RLIMIT_FSIZE, &before);
  limit = before, limit.rlim_cur = 10000;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  sn_writer writer;
  assert_ok(&ctx, sn_writer_open(&ctx, path, &writer));
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  sn_write(&writer, bytes, early);
  errno = 0;
  sn_write(&writer, bytes, late);
  sn_status status = sn_writer_commit(&ctx, &writer);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  free(bytes);
  assert_int_equal(status, SN_IO);
  assert_non_null(strstr(ctx.error.message, "out: cannot write: File too large"));
  expect_contents(&ctx, path, "previous");
  assert_int_equal(entries(folder), 1);
}

static void test_failing_writes(void **state) {
  (void)state;
  full_disk(100000, 10); // told by the first write
  full_disk(9000, 2000); // told when the rest is flushed
  full_disk(100000, 0);
}

static void test_make_folder(void **state) {
  (void)state;
  sn_context ctx = sn_context_default();
  const char *folder = scratch_folder();
  struct stat info;
  assert_ok(&ctx, sn_make_folder(&ctx, in_folder(folder, "a/b//c/")));
  assert_int_equal(stat(in_folder(folder, "a/b/c"), &info), 0);
  assert_true(S_ISDIR(info.st_mode));
  assert_ok(&ctx, sn_make_folder(&ctx, in_folder(folder, "a/b/c")));
  assert_ok(&ctx, sn_make_folder(&ctx, in_folder(folder, "d")));
  assert_ok(&ctx, sn_make_folder(&ctx, "/"));
  write_text(&ctx, in_folder(folder, "file"), "x");
  assert_fails(&ctx, sn_make_folder(&ctx, in_folder(folder, "file")),
               "file: cannot make this folder: a file of that");
  assert_fails(&ctx, sn_make_folder(&ctx, in_folder(folder, "file/sub")), "cannot make this folder");
  assert_fails(&ctx, sn_make_folder(&ctx, ""), "cannot make this folder");
  char relative[4200];
  snprintf(relative, sizeof relative, "%s", folder);
  char *before = getcwd(NULL, 0);
  assert_int_equal(chdir(relative), 0);
  assert_ok(&ctx, sn_make_folder(&ctx, "x/y"));
  assert_int_equal(stat("x/y", &info), 0);
  assert_int_equal(chdir(before), 0);
  free(before);
}

static void test_files_without_memory(void **state) {
  (void)state;
  const char *folder = scratch_folder();
  for (int n = 1; n <= 2; n++) {
    failing_allocator allocator = {.countdown = n};
    sn_context ctx = failing_context(&allocator);
    sn_writer writer;
    assert_int_equal(sn_writer_open(&ctx, in_folder(folder, "out"), &writer), SN_NO_MEMORY);
    assert_int_equal(allocator.live, 0);
  }
  failing_allocator allocator = {.countdown = 1};
  sn_context ctx = failing_context(&allocator);
  assert_int_equal(sn_make_folder(&ctx, in_folder(folder, "sub")), SN_NO_MEMORY);
  assert_int_equal(allocator.live, 0);
  assert_int_equal(entries(folder), 0);
}

static void versions_and_statuses_have_names(void **state) {
  (void)state;
  int major, minor, patch;
  assert_int_equal(sscanf(sn_version(), "%d.%d.%d", &major, &minor, &patch), 3);
  assert_int_equal(sn_version_number(), 10000 * major + 100 * minor + patch);
  assert_int_equal(sn_rt_version(), sn_version_number());
  assert_string_equal(sn_status_name(SN_OK), "SN_OK");
  assert_string_equal(sn_status_name(SN_STOPPED), "SN_STOPPED");
  assert_string_equal(sn_status_name((sn_status)99), "unknown");
  assert_string_equal(sn_rt_status_name(SN_RT_BAD_ARGUMENT), "SN_RT_BAD_ARGUMENT");
  assert_string_equal(sn_rt_status_name((sn_rt_status)99), "unknown");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(versions_and_statuses_have_names),

    cmocka_unit_test(test_messages),
    cmocka_unit_test(test_long_messages),
    cmocka_unit_test(test_progress),
    cmocka_unit_test(test_arena_alignment),
    cmocka_unit_test(test_arena_overflow),
    cmocka_unit_test(test_arena_failure),
    cmocka_unit_test(test_arena_text_and_zeroed_arena),
    cmocka_unit_test(test_parallel_for),
    cmocka_unit_test(test_parallel_sum),
    cmocka_unit_test(test_random),
    cmocka_unit_test(test_random_distributions),
    cmocka_unit_test(test_reading),
    cmocka_unit_test(test_writing),
    cmocka_unit_test(test_two_writers_of_one_file),
    cmocka_unit_test(test_writing_where_it_cannot_be),
    cmocka_unit_test(test_failing_writes),
    cmocka_unit_test(test_make_folder),
    cmocka_unit_test(test_files_without_memory),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
