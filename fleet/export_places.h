/* Where work ran, as members of a row of JSON: "job":"…","user":"…","host":"…" and so on. For Pyroscope they are
 * labels, {"name":"job","value":"…"} and so on, and those that are not known are left out. Made of one profile and
 * its tree, which are borrowed until destroy. Used by one thread. */
#ifndef EXPORT_PLACES_H
#define EXPORT_PLACES_H

#include <stddef.h>

#include "export_target.h"

#include "report/model/report_tree.h"
#include "report/profile/profile.h"

struct export_places;

/* user: whose job it is, clean text; borrowed, too. NULL: out of memory. destroy() accepts NULL. */
struct export_places *export_places_create(const struct profile *profile,
					   const struct report_tree *tree, const char *user,
					   enum export_kind kind);
void export_places_destroy(struct export_places *places);

/* Makes the members of a leaf's place, without a comma at either end; leaf NULL: the whole profile's. Borrowed until
 * the next call. NULL: out of memory. */
const char *export_places_text(struct export_places *places, const struct report_leaf *leaf,
			       size_t *size);

#endif
