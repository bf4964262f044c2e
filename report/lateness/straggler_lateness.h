/* How late the subjects of a communicator were, in stretches of equal numbers of collectives (straggler.h). Pure; any
 * thread. */
#ifndef STRAGGLER_LATENESS_H
#define STRAGGLER_LATENESS_H

#include <stdint.h>

#include "report/statistics/lasting_noise.h"
#include "straggler_subject.h"

#define STRAGGLER_LATENESS_HICCUP 3 /* spreads from what is usual */

struct straggler_lateness {
	const struct straggler_input *input; /* borrowed until fini */
	uint32_t nr_members, nr_subjects, nr_stretches;
	uint32_t *sizes; /* owns; the ranks of each subject */
	double *late; /* owns; subject j's mean lateness in stretch i, ns: [j * nr_stretches + i] */
	uint64_t *kept_ns; /* owns; what the others waited for subject j in stretch i: as late */
	/* owns; for which subject the others waited longest in stretch i; UINT32_MAX: for several */
	uint32_t *worst;
	double *means, *usual; /* own; of each subject, ns: over all collectives; without hiccups */
	double *sorted_usual;  /* owns; usual, ascending */
	double *member_usual;  /* owns; of each rank, ns */
	double within;         /* spread of ranks around their subject, ns */
	double spread;         /* of stretches around the median of their subject, ns */
	double *values, *usual_inside, *series; /* own; room to work in */
};

/* 0 or -ENOMEM. fini accepts what init left half-built. */
int straggler_lateness_init(struct straggler_lateness *lateness,
			    const struct straggler_input *input);
void straggler_lateness_fini(struct straggler_lateness *lateness);

/* Returns the median of the other subjects' usual lateness. */
double straggler_lateness_median(const struct straggler_lateness *lateness, uint32_t subject);

/* Of stretches and lumps, the shares that are independent. */
struct straggler_independence {
	/* of those as they are: the least of lasting_noise_part(), of lumps, and by which rank is the latest */
	double stretches;
	double in_mean; /* of those in a mean (lasting_noise_least()) */
	/* of lumps, as stretches; hiccups count as three spreads. What follows a hiccup tells whether lumps last. */
	double lumps;
};

/* Returns them by how alike neighbours are in the lateness of the other subjects. The subject's own lateness is in
 * question, so it is left out. So is who of the others is the latest: a slow spot that wanders among equal ranks visits
 * each for several stretches. All stretches are independent if the subject is later than ten spreads of stretches and
 * of the others, and than five times what lasts of the others' noise: such noise cannot make that. */
struct straggler_independence straggler_lateness_independence(struct straggler_lateness *lateness,
							      uint32_t subject);

/* Returns the modified z score of a subject's usual lateness among the others. The noise is the greatest of three: how
 * the others differ, the error of a mean of independent stretches, and the error of a mean of ranks that differ within
 * their subjects. */
double straggler_lateness_z(struct straggler_lateness *lateness, uint32_t subject, double in_mean);

/* Returns the ranks of a subject that are late by at least half of its lateness. */
uint32_t straggler_lateness_count(const struct straggler_lateness *lateness, uint32_t subject,
				  double median);

/* Returns the stretches in which a subject is the latest of all that are not left out. */
uint32_t straggler_lateness_latest(const struct straggler_lateness *lateness, uint32_t subject,
				   const struct straggler_subject *subjects);

#endif
