/* The slots through which a loaded object calls functions of others (its global offset table's), and how they are
 * pointed elsewhere. Pure but for the object that it is given, which it believes nothing: every address and count is
 * checked against the object's segments. Within dl_iterate_phdr()'s callback, so that the object stays; one thread at a
 * time. */
#ifndef IMPORT_SLOTS_H
#define IMPORT_SLOTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_slot {
	const char *symbol; /* that the object imports */
	void *from, *to;    /* functions; from NULL: left alone */
};

struct import_slots_result { /* added to */
	uint32_t nr_set;     /* slots that hold `to` now */
	uint32_t nr_pending; /* the loader is still at work on the object: look again */
	int error;           /* -errno: why a page could not be written; 0: none was refused */
};

/* Whether the object names a library as needed whose name begins so. */
bool import_slots_needs(const struct dl_phdr_info *object, const char *library);

/* Points the object's slots of these symbols that hold `from` to `to`; with `unbound` also those that the loader binds
 * at their first use. What holds something else, another interposer's function for one, is left alone. Pages that the
 * loader has made read-only are so again afterwards. Calls on other threads go to the one or the other. */
void import_slots_set(const struct dl_phdr_info *object, const struct import_slot *slots,
		      size_t nr_slots, bool unbound, struct import_slots_result *result);

#endif
