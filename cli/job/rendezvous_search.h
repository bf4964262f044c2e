/* Looks for the file of rendezvous.h, and for which of its endpoints can be reached from here. Single-threaded; may
 * wait up to a second for connections. */
#ifndef RENDEZVOUS_SEARCH_H
#define RENDEZVOUS_SEARCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/base/job_step.h"
#include "proto/trust/rendezvous.h"

#define RENDEZVOUS_SUFFIX ".rendezvous"

struct rendezvous_search {
	char path[PATH_MAX], /* the step's own */
		/* of a rank 0 that its launcher tells no step's name; the same where this step has none */
		unnamed[PATH_MAX];
	const struct job_step *step; /* borrowed; a file of another step is passed over */
	int64_t not_before_s; /* of a file without a key: an older one (by CLOCK_REALTIME) is that of a job before */
	struct rendezvous rendezvous; /* the last that was read */
	bool found, complained;
	uint64_t next_ns;
};

/* The file's path: beside the directory that was asked for, with the step in its name. So steps at once never meet,
 * and each is found by its own nodes wherever its profile goes. Without a key it is "output.rendezvous". 0 or
 * -ENAMETOOLONG. */
int rendezvous_search_path(const char *output_path, const struct job_step *step,
			   char path[static PATH_MAX]);

/* output_path: the same in all processes of the step. step is borrowed as long as it is used. 0 or -ENAMETOOLONG. */
int rendezvous_search_init(struct rendezvous_search *search, const char *output_path,
			   const struct job_step *step);

/* Looks, if it is time to. 1: now it was found, *endpoint and *keys are borrowed until the next call; 0: not yet, or it
 * was before. */
int rendezvous_search_step(struct rendezvous_search *search, const char **endpoint,
			   const struct key_set **keys);

/* Tries all endpoints at once; the first in their order wins that answers in time, its number. -1: none. Any thread. */
int rendezvous_search_reachable(const struct rendezvous *rendezvous);

/* How long to wait until the next look, for poll(); -1: there is none. */
int rendezvous_search_wait_ms(const struct rendezvous_search *search);

#endif
