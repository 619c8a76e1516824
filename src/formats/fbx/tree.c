// SPDX-License-Identifier: MIT
// Parses binary FBX into a tree of nodes.
#include "formats/fbx/tree.h"

#include <ctype.h>
#include <string.h>
#include <zlib.h>

#include "base/number.h"

enum { header_size = 27 };
static const char magic[] = "Kaydara FBX Binary  "; // followed by a zero

void *sn_fbx_take(fbx_tree *tree, size_t count, size_t size) {
  enum { chunk_size = 1 << 16, alignment = 16 };
  if (tree->status != SN_OK) return NULL;
  uint8_t *out = NULL;
  if (count > chunk_size / 4 / size) {
    out = sn_arena_alloc(tree->ctx, &tree->memory, count, size);
  } else {
    size_t bytes = (count * size / alignment + 1) * alignment; // never 0 bytes: NULL means failure
    if (bytes > tree->chunk_left) {
      tree->chunk = SN_NEW(tree->ctx, &tree->memory, uint8_t, chunk_size);
      tree->chunk_left = tree->chunk ? chunk_size : 0;
    }
    if (tree->chunk_left > 0) out = tree->chunk, tree->chunk += bytes, tree->chunk_left -= bytes;
  }
  if (!out) tree->status = tree->ctx->error.status;
  return out;
}

bool sn_fbx_spend(fbx_tree *tree, size_t count, size_t size) {
  if (tree->status == SN_OK && count > tree->budget / size) {
    sn_fail_once(tree, SN_BAD_FILE, "says of itself that it is far larger than its %zu bytes can hold", tree->size);
  }
  if (tree->status == SN_OK) tree->budget -= count * size;
  return tree->status == SN_OK;
}

void *sn_fbx_room(fbx_tree *tree, size_t count, size_t size) {
  return sn_fbx_spend(tree, count, size) ? sn_fbx_take(tree, count, size) : NULL;
}

// ---- records -------------------------------------------------------------------------------------------------------

static size_t item_size(char item) {
  return item == 'd' || item == 'l' ? 8 : item == 'f' || item == 'i' ? 4 : item == 'b' || item == 'c' ? 1 : 0;
}

// A number of that type; false if there is none.
static bool read_scalar(sn_cursor *c, char type, fbx_value *out) {
  int size = strchr("CBZ", type) ? 1 : type == 'Y' ? 2 : strchr("IF", type) ? 4 : strchr("LD", type) ? 8 : 0;
  uint64_t bits = sn_take_number(c, size);
  if (type == 'F' || type == 'D') {
    *out = (fbx_value){.type = 'D', .real = type == 'D' ? sn_double_of(bits) : (double)sn_float_of((uint32_t)bits)};
  } else {
    int64_t integer = size == 2 ? (int16_t)bits : size == 4 ? (int32_t)bits : (int64_t)bits;
    *out = (fbx_value){.type = 'I', .integer = integer, .real = (double)integer};
  }
  return size > 0 && !c->bad;
}

static bool read_value(sn_cursor *c, fbx_value *out) {
  char type = (char)sn_take_number(c, 1);
  *out = (fbx_value){.type = 'S'};
  if (item_size(type) > 0) {
    *out = (fbx_value){.type = 'A', .item = type == 'c' ? 'b' : type, .count = (uint32_t)sn_take_number(c, 4)};
    uint64_t encoding = sn_take_number(c, 4);
    out->packed = encoding == 1;
    c->bad = c->bad || encoding > 1;
  } else if (type != 'S' && type != 'R') {
    return type && read_scalar(c, type, out);
  }
  out->size = (size_t)sn_take_number(c, 4);
  out->bytes = sn_take_bytes(c, out->size);
  return !c->bad;
}

static void damaged(fbx_tree *tree, size_t at, const char *what) {
  sn_fail_once(tree, SN_BAD_FILE, "%s, at byte %zu: it is damaged or cut short", what, at);
}

