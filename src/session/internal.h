// SPDX-License-Identifier: MIT
// The structs behind the session's handles.
#ifndef SINEW_SESSION_INTERNAL_H
#define SINEW_SESSION_INTERNAL_H

#include <jansson.h>
#include <pthread.h>

#include "job/job.h"
#include "sinew/session.h"

struct sn_session {
  sn_context ctx;
  char *report; // allocated by jansson
  pthread_mutex_t lock;
  char task[32]; // progress; guarded by the lock, like `done`
  double done;
  sn_arena memory;
  sn_inputs inputs; // files and options by name
  // The session's data. Arrays given by the caller are not copied.
  sn_examples examples;
  bool split;
  const float (*normals)[3];
  sn_keys keys;
  sn_model model;
  sn_rig_job rig_job;
  sn_rig_done rig;
  const void *from;
  size_t from_size;
  double *vertex_rms, *frame_rms; // from sn_session_errors
};

struct sn_evaluator {
  sn_rt_model model;
  sn_model as_file; // empty unless the model was renumbered
  size_t size;      // of the given model
};

// The status that a call returns: SN_STOPPED if it was stopped, whatever error followed from that.
sn_status sn_session_end(sn_session *s, sn_status status);
char *sn_session_text(json_t *root); // takes ownership
// Takes ownership of `result`; makes it, with the counts of the input, the session's report.
sn_status sn_session_tell(sn_session *s, const char *command, json_t *result);

#endif
