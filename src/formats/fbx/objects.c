// SPDX-License-Identifier: MIT
// The objects of an FBX file, their properties and their connections.
#include "formats/fbx/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- objects -------------------------------------------------------------------------------------------------------

// "name", zero, one, "Model" in binary files, "Model::name" in text.
static const char *object_name(fbx_tree *tree, const fbx_value *value) {
  char *text = sn_fbx_string(tree, value);
  if (!text) return sn_fbx_take(tree, 1, 1);
  bool binary = strlen(text) < value->size;
  char *colons = binary ? NULL : strstr(text, "::");
  return colons ? colons + 2 : text;
}

static int compare_ids(const void *a, const void *b) {
  int64_t x = (*(const fbx_object *const *)a)->id, y = (*(const fbx_object *const *)b)->id;
  return (x > y) - (x < y);
}

static const fbx_node *template_of(const fbx_scene *s, const fbx_node *object) {
  enum { most = 256 }; // there are a few dozen kinds
  const fbx_node *type = sn_fbx_child(&s->tree.root, "Definitions");
  type = type ? type->first : NULL;
  for (int k = 0; type && k < most; k++, type = type->next) {
    const fbx_value *name = sn_fbx_value(type, 0);
    if (sn_fbx_is(type, "ObjectType") && name && name->type == 'S' && name->size == object->name_size &&
        memcmp(name->bytes, object->name, name->size) == 0)
      return sn_fbx_child(sn_fbx_child(type, "PropertyTemplate"), "Properties70");
  }
  return NULL;
}

static int count_children(const fbx_node *node) {
  int count = 0;
  for (const fbx_node *child = node ? node->first : NULL; child; child = child->next) count++;
  return count;
}

static sn_status list_objects(fbx_scene *s) {
  const fbx_node *list = sn_fbx_child(&s->tree.root, "Objects"), *before = NULL, *defaults = NULL;
  s->objects = sn_fbx_take(&s->tree, (size_t)count_children(list), sizeof *s->objects);
  if (!s->objects) return s->tree.ctx->error.status;
  for (const fbx_node *node = list ? list->first : NULL; node; node = node->next) {
    const fbx_value *id = sn_fbx_value(node, 0);
    if (!id || id->type != 'I') continue;
    bool same = before && before->name_size == node->name_size && !memcmp(before->name, node->name, node->name_size);
    if (!same) defaults = template_of(s, node);
    before = node;
    fbx_object *object = &s->objects[s->object_count++];
    const char *type = sn_fbx_string(&s->tree, sn_fbx_value(node, 2));
    *object =
      (fbx_object){.id = id->integer, .node = node, .defaults = defaults, .type = type ? type : "", .model = -1};
    object->name = object_name(&s->tree, sn_fbx_value(node, 1));
    if (!object->name) return s->tree.ctx->error.status;
  }
  return SN_OK;
}

static sn_status sort_objects(fbx_scene *s) {
  s->by_id = sn_fbx_take(&s->tree, (size_t)s->object_count, sizeof *s->by_id);
  if (!s->by_id) return s->tree.ctx->error.status;
  for (int k = 0; k < s->object_count; k++) s->by_id[k] = &s->objects[k];
  qsort(s->by_id, (size_t)s->object_count, sizeof *s->by_id, compare_ids);
  for (int k = 1; k < s->object_count; k++) {
    if (s->by_id[k]->id == s->by_id[k - 1]->id) {
      return sn_fail(s->tree.ctx, SN_BAD_FILE, "%.200s and %.200s have the same number", s->by_id[k - 1]->name,
                     s->by_id[k]->name);
    }
  }
  return SN_OK;
}

// ---- connections -----------------------------------------------------------------------------------------------------

static int find_object(const fbx_scene *s, const fbx_value *id) {
  if (!id || id->type != 'I') return -1;
  int low = 0, high = s->object_count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (s->by_id[middle]->id < id->integer) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < s->object_count && s->by_id[low]->id == id->integer ? (int)(s->by_id[low] - s->objects) : -1;
}

