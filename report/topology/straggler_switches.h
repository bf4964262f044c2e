/* The switch of each host of a profile: by a file (straggler_topology.h), or else by what Slurm told its processes
 * (proto/topology_notice.h). Pure; any thread. */
#ifndef STRAGGLER_SWITCHES_H
#define STRAGGLER_SWITCHES_H

#include <stdint.h>

#include "report/profile/profile.h"

struct straggler_topology;

struct straggler_switches {
	char **names; /* owns, and the texts; by the roster's id of the host: "switch s3". NULL: not known */
	uint32_t nr_hosts; /* ids are from 1 to this */
};

/* topology NULL: there is no file. 0 or -ENOMEM; call straggler_switches_fini() in either case. */
int straggler_switches_find(const struct profile *profile,
			    const struct straggler_topology *topology,
			    struct straggler_switches *switches);
/* Checks that a file, of that path, has each host of a profile in one switch alone. 0 or -EINVAL with *error, as
 * straggler_topology_check(). */
int straggler_switches_check(const struct profile *profile,
			     const struct straggler_topology *topology, const char *path,
			     char **error);
/* Returns how many hosts of a profile a file does not have; *first: the name of one of them, not terminated, borrowed
 * from the profile. */
uint32_t straggler_switches_missing(const struct profile *profile,
				    const struct straggler_topology *topology, const char **first,
				    uint32_t *first_size);
void straggler_switches_fini(struct straggler_switches *switches);

/* Returns the name; NULL: the host, or its switch, is not known. */
const char *straggler_switches_of(const struct straggler_switches *switches, uint32_t host);

#endif
