// SPDX-License-Identifier: MIT
// Files that appear whole or not at all, alone and together: what a user finds after a failure, a kill, beside links and
// modes.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "check.h"

static void go_to_scratch(void) { assert_int_equal(chdir(scratch_folder()), 0); }

static int entries(const char *folder) {
  DIR *listing = opendir(folder);
  assert_non_null(listing);
  int count = -2; // . and ..
  while (readdir(listing)) count++;
  closedir(listing);
  return count;
}

static void write_text(sn_context *ctx, const char *path, const char *text) {
  sn_writer writer;
  assert_ok(ctx, sn_writer_open(ctx, path, &writer));
  sn_writef(&writer, "%s", text);
  assert_ok(ctx, sn_writer_commit(ctx, &writer));
}

static void expect_text(sn_context *ctx, const char *path, const char *text) {
  sn_file file;
  assert_ok(ctx, sn_file_open(ctx, path, &file));
  assert_int_equal(file.size, strlen(text));
  assert_memory_equal(file.bytes, text, file.size);
  sn_file_close(&file);
}

static void expect_nothing(const char *path) { assert_int_not_equal(access(path, F_OK), 0); }

static void test_together(void **state) {
  go_to_scratch();
  sn_context ctx = sn_context_default(), other = sn_context_default();
  write_text(&ctx, "a", "old a");
  sn_outputs group, inner;
  sn_outputs_begin(&ctx, &group);
  write_text(&ctx, "a", "new a");
  sn_outputs_begin(&ctx, &inner);
  assert_ok(&ctx, sn_make_folder(&ctx, "sub/folder"));
  write_text(&ctx, "sub/folder/b", "new b");
  assert_ok(&ctx, sn_outputs_end(&ctx, &inner, SN_OK)); // the outer group decides
  assert_int_equal(entries("sub/folder"), 0);
  expect_text(&ctx, "a", "new a"); // within
  expect_text(&ctx, "sub/../sub/folder/b", "new b");
  expect_text(&other, "a", "old a"); // outside
  assert_ok(&ctx, sn_outputs_end(&ctx, &group, SN_OK));
  expect_text(&other, "a", "new a");
  expect_text(&other, "sub/folder/b", "new b");
  assert_int_equal(entries("."), 2);
}

static void test_dropped_together(void **state) {
  go_to_scratch();
  sn_context ctx = sn_context_default();
  write_text(&ctx, "a", "old a");
  sn_outputs group;
  sn_outputs_begin(&ctx, &group);
  write_text(&ctx, "a", "new a");
  assert_ok(&ctx, sn_make_folder(&ctx, "sub/folder"));
  write_text(&ctx, "sub/folder/b", "new b");
  sn_writer never_finished;
  assert_ok(&ctx, sn_writer_open(&ctx, "c", &never_finished));
  sn_writer_abort(&ctx, &never_finished);
  assert_int_equal(sn_outputs_end(&ctx, &group, SN_BAD_INPUT), SN_BAD_INPUT);
  expect_text(&ctx, "a", "old a");
  assert_int_equal(entries("."), 1);
}

static void test_written_twice(void **state) {
  go_to_scratch();
  sn_context ctx = sn_context_default();
  sn_outputs group;
  sn_writer writer;
  assert_int_equal(symlink("a", "link"), 0);
  sn_outputs_begin(&ctx, &group);
  write_text(&ctx, "a", "model");
  assert_fails(&ctx, sn_writer_open(&ctx, "./a", &writer), "./a: would be written twice");
  assert_fails(&ctx, sn_writer_open(&ctx, "link", &writer), "link: would be written twice");
  sn_outputs_end(&ctx, &group, ctx.error.status);
  expect_nothing("a");
}

// The last of three cannot appear: the first was replaced, what was new goes again.
static void test_one_of_many_refused(void **state) {
  go_to_scratch();
  sn_context ctx = sn_context_default();
  sn_outputs group;
  sn_outputs_begin(&ctx, &group);
  write_text(&ctx, "new", "new");
  write_text(&ctx, "folder", "not a folder");
  assert_int_equal(mkdir("folder", 0777), 0);
  assert_fails(&ctx, sn_outputs_end(&ctx, &group, SN_OK), "folder: cannot write: Is a directory");
  expect_nothing("new");
  assert_int_equal(entries("."), 1);
}

