// SPDX-License-Identifier: MIT
// Unskinned parts (doors, wheels, eyes): the nearest animated node at or above a part becomes a joint that moves it. Parts that
// nothing moves get one static joint, if the document has joints at all.
#include "formats/gltf/gltf.h"

#include <string.h>

// Marks the nodes with animated translation, rotation or scale. Channels are validated later, when they are loaded.
static void mark_moving(const sn_gltf *gltf, bool *moves) {
  size_t a, c;
  json_t *animation, *channel;
  json_array_foreach(json_object_get(gltf->json, "animations"), a, animation) {
    json_array_foreach(json_object_get(animation, "channels"), c, channel) {
      const json_t *target = json_object_get(channel, "target"), *node = json_object_get(target, "node");
      const char *path = json_string_value(json_object_get(target, "path"));
      json_int_t index = json_integer_value(node);
      if (!json_is_integer(node) || index < 0 || index >= gltf->node_count || !path) continue;
      if (!strcmp(path, "translation") || !strcmp(path, "rotation") || !strcmp(path, "scale")) moves[index] = true;
    }
  }
}

typedef struct carry_job {
  int *joint, *carrier; // per node: its joint; the nearest node at or above it that is a joint or moves
  bool *moves, *becomes_joint;
  sn_affine *globals;
  int still; // the first part that does not move, -1: none
} carry_job;

static bool invertible(sn_affine map) {
  sn_affine inverse;
  return sn_affine_invert(map, &inverse);
}

static int find_carriers(const sn_gltf *gltf, carry_job *job) {
  int count = 0;
  for (int at = 0; at < gltf->node_count; at++) {
    int k = gltf->order[at], parent = gltf->nodes[k].parent;
    // a node with a singular default transform cannot be bound
    bool can = job->joint[k] >= 0 || (job->moves[k] && invertible(job->globals[k]));
    job->carrier[k] = can ? k : parent < 0 ? -1 : job->carrier[parent];
  }
  for (int k = 0; k < gltf->node_count; k++) {
    const gltf_node *node = &gltf->nodes[k];
    int carrier = job->carrier[k];
    if (!node->in_scene || node->mesh < 0 || node->skin >= 0) continue;
    if (carrier < 0 && job->still < 0 && invertible(job->globals[k])) job->still = k;
    if (carrier < 0 || job->joint[carrier] >= 0 || job->becomes_joint[carrier]) continue;
    job->becomes_joint[carrier] = true, count++;
  }
  if (gltf->joint_count + count == 0 || job->still < 0) return count;
  job->becomes_joint[job->still] = true;
  return count + 1;
}

static void append_joints(sn_gltf *gltf, const carry_job *job, int count, json_t *seen) {
  sn_reader *r = &gltf->reader;
  gltf_joint *joints = SN_TAKE(r, &gltf->memory, gltf_joint, gltf->joint_count + count);
  if (!joints) return;
  if (gltf->joint_count > 0) memcpy(joints, gltf->joints, (size_t)gltf->joint_count * sizeof *joints);
  gltf->joints = joints;
  for (int j = 0; j < gltf->joint_count; j++) {
    if (json_object_set_new_nocheck(seen, joints[j].name, json_true()) != 0)
      sn_fail_once(r, SN_NO_MEMORY, "out of memory while naming joints");
  }
  for (int k = 0; k < gltf->node_count && r->status == SN_OK; k++) {
    if (!job->becomes_joint[k]) continue;
    const char *own = gltf->nodes[k].name;
    char other[300];
    snprintf(other, sizeof other, "%.200s (node %d)", own && *own ? own : "part", k);
    if (k == job->still) gltf->still_joint = gltf->joint_count;
    gltf->joints[gltf->joint_count++] =
      (gltf_joint){k, -1, sn_gltf_claim_name(gltf, seen, own, other), sn_affine_identity()};
  }
}

void sn_gltf_add_carriers(sn_gltf *gltf) {
  enum { most_joints = 65535 };
  sn_reader *r = &gltf->reader;
  SN_SCRATCH(scratch, r->ctx);
  int n = gltf->node_count, count = 0;
  carry_job job = {SN_TAKE(r, &scratch, int, n),  SN_TAKE(r, &scratch, int, n),       SN_TAKE(r, &scratch, bool, n),
                   SN_TAKE(r, &scratch, bool, n), SN_TAKE(r, &scratch, sn_affine, n), -1};
  if (r->status == SN_OK) {
    sn_gltf_globals(gltf, gltf->nodes, job.globals);
    sn_gltf_joint_of_node(gltf, job.joint, NULL);
    mark_moving(gltf, job.moves);
    count = find_carriers(gltf, &job);
  }
  if (count > most_joints - gltf->joint_count)
    sn_fail_once(r, SN_UNSUPPORTED, "has more nodes that move parts than Sinew can tell apart (%d)", most_joints);
  json_auto_t *seen = json_object();
  if (count > 0) append_joints(gltf, &job, count, seen);
}
