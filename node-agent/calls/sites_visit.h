/* Visits a file that a process maps, once. It identifies the file and finds the functions to be probed. Only the agent
 * loop calls it; another thread may read the file meanwhile (foreign_file.h). */
#ifndef SITES_VISIT_H
#define SITES_VISIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "call_links.h"
#include "call_sites.h"

#include "node-agent/files/foreign_file.h"

struct sites_visit {
	struct foreign_file_visit visit; /* first */
	bool wants_sites;
	bool wants[CALL_PROGRAM_KINDS];
	dev_t device;
	ino_t inode; /* 0: the file could not be recognized again */
	int fd;      /* owns; open only if there are sites; -1: none */
	struct call_sites sites[CALL_PROGRAM_KINDS];
};

/* Visits the mapped file. wants tells for each kind whether its sites are wanted; NULL: only the device and the inode
 * are. 0: *visit has the results. -ENOMEM; -ENOENT: the file is gone, or could not be recognized again; else the errors
 * of foreign_file_visit(): the file is not ours to read, or does not answer. The caller owns *visit in every case,
 * until sites_visit_end(); it may be NULL. */
int sites_visit_make(const struct mapped_file_view *view, const struct maps_file_entry *entry,
		     const bool *wants, struct sites_visit **visit);

/* Ends the visit, which it takes. It waits no longer than foreign_file_call() for the file to be closed. */
void sites_visit_end(struct sites_visit *visit);

#endif
