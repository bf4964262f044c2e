/* Tells files without a build id apart by their contents: its size, and what is at its head, in its
 * middle and at its end, where programs have their code and symbols. Files may be damaged or
 * hostile; at most 192 KiB are read. Any thread. */
#ifndef CONTENT_ID_H
#define CONTENT_ID_H

#include <stdbool.h>
#include <stdint.h>

#define CONTENT_ID_SIZE 16u

struct elf_file;

/* false: the file can't be read; id is then zeroed. */
bool content_id_of(const struct elf_file *file, uint8_t id[static CONTENT_ID_SIZE]);

#endif
