/* The aggregator of a site, where a run's agents send what they record in place of one of the job's own: how it is
 * reached, and what is said of the job there. The main thread. */
#ifndef SITE_AGGREGATOR_H
#define SITE_AGGREGATOR_H

#include <stdbool.h>

#include "cli/base/job_step.h"
#include "proto/batch/message.h"
#include "proto/trust/key_set.h"

struct site_aggregator_options {
	/* tcp://HOST:PORT, tcp://[ADDRESS]:PORT, ipc://PATH; borrowed as long as the object */
	const char *endpoint;
	const char *keys_path; /* an agent's keys; NULL: none */
	const char *title;     /* borrowed likewise */
	bool insecure;         /* without keys others than this machine may be sent to */
	bool raw_samples;
	bool coarse; /* its reports without source lines */
};

struct site_aggregator {
	const char *endpoint;
	bool has_keys;
	struct key_set keys;
	char key[MESSAGE_JOB_NAME_MAX + 1], user[MESSAGE_JOB_NAME_MAX + 1];
	struct message_job job; /* its texts are the above */
};

/* What jobs of this process's user are kept under: its name, or else its number, as visible ASCII. */
void site_aggregator_user(char user[static MESSAGE_JOB_NAME_MAX + 1]);

/* step: of one among several. A process that was started alone, or whose launcher names no step, has a job of its own;
 * step->key is then made up, so that it has a node's agent of its own, too, if it is alone. 0 or -errno, with *error
 * one line, owns: free(). */
int site_aggregator_init(struct site_aggregator *site,
			 const struct site_aggregator_options *options, bool in_step,
			 struct job_step *step, char **error);

#endif
