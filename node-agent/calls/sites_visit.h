/* One visit to a file that a process maps. It finds which file that is, and where the functions to be probed lie in it.
 * Only the agent loop calls it; another thread may look at the file meanwhile (foreign_file.h). */
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
	ino_t inode; /* 0: it is nothing that could be known again */
	int fd;      /* owns, with sites; -1: none */
	struct call_sites sites[CALL_PROGRAM_KINDS];
};

/* Looks at the mapped file. wants tells by kind whether sites are looked for; NULL: only the device and the inode are.
 * 0: *visit has looked at the file. Else the file is gone again, not ours to read, or does not answer:
 * -ENOMEM; -ENOENT, also where it is nothing that could be known again; else as foreign_file_visit().
 * The caller owns *visit in every case, until sites_visit_end(); NULL: there is none to end. */
int sites_visit_make(const struct mapped_file_view *view, const struct maps_file_entry *entry,
		     const bool *wants, struct sites_visit **visit);

/* Takes the visit. Waits no longer than foreign_file_call() for its file to be closed. */
void sites_visit_end(struct sites_visit *visit);

#endif
