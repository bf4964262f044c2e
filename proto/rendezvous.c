#include "rendezvous.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "key_file.h"

static int take_text(char *to, size_t size, const char *value, const char **why)
{
	*why = *to ? "is there twice" : "too long";
	if (*to || strlen(value) >= size)
		return -EINVAL;
	strcpy(to, value);
	return 0;
}

static int take_line(void *context, const char *name, const char *value, const char **why)
{
	struct rendezvous *rendezvous = context;

	if (strcmp(name, "step") == 0)
		return take_text(rendezvous->step, RENDEZVOUS_STEP_SIZE, value, why);
	if (strcmp(name, "endpoint") != 0)
		return key_set_take(&rendezvous->keys, name, value, why);
	*why = "too many";
	if (rendezvous->nr_endpoints == RENDEZVOUS_ENDPOINTS_MAX)
		return -EINVAL;
	return take_text(rendezvous->endpoints[rendezvous->nr_endpoints++],
			 RENDEZVOUS_ENDPOINT_SIZE, value, why);
}

int rendezvous_read(const char *path, struct rendezvous *rendezvous, char **error)
{
	int status;

	memset(rendezvous, 0, sizeof(*rendezvous));
	status = key_file_read(path, false, take_line, rendezvous, error);
	if (status == 0 &&
	    (!rendezvous->nr_endpoints || !key_set_serves(&rendezvous->keys, KEY_ROLE_AGENT))) {
		status = -EINVAL;
		if (asprintf(error, "%s: %s", path,
			     rendezvous->nr_endpoints ? "the agents' keys are missing"
						      : "no endpoint") < 0)
			*error = NULL;
	}
	if (status)
		memset(rendezvous, 0, sizeof(*rendezvous));
	return status;
}

int rendezvous_write(const char *path, const struct rendezvous *rendezvous)
{
	char *temporary;
	FILE *file;
	int status = key_file_replace(path, &file, &temporary);

	if (status)
		return status;
	fputs("# Where Flamegrid's agents find the aggregator of a job. Gone when the job is "
	      "over.\n",
	      file);
	if (*rendezvous->step)
		fprintf(file, "step %s\n", rendezvous->step);
	for (uint32_t i = 0; i < rendezvous->nr_endpoints; i++)
		fprintf(file, "endpoint %s\n", rendezvous->endpoints[i]);
	key_set_print(&rendezvous->keys, KEY_ROLE_AGENT, file);
	return key_file_finish(path, file, temporary);
}
