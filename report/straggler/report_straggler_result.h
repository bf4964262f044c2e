/* Who is late in a job's collectives, and why, as report_straggler.h finds it. Plain data. */
#ifndef REPORT_STRAGGLER_RESULT_H
#define REPORT_STRAGGLER_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "straggler_links.h"
#include "straggler_pipeline.h"

#include "aggregator/profile/collective_folds.h"
#include "report/absence/straggler_absences.h"
#include "report/causes/straggler_causes.h"
#include "report/lateness/straggler_groups.h"
#include "report/lateness/straggler_subject.h"
#include "report/names/communicator_names.h"

#define REPORT_STRAGGLER_NONE UINT32_MAX

#define REPORT_STRAGGLER_EXPLAINED 20u /* groups, and ranks: those for whom causes are looked for */

/* About when the collectives of a part of the run were: CLOCK_REALTIME of the aggregator's host; 0: not known. */
struct report_straggler_moment {
	uint64_t start_ns, end_ns;
};

/* A member's broadcasts and scatters, added up (report_straggler_roots.h). */
struct report_straggler_rooted {
	uint64_t calls, gpu_calls; /* gpu_calls: those whose kernel is known */
	uint64_t gpu_ns, host_ns;
};

/* The result for a member of a communicator. */
struct report_straggler_member {
	uint32_t of_rank; /* index into the ranks of the report */
	uint64_t span_ns; /* from its first collective's start to its last one's end */
	struct straggler_subject found;
	struct report_straggler_rooted rooted;
	struct report_straggler_moment moment; /* of its part of the run, if it is named for one */
	bool in_group;                         /* of one of the communicator's groups */
	bool excused; /* it is late, but because of its pipeline: it is not named */
	/* of a named rank: this adds to what it costs where it held up the others most (report_straggler_joins.h) */
	bool joined;
	struct collective_bin *behind; /* owns */
	uint32_t nr_behind;
};

struct report_straggler_communicator {
	const struct collective_fold *fold;      /* borrowed from folds */
	const char *name;                        /* borrowed from names */
	struct report_straggler_member *members; /* owns; one for each of the fold's members */
	uint64_t span_ns;                        /* the median of its members' spans */
	uint64_t run_ns;                         /* the median of its ranks' whole runs */
	struct straggler_group *groups;          /* owns; those that are named */
	uint32_t nr_groups;
	bool is_pipeline; /* no communicator: the fold is that of the job's pipelines */
};

/* Ranks that are late together. */
struct report_straggler_group {
	uint32_t communicator;               /* index */
	const struct straggler_group *group; /* borrowed from the communicator */
	const char *name;                    /* borrowed from texts; as straggler_places_name() */
	/* 1 + the index of the group with which this is told; 0: by itself (report_straggler_joins.h) */
	uint32_t joined;
	bool adds;                             /* of a joined one: what it costs adds to that */
	struct report_straggler_moment moment; /* as of a member */
	struct straggler_cause *causes; /* owns; of the rank for which the others waited most */
	uint32_t nr_causes;
	struct straggler_scope scope;
};

/* A rank of the job: the parts of all its processes together. */
struct report_straggler_rank {
	uint32_t id;      /* order of appearance, from 1 */
	int32_t rank;     /* of the job; MESSAGE_RANK_NONE */
	uint32_t process; /* the first process of the rank */
	uint32_t pid;
	const char *host; /* borrowed from texts */
	const char *job;  /* borrowed from texts; its id, "": it has none */
	/* of its processes, from the first collective to the last one, added up: by the host's calls, or by the kernels
	 * if these take longer */
	uint64_t run_ns;
	uint64_t last, used; /* over all its communicators */
	uint64_t others_ns, waited_ns;
	/* others_ns of each communicator, divided by the number of its other ranks, added up */
	double others_mean_ns;
	uint32_t named;  /* communicators in which the rank is named */
	uint32_t groups; /* named groups of which the rank is one */
	/* The place where it held up the others most; REPORT_STRAGGLER_NONE: nowhere */
	uint32_t communicator, member;
	/* id of the late rank for which it waited on another communicator or in its pipeline, by at least half of its
	 * own lateness: so it is late because of that one; 0: none. Victims of a pipeline are not named */
	uint32_t kept_by;
	/* index of that communicator; REPORT_STRAGGLER_NONE: none, or the pipelines */
	uint32_t kept_on;
	/* borrowed from links; a slow one of its own, which takes at least half of its lateness longer than usual.
	 * NULL: none. Only of named ranks */
	const struct straggler_link *link;
	bool excused; /* what the others wait for it in collectives is due to its pipeline */
	struct straggler_cause *causes; /* owns; only named ranks have causes */
	uint32_t nr_causes;
	struct straggler_scope scope;
};

/* How evenly the ranks of a communicator work (report_straggler_experts.h). */
struct report_straggler_experts {
	uint32_t communicator; /* index */
	uint32_t member;       /* that is late; REPORT_STRAGGLER_NONE: an imbalance */
	uint64_t steps;        /* of the run; 0: not known */
	uint64_t waited_ns;    /* by each rank on average: for the late one, or in all */
	double share;          /* the same as a part of the time */
	/* its GPU time between exchanges, and its bytes, by the medians of the others; 0: not known, or no reason */
	double gpu_times, bytes_times;
};

/* Ranks that never came to a collective in which others waited for them. */
struct report_straggler_absence {
	const struct straggler_absence *absence; /* borrowed from absences */
	const char *name; /* borrowed from texts; as straggler_absences_name() */
	uint64_t
		ended_ns; /* CLOCK_REALTIME, when the last of their processes ended; 0: one has not */
};

struct report_straggler {
	struct collective_folds *folds;   /* owns */
	struct communicator_names *names; /* owns */
	/* owns; in order of the time waited, the most first. With a pipeline there is one more at the end, which
	 * nr_communicators does not count */
	struct report_straggler_communicator *communicators;
	uint32_t nr_communicators;
	/* owns; NULL: the job has none, none was looked for, or several jobs have some (pipelines_left_out) */
	struct straggler_pipeline *pipeline;
	bool pipelines_left_out;
	/* owns; named ranks first, those without kept_by before those with it; then in order of others_mean_ns */
	struct report_straggler_rank *ranks;
	uint32_t nr_ranks, nr_named;
	struct report_straggler_group *groups; /* owns; in the order of their communicators */
	uint32_t nr_groups;
	struct report_straggler_experts *experts; /* owns; in the order of their communicators */
	uint32_t nr_experts;
	struct straggler_absences absences;       /* owns */
	struct report_straggler_absence *missing; /* owns; one for each of absences */
	uint32_t nr_missing;
	bool has_jobs;   /* ranks are of jobs with different ids, as in a merged profile */
	bool is_running; /* the job goes on */
	bool is_part;    /* of another profile, by time (profile_slice.h) */
	struct straggler_link *links; /* owns; slow ones, those that cost most first */
	uint32_t nr_links;
	/* communicators with one rank in the profile, which are left out */
	uint32_t nr_alone;
	/* own; of communicators that are left out because what the store says of them cannot be: which, and why */
	char **wrong;
	uint32_t nr_wrong;
	uint64_t unknown;     /* calls on communicators whose key is not known */
	uint64_t without_gpu; /* calls with a launch, but without a known kernel */
	char **texts;         /* owns */
	uint32_t nr_texts;
};

/* Names a group no more. The groups behind it move up. */
void report_straggler_drop_group(struct report_straggler_communicator *of, uint32_t index);

#endif