static void read_values(fbx_tree *tree, fbx_node *node, sn_cursor c, uint64_t count) {
  size_t at = (size_t)(c.p - tree->bytes);
  if (count > (uint64_t)(c.end - c.p) / 2) return damaged(tree, at, "a node has more values than bytes");
  node->values = sn_fbx_take(tree, (size_t)count, sizeof *node->values);
  for (; node->values && node->value_count < (int)count; node->value_count++) {
    at = (size_t)(c.p - tree->bytes);
    if (!read_value(&c, &node->values[node->value_count])) return damaged(tree, at, "a value is malformed");
  }
}

// Reads nodes from `at` up to an empty record or `end`, as children of `parent`.
static void read_nodes(fbx_tree *tree, fbx_node *parent, size_t at, size_t end, int depth) {
  int width = tree->version >= 7500 ? 8 : 4;
  size_t head = 3 * (size_t)width + 1;
  fbx_node **last = &parent->first;
  if (depth > FBX_DEPTH_READ) return damaged(tree, at, "nodes are nested too deeply");
  while (end - at >= head && tree->status == SN_OK) {
    const uint8_t *record = tree->bytes + at;
    uint64_t stop = sn_little(record, width), count = sn_little(record + width, width);
    uint64_t list = sn_little(record + 2 * width, width), name = record[3 * width];
    if (stop == 0) return;
    if (stop > end || stop < at || stop - at < head + name || list > stop - at - head - name || count > INT32_MAX)
      return damaged(tree, at, "a node does not fit into its parent");
    fbx_node *node = sn_fbx_take(tree, 1, sizeof *node);
    if (!node) return;
    node->name = (const char *)record + head, node->name_size = (size_t)name;
    size_t values = at + head + (size_t)name, children = values + (size_t)list;
    read_values(tree, node, (sn_cursor){tree->bytes + values, tree->bytes + children, false}, count);
    if (children < stop) read_nodes(tree, node, children, (size_t)stop, depth + 1);
    *last = node, last = &node->next;
    at = (size_t)stop;
  }
  if (depth == 0) damaged(tree, at, "the list of nodes has no end");
}

fbx_tree sn_fbx_tree_parse(sn_context *ctx, const uint8_t *bytes, size_t size) {
  fbx_tree out = {.ctx = ctx, .bytes = bytes, .size = size, .memory = sn_arena_new(ctx)};
  out.budget = ((size_t)256 << 20) + (size < SIZE_MAX / 128 ? 64 * size : SIZE_MAX / 2);
  if (size < header_size || memcmp(bytes, magic, sizeof magic) != 0) {
    sn_fbx_text_parse(&out);
  } else {
    out.version = sn_little32(bytes + 23);
    if (bytes[22] != 0)
      sn_fail_once(&out, SN_UNSUPPORTED, "its numbers are big-endian; export it again with a program of today");
    read_nodes(&out, &out.root, header_size, size, 0);
  }
  return out;
}

// ---- access --------------------------------------------------------------------------------------------------------

bool sn_fbx_is(const fbx_node *node, const char *name) {
  return node->name_size == strlen(name) && memcmp(node->name, name, node->name_size) == 0;
}

const fbx_node *sn_fbx_child(const fbx_node *node, const char *name) {
  const fbx_node *child = node ? node->first : NULL;
  while (child && !sn_fbx_is(child, name)) child = child->next;
  return child;
}

const fbx_value *sn_fbx_value(const fbx_node *node, int index) {
  return node && index < node->value_count ? &node->values[index] : NULL;
}

double sn_fbx_number(const fbx_node *node, int index, double absent) {
  const fbx_value *value = sn_fbx_value(node, index);
  return value && (value->type == 'I' || value->type == 'D') ? value->real : absent;
}

bool sn_fbx_says(const fbx_value *value, const char *text) {
  return value && value->type == 'S' && value->size == strlen(text) && memcmp(value->bytes, text, value->size) == 0;
}

char *sn_fbx_string(fbx_tree *tree, const fbx_value *value) {
  size_t size = value && value->type == 'S' ? strnlen((const char *)value->bytes, value->size) : 0;
  char *text = sn_fbx_take(tree, size + 1, 1);
  if (text && size > 0) memcpy(text, value->bytes, size);
  return text;
}

