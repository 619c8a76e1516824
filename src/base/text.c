// SPDX-License-Identifier: MIT
// Suggestions: the most similar word of a list.
#include "sinew/base.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// Levenshtein distance with transpositions of neighbours as one edit, upper and lower case alike; large for long words.
static int edit_distance(const char *a, const char *b) {
  enum { most = 40 };
  int n = (int)strlen(a), m = (int)strlen(b), d[most + 1][most + 1];
  if (n > most || m > most) return most;
  for (int i = 0; i <= n; i++)
    for (int j = 0; j <= m; j++) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      int cost = tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]), best = d[i - 1][j - 1] + cost;
      if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
      if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
        best = d[i - 2][j - 2] + 1;
      d[i][j] = best;
    }
  return d[n][m];
}

const char *sn_suggest(const char *word, const char *const *words) {
  const char *best = NULL;
  int least = (int)strlen(word) / 3 + 2;
  for (; *words; words++) {
    int distance = edit_distance(word, *words);
    if (distance < least) least = distance, best = *words;
  }
  return best;
}

sn_status sn_fail_unknown(sn_context *ctx, const char *what, const char *word, const char *const *words) {
  char list[512] = "";
  const char *meant = sn_suggest(word, words);
  if (meant) return sn_fail(ctx, SN_BAD_INPUT, "unknown %s '%s'; did you mean %s?", what, word, meant);
  for (size_t used = 0; *words && used < sizeof list - 100; words++, used = strlen(list))
    snprintf(list + used, sizeof list - used, "%s%.80s", used > 0 ? ", " : "", *words);
  return sn_fail(ctx, SN_BAD_INPUT, "unknown %s '%s'; there are %s%s", what, word, list, *words ? ", ..." : "");
}
