// SPDX-License-Identifier: MIT
// Binary FBX as a tree of nodes.
#include "formats/fbx/tree.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "base/number.h"

enum { header_size = 27, most_depth = 64 };
static const char magic[] = "Kaydara FBX Binary  "; // and a zero

void sn_fbx_tree_free(fbx_tree *tree) { sn_arena_free(&tree->memory); }

void *sn_fbx_take(fbx_tree *tree, size_t count, size_t size) {
  enum { chunk_size = 1 << 16, alignment = 16 };
  if (size > 0 && count > (SIZE_MAX - alignment) / size)
    return sn_arena_alloc(tree->ctx, &tree->memory, SIZE_MAX, size);
  size_t bytes = (count * size / alignment + 1) * alignment; // at least some: nothing is NULL but what failed
  if (bytes > chunk_size / 4) return sn_arena_alloc(tree->ctx, &tree->memory, count, size);
  if (bytes > tree->chunk_left) {
    tree->chunk = SN_NEW(tree->ctx, &tree->memory, uint8_t, chunk_size);
    tree->chunk_left = tree->chunk ? chunk_size : 0;
    if (!tree->chunk) return NULL;
  }
  void *out = tree->chunk;
  tree->chunk += bytes, tree->chunk_left -= bytes;
  return out;
}

sn_status sn_fbx_spend(fbx_tree *tree, size_t count, size_t size) {
  if (size > 0 && count > tree->budget / size) {
    return sn_fail(tree->ctx, SN_BAD_FILE, "says of itself that it is far larger than its %zu bytes can hold",
                   tree->size);
  }
  tree->budget -= count * size;
  return SN_OK;
}

// ---- records -------------------------------------------------------------------------------------------------------

static uint64_t little(const uint8_t *at, int size) {
  uint64_t value = 0;
  for (int k = size - 1; k >= 0; k--) value = value << 8 | at[k];
  return value;
}

static size_t item_size(char item) {
  return item == 'd' || item == 'l' ? 8 : item == 'f' || item == 'i' ? 4 : item == 'b' || item == 'c' ? 1 : 0;
}

// Bytes of the value behind its type; 0 where they go past `end`.
static size_t array_value(const uint8_t *at, size_t left, char type, fbx_value *out) {
  if (left < 12) return 0;
  uint64_t encoding = little(at + 4, 4);
  *out = (fbx_value){.type = 'A', .item = type == 'c' ? 'b' : type, .packed = encoding == 1};
  out->count = (uint32_t)little(at, 4);
  out->bytes = at + 12, out->size = (size_t)little(at + 8, 4);
  if (encoding > 1 || out->size > left - 12) return 0;
  return 12 + out->size;
}

static size_t scalar_value(const uint8_t *at, size_t left, char type, fbx_value *out) {
  size_t size = strchr("CBZ", type) ? 1 : type == 'Y' ? 2 : strchr("IF", type) ? 4 : strchr("LD", type) ? 8 : 0;
  if (size == 0 || size > left) return 0;
  uint64_t bits = little(at, (int)size);
  if (type == 'F' || type == 'D') {
    float single;
    uint32_t half = (uint32_t)bits;
    memcpy(&single, &half, sizeof single);
    out->real = (double)single;
    if (type == 'D') memcpy(&out->real, &bits, sizeof bits);
    out->type = 'D';
    out->integer = fabs(out->real) < 9e18 ? (int64_t)out->real : 0;
  } else {
    out->type = 'I';
    out->integer = size == 2 ? (int16_t)bits : size == 4 ? (int32_t)bits : (int64_t)bits;
    out->real = (double)out->integer;
  }
  return size;
}

static size_t read_value(const uint8_t *at, size_t left, fbx_value *out) {
  if (left < 1) return 0;
  char type = (char)at[0];
  size_t size = 0;
  if (type == 'S' || type == 'R') {
    if (left < 5 || little(at + 1, 4) > left - 5) return 0;
    *out = (fbx_value){.type = 'S', .bytes = at + 5, .size = (size_t)little(at + 1, 4)};
    size = 4 + out->size;
  } else if (item_size(type) > 0) {
    size = array_value(at + 1, left - 1, type, out);
  } else if (type) {
    size = scalar_value(at + 1, left - 1, type, out);
  }
  return size > 0 ? size + 1 : 0;
}

static sn_status damaged(fbx_tree *tree, size_t at, const char *what) {
  return sn_fail(tree->ctx, SN_BAD_FILE, "%s, at byte %zu: it is damaged or cut short", what, at);
}

