/* The code objects of one process, by address and identity: their names and lines, read once from its memory and kept,
 * whatever becomes of them there. Single-threaded: only the agent loop calls it. */
#ifndef PYTHON_CODES_H
#define PYTHON_CODES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/batch/message.h"
#include "python/python_layout.h"

struct python_codes;
struct ring_outputs;

/* Addresses of what the code objects of a process are made of. */
struct python_types {
	uint64_t code, string, bytes;
};

/* The outputs' dictionaries are used, borrowed until python_codes_destroy() (accepts NULL). NULL: out of memory. */
struct python_codes *python_codes_create(const struct ring_outputs *outputs, pid_t pid,
					 const struct python_layout *layout,
					 const struct python_types *types);
void python_codes_destroy(struct python_codes *codes);

/* The same codes, for one user more, who calls python_codes_destroy() as well. NULL: NULL. */
struct python_codes *python_codes_share(struct python_codes *codes);

/* The process was forked from that of `parent` and has the same code at the same addresses: what cannot be read in it
 * any more is looked for there. Shares them; nothing if they are of another interpreter, or of too many generations. */
void python_codes_inherit(struct python_codes *codes, struct python_codes *parent);

struct python_code; /* borrowed until the next python_codes_find() */

/* identity 0: it could not be read when it was seen. It is then the code that was last found at the address, here or
 * where it was forked from, if it is there now, too; else -ESTALE.
 * 0; -ESTALE: other code is there by now, or none, and so it is where it was forked from; -EPROTO: it is this one, and
 * no code; -ENOSPC: no room for its names; -ENOMEM. On error *code is NULL. */
int python_codes_find(struct python_codes *codes, uint64_t address, uint64_t identity,
		      const struct python_code **code);

/* The frame at an instruction, in bytes from the start of the bytecode. */
void python_code_frame(const struct python_codes *codes, const struct python_code *code,
		       int32_t instruction, struct message_frame *frame);

/* Bytes before its first instruction that can be seen; 0: versions that have no such. */
int32_t python_code_first(const struct python_code *code);

#endif
