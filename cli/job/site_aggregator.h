/* Describes a site's aggregator, to which a run's agents send their data instead of to the job's own: its address, and
 * the facts about the job that it learns. The main thread. */
#ifndef SITE_AGGREGATOR_H
#define SITE_AGGREGATOR_H

#include <stdbool.h>

#include "cli/base/job_step.h"
#include "proto/batch/message.h"
#include "proto/trust/key_set.h"

struct agent_status;

struct site_aggregator_options {
	/* tcp://HOST:PORT, tcp://[ADDRESS]:PORT, ipc://PATH; borrowed as long as the object */
	const char *endpoint;
	const char *keys_path; /* an agent's keys; NULL: none */
	const char *title;     /* borrowed as long as the object */
	bool insecure;         /* data may go to other machines without keys */
	bool raw_samples;
	bool coarse; /* its reports have no source lines */
};

struct site_aggregator {
	const char *endpoint;
	bool has_keys;
	struct key_set keys;
	char key[MESSAGE_JOB_NAME_MAX + 1], user[MESSAGE_JOB_NAME_MAX + 1];
	struct message_job job; /* its texts lie in the members above */
};

/* Writes the name under which jobs of this process's user are kept: the user's name, or else the user's number, as
 * visible ASCII. */
void site_aggregator_user(char user[static MESSAGE_JOB_NAME_MAX + 1]);

/* Finds the endpoint of the site's aggregator, and the file of its keys (NULL: none), in the configuration; both
 * borrowed until the next call. false, after an error that begins with `what`: there is none. */
bool site_aggregator_find(const char *what, const char **endpoint, const char **keys_path);

/* Reads the keys from a file whose "%u", if it has one, stands for this process's user. If they are the aggregator's
 * public key alone, munge must be there. 0 or -errno; on error *error is one line, which the caller owns (free()). */
int site_aggregator_keys(const char *path, struct key_set *keys, char **error);

/* Reads the keys, and names the job. step: that of a process among several. A process that was started alone, or whose
 * launcher names no step, has a job of its own. step->key is then made up, so that a process alone also has a node's
 * agent of its own. 0 or -errno; on error *error is one line, which the caller owns (free()). */
int site_aggregator_init(struct site_aggregator *site,
			 const struct site_aggregator_options *options, bool in_step,
			 struct job_step *step, char **error);

/* Returns why a node's data is not all stored there in time, as the end of a sentence about the endpoint; static. */
const char *site_aggregator_problem(const struct agent_status *status);

#endif
