#include "timeline_make_sums.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/base/verbs.h"
#include "timeline/slice/cell_maker.h"

#define NICE 10 /* pages that somebody waits for come first */

/* Whether long ranges are made without sums for good, and nobody has to do anything about it. */
static const char *reason_of(int error)
{
	switch (error) {
	case -ENODATA:
		return "its events are so few that they are read as quickly";
	case -EBUSY:
		return "it is being written, or has no timeline of its own";
	case -EXDEV:
		return "it has several parts, which `flamegrid merge` makes one";
	case -EAGAIN:
		return "they would not be exact, because events are damaged or have no launch";
	default:
		return NULL;
	}
}

int timeline_make_sums(const char *name, struct timeline_source *source, uint64_t first_ns,
		       uint64_t last_ns)
{
	struct cell_made made = {0};
	const bool is_own = strcmp(timeline_source_store(source), name) == 0;

	(void)!nice(NICE);
	const int error = is_own ? cell_maker_make(source, first_ns, last_ns, 0, &made) : -EXDEV;
	if (error && !reason_of(error)) {
		log_error("%s: sums for long ranges: %s", name,
			  error == -ENOPKG ? "libzstd is missing" : strerror(-error));
		return EXIT_FAILED;
	}
	if (error)
		printf("%s needs no sums for long ranges, or has none: %s\n", name,
		       reason_of(error));
	else
		printf("%s has sums for long ranges: %u of %u cells of %.3f s\n", name,
		       made.nr_cells - made.nr_empty, made.nr_cells,
		       (double)(last_ns - first_ns) * 1e-9 / made.nr_cells);
	return EXIT_OK;
}
