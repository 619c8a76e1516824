// SPDX-License-Identifier: MIT
// The driver table as a behaviour graph of the glTF extension KHR_interactivity: computing nodes, then a tick whose steps store
// common results in variables and set the helpers' nodes. Every step recomputes its inputs, except variables.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"

enum { type_float, type_float3, type_float4, type_matrix };
static const char *const types[] = {"float", "float3", "float4", "float4x4", NULL};
static const int widths[] = {1, 3, 4, 16};

// The inputs of operations after store_variable are named a, b, c, d.
// clang-format off
enum { get_pointer, set_pointer, tick, sequence, read_variable, store_variable, multiply_quats, multiply, add, sub, divide,
       absolute, largest, sign, arc, size, normalise, clamp, transform, combine3, combine4, dot, exponential };
static const char *const operations[] = {
  "pointer/get", "pointer/set", "event/onTick", "flow/sequence", "variable/get", "variable/set", "math/quatMul", "math/mul",
  "math/add", "math/sub", "math/div", "math/abs", "math/max", "math/sign", "math/atan2", "math/length", "math/normalize",
  "math/clamp", "math/transform", "math/combine3", "math/combine4", "math/dot",
  "math/exp", NULL};
// clang-format on

typedef struct graph {
  const sn_table *table;
  const int *joints;     // nodes of the document
  json_t *nodes, *steps; // steps: nodes that the tick runs, appended at the end
  int variable_count;    // all float4
  int (*terms)[3];       // of every driver
  int *blocks;           // of every group of terms, from blocks_of on
} graph;

// The output of a node, or a constant.
typedef struct socket {
  int node; // -1: constant
  int type;
  double value[16];
} socket;

static socket from(int node) { return (socket){.node = node}; }

static socket constant(int type, const double *value) {
  socket out = {.node = -1, .type = type};
  memcpy(out.value, value, (size_t)widths[type] * sizeof *value);
  return out;
}

static socket number(double value) { return constant(type_float, &value); }
static socket quaternion(sn_quat q) { return constant(type_float4, (double[]){q.x, q.y, q.z, q.w}); }

static json_t *socket_json(const socket *s) {
  if (s->node >= 0) return json_pack("{si ss}", "node", s->node, "socket", "value");
  json_t *values = json_array();
  for (int k = 0; k < widths[s->type]; k++) json_array_append_new(values, json_real(s->value[k]));
  return json_pack("{si so}", "type", s->type, "value", values);
}

static json_t *node_json(int operation, json_t *configuration, json_t *values) {
  return json_pack("{si so* so*}", "declaration", operation, "configuration", configuration, "values", values);
}

static int append(json_t *list, json_t *node) {
  json_array_append_new(list, node);
  return (int)json_array_size(list) - 1;
}

static int compute(graph *g, int operation, int count, const socket *inputs) {
  json_t *values = json_object();
  for (int k = 0; k < count; k++) {
    char name[2] = {(char)('a' + k), 0};
    json_object_set_new(values, name, socket_json(inputs + k));
  }
  return append(g->nodes, node_json(operation, NULL, values));
}

static int compute1(graph *g, int operation, socket a) { return compute(g, operation, 1, &a); }
static int compute2(graph *g, int operation, socket a, socket b) {
  return compute(g, operation, 2, (socket[]){a, b});
}

// Component k of a float3 or float4, by a dot product: Babylon.js supports math/extract4 for floats only.
static socket part(graph *g, int node, int type, int k) {
  double unit[4] = {0};
  unit[k] = 1;
  return from(compute2(g, dot, from(node), constant(type, unit)));
}

// A step that stores `count` nodes' values in variables; `nodes` then read these.
static void store(graph *g, int count, int *nodes) {
  json_t *variables = json_array(), *values = json_object();
  for (int k = 0; k < count; k++) {
    char name[16];
    socket value = from(nodes[k]);
    int variable = g->variable_count++;
    snprintf(name, sizeof name, "%d", variable);
    json_object_set_new(values, name, socket_json(&value));
    json_array_append_new(variables, json_integer(variable));
    nodes[k] =
      append(g->nodes, node_json(read_variable, json_pack("{s{s[i]}}", "variable", "value", variable), NULL));
  }
  append(g->steps, node_json(store_variable, json_pack("{s{so}}", "variables", "value", variables), values));
}

