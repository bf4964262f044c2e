/* Batches as Pyroscope takes them: the body of a push, JSON with one pprof profile of one place, whose labels are
 * those of the series. Used by one thread. */
#ifndef PYROSCOPE_PROFILE_H
#define PYROSCOPE_PROFILE_H

#include <stdint.h>

#include "export_journal.h"

#include "report/view/report_view.h"

/* The context of the maker's functions; the first two are borrowed. Zeroed but for them and time_ns. */
struct pyroscope_profile {
	const struct report_view *view; /* whose leaves the rows are of */
	const char *source;             /* of at least 16 hexadecimal digits */
	uint64_t time_ns; /* of the next profile; two of a series must never have one time */
	uint64_t number;
	char *labels;               /* owns; of the series */
	struct report_leaf *leaves; /* owns */
	uint32_t nr_leaves, room_leaves;
};

/* Fills *maker; profile is borrowed as long as it is used. */
void pyroscope_profile_maker(struct pyroscope_profile *profile, struct export_maker *maker);

/* Frees what it owns. */
void pyroscope_profile_fini(struct pyroscope_profile *profile);

#endif
