#include "site_aggregator.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error_text.h"
#include "base/log.h"
#include "base/munge/munge_library.h"
#include "cli/base/site_config.h"
#include "node-agent/agent.h"
#include "proto/trust/endpoint.h"

/* Counts from 0. torchrun restarts a failed job's workers under the same id and address. */
#define RESTARTS "TORCHELASTIC_RESTART_COUNT"

static int check_endpoint(const struct site_aggregator_options *options, char **error)
{
	const char *endpoint = options->endpoint, *colon = strrchr(endpoint, ':');
	bool is_tcp = strncmp(endpoint, "tcp://", 6) == 0;
	char *end = NULL;
	long port = is_tcp && colon > endpoint + 6 ? strtol(colon + 1, &end, 10) : 0;

	if (is_tcp ? port <= 0 || port > UINT16_MAX || *end
		   : strncmp(endpoint, "ipc://", 6) != 0 || !endpoint[6])
		return error_text_set(error, -EINVAL,
				      "--aggregator %s: must be like tcp://HOST:PORT or ipc://PATH",
				      endpoint);
	if (!options->keys_path && !options->insecure && !endpoint_is_local(endpoint))
		return error_text_set(
			error, -EACCES,
			"--aggregator %s: other machines can reach it and nothing protects "
			"it: --keys does; --insecure allows that",
			endpoint);
	return 0;
}

static void keep_visible(char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text >= 0x7f)
			*text = '_';
}

void site_aggregator_user(char user[static MESSAGE_JOB_NAME_MAX + 1])
{
	const struct passwd *entry = getpwuid(geteuid());

	if (entry)
		snprintf(user, MESSAGE_JOB_NAME_MAX + 1, "%s", entry->pw_name);
	else
		snprintf(user, MESSAGE_JOB_NAME_MAX + 1, "%u", (unsigned int)geteuid());
	keep_visible(user);
}

bool site_aggregator_find(const char *what, const char **endpoint, const char **keys_path)
{
	static struct site_config config; /* owns the texts */
	char *error;
	int result = site_config_read(&config, &error);

	*endpoint = *keys_path = NULL;
	if (result)
		log_error("%s", error ? error : strerror(-result));
	free(error);
	for (size_t i = 0; result == 0 && i < config.nr; i++) {
		if (strcmp(config.settings[i].name, "aggregator") == 0)
			*endpoint = config.settings[i].value;
		else if (strcmp(config.settings[i].name, "keys") == 0)
			*keys_path = config.settings[i].value;
	}
	if (*endpoint && strcmp(*endpoint, "none") != 0)
		return true;
	if (result == 0)
		log_error("%s needs a site's aggregator: give --connect ENDPOINT, or set "
			  "\"aggregator\" in the configuration",
			  what);
	return false;
}

static int read_keys(const char *path, struct key_set *keys, char **error)
{
	const char *sign = strstr(path, "%u");
	char user[MESSAGE_JOB_NAME_MAX + 1], *whole;

	*error = NULL;
	site_aggregator_user(user);
	if (!sign)
		return key_set_read_shared(path, keys, error);
	if (asprintf(&whole, "%.*s%s%s", (int)(sign - path), path, user, sign + 2) < 0)
		return -ENOMEM;
	int r = key_set_read_shared(whole, keys, error);
	free(whole);
	return r;
}

int site_aggregator_keys(const char *path, struct key_set *keys, char **error)
{
	int r = read_keys(path, keys, error);

	/* Only munge can then say whose the connection is. */
	return r == 0 && !key_set_serves(keys, KEY_ROLE_AGENT) ? munge_library_open(error) : r;
}

/* Names this process's job or, in a step without a key, this node's part of it. */
static int make_up_key(char key[static MESSAGE_JOB_NAME_MAX + 1])
{
	char host[128] = "";
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	gethostname(host, sizeof(host) - 1);
	snprintf(key, MESSAGE_JOB_NAME_MAX + 1, "%s.%ld.%08x", host, (long)getpid(), random);
	keep_visible(key);
	return 0;
}

/* The key is the launcher's name of the step, and the number of the attempt. */
static void take_key(char key[static MESSAGE_JOB_NAME_MAX + 1], const struct job_step *step)
{
	const char *restarts = getenv(RESTARTS);
	size_t size = strnlen(step->key, sizeof(step->key) - 1);

	memcpy(key, step->key, size);
	key[size] = '\0';
	if (restarts && *restarts && strcmp(restarts, "0") != 0 &&
	    size + strlen(restarts) + 2 <= MESSAGE_JOB_NAME_MAX)
		sprintf(key + size, ".%s", restarts);
}

static int name_job(struct site_aggregator *site, bool in_step, struct job_step *step)
{
	bool is_named = in_step && *step->key;
	int r = 0;

	if (is_named)
		take_key(site->key, step);
	else
		r = make_up_key(site->key);
	keep_visible(site->key);
	site_aggregator_user(site->user);
	if (!in_step) {
		*step = (struct job_step){.world_size = 1, .nr_nodes = 1};
		strcpy(step->key, site->key);
	}
	site->job = (struct message_job){
		.key = {site->key, (uint32_t)strlen(site->key)},
		.user = {site->user, (uint32_t)strlen(site->user)},
		.nr_nodes = is_named ? step->nr_nodes : 1,
		.world_size = is_named ? step->world_size : MESSAGE_RANK_NONE,
	};
	return r;
}

int site_aggregator_init(struct site_aggregator *site,
			 const struct site_aggregator_options *options, bool in_step,
			 struct job_step *step, char **error)
{
	*error = NULL;
	int r = check_endpoint(options, error);

	*site = (struct site_aggregator){.endpoint = options->endpoint};
	if (r)
		return r;
	if (options->keys_path) {
		char *why;

		r = site_aggregator_keys(options->keys_path, &site->keys, &why);
		if (r)
			error_text_set(error, r, "--keys: %s", why ? why : strerror(-r));
		free(why);
		site->has_keys = true;
	}
	if (r)
		return r;
	r = name_job(site, in_step, step);
	if (r)
		return error_text_set(error, r, "%s", strerror(-r));
	site->job.title = (struct message_text){options->title, (uint32_t)strlen(options->title)};
	site->job.flags = (options->raw_samples ? MESSAGE_JOB_RAW : 0) |
			  (options->coarse ? MESSAGE_JOB_COARSE : 0);
	return 0;
}

const char *site_aggregator_problem(const struct agent_status *status)
{
	if (status->welcomed)
		return "has not confirmed all of what was recorded here: the end may be missing in "
		       "the profile";
	if (status->key_refusals)
		return "the keys do not fit: who listens there does not take ours, or does not "
		       "have those that we expect; or it has as many connections as it may: this "
		       "node is not profiled";
	if (status->has_problem)
		return "the aggregator has not accepted this node yet, as said before: whether it "
		       "is profiled is not known";
	if (status->reached)
		return "the aggregator has not answered yet (stopped, or overloaded): whether this "
		       "node is profiled is not known";
	return "the aggregator cannot be reached: this node is not profiled";
}