static json_t *pointer_to(int node, const char *property, int type) {
  char pointer[64];
  snprintf(pointer, sizeof pointer, "/nodes/%d/%s", node, property);
  return json_pack("{s{s[s]} s{s[i]}}", "pointer", "value", pointer, "type", "value", type);
}

// ---- the table --------------------------------------------------------------------------------

// The terms of a driver as three float4: x y z xx, xy xz yy yz, zz 0 0 0.
static void add_driver(graph *g, const sn_table_driver *d, int terms[3]) {
  int q = append(g->nodes, node_json(get_pointer, pointer_to(g->joints[d->joint], "rotation", type_float4), NULL));
  q = compute2(g, multiply_quats, quaternion(d->before), from(q));
  q = compute2(g, multiply_quats, from(q), quaternion(d->after));
  socket v[4];
  for (int k = 0; k < 4; k++) v[k] = part(g, q, type_float4, k);
  int vector = compute(g, combine3, 3, v);
  int sine = compute2(g, largest, from(compute1(g, size, from(vector))), number(1e-9));
  int angle = compute2(g, arc, from(sine), from(compute1(g, absolute, v[3])));
  int side = compute1(g, sign, from(compute2(g, add, v[3], number(1e-20)))); // for 180 degrees: 1
  int factor = compute2(g, divide, from(compute2(g, multiply, from(angle), from(side))), from(sine));
  socket twice = from(compute2(g, multiply, from(factor), number(2)));
  int factors = compute(g, combine3, 3, (socket[]){twice, twice, twice});
  const double rest[3] = {d->rest[0], d->rest[1], d->rest[2]};
  int p = compute2(g, sub, from(compute2(g, multiply, from(vector), from(factors))), constant(type_float3, rest));
  socket x = part(g, p, type_float3, 0), y = part(g, p, type_float3, 1), z = part(g, p, type_float3, 2);
  socket one = number(1), none = number(0);
  const socket left[3][4] = {{x, y, z, x}, {x, x, y, y}, {z, none, none, none}};
  const socket right[3][4] = {{one, one, one, x}, {y, z, y, z}, {z, none, none, none}};
  for (int k = 0; k < 3; k++)
    terms[k] = compute2(g, multiply, from(compute(g, combine4, 4, left[k])), from(compute(g, combine4, 4, right[k])));
  store(g, 3, terms);
}

// Adds a matrix (columns) times `block`, four terms, to a sum of float4.
static void add_product(graph *g, int block, const double matrix[16], socket *sum) {
  int product = compute2(g, transform, from(block), constant(type_matrix, matrix));
  *sum = from(sum->node < 0 ? product : compute2(g, add, *sum, from(product)));
}

static socket zero(void) { return constant(type_float4, (double[4]){0}); }

// The sum over a helper's functions of four channels (-1: zero), times `factor`, clamped to their limits.
static int add_sum(graph *g, const sn_table_helper *h, const int channels[4], double factor) {
  socket sum = zero();
  double low[4] = {0}, high[4] = {0};
  for (int f = 0; f < h->function_count; f++)
    for (int k = 0; k < 3; k++) {
      const sn_table_function *function = g->table->functions + h->first_function + f;
      double matrix[16] = {0};
      for (int n = 4 * k; n < 4 * k + 4 && n < SN_RT_QUADRATIC; n++)
        for (int c = 0; c < 4; c++)
          matrix[4 * (n % 4) + c] = channels[c] < 0 ? 0 : factor * function->mix[n][channels[c]];
      add_product(g, g->terms[function->driver][k], matrix, &sum);
    }
  for (int c = 0; c < 4; c++)
    if (channels[c] >= 0) low[c] = factor * h->low[channels[c]], high[c] = factor * h->high[channels[c]];
  return compute(g, clamp, 3, (socket[]){sum, constant(type_float4, low), constant(type_float4, high)});
}

static void add_setter(graph *g, int node, const char *property, int type, int value) {
  socket input = from(value);
  append(g->steps,
         node_json(set_pointer, pointer_to(node, property, type), json_pack("{so}", "value", socket_json(&input))));
}

