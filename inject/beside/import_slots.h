/* Redirects a loaded object's calls of functions in other objects, and finds its thread-local variables. Both are in
 * slots of its global offset table. The module has no state and touches only the given object. It trusts nothing in
 * that object: it checks each address and count against the object's segments. Call it within dl_iterate_phdr()'s
 * callback, so that the object stays loaded, and on one thread at a time. */
#ifndef IMPORT_SLOTS_H
#define IMPORT_SLOTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an object's code hands to __tls_get_addr() for a variable. */
struct import_slots_variable {
	uint64_t module, offset;
};

struct import_slot {
	const char *symbol; /* a symbol that the object imports */
	void *from, *to;    /* functions; if from is NULL, the slot is left alone */
};

struct import_slots_result { /* each call adds to these */
	uint32_t nr_set;     /* slots that hold `to` now */
	uint32_t nr_pending; /* slots of objects that the loader still changes: look again */
	int error;           /* -errno: why a page could not be written; 0: all could be written */
};

/* Returns whether the object needs a library (DT_NEEDED) whose name begins with `library`. */
bool import_slots_needs(const struct dl_phdr_info *object, const char *library);

/* Returns where the object's own code finds a thread-local variable that the object itself defines; NULL: it does not
 * define such a variable, or reaches it in another way. */
const struct import_slots_variable *import_slots_variable(const struct dl_phdr_info *object,
							  const char *symbol);

/* Points those of the object's slots for these symbols that hold `from` to `to`. With `unbound` it also sets slots that
 * the loader would bind at their first use. A slot that holds another address is left alone, for example another
 * interposer's function. Pages that the loader made read-only are read-only again afterwards. Meanwhile calls on other
 * threads go to either function. */
void import_slots_set(const struct dl_phdr_info *object, const struct import_slot *slots,
		      size_t nr_slots, bool unbound, struct import_slots_result *result);

#endif