static void test_modes_and_links(void **state) {
  go_to_scratch();
  sn_context ctx = sn_context_default();
  struct stat info;
  write_text(&ctx, "secret", "old");
  assert_int_equal(chmod("secret", 0600), 0);
  assert_int_equal(mkdir("far", 0777), 0);
  assert_int_equal(symlink("../secret", "far/link"), 0);
  assert_int_equal(symlink("far/link", "link"), 0);
  assert_int_equal(symlink("far/later", "dangling"), 0);
  assert_int_equal(symlink("loop", "loop"), 0);
  write_text(&ctx, "link", "new");
  expect_text(&ctx, "secret", "new");
  assert_int_equal(lstat("link", &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(stat("secret", &info), 0);
  assert_int_equal(info.st_mode & 07777, 0600);
  write_text(&ctx, "dangling", "later");
  expect_text(&ctx, "far/later", "later");
  assert_int_equal(entries("far"), 2);
  sn_writer writer;
  assert_fails(&ctx, sn_writer_open(&ctx, "", &writer), "a file needs a name");
}

static void test_long_names(void **state) {
  go_to_scratch();
  sn_context ctx = sn_context_default();
  char name[256];
  memset(name, 'n', 255), name[255] = '\0';
  write_text(&ctx, name, "long");
  write_text(&ctx, name, "longer");
  expect_text(&ctx, name, "longer");
  assert_int_equal(entries("."), 1);
}

static void test_superseded(void **state) {
  go_to_scratch();
  sn_context ctx = sn_context_default();
  static const char *const others[] = {"walk.bin", "walk.0123456.bin", "walk.0123456g.bin", "run.01234567.bin",
                                       "walk.01234567.glb"};
  for (size_t k = 0; k < 5; k++) write_text(&ctx, others[k], "stays");
  write_text(&ctx, "walk.01234567.bin", "old");
  sn_writer writer;
  assert_ok(&ctx, sn_writer_open(&ctx, "walk.89abcdef.bin", &writer));
  sn_writer_supersedes(&writer);
  assert_ok(&ctx, sn_writer_commit(&ctx, &writer));
  expect_nothing("walk.01234567.bin");
  for (size_t k = 0; k < 5; k++) expect_text(&ctx, others[k], "stays");
  assert_int_equal(entries("."), 6);
}

// More files than descriptors.
static void test_many_together(void **state) {
  go_to_scratch();
  sn_context ctx = sn_context_default();
  struct rlimit before, limit;
  getrlimit(RLIMIT_NOFILE, &before);
  limit = before, limit.rlim_cur = 40;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
  for (int good = 0; good < 2; good++) {
    sn_outputs group;
    sn_outputs_begin(&ctx, &group);
    char name[16];
    for (int k = 0; k < 100; k++) snprintf(name, sizeof name, "%d", k), write_text(&ctx, name, name);
    expect_text(&ctx, "3", "3");
    assert_int_equal(sn_outputs_end(&ctx, &group, good ? SN_OK : SN_IO), good ? SN_OK : SN_IO);
    assert_int_equal(entries("."), good ? 100 : 0);
  }
  expect_text(&ctx, "99", "99");
  setrlimit(RLIMIT_NOFILE, &before);
}

static void test_killed(void **state) {
  go_to_scratch();
  sn_context ctx = sn_context_default();
  write_text(&ctx, "a", "old");
  pid_t child = fork();
  if (child == 0) {
    sn_outputs group;
    sn_outputs_begin(&ctx, &group);
    write_text(&ctx, "a", "new");
    write_text(&ctx, "b", "new");
    raise(SIGKILL);
  }
  waitpid(child, NULL, 0);
  expect_text(&ctx, "a", "old");
  assert_int_equal(entries("."), 1);
}

static void test_inputs_that_are_no_files(void **state) {
  go_to_scratch();
  sn_context ctx = sn_context_default();
  sn_file file;
  assert_int_equal(mkfifo("pipe", 0666), 0);
  alarm(20); // a failure hangs
  assert_fails(&ctx, sn_file_open(&ctx, "pipe", &file), "pipe: is not a regular file");
  alarm(0);
}

static void test_input_cut_afterwards(void **state) {
  go_to_scratch();
  sn_context ctx = sn_context_default();
  sn_file file;
  char text[10001];
  memset(text, 'x', 10000), text[10000] = '\0';
  write_text(&ctx, "a", text);
  assert_ok(&ctx, sn_file_open(&ctx, "a", &file));
  assert_int_equal(truncate("a", 0), 0);
  assert_memory_equal(file.bytes, text, 10000);
  sn_file_close(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_together),
    cmocka_unit_test(test_dropped_together),
    cmocka_unit_test(test_written_twice),
    cmocka_unit_test(test_one_of_many_refused),
    cmocka_unit_test(test_modes_and_links),
    cmocka_unit_test(test_long_names),
    cmocka_unit_test(test_superseded),
    cmocka_unit_test(test_many_together),
    cmocka_unit_test(test_killed),
    cmocka_unit_test(test_inputs_that_are_no_files),
    cmocka_unit_test(test_input_cut_afterwards),
  };
  return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
