// SPDX-License-Identifier: MIT
// The word that somebody meant: the nearest of a list.
#include "sinew/base.h"

#include <string.h>

// Levenshtein distance, swaps of neighbours counting one; large for long words.
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
      int cost = a[i - 1] != b[j - 1], best = d[i - 1][j - 1] + cost;
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
