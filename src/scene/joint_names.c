// SPDX-License-Identifier: MIT
// Maps the joints of one skeleton to another: by name, by the naming conventions of common programs for human bodies, or by a list
// of pairs.
#include "sinew/scene.h"

#include <string.h>
#include <strings.h>

enum { table_count = 5 };

// Names of Mixamo, Unreal, Rigify, VRM and VRoid; # is the side. A skeleton uses one column.
static const char *const sides[table_count][2] = {
  {"Left", "Right"}, {"l", "r"}, {"L", "R"}, {"left", "right"}, {"L", "R"}};
static const char *const table[][table_count] = {
  {"Hips", "pelvis", "spine", "hips", "J_Bip_C_Hips"},
  {"Spine", "spine_01", "spine.001", "spine", "J_Bip_C_Spine"},
  {"Spine1", "spine_02", "spine.002", "chest", "J_Bip_C_Chest"},
  {"Spine2", "spine_03", "spine.003", "upperChest", "J_Bip_C_UpperChest"},
  {"Neck", "neck_01", "spine.004", "neck", "J_Bip_C_Neck"},
  {"Head", "head", "spine.006", "head", "J_Bip_C_Head"},
  {"#Shoulder", "clavicle_#", "shoulder.#", "#Shoulder", "J_Bip_#_Shoulder"},
  {"#Arm", "upperarm_#", "upper_arm.#", "#UpperArm", "J_Bip_#_UpperArm"},
  {"#ForeArm", "lowerarm_#", "forearm.#", "#LowerArm", "J_Bip_#_LowerArm"},
  {"#Hand", "hand_#", "hand.#", "#Hand", "J_Bip_#_Hand"},
  {"#UpLeg", "thigh_#", "thigh.#", "#UpperLeg", "J_Bip_#_UpperLeg"},
  {"#Leg", "calf_#", "shin.#", "#LowerLeg", "J_Bip_#_LowerLeg"},
  {"#Foot", "foot_#", "foot.#", "#Foot", "J_Bip_#_Foot"},
  {"#ToeBase", "ball_#", "toe.#", "#Toes", "J_Bip_#_ToeBase"},
  {"#HandThumb1", "thumb_01_#", "thumb.01.#", "#ThumbProximal", "J_Bip_#_Thumb1"},
  {"#HandThumb2", "thumb_02_#", "thumb.02.#", "#ThumbIntermediate", "J_Bip_#_Thumb2"},
  {"#HandThumb3", "thumb_03_#", "thumb.03.#", "#ThumbDistal", "J_Bip_#_Thumb3"},
  {"#HandIndex1", "index_01_#", "f_index.01.#", "#IndexProximal", "J_Bip_#_Index1"},
  {"#HandIndex2", "index_02_#", "f_index.02.#", "#IndexIntermediate", "J_Bip_#_Index2"},
  {"#HandIndex3", "index_03_#", "f_index.03.#", "#IndexDistal", "J_Bip_#_Index3"},
  {"#HandMiddle1", "middle_01_#", "f_middle.01.#", "#MiddleProximal", "J_Bip_#_Middle1"},
  {"#HandMiddle2", "middle_02_#", "f_middle.02.#", "#MiddleIntermediate", "J_Bip_#_Middle2"},
  {"#HandMiddle3", "middle_03_#", "f_middle.03.#", "#MiddleDistal", "J_Bip_#_Middle3"},
  {"#HandRing1", "ring_01_#", "f_ring.01.#", "#RingProximal", "J_Bip_#_Ring1"},
  {"#HandRing2", "ring_02_#", "f_ring.02.#", "#RingIntermediate", "J_Bip_#_Ring2"},
  {"#HandRing3", "ring_03_#", "f_ring.03.#", "#RingDistal", "J_Bip_#_Ring3"},
  {"#HandPinky1", "pinky_01_#", "f_pinky.01.#", "#LittleProximal", "J_Bip_#_Little1"},
  {"#HandPinky2", "pinky_02_#", "f_pinky.02.#", "#LittleIntermediate", "J_Bip_#_Little2"},
  {"#HandPinky3", "pinky_03_#", "f_pinky.03.#", "#LittleDistal", "J_Bip_#_Little3"},
};
enum { row_count = sizeof table / sizeof *table };

