/* Identifies a file without a build id by its contents: its size and a piece of its head, its middle and its end, where
 * programs have their code and symbols. Files may be damaged or hostile. At most 192 KiB are read. Any thread. */
#ifndef CONTENT_ID_H
#define CONTENT_ID_H

#include <stdbool.h>
#include <stdint.h>

#define CONTENT_ID_SIZE 16u

struct elf_file;

/* Computes the id of an open file. false: the file can't be read, or it is an image in memory; id is then zeroed. */
bool content_id_of(const struct elf_file *file, uint8_t id[static CONTENT_ID_SIZE]);

#endif