// ---- arrays --------------------------------------------------------------------------------------------------------

const char *sn_fbx_parse_number(const char *text, const char *end, fbx_value *out) {
  *out = (fbx_value){.type = 'D'};
  const char *behind = sn_parse_number(text, end, &out->real), *digit = text;
  if (!behind) return NULL;
  uint64_t whole = 0;
  bool negative = *digit == '-';
  if (negative || *digit == '+') digit++;
  while (digit < behind && *digit >= '0' && *digit <= '9' && !__builtin_mul_overflow(whole, 10, &whole) &&
         !__builtin_add_overflow(whole, (uint64_t)(*digit - '0'), &whole))
    digit++;
  if (digit == behind) out->type = 'I', out->integer = (int64_t)(negative ? 0 - whole : whole);
  return behind;
}

// The bytes of an array, decompressed; NULL after a failure.
static const uint8_t *unpack(fbx_tree *tree, const fbx_value *array) {
  size_t size = (size_t)array->count * item_size(array->item);
  if (!array->packed) return array->bytes;
  uint8_t *bytes = sn_fbx_room(tree, size + 1, 1);
  uLongf made = size + 1;
  int result = bytes ? uncompress(bytes, &made, array->bytes, array->size) : Z_OK;
  if (bytes && result == Z_MEM_ERROR) {
    sn_fail_once(tree, SN_NO_MEMORY, "out of memory while unpacking");
  } else if (bytes && (result != Z_OK || made != size)) {
    sn_fail_once(tree, SN_BAD_FILE, "it cannot be unpacked");
  }
  return tree->status == SN_OK ? bytes : NULL;
}

static void decode(fbx_tree *tree, const fbx_value *array, double *out) {
  const char *p = (const char *)array->bytes, *end = p + array->size;
  bool text = array->item == 't';
  size_t size = item_size(array->item);
  const uint8_t *bytes = text ? NULL : unpack(tree, array);
  sn_cursor c = {bytes, bytes ? bytes + array->count * size : NULL, false};
  for (size_t k = 0; k < array->count && tree->status == SN_OK; k++) {
    fbx_value number;
    if (!text) {
      read_scalar(&c, (char)toupper(array->item), &number);
    } else if (!(p = sn_fbx_parse_number(sn_fbx_skip_blanks(p, end), end, &number))) {
      sn_fail_once(tree, SN_BAD_FILE, "number %zu of %u is missing or no number", k + 1, array->count);
    }
    out[k] = number.real;
  }
}

// Whether the bytes can encode that many numbers: zlib compresses at most about 1000:1.
static bool can_hold(const fbx_value *array) {
  size_t size = array->count * item_size(array->item);
  if (array->item == 't') return array->count <= array->size;
  return array->packed ? size / 1040 <= array->size : size == array->size;
}

fbx_numbers sn_fbx_numbers(fbx_tree *tree, const fbx_node *node, const char *name) {
  const fbx_node *child = sn_fbx_child(node, name);
  const fbx_value *first = sn_fbx_value(child, 0);
  if (!first || tree->status != SN_OK) return (fbx_numbers){0};
  bool array = first->type == 'A';
  fbx_numbers out = {.count = array ? first->count : (size_t)child->value_count};
  if (array && !can_hold(first)) sn_fail_once(tree, SN_BAD_FILE, "its size is wrong");
  out.values = sn_fbx_room(tree, out.count, sizeof *out.values);
  if (array && out.values) decode(tree, first, out.values);
  for (size_t k = 0; !array && out.values && k < out.count && tree->status == SN_OK; k++) {
    if (!strchr("ID", child->values[k].type)) sn_fail_once(tree, SN_BAD_FILE, "it is no list of numbers");
    out.values[k] = child->values[k].real;
  }
  if (tree->status == SN_OK) return out;
  sn_fail_prefix(tree->ctx, "%s: ", name);
  return (fbx_numbers){0};
}
