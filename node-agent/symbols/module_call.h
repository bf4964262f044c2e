/* One use of a module's files: opening them, or finding a name in them. It is a foreign call (foreign_call.h), because
 * a file system may not answer. Only the symbolizer's workers call these functions. Another thread runs the call. */
#ifndef MODULE_CALL_H
#define MODULE_CALL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "symbol_module.h"
#include "symbol_queue.h"
#include "symbolizer_module.h"

#include "node-agent/files/foreign_call.h"

#define MODULE_CALL_TEXT_MAX 16384u /* bytes of one frame's functions and lines */

struct module_call {
	struct foreign_call call; /* first */
	struct symbol_module *module;
	bool opens;
	struct symbolizer_module place; /* to be opened; path: owned below */
	char *path;                     /* owns */
	struct symbol_request request;  /* else to be found */
	const char *name;
	bool is_in_text;
	char text[MODULE_CALL_TEXT_MAX];
	atomic_bool has_returned; /* after it was left behind */
};

/* Returns *spare, which is NULL afterwards, or a new call: zeros but for its text, ready for foreign_call_make(). The
 * caller owns it, and sets its module and what is to be done. NULL: out of memory. */
struct module_call *module_call_take(struct module_call **spare);

/* Takes a call that is no longer used. It becomes *spare, or is freed if *spare is a call already. */
void module_call_give(struct module_call **spare, struct module_call *call);

/* Takes the call, which must not run. Accepts NULL. */
void module_call_destroy(struct module_call *call);

#endif
