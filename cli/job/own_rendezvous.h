/* The file by which agents find a step's aggregator (rendezvous.h), for the process that runs it. Single-threaded. */
#ifndef OWN_RENDEZVOUS_H
#define OWN_RENDEZVOUS_H

#include <limits.h>
#include <stdbool.h>

#include "aggregator/service/aggregator.h"
#include "cli/base/job_step.h"
#include "cli/base/output_dir.h"
#include "proto/trust/rendezvous.h"

struct own_rendezvous {
	char path[PATH_MAX];
	struct rendezvous_file *file; /* owns; the process that made it holds its lock for life */
	struct rendezvous text;       /* keys and first are set before it is published */
};

enum own_rendezvous_state {
	OWN_RENDEZVOUS_FOUND,    /* agents find this aggregator */
	OWN_RENDEZVOUS_REPLACED, /* they find one that took over */
	/* the file is gone, or belongs to a later attempt of the step */
	OWN_RENDEZVOUS_GONE,
};

/* Whether the step's file cannot be made because somebody else has its name: another user, or a directory. */
bool own_rendezvous_is_taken(const char *output_path, const struct job_step *step);

/* Makes the file, which has no name yet. 0; -EBUSY: another job's is there, and neither has a key; other -errno. Each
 * error comes after a message. Call own_rendezvous_close() in either case. */
int own_rendezvous_create(struct own_rendezvous *rendezvous, const char *output_path,
			  const struct job_step *step);

/* Publishes where the aggregator listens, and the profile's directory. Its mark gets a copy, if the caller has it. An
 * aggregator that was started again may do it again, in a file of its own. 0 or -errno after a message. */
int own_rendezvous_publish(struct own_rendezvous *rendezvous, const char *output_path,
			   const struct output_dir *output, const struct aggregator *aggregator);

enum own_rendezvous_state own_rendezvous_state(const struct own_rendezvous *rendezvous);

/* Removes the file, unless another one has come in its place. */
void own_rendezvous_remove(const struct own_rendezvous *rendezvous);
void own_rendezvous_close(struct own_rendezvous *rendezvous);

#endif
