// SPDX-License-Identifier: MIT
// FBX as text: "Name: value, value { children }", one node to a line, arrays as "Name: *3 { a: 1,2,3 }".
#include "formats/fbx/tree.h"

#include <string.h>

#include "base/number.h"

enum { most_depth = 64 };

typedef struct text_reader {
  fbx_tree *tree;
  const char *p, *start, *end;
  fbx_value *values; // of the node that is being read
  int count, room;
} text_reader;

static sn_status wrong(text_reader *r, const char *what) {
  int line = 1;
  for (const char *c = r->start; c < r->p; c++) line += *c == '\n';
  return sn_fail(r->tree->ctx, SN_BAD_FILE, "line %d: %s", line, what);
}

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Skips blanks and comments; with `lines` also line ends.
static void skip(text_reader *r, bool lines) {
  while (r->p < r->end && (blank(*r->p) || *r->p == ';' || (lines && *r->p == '\n'))) {
    if (*r->p == ';') {
      const char *stop = memchr(r->p, '\n', (size_t)(r->end - r->p));
      r->p = stop ? stop : r->end;
    } else {
      r->p++;
    }
  }
}

static bool at(text_reader *r, char c) { return r->p < r->end && *r->p == c; }

static sn_status add_value(text_reader *r, fbx_value value) {
  if (r->count == r->room) {
    int room = r->room ? 2 * r->room : 4;
    fbx_value *larger = sn_fbx_take(r->tree, (size_t)room, sizeof *larger);
    if (!larger) return r->tree->ctx->error.status;
    if (r->count > 0) memcpy(larger, r->values, (size_t)r->count * sizeof *larger);
    r->values = larger, r->room = room;
  }
  r->values[r->count++] = value;
  return SN_OK;
}

// "*3 { a: 1,2,3 }"
static sn_status read_array(text_reader *r) {
  double count;
  const char *behind = sn_parse_number(r->p + 1, r->end, &count);
  if (!behind || !(count >= 0 && count <= UINT32_MAX)) return wrong(r, "an array has no size");
  r->p = behind;
  skip(r, true);
  if (!at(r, '{')) return wrong(r, "an array has no numbers");
  r->p++;
  skip(r, true);
  if (at(r, 'a')) r->p++;
  skip(r, true);
  if (at(r, ':')) r->p++;
  const char *stop = memchr(r->p, '}', (size_t)(r->end - r->p));
  if (!stop) return wrong(r, "an array has no end");
  fbx_value value = {.type = 'A', .item = 't', .count = (uint32_t)count};
  value.bytes = (const uint8_t *)r->p, value.size = (size_t)(stop - r->p);
  r->p = stop + 1;
  return add_value(r, value);
}

static sn_status read_text(text_reader *r) {
  const char *stop = memchr(r->p + 1, '"', (size_t)(r->end - r->p - 1));
  if (!stop) return wrong(r, "text has no end");
  fbx_value value = {.type = 'S', .bytes = (const uint8_t *)r->p + 1, .size = (size_t)(stop - r->p - 1)};
  r->p = stop + 1;
  return add_value(r, value);
}

// A number, or a bare word as in "Shading: Y".
static sn_status read_word(text_reader *r) {
  fbx_value value;
  const char *behind = sn_fbx_parse_number(r->p, r->end, &value), *word = r->p;
  if (behind) {
    r->p = behind;
    return add_value(r, value);
  }
  while (r->p < r->end && !blank(*r->p) && !strchr(",{}\n;\"", *r->p) && *r->p) r->p++;
  if (r->p == word) return wrong(r, "a value is not as it should be");
  return add_value(r, (fbx_value){.type = 'S', .bytes = (const uint8_t *)word, .size = (size_t)(r->p - word)});
}

// Values end at the end of the line, unless a comma stands before or behind it or text begins the next one.
static sn_status read_values(text_reader *r) {
  bool more = false;
  r->count = r->room = 0;
  r->values = NULL;
  for (sn_status status = SN_OK;;) {
    if (status != SN_OK) return status;
    skip(r, false);
    if (at(r, '\n')) {
      const char *here = r->p;
      skip(r, true);
      if (more || at(r, ',') || at(r, '{') || at(r, '"')) continue;
      r->p = here;
      return SN_OK;
    }
    if (r->p == r->end || *r->p == '}' || *r->p == '{') return SN_OK;
    more = *r->p == ',';
    if (more) {
      r->p++;
    } else {
      status = *r->p == '*' ? read_array(r) : *r->p == '"' ? read_text(r) : read_word(r);
    }
  }
}

static sn_status read_nodes(text_reader *r, fbx_node *parent, int depth) {
  fbx_node **last = &parent->first;
  if (depth > most_depth) return wrong(r, "nodes are nested too deeply");
  for (;;) {
    skip(r, true);
    if (r->p == r->end && depth == 0) return SN_OK;
    if (r->p == r->end) return wrong(r, "a node has no end: the file is cut short");
    if (*r->p == '}' && depth > 0) {
      r->p++;
      return SN_OK;
    }
    const char *name = r->p;
    while (r->p<r->end && * r->p> ' ' && !strchr(":{}\",;", *r->p)) r->p++;
    size_t size = (size_t)(r->p - name);
    skip(r, false);
    if (size == 0 || !at(r, ':')) return wrong(r, "there is no name of a node");
    r->p++;
    fbx_node *node = sn_fbx_take(r->tree, 1, sizeof *node);
    sn_status status = node ? read_values(r) : r->tree->ctx->error.status;
    if (status != SN_OK) return status;
    *node = (fbx_node){.name = name, .name_size = size, .values = r->values, .value_count = r->count};
    if (at(r, '{')) {
      r->p++;
      status = read_nodes(r, node, depth + 1);
      if (status != SN_OK) return status;
    }
    *last = node, last = &node->next;
  }
}

sn_status sn_fbx_text_parse(fbx_tree *tree) {
  const char *text = (const char *)tree->bytes;
  text_reader r = {.tree = tree, .p = sn_skip_byte_order_mark(text, tree->size), .end = text + tree->size};
  r.start = r.p;
  skip(&r, true);
  if (tree->size >= 18 && memcmp(text, "Kaydara FBX Binary", 18) == 0)
    return sn_fail(tree->ctx, SN_BAD_FILE, "its header is damaged: it was probably sent as text");
  if (r.p < r.end && memchr(r.p, '\0', (size_t)(r.end - r.p)))
    return sn_fail(tree->ctx, SN_BAD_FILE, "it is neither binary FBX nor text");
  sn_status status = read_nodes(&r, &tree->root, 0);
  if (status != SN_OK) return status;
  const fbx_node *header = sn_fbx_child(&tree->root, "FBXHeaderExtension");
  if (!header) return sn_fail(tree->ctx, SN_BAD_FILE, "it has no header of FBX");
  double version = sn_fbx_number(sn_fbx_child(header, "FBXVersion"), 0, 0);
  tree->version = version > 0 && version < 1e6 ? (uint32_t)version : 0;
  return SN_OK;
}
