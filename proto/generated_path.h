/* Knows the files that PyTorch's Inductor generates, by their paths. A file is named by a hash of its text: 'c', then
 * 51 digits of base 32. It lies in the directory that the hash's first two digits name, in the cache's directory
 * (TORCHINDUCTOR_CACHE_DIR, else /tmp/torchinductor_USER):
 *	/tmp/torchinductor_alice/xy/cxyz….py
 * PyTorch 2.11, torch/_inductor/codecache.py (code_hash, get_path). Pure; any thread. */
#ifndef GENERATED_PATH_H
#define GENERATED_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define GENERATED_PATH_KEY_SIZE 52u /* bytes of a file's name, without ".py" */

/* Returns whether the path is that of a generated file. A path with an empty part, or one that is "." or "..", is not:
 * a program could name one file by any number of them. *cache_size (may be NULL): bytes of the cache's directory, with
 * which the path begins, without a '/' at its end. *key (may be NULL): the file's name, of which the key is
 * GENERATED_PATH_KEY_SIZE bytes; borrowed from the path. */
bool generated_path_parse(const char *path, size_t size, size_t *cache_size, const char **key);

/* Returns whether it is a key. */
bool generated_path_is_key(const char *text, size_t size);

#endif
