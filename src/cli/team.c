// SPDX-License-Identifier: MIT
// The processes of an MPI run.
#include "cli/cli.h"

#ifndef SINEW_MPI

void sn_cli_team_start(int *argc, char ***argv) { (void)argc, (void)argv; }
sn_team *sn_cli_team(void) { return NULL; }
int sn_cli_team_here(void) { return 1; }
void sn_cli_team_say(void) {}
int sn_cli_team_end(int status) { return status; }
sn_status sn_cli_team_check(cli *c, const sn_examples *examples) {
  (void)c, (void)examples;
  return SN_OK;
}

#else

#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/team.h"

static sn_team team;
static MPI_Comm end_comm;  // for exit statuses, so that none waits for a process that failed
static MPI_Comm here_comm; // this machine's
static int here = 1, said = -1, real_stderr = -1;

sn_team *sn_cli_team(void) { return team.size > 1 ? &team : NULL; }

int sn_cli_team_here(void) { return here; }

static sn_status share(sn_context *ctx, int owner, void *bytes, size_t size) {
  enum { most = 1 << 30 };
  for (size_t at = 0; at < size; at += most) {
    int count = (int)(size - at < most ? size - at : most);
    if (MPI_Bcast((char *)bytes + at, count, MPI_BYTE, owner, MPI_COMM_WORLD) != MPI_SUCCESS)
      return sn_fail(ctx, SN_IO, "rank %d: cannot receive the data of rank %d", team.rank, owner);
  }
  return SN_OK;
}

// The messages of this process, captured because only rank 0 prints.
static void read_said(char *out, size_t room) {
  ssize_t got = said >= 0 ? pread(said, out, room - 1, 0) : 0;
  out[got > 0 ? got : 0] = '\0';
}

static const char *without_name(const char *text) { return strncmp(text, "sinew: ", 7) == 0 ? text + 7 : text; }

void sn_cli_team_say(void) {
  char text[4096];
  read_said(text, sizeof text);
  if (*text)
    dprintf(real_stderr >= 0 ? real_stderr : STDERR_FILENO, "sinew: rank %d: %s", team.rank, without_name(text));
}

// The lowest rank that failed; team.size: none. A failed process waits briefly for the others to get here; if they do not, they are
// blocked in another call, and are aborted.
static int first_failed(bool failed) {
  enum { moments = 2000, microseconds = 1000 };
  int mine = failed ? team.rank : team.size, lowest = team.size, done = 0;
  MPI_Request request;
  bool lost = MPI_Iallreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, end_comm, &request) != MPI_SUCCESS;
  for (int k = 0; failed && !lost && !done && k < moments; k++) {
    lost = MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    if (!done) usleep(microseconds);
  }
  if (!failed && !lost) lost = MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  if (lost) fputs("sinew: out of memory in MPI\n", stderr);
  if (lost || (failed && !done)) {
    sn_cli_team_say();
    MPI_Abort(MPI_COMM_WORLD, exit_failed);
  }
  return lowest;
}

static bool agree(sn_context *ctx, sn_status status) {
  int lowest = first_failed(status != SN_OK);
  if (lowest == team.size) return true;
  char text[sizeof ctx->error.message] = "";
  if (team.rank == lowest) read_said(text, sizeof text);
  bool arrived = MPI_Bcast(text, sizeof text, MPI_CHAR, lowest, end_comm) == MPI_SUCCESS && *text;
  if (status == SN_OK) {
    text[strcspn(text, "\n")] = '\0';
    sn_fail(ctx, SN_IO, "rank %d: %s", lowest,
            arrived ? without_name(text) : "failed, and its message did not arrive");
  }
  return false;
}

static void be_silent(void) {
  int nothing = memfd_create("nothing", MFD_CLOEXEC);
  said = memfd_create("said", MFD_CLOEXEC);
  real_stderr = dup(STDERR_FILENO);
  if (nothing >= 0) dup2(nothing, STDOUT_FILENO);
  if (said >= 0) dup2(said, STDERR_FILENO);
}

