// SPDX-License-Identifier: MIT
// URIs of buffers and images: data URIs, and percent-encoded paths relative to the document.
#include "formats/gltf/gltf.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// Place of c in `digits`; -1: it is none of them.
static int digit_of(const char *digits, char c) {
  const char *at = c ? strchr(digits, c) : NULL;
  return at ? (int)(at - digits) : -1;
}

static int hex_digit(char c) { return digit_of("0123456789abcdef", (char)tolower((unsigned char)c)); }

// Decodes text into `out` (as large as the text; may be the same memory); returns the number of bytes.
static size_t percent_decode(const char *text, uint8_t *out) {
  size_t size = 0;
  for (const char *c = text; *c; c++) {
    int high = *c == '%' ? hex_digit(c[1]) : -1;
    int low = high >= 0 ? hex_digit(c[2]) : -1;
    if (low >= 0) {
      out[size++] = (uint8_t)(high * 16 + low), c += 2;
    } else {
      out[size++] = (uint8_t)*c;
    }
  }
  return size;
}

// Both alphabets: with + and /, and with - and _.
static int base64_digit(char c) {
  c = c == '-' ? '+' : c == '_' ? '/' : c;
  return digit_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", c);
}

static bool base64_decode(const char *text, uint8_t *out, size_t *size) {
  uint32_t bits = 0;
  int bit_count = 0;
  *size = 0;
  for (; *text && *text != '='; text++) {
    int digit = base64_digit(*text);
    if (digit < 0) return false;
    bits = bits << 6 | (uint32_t)digit, bit_count += 6;
    if (bit_count >= 8) bit_count -= 8, out[(*size)++] = (uint8_t)(bits >> bit_count & 255);
  }
  while (*text == '=') text++;
  return *text == '\0';
}

static sn_status decode_data(sn_context *ctx, const char *uri, sn_arena *memory, const uint8_t **bytes,
                             size_t *size) {
  const char *comma = strchr(uri, ',');
  if (!comma) return sn_fail(ctx, SN_BAD_FILE, "its data URI has no comma");
  uint8_t *out = SN_NEW(ctx, memory, uint8_t, strlen(comma));
  if (!out) return ctx->error.status;
  *bytes = out;
  if (comma - uri < 7 || strncasecmp(comma - 7, ";base64", 7) != 0) {
    *size = percent_decode(comma + 1, out);
  } else if (!base64_decode(comma + 1, out, size)) {
    return sn_fail(ctx, SN_BAD_FILE, "its data URI is not proper base64");
  }
  return SN_OK;
}

static bool has_scheme(const char *uri) {
  const char *c = uri;
  while (isalnum((unsigned char)*c) || *c == '+' || *c == '-' || *c == '.') c++;
  return c > uri && *c == ':';
}

// Whether a path stays below the document's folder: relative, without "..".
static bool stays_below(const char *path) {
  if (*path == '/' || *path == '\0') return false;
  for (const char *c = path; c; c = strchr(c, '/') ? strchr(c, '/') + 1 : NULL) {
    if (strncmp(c, "..", 2) == 0 && (c[2] == '/' || c[2] == '\0')) return false;
  }
  return true;
}

sn_status sn_gltf_uri(sn_context *ctx, const char *uri, const char *folder, sn_arena *memory, gltf_buffer *out) {
  *out = (gltf_buffer){0};
  if (strncasecmp(uri, "data:", 5) == 0) return decode_data(ctx, uri, memory, &out->bytes, &out->size);
  if (has_scheme(uri)) return sn_fail(ctx, SN_UNSUPPORTED, "'%.200s' is not beside the document", uri);
  size_t room = strlen(uri) + (folder ? strlen(folder) : 0) + 2;
  char *relative = SN_NEW(ctx, memory, char, room), *path = SN_NEW(ctx, memory, char, room);
  if (!relative || !path) return ctx->error.status;
  size_t length = percent_decode(uri, (uint8_t *)relative);
  if (strlen(relative) != length || !stays_below(relative)) {
    return sn_fail(ctx, SN_BAD_FILE, "'%.200s' leaves the document's folder", uri);
  }
  if (!folder) {
    return sn_fail(ctx, SN_BAD_FILE, "'%.200s' is another file, and this document may not refer to any", uri);
  }
  snprintf(path, room, "%s%s%s", folder, *folder ? "/" : "", relative);
  sn_status status = sn_file_open(ctx, path, &out->file);
  out->bytes = out->file.bytes, out->size = out->file.size;
  return status;
}

char *sn_gltf_uri_encode(sn_context *ctx, sn_arena *memory, const char *name) {
  char *out = SN_NEW(ctx, memory, char, 3 * strlen(name) + 1), *end = out;
  if (!out) return NULL;
  for (const char *c = name; *c; c++) {
    if (isalnum((unsigned char)*c) || strchr("-._~", *c)) {
      *end++ = *c;
    } else {
      end += sprintf(end, "%%%02X", (unsigned char)*c);
    }
  }
  return out;
}
