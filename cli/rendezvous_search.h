/* Looks for the file of rendezvous.h, and for which of its endpoints can be reached from here. Single-threaded; may wait up to a second for connections. */
#ifndef RENDEZVOUS_SEARCH_H
#define RENDEZVOUS_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "job_step.h"
#include "proto/rendezvous.h"

struct rendezvous_search {
	const char *path;            /* borrowed */
	const struct job_step *step; /* borrowed; a file of another step is passed over */
	int64_t not_before_s; /* of a step without a key: an older file (by CLOCK_REALTIME) is that of a job before */
	struct rendezvous rendezvous; /* the last that was read */
	bool found, complained;
	uint64_t next_ns;
};

/* path and step are borrowed as long as it is used. */
void rendezvous_search_init(struct rendezvous_search *search, const char *path,
			    const struct job_step *step);

/* Looks, if it is time to. 1: now it was found, *endpoint and *keys are borrowed until the next call; 0: not yet, or it was before. */
int rendezvous_search_step(struct rendezvous_search *search, const char **endpoint,
			   const struct key_set **keys);

/* Tries all endpoints at once; the first in their order wins that answers in time, its number. -1: none. Any thread. */
int rendezvous_search_reachable(const struct rendezvous *rendezvous);

/* How long to wait until the next look, for poll(); -1: there is none. */
int rendezvous_search_wait_ms(const struct rendezvous_search *search);

#endif