void sn_cli_team_start(int *argc, char ***argv) {
  int given;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &team.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &team.size);
  MPI_Comm_dup(MPI_COMM_WORLD, &end_comm);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here_comm);
  MPI_Comm_size(here_comm, &here);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(end_comm, MPI_ERRORS_RETURN);
  team.share = share, team.agree = agree;
  if (team.rank > 0) be_silent();
}

int sn_cli_team_end(int status) {
  if (team.size > 1 && status != exit_done)
    first_failed(true); // all succeeded: they agreed before anything was written
  MPI_Finalize();
  return status;
}

// ---- checking that all read the same files --------------------------------------------------------------------------------

// Hashes a table that may be missing.
static uint64_t mix_table(uint64_t hash, const void *bytes, int rows, int columns, size_t item) {
  return bytes ? sn_hash(hash, bytes, (size_t)rows * (size_t)columns * item) : hash;
}

static uint64_t mix_poses(uint64_t hash, const sn_examples *e) {
  const sn_skin *skin = &e->skin;
  const sn_values *values = &e->values;
  const sn_torques *torques = &e->torques;
  hash = mix_table(hash, e->skeleton.parents, e->skeleton.joint_count, 1, sizeof *e->skeleton.parents);
  hash = mix_table(hash, e->skeleton.rest, e->skeleton.joint_count, 1, sizeof *e->skeleton.rest);
  hash = mix_table(hash, skin->joints, skin->vertex_count, skin->influences, sizeof *skin->joints);
  hash = mix_table(hash, skin->weights, skin->vertex_count, skin->influences, sizeof *skin->weights);
  hash = mix_table(hash, e->poses.matrices, e->poses.frame_count, e->poses.joint_count, sizeof *e->poses.matrices);
  hash = mix_table(hash, values->values, values->frame_count, values->count, sizeof *values->values);
  return mix_table(hash, torques->values, torques->frame_count, torques->joint_count, sizeof *torques->values);
}

// Hash of everything but the frames, and of a few vertices of every frame, different ones in each.
static uint64_t fingerprint(const sn_examples *e) {
  enum { probes = 16, stride = 7919 };
  uint64_t hash = SN_HASH_START;
  int counts[] = {e->rest.vertex_count,    e->rest.triangle_count, e->frames.vertex_count, e->frames.frame_count,
                  e->skeleton.joint_count, e->poses.frame_count,   e->skin.influences};
  hash = sn_hash(hash, counts, sizeof counts);
  hash = sn_hash(hash, e->rest.positions, (size_t)e->rest.vertex_count * sizeof *e->rest.positions);
  hash = sn_hash(hash, e->rest.triangles, (size_t)e->rest.triangle_count * sizeof *e->rest.triangles);
  hash = mix_poses(hash, e);
  for (int f = 0; e->frames.positions && f < e->frames.frame_count; f++) {
    int64_t n = e->frames.vertex_count;
    for (int64_t k = 0; k < probes; k++)
      hash = sn_hash(hash, sn_frame(&e->frames, f)[(k * n / probes + (int64_t)f * stride) % n], sizeof(float[3]));
    sn_frames_used(&e->frames, 5461 * probes, 1); // windows of 64 KB
  }
  return hash;
}

sn_status sn_cli_team_check(cli *c, const sn_examples *examples) {
  uint64_t own = team.size > 1 ? fingerprint(examples) : 0, first = own;
  sn_status status = SN_OK;
  int other = team.size;
  for (int rank = 0; rank < team.size && status == SN_OK; rank++) {
    uint64_t theirs = own;
    status = sn_team_share(&c->ctx, rank, &theirs, sizeof theirs);
    if (rank == 0) first = theirs;
    if (theirs != first && rank < other) other = rank;
  }
  if (status != SN_OK || other == team.size) return status;
  return sn_fail(&c->ctx, SN_BAD_INPUT,
                 "rank %d reads other files than rank 0: --rest, --frames and --skeleton must be the same everywhere",
                 other);
}

#endif