static sn_status read_values(fbx_tree *tree, fbx_node *node, size_t at, size_t end, uint64_t count) {
  if (count > (end - at) / 2) return damaged(tree, at, "a node has more values than bytes");
  node->values = sn_fbx_take(tree, (size_t)count, sizeof *node->values);
  if (!node->values) return tree->ctx->error.status;
  for (; node->value_count < (int)count; node->value_count++) {
    size_t size = read_value(tree->bytes + at, end - at, &node->values[node->value_count]);
    if (size == 0) return damaged(tree, at, "a value is not as it should be");
    at += size;
  }
  return SN_OK;
}

// The nodes from *at on, up to an empty record or `end`; they become the children of `parent`.
static sn_status read_nodes(fbx_tree *tree, fbx_node *parent, size_t *at, size_t end, int depth) {
  int width = tree->version >= 7500 ? 8 : 4;
  size_t head = 3 * (size_t)width + 1;
  fbx_node **last = &parent->first;
  if (depth > most_depth) return damaged(tree, *at, "nodes are nested too deeply");
  while (end - *at >= head) {
    const uint8_t *record = tree->bytes + *at;
    uint64_t stop = little(record, width), count = little(record + width, width);
    uint64_t list = little(record + 2 * width, width), name = record[3 * width];
    if (stop == 0) {
      *at += head;
      return SN_OK;
    }
    if (stop > end || stop - *at < head + name || list > stop - *at - head - name || count > INT32_MAX || stop < *at)
      return damaged(tree, *at, "a node does not fit into its parent");
    fbx_node *node = sn_fbx_take(tree, 1, sizeof *node);
    if (!node) return tree->ctx->error.status;
    node->name = (const char *)record + head, node->name_size = (size_t)name;
    size_t values = *at + head + (size_t)name, children = values + (size_t)list;
    sn_status status = read_values(tree, node, values, children, count);
    if (status == SN_OK && children < stop) status = read_nodes(tree, node, &children, (size_t)stop, depth + 1);
    if (status != SN_OK) return status;
    *last = node, last = &node->next;
    *at = (size_t)stop;
  }
  return depth > 0 ? SN_OK : damaged(tree, *at, "the list of nodes has no end");
}

sn_status sn_fbx_tree_parse(sn_context *ctx, const uint8_t *bytes, size_t size, fbx_tree *out) {
  *out = (fbx_tree){.ctx = ctx, .bytes = bytes, .size = size, .memory = sn_arena_new(ctx)};
  out->budget = ((size_t)256 << 20) + (size < SIZE_MAX / 128 ? 64 * size : SIZE_MAX / 2);
  if (size < header_size || memcmp(bytes, magic, sizeof magic) != 0) return sn_fbx_text_parse(out);
  size_t at = header_size;
  out->version = (uint32_t)little(bytes + 23, 4);
  return read_nodes(out, &out->root, &at, size, 0);
}

// ---- asking --------------------------------------------------------------------------------------------------------

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
  if (!value || value->type != 'S') return NULL;
  size_t size = strnlen((const char *)value->bytes, value->size);
  char *text = sn_fbx_take(tree, size + 1, 1);
  if (text) memcpy(text, value->bytes, size);
  return text;
}

// ---- arrays --------------------------------------------------------------------------------------------------------

static sn_status unpack(fbx_tree *tree, const fbx_value *value, sn_arena *scratch, const uint8_t **out) {
  size_t size = (size_t)value->count * item_size(value->item);
  *out = value->bytes;
  if (!value->packed) return SN_OK;
  sn_status status = sn_fbx_spend(tree, size, 1);
  uint8_t *bytes = status == SN_OK ? SN_NEW(tree->ctx, scratch, uint8_t, size + 1) : NULL;
  if (!bytes) return tree->ctx->error.status;
  uLongf made = size + 1;
  *out = bytes;
  int result = uncompress(bytes, &made, value->bytes, value->size);
  if (result == Z_MEM_ERROR) return sn_fail(tree->ctx, SN_NO_MEMORY, "out of memory while unpacking");
  return result == Z_OK && made == size ? SN_OK : sn_fail(tree->ctx, SN_BAD_FILE, "it cannot be unpacked");
}

