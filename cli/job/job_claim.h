/* The claim of a node that takes over a lost aggregator: a file beside the rendezvous that only one process can make
 * (job_standby.h). It has a number, which rises when a claim turns out to be a dead node's. Times are CLOCK_MONOTONIC.
 * Single-threaded. */
#ifndef JOB_CLAIM_H
#define JOB_CLAIM_H

#include <limits.h>
#include <stdint.h>
#include <time.h>

#include "proto/trust/key_set.h"

/* A claim that was not renewed for so long is a dead node's. */
#define JOB_CLAIM_DEAD_NS 20000000000u
/* A node whose aggregator has not begun yet renews its claim so often: often enough for file systems of several hosts,
 * which show other nodes a file's time some seconds late. */
#define JOB_CLAIM_RENEW_NS 4000000000u
/* So long it may be until the lost aggregator lets go of its store. The claim is renewed meanwhile. */
#define JOB_CLAIM_STORE_NS 120000000000u

/* What this process knows of the claims. Zeroed: nothing. */
struct job_claim {
	char key[KEY_SET_TEXT]; /* of the lost aggregator */
	uint32_t number;        /* of the newest claim after it, from 0 */
	uint64_t seen_ns;     /* when another's was seen first, or with a new time; 0: it was not */
	struct timespec time; /* the file's, then */
};

/* Makes the claim after the aggregator with this key, and its path. rendezvous_path: of the step's file. 0; -EEXIST:
 * another process has it; -ENAMETOOLONG; other -errno. */
int job_claim_make(struct job_claim *claim, const char *rendezvous_path, const char *key,
		   uint64_t now_ns, char path[static PATH_MAX]);

/* Removes the claims of nodes that died before an aggregator came from them. */
void job_claim_remove_dead(const struct job_claim *claim, const char *rendezvous_path);

/* Renews the process's own claim if it is time to. *renewed_ns: when it was renewed last; first, when it was made. */
void job_claim_renew(const char *path, uint64_t now_ns, uint64_t *renewed_ns);

#endif
