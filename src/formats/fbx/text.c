// SPDX-License-Identifier: MIT
// Parses text FBX: "Name: value, value { children }", one node per line, arrays as "Name: *3 { a: 1,2,3 }".
#include "formats/fbx/tree.h"

#include <string.h>

#include "base/number.h"

typedef struct text_reader {
  fbx_tree *tree;
  const char *p, *start, *end;
  fbx_value *values; // of the current node
  int count, room;
} text_reader;

static void wrong(text_reader *r, const char *what) {
  int line = 1;
  for (const char *c = r->start; c < r->p; c++) line += *c == '\n';
  sn_fail_once(r->tree, SN_BAD_FILE, "line %d: %s", line, what);
}

const char *sn_fbx_skip_blanks(const char *p, const char *end) {
  while (p < end && *p && strchr(" \t\r\n,;", *p)) {
    const char *stop = *p == ';' ? memchr(p, '\n', (size_t)(end - p)) : p + 1;
    p = stop ? stop : end;
  }
  return p;
}

static void skip(text_reader *r) { r->p = sn_fbx_skip_blanks(r->p, r->end); }

// Consumes this character if it is next.
static bool pass(text_reader *r, char c) {
  bool here = r->p < r->end && *r->p == c;
  r->p += here;
  return here;
}

// Consumes a name or a bare word; returns its length.
static size_t pass_word(text_reader *r) {
  const char *word = r->p;
  while (r->p < r->end && (unsigned char)*r->p > ' ' && !strchr(":{}\",;", *r->p)) r->p++;
  return (size_t)(r->p - word);
}

static void add_value(text_reader *r, fbx_value value) {
  if (r->count == r->room) {
    fbx_value *larger = sn_fbx_take(r->tree, 2 * (size_t)r->room + 4, sizeof *larger);
    if (!larger) return;
    if (r->count > 0) memcpy(larger, r->values, (size_t)r->count * sizeof *larger);
    r->values = larger, r->room = 2 * r->room + 4;
  }
  r->values[r->count++] = value;
}

// "*3 { a: 1,2,3 }"
static void read_array(text_reader *r) {
  double count;
  const char *behind = sn_parse_number(r->p, r->end, &count);
  if (!behind || !(count >= 0 && count <= UINT32_MAX)) return wrong(r, "an array has no size");
  r->p = behind;
  skip(r);
  if (!pass(r, '{')) return wrong(r, "an array has no numbers");
  for (const char *c = "a:"; *c; c++) skip(r), pass(r, *c);
  const char *stop = memchr(r->p, '}', (size_t)(r->end - r->p));
  if (!stop) return wrong(r, "an array has no end");
  fbx_value value = {.type = 'A', .item = 't', .count = (uint32_t)count};
  value.bytes = (const uint8_t *)r->p, value.size = (size_t)(stop - r->p);
  r->p = stop + 1;
  add_value(r, value);
}

static void read_text(text_reader *r) {
  const char *stop = memchr(r->p, '"', (size_t)(r->end - r->p));
  if (!stop) return wrong(r, "text has no end");
  add_value(r, (fbx_value){.type = 'S', .bytes = (const uint8_t *)r->p, .size = (size_t)(stop - r->p)});
  r->p = stop + 1;
}

// A number, or a bare word as in "Shading: Y". False at the name of the next node.
static bool read_word(text_reader *r) {
  fbx_value value;
  const char *word = r->p, *behind = sn_fbx_parse_number(word, r->end, &value);
  size_t size = pass_word(r);
  if (!behind) value = (fbx_value){.type = 'S', .bytes = (const uint8_t *)word, .size = size};
  skip(r);
  bool name = pass(r, ':');
  if (name) r->p = word;
  if (size == 0) wrong(r, "a value is malformed");
  if (!name && size > 0) add_value(r, value);
  return !name && size > 0;
}

// Values end at a brace or the name of the next node, wherever lines end.
static void read_values(text_reader *r) {
  r->count = r->room = 0;
  r->values = NULL;
  for (bool more = true; more && r->tree->status == SN_OK;) {
    skip(r);
    if (r->p == r->end || *r->p == '}' || *r->p == '{') return;
    if (pass(r, '*')) {
      read_array(r);
    } else if (pass(r, '"')) {
      read_text(r);
    } else {
      more = read_word(r);
    }
  }
}

static void read_nodes(text_reader *r, fbx_node *parent, int depth) {
  fbx_node **last = &parent->first;
  if (depth > FBX_DEPTH_READ) return wrong(r, "nodes are nested too deeply");
  while (r->tree->status == SN_OK) {
    skip(r);
    if (depth > 0 && pass(r, '}')) return;
    if (r->p == r->end && depth > 0) return wrong(r, "a node has no end: the file is cut short");
    if (r->p == r->end) return;
    const char *name = r->p;
    size_t size = pass_word(r);
    skip(r);
    if (size == 0 || !pass(r, ':')) return wrong(r, "the name of a node is missing");
    fbx_node *node = sn_fbx_take(r->tree, 1, sizeof *node);
    if (!node) return;
    read_values(r);
    *node = (fbx_node){.name = name, .name_size = size, .values = r->values, .value_count = r->count};
    if (pass(r, '{')) read_nodes(r, node, depth + 1);
    *last = node, last = &node->next;
  }
}

void sn_fbx_text_parse(fbx_tree *tree) {
  const char *text = (const char *)tree->bytes;
  text_reader r = {.tree = tree, .p = sn_skip_byte_order_mark(text, tree->size), .end = text + tree->size};
  r.start = r.p;
  skip(&r);
  if (tree->size >= 18 && memcmp(text, "Kaydara FBX Binary", 18) == 0) {
    sn_fail_once(tree, SN_BAD_FILE, "its header is damaged: it was probably sent as text");
  } else if (r.p < r.end && memchr(r.p, '\0', (size_t)(r.end - r.p))) {
    sn_fail_once(tree, SN_BAD_FILE, "it is neither binary FBX nor text");
  }
  read_nodes(&r, &tree->root, 0);
  const fbx_node *header = sn_fbx_child(&tree->root, "FBXHeaderExtension");
  if (!header) sn_fail_once(tree, SN_BAD_FILE, "it has no FBXHeaderExtension: it is empty or of another format");
  double version = sn_fbx_number(sn_fbx_child(header, "FBXVersion"), 0, 0);
  tree->version = version > 0 && version < 1e6 ? (uint32_t)version : 0;
}