// The name without prefixes of programs or scenes: "mixamorig:", "DEF-".
static const char *bare_name(const char *name) {
  const char *colon = strrchr(name, ':');
  if (colon) name = colon + 1;
  if (strncmp(name, "DEF-", 4) == 0 || strncmp(name, "ORG-", 4) == 0) name += 4;
  return strncmp(name, "mixamorig_", 10) == 0 ? name + 10 : name;
}

static bool is_named(const char *name, const char *pattern, const char *side) {
  const char *mark = strchr(pattern, '#');
  if (!mark) return strcasecmp(name, pattern) == 0;
  size_t before = (size_t)(mark - pattern), length = strlen(side);
  return strncasecmp(name, pattern, before) == 0 && strncasecmp(name + before, side, length) == 0 &&
         strcasecmp(name + before + length, mark + 1) == 0;
}

// Index of the body part with this name in one column, or -1.
static int part_of(const char *name, int column) {
  name = bare_name(name);
  for (int row = 0; row < row_count; row++)
    for (int side = 0; side < 2; side++)
      if (is_named(name, table[row][column], sides[column][side]))
        return 2 * row + side * (strchr(table[row][column], '#') != NULL);
  return -1;
}

static int best_column(const sn_skeleton *skeleton) {
  int best = 0, most = -1;
  for (int column = 0; column < table_count; column++) {
    int count = 0;
    for (int j = 0; j < skeleton->joint_count; j++) count += part_of(skeleton->names[j], column) >= 0;
    if (count > most) most = count, best = column;
  }
  return best;
}

// The next name on a line, up to `end`; returns its length, or `room` if it is too long.
static size_t take_name(const char **p, const char *end, char *out, size_t room) {
  static const char separators[] = " \t,";
  while (*p < end && strchr(separators, **p)) ++*p;
  const char *start = *p;
  while (*p < end && !strchr(separators, **p)) ++*p;
  size_t size = (size_t)(*p - start) < room ? (size_t)(*p - start) : room;
  if (size < room) memcpy(out, start, size), out[size] = '\0';
  return size;
}

// Sets the partners of a list of pairs: "ours theirs" on every line, # begins a comment.
static sn_status listed(sn_context *ctx, const char *map_name, const char *map, const sn_skeleton *ours,
                        const sn_skeleton *theirs, int *partners) {
  int line = 1;
  for (const char *p = map; *p; line++) {
    const char *at = p, *end = p + strcspn(p, "#\r\n");
    char first[256], second[256];
    size_t a = take_name(&at, end, first, sizeof first), b = take_name(&at, end, second, sizeof second);
    if (a == sizeof first || b == sizeof second || (a > 0 && b == 0))
      return sn_fail(ctx, SN_BAD_INPUT, "%s:%d: two names are needed: a joint of the model, then one of the clip",
                     map_name, line);
    int j = a > 0 ? sn_skeleton_find(ours, first) : -1, k = a > 0 ? sn_skeleton_find(theirs, second) : -1;
    if (a > 0 && j < 0)
      return sn_fail(ctx, SN_BAD_INPUT, "%s:%d: the model has no joint called '%s'", map_name, line, first);
    if (a > 0 && k < 0)
      return sn_fail(ctx, SN_BAD_INPUT, "%s:%d: the clip has no joint called '%s'", map_name, line, second);
    if (a > 0) partners[j] = k;
    p += strcspn(p, "\r\n");
    if (*p == '\r') p++;
    if (*p == '\n') p++;
  }
  return SN_OK;
}

sn_status sn_joint_partners(sn_context *ctx, const sn_skeleton *ours, const sn_skeleton *theirs, const char *map_name,
                            const char *map, int *partners) {
  int our_column = best_column(ours), their_column = best_column(theirs);
  for (int j = 0; j < ours->joint_count; j++) {
    partners[j] = sn_skeleton_find_near(theirs, ours->names[j], j);
    int part = part_of(ours->names[j], our_column);
    for (int k = 0; partners[j] < 0 && part >= 0 && k < theirs->joint_count; k++)
      if (part_of(theirs->names[k], their_column) == part) partners[j] = k;
  }
  return map ? listed(ctx, map_name, map, ours, theirs, partners) : SN_OK;
}
