/* What a function of which the source is known is called in reports: "train.py:<module>:88",
 * "torch/nn/modules/linear.py:Linear.forward:125". Pure; any thread. */
#ifndef SOURCE_NAME_H
#define SOURCE_NAME_H

#include <stddef.h>
#include <stdint.h>

/* The part of a path that tells a reader which file it is: what follows the last "site-packages/",
 * "dist-packages/" or "/lib/python3.N/" (or lib64), else the last component. Names that are no paths
 * ("<string>", "<frozen importlib._bootstrap>") stay. Points into file, *size is lowered to match. */
const char *source_name_file(const char *file, size_t *size);

/* file:name:line of a shortened file; line 0 is left out, and so is an empty file. *text_size: bytes
 * without the NUL that follows. Owns: free(). NULL: out of memory. */
char *source_name_make(const char *file, size_t file_size, const char *name, size_t name_size,
		       uint64_t line, size_t *text_size);

#endif
