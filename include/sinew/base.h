// SPDX-License-Identifier: MIT
// Status, errors, memory, threads and progress: what every offline function of Sinew takes and returns.
//
// Conventions of the offline library:
// - A function that can fail returns sn_status, and fills ctx->error with a message that names the culprit.
// - Structs that own memory carry an sn_arena named `memory`; their sn_..._free function is safe on a zeroed struct.
// - On failure, output structs are left zeroed, so freeing them is harmless and not freeing them leaks nothing.
// - Nothing here prints, exits or keeps global state.
#ifndef SINEW_BASE_H
#define SINEW_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) // what shared libraries export

#define SN_VERSION "0.2.0"
#define SN_VERSION_NUMBER 200 // 10000 major + 100 minor + patch

// Version of the linked library, which may differ from this header's.
const char *sn_version(void);
int sn_version_number(void);

typedef enum sn_status {
  SN_OK = 0,
  SN_NO_MEMORY,     // an allocation failed
  SN_IO,            // the system refused to open, read or write
  SN_BAD_FILE,      // invalid contents of a file; the message names the file and the position in it
  SN_BAD_INPUT,     // arguments or data that do not fit together
  SN_UNSUPPORTED,   // well-formed, but Sinew cannot do it; the message says what to do instead
  SN_NOT_CONVERGED, // a solver did not converge
  SN_STOPPED        // ctx->progress or ctx->stop asked to stop
} sn_status;

const char *sn_status_name(sn_status status); // "SN_OK", ...; "unknown" for a value without a name

typedef struct sn_error {
  sn_status status;
  char message[1024];
} sn_error;

// A replaceable allocator. size 0 frees, ptr NULL allocates. Must be callable from several threads at once.
typedef struct sn_allocator {
  void *(*reallocate)(void *user, void *ptr, size_t size);
  void *user;
} sn_allocator;

// Called repeatedly from the calling thread with 0 <= done <= 1. Return false to stop the operation with SN_STOPPED.
typedef bool (*sn_progress_fn)(void *user, const char *task, double done);

// Processes that train together (MPI): see docs/guide/large.md. All of them make the same calls on the same input.
struct sn_context;
typedef struct sn_team {
  int rank, size;
  // Broadcasts the owner's bytes. A failed process need not call this: the others are terminated.
  sn_status (*share)(struct sn_context *ctx, int owner, void *bytes, size_t size);
  // Barrier: whether `status` is SN_OK in all processes. If not, the message of one that failed goes to ctx->error.
  bool (*agree)(struct sn_context *ctx, sn_status status);
  size_t messages, bytes; // sent by `share` so far
} sn_team;

// Settings and error of an operation. One context per calling thread; initialise it with sn_context_default().
typedef struct sn_context {
  sn_allocator allocator;
  int threads;             // worker threads of parallel loops, 0 = one per core; results do not depend on it
  sn_progress_fn progress; // may be NULL
  void *progress_user;
  const int
    *stop; // may be NULL. Any thread may set it to non-zero at any time: the operation then fails with SN_STOPPED
  size_t large;               // frame arrays of at least so many bytes stay in mapped files; 0: SN_LARGE
  sn_team *team;              // NULL: a single process
  struct sn_outputs *outputs; // open group of files (sn_outputs_begin); NULL: each file appears when it is committed
  sn_error error;             // the last failure
} sn_context;

sn_context sn_context_default(void);

