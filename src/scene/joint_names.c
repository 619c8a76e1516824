// SPDX-License-Identifier: MIT
// Maps the joints of one skeleton to another: by name, by the naming conventions of common programs for human bodies, or by a list
// of pairs.
#include "sinew/scene.h"

#include <ctype.h>
#include <string.h>

enum { table_count = 5 };

// Words for sides; the last ones count where they stand alone.
static const char *const sides[][2] = {
  {"Left", "Right"}, {"left", "right"}, {"LEFT", "RIGHT"}, {"L", "R"}, {"l", "r"}};

// Names of Mixamo, Unreal, Rigify, VRM and VRoid as plain_name() has them. A skeleton uses one column.
static const char *const table[][table_count] = {
  {"hips", "pelvis", "spine", "hips", "hips"},
  {"spine", "spine01", "spine001", "spine", "spine"},
  {"spine1", "spine02", "spine002", "chest", "chest"},
  {"spine2", "spine03", "spine003", "upperchest", "upperchest"},
  {"neck", "neck01", "spine004", "neck", "neck"},
  {"head", "head", "spine006", "head", "head"},
  {"shoulder", "clavicle", "shoulder", "shoulder", "shoulder"},
  {"arm", "upperarm", "upperarm", "upperarm", "upperarm"},
  {"forearm", "lowerarm", "forearm", "lowerarm", "lowerarm"},
  {"hand", "hand", "hand", "hand", "hand"},
  {"upleg", "thigh", "thigh", "upperleg", "upperleg"},
  {"leg", "calf", "shin", "lowerleg", "lowerleg"},
  {"foot", "foot", "foot", "foot", "foot"},
  {"toebase", "ball", "toe", "toes", "toebase"},
  {"handthumb1", "thumb01", "thumb01", "thumbproximal", "thumb1"},
  {"handthumb2", "thumb02", "thumb02", "thumbintermediate", "thumb2"},
  {"handthumb3", "thumb03", "thumb03", "thumbdistal", "thumb3"},
  {"handindex1", "index01", "findex01", "indexproximal", "index1"},
  {"handindex2", "index02", "findex02", "indexintermediate", "index2"},
  {"handindex3", "index03", "findex03", "indexdistal", "index3"},
  {"handmiddle1", "middle01", "fmiddle01", "middleproximal", "middle1"},
  {"handmiddle2", "middle02", "fmiddle02", "middleintermediate", "middle2"},
  {"handmiddle3", "middle03", "fmiddle03", "middledistal", "middle3"},
  {"handring1", "ring01", "fring01", "ringproximal", "ring1"},
  {"handring2", "ring02", "fring02", "ringintermediate", "ring2"},
  {"handring3", "ring03", "fring03", "ringdistal", "ring3"},
  {"handpinky1", "pinky01", "fpinky01", "littleproximal", "little1"},
  {"handpinky2", "pinky02", "fpinky02", "littleintermediate", "little2"},
  {"handpinky3", "pinky03", "fpinky03", "littledistal", "little3"},
};
enum { row_count = sizeof table / sizeof *table };

static bool is_break(char c) { return c == '\0' || c == '.' || c == '_' || c == '-' || c == ' ' || c == ':'; }

const char *sn_name_side(const char *name, size_t *at, size_t *size) {
  for (size_t n = 0; n < 2 * sizeof sides / sizeof *sides; n++) {
    const char *word = sides[n / 2][n % 2];
    *size = strlen(word);
    for (const char *found = name; (found = strstr(found, word)); found++) {
      *at = (size_t)(found - name);
      bool alone = (*at == 0 || is_break(found[-1])) && is_break(found[*size]) && (*at > 0 || found[*size]);
      if (*size > 1 || alone) return sides[n / 2][1 - n % 2];
    }
  }
  return NULL;
}

// Letters and digits of a name, in lower case, without its side and prefixes of programs or scenes ("mixamorig:", "DEF-"); returns
// the side: 0 for none, 1 for left, 2 for right.
static int plain_name(const char *name, char *out, size_t room) {
  static const char *const prefixes[] = {"mixamorig", "DEF-", "ORG-", "J_Bip_C_", "J_Bip_"};
  if (strrchr(name, ':')) name = strrchr(name, ':') + 1;
  for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
    if (strncmp(name, prefixes[k], strlen(prefixes[k])) == 0) name += strlen(prefixes[k]);
  size_t at = 0, size = 0, count = 0;
  const char *other = sn_name_side(name, &at, &size);
  for (size_t k = 0; name[k] && count + 1 < room; k++)
    if (isalnum((unsigned char)name[k]) && !(other && k >= at && k < at + size))
      out[count++] = (char)tolower((unsigned char)name[k]);
  out[count] = '\0';
  return !other ? 0 : tolower((unsigned char)*other) == 'r' ? 1 : 2;
}

// Index of the body part with this name in one column, or -1.
static int part_of(const char *name, int column) {
  char plain[64];
  int side = plain_name(name, plain, sizeof plain);
  for (int row = 0; row < row_count; row++)
    if (strcmp(plain, table[row][column]) == 0) return 3 * row + side;
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
