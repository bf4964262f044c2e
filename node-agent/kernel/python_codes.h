/* Keeps the code objects of one process, by address and identity. Their names and lines are read once from its memory,
 * and stay known when the objects are gone. Single-threaded: only the agent loop calls it. */
#ifndef PYTHON_CODES_H
#define PYTHON_CODES_H

#include <stdint.h>
#include <sys/types.h>

#include "proto/batch/message.h"
#include "python/python_layout.h"

struct python_codes;
struct ring_outputs;

/* Addresses of the Python types of which a process's code objects are made. */
struct python_types {
	uint64_t code, string, bytes;
};

/* Creates the empty set. The outputs' dictionaries are used, and borrowed until python_codes_destroy() (accepts NULL).
 * NULL: out of memory. */
struct python_codes *python_codes_create(const struct ring_outputs *outputs, pid_t pid,
					 const struct python_layout *layout,
					 const struct python_types *types);
void python_codes_destroy(struct python_codes *codes);

/* Adds one more user to the codes and returns them; each user calls python_codes_destroy(). NULL: NULL. */
struct python_codes *python_codes_share(struct python_codes *codes);

/* Says that the process was forked from that of `parent`, and has the same code at the same addresses. Code that cannot
 * be read in the process any more is looked up in `parent`, which is shared. It does nothing if parent's codes are of
 * another interpreter, or of too many generations. */
void python_codes_inherit(struct python_codes *codes, struct python_codes *parent);

struct python_code; /* borrowed until the next python_codes_find() */

/* Finds the code object with this identity at an address. identity 0: the identity could not be read when the object
 * was seen. Then the code that was last found at the address counts, here or in the parent, if it is still there;
 * otherwise -ESTALE.
 *   - 0: *code is set.
 *   - -ESTALE: the address has other code by now, or none, and so it has in the parent.
 *   - -EPROTO: the object is the right one, but is no code.
 *   - -ENOSPC: no room for its names.
 *   - -ENOMEM. On error *code is NULL. */
int python_codes_find(struct python_codes *codes, uint64_t address, uint64_t identity,
		      const struct python_code **code);

/* Fills in the frame of an instruction, in bytes from the start of the bytecode. */
void python_code_frame(const struct python_codes *codes, const struct python_code *code,
		       int32_t instruction, struct message_frame *frame);

/* Returns the bytes before the first visible instruction; 0: versions without such bytes. */
int32_t python_code_first(const struct python_code *code);

#endif
