/* Finds a USDT probe of a file by its notes in section .note.stapsdt (inject/launch/probe_point.h). Files may be
 * damaged or hostile. Any thread. */
#ifndef PROBE_NOTE_H
#define PROBE_NOTE_H

#include <stdint.h>

struct elf_file;

struct probe_note {
	uint64_t offset;           /* offset of the instruction in the file, bytes */
	uint64_t semaphore_offset; /* offset of the counter of watchers; 0: no counter */
};

/* Finds the first probe of this name. 0; -ENOENT: no such probe; -ENOEXEC: its note makes no sense. On error *note is
 * zeroed. */
int probe_note_find(struct elf_file *file, const char *provider, const char *name,
		    struct probe_note *note);

#endif
