/* The input of a fuzz target as a file, for parsers that are given a path. A regular file of mode 0600 in a
 * directory of its own, both removed when the process ends by exit(). Single-threaded; aborts if the file cannot be
 * written. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Replaces what the file held. Returns its path, borrowed until the process ends. */
const char *fuzz_file_write(const uint8_t *data, size_t size);

/* The directory that the file lies in, borrowed likewise. */
const char *fuzz_file_directory(void);

/* Replaces another file of that directory, of mode 0600; and removes it, which the caller does before the process
 * ends. */
void fuzz_file_write_named(const char *name, const uint8_t *data, size_t size);
void fuzz_file_remove_named(const char *name);

/* A descriptor of a new file in memory that holds the input. The caller owns it: close(). */
int fuzz_file_memory(const uint8_t *data, size_t size);

#endif