static void add_helper(graph *g, int n) {
  const sn_table_helper *h = g->table->helpers + n;
  int node = g->joints[g->table->joint_count + n];
  sn_mat3 r = sn_quat_to_mat3(h->rotation);
  double turn[16] = {[15] = 1}, rest[4] = {h->translation.x, h->translation.y, h->translation.z, 1};
  for (int k = 0; k < 9; k++) turn[4 * (k % 3) + k / 3] = r.m[k / 3][k % 3];
  int moved = add_sum(g, h, (const int[]){0, 1, 2, 6}, 1); // and the scale, in w
  moved = compute2(g, transform, from(moved), constant(type_matrix, turn));
  moved = compute2(g, add, from(moved), constant(type_float4, rest));
  store(g, 1, &moved);
  socket v[4];
  for (int k = 0; k < 4; k++) v[k] = part(g, moved, type_float4, k);
  add_setter(g, node, "translation", type_float3, compute(g, combine3, 3, v));
  add_setter(g, node, "scale", type_float3, compute(g, combine3, 3, (socket[]){v[3], v[3], v[3]}));
  int q = add_sum(g, h, (const int[]){3, 4, 5, -1}, 0.5);
  q = compute1(g, normalise, from(compute2(g, add, from(q), quaternion(sn_quat_identity()))));
  add_setter(g, node, "rotation", type_float4, compute2(g, multiply_quats, quaternion(h->rotation), from(q)));
}

// ---- morph targets --------------------------------------------------------------------------------

// The nodes with the terms of group n, four each. Term counts rounded up to fours do not overlap the next group.
static int *blocks_of(const graph *g, int n) { return g->blocks + g->table->groups[n].first / 4 + n; }
static int block_count(const sn_table_terms *t) { return (t->count + 3) / 4; }

// Gaussians of four centres: |p - centre|^2 is affine in the nine terms of the driver.
static int add_gaussians(graph *g, const sn_table_terms *t, int first) {
  double scale = 1 / (2 * (double)t->width * (double)t->width), constants[4] = {0}, matrices[3][16] = {{0}};
  for (int k = 0; k < 4 && first + k < t->count; k++) {
    const float *c = t->centres[first + k];
    for (int r = 0; r < 3; r++) constants[k] -= scale * c[r] * c[r], matrices[0][4 * r + k] = 2 * scale * c[r];
    matrices[0][12 + k] = matrices[1][8 + k] = matrices[2][k] = -scale; // xx, yy, zz
  }
  socket sum = zero();
  for (int k = 0; k < 3; k++) add_product(g, g->terms[t->drivers[0]][k], matrices[k], &sum);
  return compute1(g, exponential, from(compute2(g, add, sum, constant(type_float4, constants))));
}

// Four products of the rotation vectors of two drivers, p_r q_c.
static int add_products(graph *g, const sn_table_terms *t, int first) {
  double p[16] = {0}, q[16] = {0};
  for (int k = 0; k < 4 && first + k < t->count; k++) p[4 * ((first + k) / 3) + k] = q[4 * ((first + k) % 3) + k] = 1;
  int left = compute2(g, transform, from(g->terms[t->drivers[0]][0]), constant(type_matrix, p));
  int right = compute2(g, transform, from(g->terms[t->drivers[1]][0]), constant(type_matrix, q));
  return compute2(g, multiply, from(left), from(right));
}

static void add_group(graph *g, int n) {
  const sn_table_terms *t = g->table->groups + n;
  int *blocks = blocks_of(g, n), count = block_count(t);
  if (!t->centres && t->driver_count == 1) {
    memcpy(blocks, g->terms[t->drivers[0]], sizeof g->terms[0]);
    return;
  }
  for (int b = 0; b < count; b++) blocks[b] = t->centres ? add_gaussians(g, t, 4 * b) : add_products(g, t, 4 * b);
  if (count > 0) store(g, count, blocks);
}

