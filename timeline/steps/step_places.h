/* Where the host was in the gaps of slow steps. Three things tell: the functions that launched before and behind the
 * gap, and samples of the thread, if the profile keeps them one by one (run --raw-samples). Used by one thread. */
#ifndef STEP_PLACES_H
#define STEP_PLACES_H

#include "step_findings.h"

#include "report/model/report_names.h"
#include "timeline/trace/timeline_source.h"

#define STEP_PLACES_MAX 64u /* of the slowest steps: samples are looked for in these alone */

struct step_place {
	/* Texts of the program's own frames (host_lines.h), the innermost that differ; the same: none does. 0: not
	 * known, or the step has no gap */
	uint32_t before, after;
	uint32_t
		within; /* that of the innermost frame with half of the gap or more; 0: not known */
	uint64_t within_ns; /* its samples and waits */
};

struct step_places {
	struct step_place *places; /* owns; one for each outlier */
};

/* names belongs to the source's profile, and gets the texts. 0; -EPROTO: the profile is damaged; -EIO …: it cannot be
 * read; -ENOMEM. Call step_places_fini() in any case. */
int step_places_init(struct step_places *places, const struct step_rows *rows,
		     const struct step_findings *findings, struct timeline_source *source,
		     const char *store_path, struct report_names *names);
void step_places_fini(struct step_places *places);

#endif