// Records a failure (printf-style message) and returns `status`.
sn_status sn_fail(sn_context *ctx, sn_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Puts printf-style text before the recorded message ("frames.pc2: " ...), and returns the recorded status.
sn_status sn_fail_prefix(sn_context *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Reports progress; false when the caller asked to stop.
bool sn_progress(sn_context *ctx, const char *task, double done);
// The same for reading a file, with the task "reading walk.pc2": the file name of `path`; NULL: "frames".
bool sn_progress_reading(sn_context *ctx, const char *path, double done);

// Whether ctx->stop is set. Allocations then fail with SN_STOPPED and parallel loops skip their remaining chunks, so that the
// operation fails at its next allocation and returns no partial results.
bool sn_stopped(const sn_context *ctx);

// The entry of `words` (ends with NULL) most similar to `word`, or NULL; and an error that suggests it, or lists all words.
const char *sn_suggest(const char *word, const char *const *words);
sn_status sn_fail_unknown(sn_context *ctx, const char *what, const char *word, const char *const *words);

// Monotonic clock, in seconds.
double sn_seconds(void);

// ---- memory: arenas --------------------------------------------------------------------------------------------
// An arena is a set of blocks freed together. It holds a copy of the allocator, so it may outlive the context.

typedef struct sn_arena {
  sn_allocator allocator;
  struct sn_block *blocks;
} sn_arena;

sn_arena sn_arena_new(const sn_context *ctx);
void sn_arena_free(sn_arena *arena);
// Moves all blocks of `other` to `arena`; both must have the same allocator.
void sn_arena_join(sn_arena *arena, sn_arena *other);

// `count` zeroed items of `size` bytes, 64-byte aligned. NULL, with ctx->error set, when memory runs out or the
// product overflows; count 0 gives a valid pointer.
void *sn_arena_alloc(sn_context *ctx, sn_arena *arena, size_t count, size_t size);

// Copies `text` (NULL gives NULL).
char *sn_arena_text(sn_context *ctx, sn_arena *arena, const char *text);

#define SN_NEW(ctx, arena, type, count) ((type *)sn_arena_alloc((ctx), (arena), (size_t)(count), sizeof(type)))

// Defines TYPE_free for a struct that owns nothing but its arena `memory`: SN_DEFINE_FREE(sn_mesh);
#define SN_DEFINE_FREE(type)                                                                                         \
  void type##_free(type *x) {                                                                                        \
    sn_arena_free(&x->memory);                                                                                       \
    *x = (type){0};                                                                                                  \
  }                                                                                                                  \
  struct sn_arena // the caller's semicolon

// ---- parallel loops --------------------------------------------------------------------------------------------

// Worker threads that a loop of this context may use (at least 1).
int sn_threads(const sn_context *ctx);

// Calls body(user, begin, end, worker) over chunks of `grain` consecutive indices that cover [0, count).
// The chunks depend on count and grain only, never on the number of threads. 0 <= worker < sn_threads(ctx).
typedef void (*sn_range_fn)(void *user, int64_t begin, int64_t end, int worker);
void sn_parallel_for(const sn_context *ctx, int64_t count, int64_t grain, sn_range_fn body, void *user);

// ---- random numbers ----------------------------------------------------------------------------------------------

typedef struct sn_random {
  uint64_t state;
} sn_random;

sn_random sn_random_new(uint64_t seed);
uint64_t sn_random_next(sn_random *rng);
double sn_random_uniform(sn_random *rng);   // [0, 1)
double sn_random_normal(sn_random *rng);    // mean 0, deviation 1
int sn_random_below(sn_random *rng, int n); // 0 .. n-1

// ---- files ---------------------------------------------------------------------------------------------------------

// The contents of a file. It is read, not mapped, so that later truncation is harmless; except large ones (sn_file_map) and
// scratch files, which are mapped. Free with sn_file_close().
typedef struct sn_file {
  const uint8_t *bytes;
  size_t size;
  struct sn_map *map; // NULL: in memory
  sn_arena memory;
} sn_file;

// Finds files of an open sn_outputs group, too.
sn_status sn_file_open(sn_context *ctx, const char *path, sn_file *out);
void sn_file_close(sn_file *file);

#define SN_LARGE ((size_t)256 << 20)
// Whether `bytes` bytes of frames stay in a file: at least ctx->large (0: SN_LARGE). Results do not depend on it.
bool sn_is_large(const sn_context *ctx, size_t bytes);
// Maps a large file, reads a small one. Truncating a file while it is mapped raises SIGBUS.
sn_status sn_file_map(sn_context *ctx, const char *path, sn_file *out);
// `size` zero bytes, writable through sn_file_scratch_bytes, in an unnamed file in $TMPDIR or /var/tmp. Disk space is allocated
// at once; `what` is for the error message if the disk is full.
sn_status sn_file_scratch(sn_context *ctx, size_t size, const char *what, sn_file *out);
void *sn_file_scratch_bytes(const sn_file *file);
// Reports that `bytes` more bytes were accessed: from time to time, the mapped pages are released. Thread-safe.
void sn_file_used(const sn_file *file, size_t bytes);

// A group of files that appear together. Between begin and end, files written in this context are invisible; end renames all
// of them (status SN_OK) or deletes them. Within another group both do nothing: the outer group decides.
typedef struct sn_outputs {
  struct sn_output *first, *last;
  struct sn_folder *folders; // created for the files
  sn_arena memory;
} sn_outputs;

void sn_outputs_begin(sn_context *ctx, sn_outputs *own);
sn_status sn_outputs_end(sn_context *ctx, sn_outputs *own, sn_status status);
// For signal handlers that end the process: deletes temporary files and the folders created for them. Calls unlink and rmdir
// only.
void sn_outputs_clean(const sn_outputs *outputs);

// Atomic writing: an unnamed file in the folder of `path` (or one with a temporary name), fsync, then link or rename. Links are
// followed, the mode of a replaced file is kept. After sn_writer_open has succeeded, call sn_writer_commit or sn_writer_abort
// exactly once. Commit reports the first write error.
typedef struct sn_writer {
  void *stream; // FILE *; for printf-style output
  int failure;  // errno of the first write that failed
  struct sn_output *output;
  bool alone; // not part of a caller's group: uses `own`
  sn_outputs own;
} sn_writer;

sn_status sn_writer_open(sn_context *ctx, const char *path, sn_writer *out);
void sn_write(sn_writer *writer, const void *bytes, size_t size);
void sn_write_escaped(sn_writer *writer, const char *text); // for HTML and SVG
void sn_writef(sn_writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
sn_status sn_writer_commit(sn_context *ctx, sn_writer *writer);
void sn_writer_abort(sn_context *ctx, sn_writer *writer);
// For names that end in eight hexadecimal digits and an extension: committing deletes files that differ in these digits only.
void sn_writer_supersedes(sn_writer *writer);

// `mkdir -p`.
sn_status sn_make_folder(sn_context *ctx, const char *path);

// Disjoint sets (union-find): the representative (smallest member) of k's set, and the union of two sets.
static inline int sn_set_first(int *set, int k) {
  while (set[k] != k) k = set[k] = set[set[k]];
  return k;
}
static inline void sn_set_join(int *set, int a, int b) {
  a = sn_set_first(set, a), b = sn_set_first(set, b);
  set[a > b ? a : b] = a > b ? b : a;
}

void sn_sort_doubles(double *values, size_t count); // ascending

// FNV-1a of the bytes, continued from `hash`; begin with SN_HASH_START.
#define SN_HASH_START 0xcbf29ce484222325u
static inline uint64_t sn_hash(uint64_t hash, const void *bytes, size_t size) {
  for (size_t k = 0; k < size; k++) hash = (hash ^ ((const uint8_t *)bytes)[k]) * 0x100000001b3u;
  return hash;
}

// Numbers `count` rows of `size` bytes: equal rows share a number, in order of first appearance; `first` is the first row of each
// number. Returns how many numbers there are, or -1: no memory.
int sn_number_rows(sn_context *ctx, const void *rows, size_t size, int count, int *numbers, int *first);

// Histogram of squared distances: the bin of one, and the quantile `part` (0 to 1) of the distances, to a relative 1 %.
enum { SN_PERCENTILE_BINS = 2780 };
int sn_percentile_bin(double square);
double sn_percentile(const uint64_t *bins, double part);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
