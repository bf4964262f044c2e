/* The names of one process's GPU code as strings of the dictionary: each text of its line tables is read once, however
 * many samples have it. The process may be hostile, so that the names that it makes the agent enter, remember and read
 * are bounded. Single-threaded: only the agent loop calls it. */
#ifndef SAMPLE_NAMES_H
#define SAMPLE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"

/* Bytes of new names and paths of lines; of new names of kernels and offsets; of texts of line tables, known or new. */
#define SAMPLE_NAMES_LINES_MAX   (8u << 20)
#define SAMPLE_NAMES_KERNELS_MAX (8u << 20)
#define SAMPLE_NAMES_READ_MAX    (64u << 20)
#define SAMPLE_NAMES_MAX         (1u << 18) /* texts of line tables */

struct string_dictionary;

struct sample_name {
	const char *text;
	uint32_t string_id; /* STRING_NONE: it found no room */
};

/* Embedded; zeroed memory has no names. */
struct sample_names {
	struct hash_index index;   /* of the names, + 1, by their address */
	struct sample_name *names; /* owns */
	uint32_t nr_names, room;
	uint32_t lines_bytes, kernels_bytes; /* of names that were new */
	uint32_t read_bytes;
};

void sample_names_fini(struct sample_names *names);

/* Enters no more names that the agent does not know. */
void sample_names_close(struct sample_names *names);

/* Enters a text of a line table, which neither moves nor changes until fini(). 0; -ENOSPC: there is no room, and never
 * will be; -ENOMEM. On error *string_id is STRING_NONE. */
int sample_names_line(struct sample_names *names, struct string_dictionary *strings,
		      const char *text, uint32_t *string_id);

/* Enters the name of a kernel, or an offset in it. Borrowed for the call. Returns as above. */
int sample_names_kernel(struct sample_names *names, struct string_dictionary *strings,
			const char *text, size_t size, uint32_t *string_id);

#endif
