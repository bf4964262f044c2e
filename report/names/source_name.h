/* Names functions in reports by their source: "train.py:<module>:88",
 * "torch/nn/modules/linear.py:Linear.forward:125". Pure; any thread. */
#ifndef SOURCE_NAME_H
#define SOURCE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the part of a path that tells a reader which file it is, and lowers *size to match. That part follows the
 * last "site-packages/", "dist-packages/" or "/lib/python3.N/" (or lib64); without these it is the last component.
 * Names that are no paths ("<string>", "<frozen importlib._bootstrap>") stay whole. The result points into file. */
const char *source_name_file(const char *file, size_t *size);

/* Returns "file:name:line" with the file shortened; the caller owns it: free(). Line 0, an empty file and an
 * empty name are left out. *text_size is the number of bytes before the NUL. NULL: out of memory. */
char *source_name_make(const char *file, size_t file_size, const char *name, size_t name_size,
		       uint64_t line, size_t *text_size);

/* Returns whether a name ends in a line, as "train.py:step:88" does. */
bool source_name_has_line(const char *name);

#endif
