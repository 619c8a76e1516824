// SPDX-License-Identifier: MIT
// Decimal numbers in text files, much faster than strtod and correctly rounded in the same cases.
#ifndef SINEW_IO_NUMBER_H
#define SINEW_IO_NUMBER_H

// Parses a decimal number at [text, end). Returns the first character behind it, or NULL where there is none (nan and
// inf are not numbers here).
const char *sn_parse_number(const char *text, const char *end, double *out);

#endif
