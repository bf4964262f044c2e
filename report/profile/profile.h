/* A stored profile in memory, as reports need it. Reading changes nothing and disturbs no
 * aggregator that writes. Used by one thread. */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/profile/collection.h"

/* Owns all of it; read only. collection.totals holds all totals, GPU records that still wait for
 * their launch included (as unmatched ones), so that nothing is missing while the job runs; collection.samples likewise
 * all sums of host samples, collection.clocks all comparisons of clocks (store_clocks_read()). */
struct profile {
	struct collection *collection;
	char *title;      /* NULL: none */
	bool written;     /* somebody is writing it: more may come */
	bool abandoned;   /* nobody is, and its last writer did not close it */
	int32_t nr_nodes; /* that were to take part; 0: not known */
	uint64_t waiting; /* the records that were still waiting */
	/* idle time of devices, by what the host did (idle_fold.h): device_id is the roster's; NULL: none */
	struct fold_table *idle;
	/* row of the newest sample that was kept by itself; 0: there is none (sample_writer.h) */
	uint64_t raw_samples;
	uint64_t idle_left_out; /* records and samples that were not kept to explain it by */
};

/* 0; -ENOENT: no such file, or an empty one; -EPROTO: not a profile, damaged, or of a newer schema;
 * -EACCES, -EBUSY, -EIO, -ENOMEM. On error *profile is NULL and *error, if error is not NULL, one
 * line with the path (owns: free()). */
int profile_load(const char *path, struct profile **profile, char **error);
void profile_destroy(struct profile *profile); /* accepts NULL */

#endif