static sn_status list_links(fbx_scene *s) {
  const fbx_node *list = sn_fbx_child(&s->tree.root, "Connections");
  s->links = sn_fbx_take(&s->tree, (size_t)count_children(list), sizeof *s->links);
  if (!s->links) return s->tree.ctx->error.status;
  for (const fbx_node *node = list ? list->first : NULL; node; node = node->next) {
    const fbx_value *kind = sn_fbx_value(node, 0), *to = sn_fbx_value(node, 2);
    fbx_link link = {.child = find_object(s, sn_fbx_value(node, 1)), .parent = find_object(s, to)};
    bool to_scene = to && to->type == 'I' && to->integer == 0;
    if (sn_fbx_says(kind, "OP")) link.property = sn_fbx_value(node, 3);
    if (link.child < 0 || (link.parent < 0 && !to_scene)) continue;
    if (!sn_fbx_says(kind, "OO") && !link.property) continue;
    s->links[s->link_count++] = link;
  }
  return SN_OK;
}

// Links by parent or by child: those of object o are list[first[o + 1]] up to list[first[o + 2]]; of the scene, o is -1.
static sn_status sort_links(fbx_scene *s, bool by_child, int **first, int **list) {
  size_t count = (size_t)s->object_count + 2;
  int *next = sn_fbx_take(&s->tree, count, sizeof *next);
  *first = sn_fbx_take(&s->tree, count, sizeof **first);
  *list = sn_fbx_take(&s->tree, (size_t)s->link_count, sizeof **list);
  if (!*first || !*list || !next) return s->tree.ctx->error.status;
  for (int k = 0; k < s->link_count; k++) (*first)[(by_child ? s->links[k].child : s->links[k].parent) + 2]++;
  for (size_t o = 1; o < count; o++) (*first)[o] += (*first)[o - 1];
  memcpy(next, *first, count * sizeof *next);
  for (int k = 0; k < s->link_count; k++)
    (*list)[next[(by_child ? s->links[k].child : s->links[k].parent) + 1]++] = k;
  return SN_OK;
}

int sn_fbx_next_below(const fbx_scene *s, int parent, const char *kind, int *at, const fbx_link **link) {
  int first = s->first_below[parent + 1], end = s->first_below[parent + 2];
  while (first + *at < end) {
    const fbx_link *here = &s->links[s->below[first + (*at)++]];
    if (!sn_fbx_is(s->objects[here->child].node, kind)) continue;
    if (link) *link = here;
    return here->child;
  }
  return -1;
}

const fbx_link *sn_fbx_next_above(const fbx_scene *s, int child, int *at) {
  int first = s->first_above[child + 1], end = s->first_above[child + 2];
  return first + *at < end ? &s->links[s->above[first + (*at)++]] : NULL;
}

sn_status sn_fbx_load_objects(fbx_scene *s) {
  sn_status status = list_objects(s);
  if (status == SN_OK) status = sort_objects(s);
  if (status == SN_OK) status = list_links(s);
  if (status == SN_OK) status = sort_links(s, false, &s->first_below, &s->below);
  return status == SN_OK ? sort_links(s, true, &s->first_above, &s->above) : status;
}

// ---- properties -----------------------------------------------------------------------------------------------------

// P: name, type, label, flags, values
static const fbx_node *find_property(const fbx_node *list, const char *name) {
  const fbx_node *p = list ? list->first : NULL;
  while (p && !sn_fbx_says(sn_fbx_value(p, 0), name)) p = p->next;
  return p;
}

const fbx_node *sn_fbx_property(const fbx_object *object, const char *name) {
  const fbx_node *own = find_property(sn_fbx_child(object->node, "Properties70"), name);
  return own ? own : find_property(object->defaults, name);
}

double sn_fbx_property_number(const fbx_object *object, const char *name, double absent) {
  double value = sn_fbx_number(sn_fbx_property(object, name), 4, absent);
  return isfinite(value) ? value : absent;
}

sn_vec3 sn_fbx_property_vector(const fbx_object *object, const char *name, double absent) {
  const fbx_node *p = sn_fbx_property(object, name);
  double v[3];
  for (int k = 0; k < 3; k++) {
    v[k] = sn_fbx_number(p, 4 + k, absent);
    if (!isfinite(v[k])) v[k] = absent;
  }
  return sn_vec3_make(v[0], v[1], v[2]);
}
