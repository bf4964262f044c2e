/* Tells where the code of a report's frames stands: its file, line and module, by the text of the frame. Used by one
 * thread. */
#ifndef NAME_SOURCES_H
#define NAME_SOURCES_H

#include <stdint.h>

#include "report/model/report_build.h"
#include "report/profile/profile.h"

struct name_source {
	const char *
		file; /* path as the job or the debug information has it, cleaned; "": not known, or several */
	uint64_t line;   /* 0: not known, or not wanted */
	uint32_t module; /* of the profile's catalog; 0: not native code, not known, or several */
	uint64_t
		address; /* of a frame without a symbol: in the module's ELF file; 0: it has a symbol */
};

struct name_sources;

/* Names all frames of the profile as the tree of these options does; options NULL: everything is 0. The profile is
 * borrowed until destroy. 0 or -ENOMEM: *sources is NULL. name_sources_destroy() accepts NULL. */
int name_sources_create(const struct profile *profile, const struct report_options *options,
			struct name_sources **sources);
void name_sources_destroy(struct name_sources *sources);

/* Returns what is known of a frame with this text; all of it is 0 or "" of other texts, such as marks. Borrowed until
 * destroy. */
struct name_source name_sources_find(const struct name_sources *sources, const char *text);

#endif
