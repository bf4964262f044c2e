/* Knows the files that PyTorch's Inductor generates, by their paths. A file is named by a hash of its text: 'c', then
 * 51 digits of base 32. It lies in the directory that the hash's first two digits name, in the cache's directory
 * (TORCHINDUCTOR_CACHE_DIR, else /tmp/torchinductor_USER):
 *	/tmp/torchinductor_alice/xy/cxyz….py
 * PyTorch 2.11, torch/_inductor/codecache.py (code_hash, get_path). Pure; any thread. */
#ifndef GENERATED_PATH_H
#define GENERATED_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "text_span.h"

#define GENERATED_PATH_KEY_SIZE 52u /* bytes of a file's name, without ".py" */

/* Returns whether the path is that of a generated file. A path with an empty part, or one that is "." or "..", is not:
 * a program could name one file by any number of them. *cache (may be NULL) is the cache's directory, without a '/' at
 * its end; *key (may be NULL) the file's name without ".py". Both are borrowed from the path. */
bool generated_path_parse(const char *path, size_t size, struct text_span *cache,
			  struct text_span *key);

/* Returns whether it is a key. */
bool generated_path_is_key(struct text_span text);

#endif
