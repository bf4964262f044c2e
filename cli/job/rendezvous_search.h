/* Looks for the file of rendezvous.h, and for one of its endpoints that can be reached from here. Single-threaded; may
 * wait up to a second for connections. */
#ifndef RENDEZVOUS_SEARCH_H
#define RENDEZVOUS_SEARCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/base/job_step.h"
#include "proto/trust/rendezvous.h"

#define RENDEZVOUS_SUFFIX ".rendezvous"
#define RENDEZVOUS_CLAIM                                                                           \
	".claim-" /* after that: a claim to replace the aggregator (job_standby.h) */

struct rendezvous_search {
	/* path: the step's own file. unnamed: the file of a rank 0 whose launcher tells it no step's name; the same as
	 * path if this step has no name */
	char path[PATH_MAX], unnamed[PATH_MAX];
	const struct job_step *step; /* borrowed; a file of another step is passed over */
	/* for a file without a key: an older file (by CLOCK_REALTIME) belongs to an earlier job */
	int64_t not_before_s;
	struct rendezvous rendezvous; /* the last file that was read */
	bool found, complained;
	uint64_t next_ns;
};

/* Writes the file's path: beside the directory that the user named, with the step in its name, and the number of its
 * block above 0. So steps that run at the same time never share a file, and a step's nodes find its file wherever its
 * profile goes. Without a key it is "output.rendezvous". 0 or -ENAMETOOLONG. */
int rendezvous_search_path(const char *output_path, const struct job_step *step,
			   char path[static PATH_MAX]);

/* Writes how the paths of all blocks' files begin; a number and the suffix follow. 0 or -ENAMETOOLONG. */
int rendezvous_search_block_start(const char *output_path, const char *step_key,
				  char start[static PATH_MAX]);

/* Initializes the search. output_path: the same in all processes of the step. step is borrowed as long as the search is
 * used. 0 or -ENAMETOOLONG. */
int rendezvous_search_init(struct rendezvous_search *search, const char *output_path,
			   const struct job_step *step);

/* Looks for the file, and for an endpoint that greets as an aggregator does, if it is time to. 1: it was found now,
 * and *endpoint and *keys are borrowed until the next call; 0: it was not found yet, or it was found before. */
int rendezvous_search_step(struct rendezvous_search *search, const char **endpoint,
			   const struct key_set **keys);

/* Writes the directory of the profile that the aggregator with this rendezvous writes: output_path and its number. Its
 * mark must name the aggregator, because another job may have taken the place of one that was killed. 0; -ENOENT: the
 * mark does not, and *directory is written nevertheless; -ENAMETOOLONG. */
int rendezvous_search_directory(const char *output_path, const struct rendezvous *rendezvous,
				char directory[static PATH_MAX]);

/* Looks once more, after the aggregator was found and lost. 1: the file names another one now, or another place of the
 * same one, which can be reached within_ms; *endpoint and *keys as above. 0: it does not. */
int rendezvous_search_again(struct rendezvous_search *search, uint32_t within_ms,
			    const char **endpoint, const struct key_set **keys);

/* Returns why nobody can publish the file of search->path, or read it: it is another user's, no file, or has another
 * text. NULL: nothing is known against it. The caller owns the line, which names the path. */
char *rendezvous_search_obstacle(const struct rendezvous_search *search);

#define RENDEZVOUS_CONNECT_MS 1000u

/* Tries all endpoints at once. Returns the number of the first one, in their order, that answers within_ms; -1: none.
 * Any thread. */
int rendezvous_search_reachable(const struct rendezvous *rendezvous, uint32_t within_ms);

/* Returns whether the aggregator of this rendezvous is lost: it takes no connection within_ms. Another program may take
 * them in its place. So its process must live, too, as the lock of the file at path says. Otherwise it must prove its
 * key, for which it has as long again. One that is stopped is not lost. */
bool rendezvous_search_is_lost(const char *path, const struct rendezvous *rendezvous,
			       uint32_t within_ms);

/* Returns how long to wait until the next look, for poll(); -1: there is none. */
int rendezvous_search_wait_ms(const struct rendezvous_search *search);

#endif
