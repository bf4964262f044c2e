/* Finds the stack of an instruction of a running kernel: its lines, or its offset, in the kernel, perhaps in the stack
 * of a launch. Each place is looked up once. Names and nodes are bounded, whatever the process says: a place without
 * room for its lines has its offset, and one without room for that is the kernel itself. Single-threaded: only the
 * agent loop calls it. */
#ifndef SAMPLE_PLACES_H
#define SAMPLE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node-agent/cubin/cubin_lines.h"

#define SAMPLE_PLACES_MAX (1u << 18) /* places of a process, and new nodes that these may make */

struct sample_places;
struct stack_dictionary;
struct string_dictionary;

/* What samples of one definition have in common. */
struct sample_kernel {
	struct cubin_code code; /* borrowed while the places live */
	uint32_t name_id;       /* string; STRING_NONE: it found no room */
	uint32_t code_id;
	uint32_t launch; /* node that the kernel is in, of exact samples; else STACK_NODE_NONE */
	uint32_t line; /* of the kernel's frame: HOST_SAMPLE_EXACT_LINE of exact samples; else 0 */
};

enum sample_place {
	SAMPLE_PLACE_WHOLE = 0,
	SAMPLE_PLACE_NO_LINES = 1, /* it has an offset, because its lines found no room */
	SAMPLE_PLACE_NONE = 2, /* it is the kernel itself, or nothing, because it found no room */
};

/* Both dictionaries are borrowed until destroy, which accepts NULL. NULL: out of memory. */
struct sample_places *sample_places_create(struct string_dictionary *strings,
					   struct stack_dictionary *stacks);
void sample_places_destroy(struct sample_places *places);

/* Enters the kernel's name, and sets name_id and code_id. 0, also if there is no room; -ENOMEM. */
int sample_places_kernel(struct sample_places *places, const char *name,
			 struct sample_kernel *kernel);

/* Finds the stack of the instruction at offset; STACK_NODE_NONE: there is none. 0 or -ENOMEM. */
int sample_places_find(struct sample_places *places, const struct sample_kernel *kernel,
		       uint32_t offset, uint32_t *stack_id, enum sample_place *place);

/* Enters no more names and nodes from now on. Known places keep theirs. */
void sample_places_close(struct sample_places *places);

#endif
