/* Finds where the members of a communicator are (straggler_groups.h), by what the profile knows of their processes.
 * Pure; any thread. */
#ifndef STRAGGLER_PLACES_H
#define STRAGGLER_PLACES_H

#include "report/lateness/straggler_groups.h"
#include "report/profile/profile.h"
#include "report/topology/straggler_switches.h"

struct collective_fold;

/* *places has one place for each member, without a stage; the caller owns it: free(). If the switches of all members
 * are known, these are the groups of hosts. Otherwise hosts are alike if their names differ in their last number alone:
 * r03n1 and r03n12 are, r03n1 and r04n1 are not. Numbers behind the first point are of the domain, which is the same.
 * 0 or -ENOMEM. */
int straggler_places_find(const struct profile *profile, const struct collective_fold *fold,
			  const struct straggler_switches *switches,
			  struct straggler_place **places);

/* Writes the name of a group: "stage 2", "switch s3, 4 hosts", "node2", "hosts r03n*", "local rank 2 of each host",
 * "the later of two groups", and if that has all ranks of several hosts "…, node3, node4" or "…, 8 hosts". The caller
 * owns *name. 0 or -ENOMEM. */
int straggler_places_name(const struct profile *profile, const struct collective_fold *fold,
			  const struct straggler_switches *switches,
			  const struct straggler_group *group, char **name);

#endif
