// SPDX-License-Identifier: MIT
// Objects of an FBX file, their properties and connections.
#include "formats/fbx/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- objects -------------------------------------------------------------------------------------------------------

// "name", zero, one, "Model" in binary files, "Model::name" in text.
static const char *object_name(fbx_tree *tree, const fbx_value *value) {
  char *text = sn_fbx_string(tree, value);
  bool binary = text && value && strlen(text) < value->size;
  char *colons = text && !binary ? strstr(text, "::") : NULL;
  return colons ? colons + 2 : text;
}

static int compare_ids(const void *a, const void *b) {
  int64_t x = (*(const fbx_object *const *)a)->id, y = (*(const fbx_object *const *)b)->id;
  return (x > y) - (x < y);
}

static bool same_name(const fbx_node *a, const char *name, size_t size) {
  return a->name_size == size && memcmp(a->name, name, size) == 0;
}

static const fbx_node *template_of(const fbx_scene *s, const fbx_node *object) {
  enum { most = 256 }; // upper bound: FBX has a few dozen kinds
  const fbx_node *type = sn_fbx_child(&s->tree.root, "Definitions");
  type = type ? type->first : NULL;
  for (int k = 0; type && k < most; k++, type = type->next) {
    const fbx_value *name = sn_fbx_value(type, 0);
    if (sn_fbx_is(type, "ObjectType") && name && name->type == 'S' &&
        same_name(object, (const char *)name->bytes, name->size))
      return sn_fbx_child(sn_fbx_child(type, "PropertyTemplate"), "Properties70");
  }
  return NULL;
}

static size_t count_children(const fbx_node *node) {
  size_t count = 0;
  for (const fbx_node *child = node ? node->first : NULL; child; child = child->next) count++;
  return count;
}

static void list_objects(fbx_scene *s) {
  const fbx_node *list = sn_fbx_child(&s->tree.root, "Objects"), *before = NULL, *defaults = NULL;
  size_t most = count_children(list) + 1;
  s->objects = sn_fbx_take(&s->tree, most, sizeof *s->objects);
  s->by_id = sn_fbx_take(&s->tree, most, sizeof *s->by_id);
  if (!s->by_id) return;
  s->objects[s->object_count++] = (fbx_object){.node = &s->tree.root, .name = "the scene", .type = ""};
  for (const fbx_node *node = list ? list->first : NULL; node; node = node->next) {
    const fbx_value *id = sn_fbx_value(node, 0);
    if (!id || id->type != 'I') continue;
    if (!before || !same_name(before, node->name, node->name_size)) defaults = template_of(s, node);
    before = node;
    s->objects[s->object_count++] = (fbx_object){.id = id->integer,
                                                 .node = node,
                                                 .defaults = defaults,
                                                 .type = sn_fbx_string(&s->tree, sn_fbx_value(node, 2)),
                                                 .name = object_name(&s->tree, sn_fbx_value(node, 1))};
  }
  if (s->tree.status != SN_OK) return;
  for (int k = 0; k < s->object_count; k++) s->by_id[k] = &s->objects[k];
  qsort(s->by_id, (size_t)s->object_count, sizeof *s->by_id, compare_ids);
  for (int k = 1; k < s->object_count && s->tree.status == SN_OK; k++) {
    if (s->by_id[k]->id == s->by_id[k - 1]->id)
      sn_fail_once(&s->tree, SN_BAD_FILE, "%.200s and %.200s have the same number", s->by_id[k - 1]->name,
                   s->by_id[k]->name);
  }
}

// ---- connections -----------------------------------------------------------------------------------------------------

static fbx_object *find_object(const fbx_scene *s, const fbx_value *id) {
  const fbx_object key = {.id = id ? id->integer : 0}, *pointer = &key;
  if (!id || id->type != 'I') return NULL;
  fbx_object **found = bsearch(&pointer, s->by_id, (size_t)s->object_count, sizeof *s->by_id, compare_ids);
  return found ? *found : NULL;
}

void sn_fbx_load_objects(fbx_scene *s) {
  const fbx_node *list = sn_fbx_child(&s->tree.root, "Connections");
  list_objects(s);
  fbx_link *links = sn_fbx_take(&s->tree, count_children(list), sizeof *links), *link = links;
  for (const fbx_node *node = links && list ? list->first : NULL; node; node = node->next) {
    const fbx_value *kind = sn_fbx_value(node, 0);
    *link =
      (fbx_link){.child = find_object(s, sn_fbx_value(node, 1)), .parent = find_object(s, sn_fbx_value(node, 2))};
    if (sn_fbx_says(kind, "OP")) link->property = sn_fbx_value(node, 3);
    if (link->child && link->parent && (sn_fbx_says(kind, "OO") || link->property)) link++;
  }
  while (link > links) { // backwards, so that lists keep file order and the first parent wins
    link--;
    link->next_below = link->parent->below, link->parent->below = link;
    link->next_above = link->child->above, link->child->above = link;
    if (!link->property && sn_fbx_is(link->child->node, "Model") && sn_fbx_is(link->parent->node, "Model"))
      link->child->parent = link->parent;
  }
}

const fbx_link *sn_fbx_below(const fbx_object *parent, const fbx_link *last, const char *kind) {
  const fbx_link *link = last ? last->next_below : parent->below;
  while (link && !sn_fbx_is(link->child->node, kind)) link = link->next_below;
  return link;
}

int sn_fbx_count_below(const fbx_object *parent, const char *kind) {
  int count = 0;
  for (const fbx_link *link = NULL; (link = sn_fbx_below(parent, link, kind));) count++;
  return count;
}

// ---- properties -----------------------------------------------------------------------------------------------------

// P: name, type, label, flags, values
static const fbx_node *find_property(const fbx_node *list, const char *name) {
  const fbx_node *p = list ? list->first : NULL;
  while (p && !sn_fbx_says(sn_fbx_value(p, 0), name)) p = p->next;
  return p;
}

static double property(const fbx_object *object, const char *name, int index, double absent) {
  const fbx_node *own = find_property(sn_fbx_child(object->node, "Properties70"), name);
  double value = sn_fbx_number(own ? own : find_property(object->defaults, name), 4 + index, absent);
  return isfinite(value) ? value : absent;
}

double sn_fbx_property_number(const fbx_object *object, const char *name, double absent) {
  return property(object, name, 0, absent);
}

sn_vec3 sn_fbx_property_vector(const fbx_object *object, const char *name, double absent) {
  return sn_vec3_make(property(object, name, 0, absent), property(object, name, 1, absent),
                      property(object, name, 2, absent));
}
