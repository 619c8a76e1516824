// SPDX-License-Identifier: MIT
// The raw FBX tree: nodes with a name and values. Binary (32- and 64-bit records) and text files give the same tree. Values are not
// validated here; callers check what they read. The first failure is kept in `status` and later calls do nothing, so callers need
// not check each.
#ifndef SINEW_FORMATS_FBX_TREE_H
#define SINEW_FORMATS_FBX_TREE_H

#include "formats/common/reader.h"
#include "sinew/formats.h"

enum { FBX_DEPTH_READ = 64 };

typedef struct fbx_value {
  char type;            // 'I' integer, 'D' real, 'S' bytes, 'A' encoded array
  char item;            // of an array: 'b', 'i', 'l', 'f', 'd', or 't' for text
  bool packed;          // of an array: compressed by zlib
  uint32_t count;       // of an array
  int64_t integer;      // of 'I'
  double real;          // of 'I' and 'D'
  const uint8_t *bytes; // of 'S' and 'A'
  size_t size;
} fbx_value;

typedef struct fbx_node {
  const char *name; // not zero-terminated
  size_t name_size;
  int value_count;
  fbx_value *values;
  struct fbx_node *first, *next; // first child, next sibling
} fbx_node;

typedef struct fbx_tree {
  sn_context *ctx;
  sn_status status;
  const uint8_t *bytes;
  size_t size, budget; // budget: bytes that may still be allocated for the file
  uint32_t version;
  fbx_node root;
  uint8_t *chunk; // pool for small allocations
  size_t chunk_left;
  sn_arena memory;
} fbx_tree;

typedef struct fbx_numbers {
  double *values;
  size_t count;
} fbx_numbers;

// The bytes must outlive the tree, which must be freed after a failure too.
fbx_tree sn_fbx_tree_parse(sn_context *ctx, const uint8_t *bytes, size_t size);
void sn_fbx_text_parse(fbx_tree *tree); // text.c
// Skips blanks, line ends, commas and comments.
const char *sn_fbx_skip_blanks(const char *p, const char *end);
// Parses a number; integers stay exact. Returns the character after it, or NULL.
const char *sn_fbx_parse_number(const char *text, const char *end, fbx_value *out);

// Zeroed memory that lives as long as the tree; NULL if out of memory, or after any failure.
void *sn_fbx_take(fbx_tree *tree, size_t count, size_t size);
// The same, within the budget: a small file must not expand or take time without bound.
void *sn_fbx_room(fbx_tree *tree, size_t count, size_t size);
bool sn_fbx_spend(fbx_tree *tree, size_t count, size_t size); // false after any failure

bool sn_fbx_is(const fbx_node *node, const char *name);
// The first child of that name; NULL: none. `node` may be NULL, here and below.
const fbx_node *sn_fbx_child(const fbx_node *node, const char *name);
const fbx_value *sn_fbx_value(const fbx_node *node, int index); // NULL: none
double sn_fbx_number(const fbx_node *node, int index, double absent);
bool sn_fbx_says(const fbx_value *value, const char *text);
// Text up to the first zero, zero-terminated; "" if the value is not text.
char *sn_fbx_string(fbx_tree *tree, const fbx_value *value);
// All numbers of the child of that name, stored as an array or as a list of values.
fbx_numbers sn_fbx_numbers(fbx_tree *tree, const fbx_node *node, const char *name);

#endif
