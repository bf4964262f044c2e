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

/* Why cells have no sums, behind "because". */
static const char *cells_lack(const struct cell_made *made)
{
	if (made->nr_late && made->nr_gone)
		return "some launches came later than their work by more than a cell, or too long "
		       "before it";
	return made->nr_late ? "some launches came later than their work by more than a cell"
			     : "some launches may have come too long before their work";
}

/* Why no sums of the log would be exact, behind "because". */
static const char *log_lacks(const struct cell_made *made)
{
	switch (made->lack) {
	case CELL_MAKER_DAMAGED:
		return "parts of the timeline's files are damaged";
	case CELL_MAKER_NO_ZSTD:
		return "the timeline is compressed, and libzstd is missing (Debian: libzstd1)";
	case CELL_MAKER_CLOCKS:
		return "the clock of some events was never compared";
	case CELL_MAKER_NAMES:
		return "some events name what the profile does not know";
	case CELL_MAKER_IDS:
		return "correlation ids came again while the first ones may still have had work";
	case CELL_MAKER_DISORDER:
		return "GPU records are too far out of order";
	case CELL_MAKER_SIZE:
		return "a process has too many streams, or a cell too many stacks and kernels";
	case CELL_MAKER_CELLS:
		break;
	}
	return cells_lack(made);
}

/* Says what was made of a profile's own log. */
static void say_made(const char *name, const struct cell_made *made, double cell_s)
{
	const uint32_t nr = made->nr_cells - made->nr_empty;

	printf("%s has sums for long ranges: %u of %u cells of %.3f s%s%s\n", name, nr,
	       made->nr_cells, cell_s,
	       made->nr_empty ? "; the others would not be exact, because " : "",
	       made->nr_empty ? cells_lack(made) : "");
}

/* Long ranges are made without sums then, and nobody has to do anything about it. false: it is a failure. */
static bool say_none(const char *name, const struct timeline_source *source,
		     const struct cell_made *made, int error)
{
	const char *why =
		error == -EXDEV ? "it has several parts, which `flamegrid merge` makes one"
		: timeline_source_profile(source)->written ? "it is being written"
							   : "it has no timeline of its own";

	if (error == -ENODATA)
		printf("%s needs no sums for long ranges: its events are so few that they are read "
		       "as quickly\n",
		       name);
	else if (error == -EAGAIN)
		printf("%s has no sums for long ranges: they would not be exact, because %s\n",
		       name, log_lacks(made));
	else if (error == -EBUSY || error == -EXDEV)
		printf("%s has no sums for long ranges: %s\n", name, why);
	else
		return false;
	return true;
}

int timeline_make_sums(const char *name, struct timeline_source *source, uint64_t first_ns,
		       uint64_t last_ns)
{
	struct cell_made made = {0};
	const bool is_own = strcmp(timeline_source_store(source), name) == 0;

	(void)!nice(NICE);
	const int error = is_own ? cell_maker_make(source, first_ns, last_ns, 0, &made) : -EXDEV;
	if (!error) {
		say_made(name, &made, (double)(last_ns - first_ns) * 1e-9 / made.nr_cells);
		return EXIT_OK;
	}
	if (say_none(name, source, &made, error))
		return EXIT_OK;
	log_error("%s: sums for long ranges: %s", name,
		  error == -ENOPKG ? "libzstd is missing" : strerror(-error));
	return EXIT_FAILED;
}