// The weights of four shapes, from `first` on.
static int add_weights(graph *g, int first) {
  const sn_table *table = g->table;
  socket sum = zero();
  for (int n = 0; n < table->group_count; n++)
    for (int b = 0; b < block_count(table->groups + n); b++) {
      double matrix[16] = {0};
      bool used = false;
      for (int k = 4 * b; k < 4 * b + 4 && k < table->groups[n].count; k++)
        for (int c = 0; c < 4 && first + c < table->shape_count; c++) {
          double x = table->mix[(first + c) * table->term_count + table->groups[n].first + k];
          matrix[4 * (k % 4) + c] = x, used |= x != 0;
        }
      if (used) add_product(g, blocks_of(g, n)[b], matrix, &sum);
    }
  return compute2(g, add, sum, zero());
}

// Index of the morph target `name` of a node's mesh; -1: none.
static int find_target(const json_t *root, const json_t *node, const char *name) {
  const json_t *index = json_object_get(node, "mesh");
  const json_t *mesh = json_array_get(json_object_get(root, "meshes"), (size_t)json_integer_value(index)), *found;
  size_t k;
  if (!index) return -1;
  json_array_foreach(json_object_get(json_object_get(mesh, "extras"), "targetNames"), k, found) {
    if (strcmp(json_string_value(found), name) == 0) return (int)k;
  }
  return -1;
}

static void add_shapes(graph *g, const json_t *root) {
  const sn_table *table = g->table;
  int weights = -1;
  for (int n = 0; n < table->group_count; n++) add_group(g, n);
  for (int n = 0; n < table->shape_count; n++) {
    const json_t *node;
    size_t k;
    if (n % 4 == 0) weights = add_weights(g, n), store(g, 1, &weights);
    json_array_foreach(json_object_get(root, "nodes"), k, node) {
      char property[32];
      int target = find_target(root, node, table->shape_names[n]);
      snprintf(property, sizeof property, "weights/%d", target);
      if (target >= 0) add_setter(g, (int)k, property, type_float, part(g, weights, type_float4, n % 4).node);
    }
  }
}

static json_t *flow_to(int node) { return json_pack("{si ss}", "node", node, "socket", "in"); }

// The tick, the sequence of its steps, and the steps.
static void add_tick(graph *g) {
  int first = (int)json_array_size(g->nodes) + 2;
  json_t *flows = json_object();
  for (size_t n = 0; n < json_array_size(g->steps); n++) {
    char name[24];
    snprintf(name, sizeof name, "%04zu", n); // sequences run in the order of these names
    json_object_set_new(flows, name, flow_to(first + (int)n));
  }
  append(g->nodes, json_pack("{si s{so}}", "declaration", tick, "flows", "out", flow_to(first - 1)));
  append(g->nodes, json_pack("{si so}", "declaration", sequence, "flows", flows));
  json_array_extend(g->nodes, g->steps);
}

static json_t *named(const char *const *names, const char *key) {
  json_t *out = json_array();
  for (; *names; names++) json_array_append_new(out, json_pack("{ss}", key, *names));
  return out;
}

json_t *sn_babylon_graph(const sn_table *table, const json_t *root, const int *joints) {
  graph g = {.table = table, .joints = joints, .nodes = json_array(), .steps = json_array()};
  g.terms = calloc((size_t)table->driver_count + 1, sizeof *g.terms);
  g.blocks = calloc((size_t)(table->term_count / 4 + table->group_count) + 1, sizeof *g.blocks);
  bool whole = g.terms && g.blocks;
  for (int d = 0; whole && d < table->driver_count; d++) add_driver(&g, table->drivers + d, g.terms[d]);
  for (int n = 0; whole && n < table->helper_count; n++) add_helper(&g, n);
  if (whole) add_shapes(&g, root);
  add_tick(&g);
  json_t *variables = json_array(), *out = NULL;
  for (int k = 0; k < g.variable_count; k++)
    json_array_append_new(variables, json_pack("{si s[ffff]}", "type", type_float4, "value", 0.0, 0.0, 0.0, 0.0));
  if (whole)
    out = json_pack("{si s[{so so so so}]}", "graph", 0, "graphs", "types", named(types, "signature"), "variables",
                    variables, "declarations", named(operations, "op"), "nodes", g.nodes);
  json_decref(g.steps);
  free(g.terms), free(g.blocks);
  return out;
}