static double item_at(const uint8_t *bytes, char item, size_t k, int64_t *integer) {
  fbx_value value;
  size_t size = item_size(item);
  char type = item == 'b' ? 'C' : item == 'i' ? 'I' : item == 'l' ? 'L' : item == 'f' ? 'F' : 'D';
  scalar_value(bytes + k * size, size, type, &value);
  *integer = value.integer;
  return value.real;
}

const char *sn_fbx_parse_number(const char *text, const char *end, fbx_value *out) {
  *out = (fbx_value){.type = 'D'};
  const char *behind = sn_parse_number(text, end, &out->real), *digit = text;
  if (!behind) return NULL;
  int64_t whole = 0;
  bool negative = *digit == '-';
  if (negative || *digit == '+') digit++;
  while (digit < behind && *digit >= '0' && *digit <= '9' && whole < INT64_MAX / 10 - 1)
    whole = whole * 10 + (*digit++ - '0');
  if (digit == behind) {
    out->type = 'I', out->integer = negative ? -whole : whole;
  } else if (fabs(out->real) < 9e18) {
    out->integer = (int64_t)out->real;
  }
  return behind;
}

// Numbers between commas.
static sn_status text_items(fbx_tree *tree, const fbx_value *value, double *reals, int64_t *integers) {
  const char *p = (const char *)value->bytes, *end = p + value->size;
  for (uint32_t k = 0; k < value->count; k++) {
    fbx_value number;
    while (p < end && (strchr(" \t\r\n,", *p) && *p)) p++;
    p = sn_fbx_parse_number(p, end, &number);
    if (!p) return sn_fail(tree->ctx, SN_BAD_FILE, "number %u of %u is missing", k + 1, value->count);
    if (reals) reals[k] = number.real;
    if (integers) integers[k] = number.integer;
  }
  return SN_OK;
}

static sn_status decode(fbx_tree *tree, const fbx_value *value, double *reals, int64_t *integers) {
  if (value->item == 't') return text_items(tree, value, reals, integers);
  sn_arena scratch = sn_arena_new(tree->ctx);
  const uint8_t *bytes;
  sn_status status = unpack(tree, value, &scratch, &bytes);
  for (size_t k = 0; status == SN_OK && k < value->count; k++) {
    int64_t integer;
    double real = item_at(bytes, value->item, k, &integer);
    if (reals) reals[k] = real;
    if (integers) integers[k] = integer;
  }
  sn_arena_free(&scratch);
  return status;
}

// Whether the bytes can be so many numbers; zlib packs at most about a thousand to one.
static bool can_hold(const fbx_value *array) {
  size_t size = array->count * item_size(array->item);
  if (array->item == 't') return array->count <= array->size;
  return array->packed ? size / 1040 <= array->size : size == array->size;
}

static sn_status numbers(fbx_tree *tree, const fbx_node *node, double **reals, int64_t **integers, size_t *count) {
  const fbx_value *first = sn_fbx_value(node, 0);
  *count = 0;
  if (!first) return SN_OK;
  bool array = first->type == 'A';
  size_t n = array ? first->count : (size_t)node->value_count;
  sn_status status = array && !can_hold(first) ? sn_fail(tree->ctx, SN_BAD_FILE, "its size is wrong") : SN_OK;
  if (status == SN_OK) status = sn_fbx_spend(tree, n, 8);
  void *room = status == SN_OK ? sn_fbx_take(tree, n, 8) : NULL;
  if (status == SN_OK && !room) return tree->ctx->error.status;
  if (reals) *reals = room;
  if (integers) *integers = room;
  if (status == SN_OK && array) status = decode(tree, first, reals ? *reals : NULL, integers ? *integers : NULL);
  for (size_t k = 0; status == SN_OK && !array && k < n; k++) {
    const fbx_value *value = &node->values[k];
    if (value->type != 'I' && value->type != 'D')
      status = sn_fail(tree->ctx, SN_BAD_FILE, "it is no list of numbers");
    if (reals) (*reals)[k] = value->real;
    if (integers) (*integers)[k] = value->integer;
  }
  if (status != SN_OK) return sn_fail_prefix(tree->ctx, "%.*s: ", (int)node->name_size, node->name);
  *count = n;
  return SN_OK;
}

sn_status sn_fbx_reals(fbx_tree *tree, const fbx_node *node, double **out, size_t *count) {
  *out = NULL;
  return numbers(tree, node, out, NULL, count);
}

sn_status sn_fbx_integers(fbx_tree *tree, const fbx_node *node, int64_t **out, size_t *count) {
  *out = NULL;
  return numbers(tree, node, NULL, out, count);
}
