/* What one look at a running job finds: a rank or a group that is late, or a slow link. Plain data. */
#ifndef WATCH_FINDING_H
#define WATCH_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "report/lateness/straggler_subject.h"

/* How long a step takes. now_ns 0: not known. without_ns 0: it cannot be computed, and is known by what was seen before
 * the onset alone. */
struct watch_step {
	/* of the communicator in a step; 0: no step is seen, and the times are of one collective */
	uint32_t collectives;
	uint64_t now_ns;     /* mean time, since the onset */
	uint64_t without_ns; /* the same without the cause (watch_pace.h, watch_replay.h) */
	/* no usual step is known, and without_ns is the least: what hosts that ran ahead prepared while they waited is
	 * missing in it */
	bool is_least;
};

struct watch_finding {
	uint64_t identity;  /* of its ranks or its link (watch_identity.h) */
	char *name;         /* owns: "rank 5 on node2", "node2 (8 ranks: 8-15)" */
	char *text;         /* owns: how late it is, as in a report of late ranks */
	char *communicator; /* owns; its name */
	uint64_t key;       /* of the communicator of which the step is */
	char *cause; /* owns; its greatest cause, as a report names it; NULL: not known, or not looked for */
	double cause_share; /* of the lateness */
	/* GPU time and bytes of its expert, by those of the others (report_straggler_result.h); 0: as cause NULL */
	double expert_gpu_times, expert_bytes_times;
	int32_t *ranks;    /* owns; of the job, ascending; those that are not known are missing */
	uint32_t nr_ranks; /* of these */
	bool is_group;
	bool is_link;   /* a communicator that moves data slowly; nobody is late */
	bool has_stage; /* it is late as a stage of a pipeline, with this number */
	int32_t stage;
	bool is_over; /* a stall that lies behind */
	bool by_host; /* of some collectives only the host's time of the call is known */
	enum straggler_ground ground;
	/* collectives of the communicator in the window; of these, those in which it alone was last */
	uint64_t used, last;
	uint64_t waited_ns; /* what each other rank waited for it there, on average */
	double share;       /* the same as a part of the time */
	uint64_t age_ns;    /* time from its onset to the newest collective */
	uint64_t over_ns;   /* the same from the last one in which it was late; 0: it still is */
	struct watch_step step;
};

void watch_finding_fini(struct watch_finding *finding);

/* Returns whether a rank of the job is one of its ranks. */
bool watch_finding_has_rank(const struct watch_finding *finding, int32_t rank);

/* Copies; 0 or -ENOMEM: *to is empty. */
int watch_finding_copy(const struct watch_finding *from, struct watch_finding *to);

#endif
