/* The verb `fetch`: lists a user's jobs at a site's aggregator, or copies the profile of one of them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error_text.h"
#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/verbs.h"
#include "cli/job/aggregator_client.h"
#include "cli/job/job_download.h"
#include "cli/job/site_aggregator.h"
#include "cli/run/output_files.h"
#include "options/option_line.h"
#include "report/model/report_summary.h"
#include "report/names/clean_text.h"
#include "report/names/local_time.h"
#include "report/profile/whole_profile.h"

#define UNFINISHED ".tmp" /* no part of a profile (docs/store.md) */

struct fetch {
	const char *job; /* NULL: list all */
	const char *output_path, *endpoint, *keys_path, *user;
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

/* OPTION_LINE_GO; otherwise the exit status. */
static int parse(struct fetch *fetch, int argc, char **argv)
{
	const struct option_target targets[] = {
		{"output", .text = &fetch->output_path, .least = 1},
		{"user", .text = &fetch->user, .least = 1},
		{"connect", .text = &fetch->endpoint},
		{"keys", .text = &fetch->keys_path},
	};
	const struct option_table *table = &option_table_fetch;
	int status =
		option_line_parse(table, targets, sizeof(targets) / sizeof(*targets), argc, argv);

	if (status != OPTION_LINE_GO)
		return status;
	fetch->job = argv[optind];
	if (fetch->output_path && !fetch->job)
		return option_line_refuse(table, "--output needs a JOB");
	if (fetch->keys_path && !fetch->endpoint)
		return option_line_refuse(table, "--keys needs --connect");
	if (fetch->user && strlen(fetch->user) > MESSAGE_JOB_NAME_MAX)
		return option_line_refuse(table, "--user: no user has such a name");
	return OPTION_LINE_GO;
}

/* ---- list */

/* Control characters could command the terminal, so they are replaced. */
static void print_name(const char *name, int width)
{
	char *clean = clean_text_of(name, strlen(name));

	printf("%-*s", width, clean ? clean : "");
	free(clean);
}

static int print_jobs(const struct job_list *list, const char *user)
{
	static const char *const states[] = {"running", "reporting", "complete"};
	char size[32], written[LOCAL_TIME_SIZE];
	size_t width = strlen("JOB");

	if (list->nr_jobs == 0)
		log_notice("user %s has no job there", user);
	for (uint32_t i = 0; i < list->nr_jobs; i++)
		if (strlen(list->jobs[i].name) > width)
			width = strlen(list->jobs[i].name);
	if (list->nr_jobs)
		printf("%-*s  %-9s  %10s  %s\n", (int)width, "JOB", "STATE", "SIZE", "WRITTEN");
	for (uint32_t i = 0; i < list->nr_jobs; i++) {
		const struct job_entry *job = &list->jobs[i];

		print_name(job->name, (int)width);
		printf("  %-9s  %10s  %s\n", states[job->state],
		       report_summary_bytes(job->size_bytes, size),
		       local_time_text(job->written_ns, "%F %H:%M", written));
	}
	return EXIT_OK;
}

/* ---- fetch */

/* Copies one file of the job to `path`, if there is such a file. 0 or -errno. */
static int copy_file(const struct job_download *download, const char *name, enum fetch_file file,
		     const char *path, uint64_t *bytes, char **error)
{
	unlink(path); /* of a fetch that was killed here */
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	*bytes = 0;
	if (fd < 0)
		return error_text_set(error, -errno, "%s: %s", path, strerror(errno));
	int r = job_download_file(download, name, file, fd, bytes, error);
	if (close(fd) < 0 && r == 0)
		r = error_text_set(error, -errno, "%s: %s", path, strerror(errno));
	if (r || *bytes == 0)
		unlink(path);
	return r;
}

/* Copies the profile to its place. The nodes' profiles come first. If the site puts them into the store meanwhile, they
 * come twice, and what comes twice counts once. 0 or -errno. */
static int copy_profile(const struct job_download *download, const char *name,
			const struct output_dir *output, char **error)
{
	char store[PATH_MAX], store_new[PATH_MAX], nodes[PATH_MAX], nodes_new[PATH_MAX];
	uint64_t store_bytes, nodes_bytes = 0;
	int r = 0;

	if (output_dir_file(output, OUTPUT_STORE, store) ||
	    output_dir_file(output, OUTPUT_NODES, nodes) ||
	    output_dir_file(output, OUTPUT_STORE UNFINISHED, store_new) ||
	    output_dir_file(output, OUTPUT_NODES UNFINISHED, nodes_new))
		return -ENAMETOOLONG;
	r = copy_file(download, name, FETCH_NODES, nodes_new, &nodes_bytes, error);
	if (r)
		return r;
	r = copy_file(download, name, FETCH_STORE, store_new, &store_bytes, error);
	if (r == 0 &&
	    ((nodes_bytes && rename(nodes_new, nodes) < 0) || rename(store_new, store) < 0))
		r = error_text_set(error, -errno, "%s: %s", store, strerror(errno));
	if (r == 0 && nodes_bytes) {
		r = whole_profile_settle(store, error);
		r = r < 0 ? r : 0;
	}
	if (r) {
		unlink(nodes_new);
		unlink(store_new);
	}
	return r;
}

/* Returns the directory's name of the job that is meant, or else the text itself, so that the aggregator gives the
 * reason. NULL: after an error. */
static const char *resolve(const struct fetch *fetch, const struct job_list *list)
{
	bool several;
	const struct job_entry *job = job_list_find(list, fetch->job, &several);

	if (several)
		log_error("%s: several jobs are called so; say which as `flamegrid fetch` lists it",
			  fetch->job);
	if (several)
		return NULL;
	if (job || strlen(fetch->job) <= MESSAGE_JOB_NAME_MAX)
		return job ? job->name : fetch->job;
	log_error("%s: no job has such a name", fetch->job);
	return NULL;
}

static int fetch_job(const struct fetch *fetch, const struct job_download *download,
		     const struct job_list *list)
{
	const char *name = resolve(fetch, list);
	struct output_dir output;
	char *error = NULL;

	if (!name)
		return EXIT_FAILED;
	if (output_dir_open(&output, fetch->output_path ? fetch->output_path : name) < 0)
		return EXIT_FAILED;
	int r = copy_profile(download, name, &output, &error);
	return output_files_finish(&output, r, error) ? EXIT_FAILED : EXIT_OK;
}

/* Files that are half written are removed when a signal ends the verb. */
static void catch_signals(void)
{
	const struct sigaction action = {.sa_handler = stop};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static int converse(const struct fetch *fetch, struct aggregator_client *client)
{
	const struct job_download download = {.client = client,
					      .endpoint = fetch->endpoint,
					      .user = fetch->user,
					      .stopped = &stopped};
	struct job_list list = {0};
	char *error;
	int status = EXIT_FAILED;

	catch_signals();
	int r = job_download_list(&download, &list, &error);

	if (r)
		log_error("%s", error ? error : strerror(-r));
	else if (fetch->job)
		status = fetch_job(fetch, &download, &list);
	else
		status = print_jobs(&list, fetch->user);
	free(error);
	free(list.jobs);
	return status;
}

int verb_fetch(const char *program, int argc, char **argv)
{
	char user[MESSAGE_JOB_NAME_MAX + 1];
	struct aggregator_client client;
	struct fetch fetch = {0};
	int status = parse(&fetch, argc, argv);

	(void)program;
	if (status != OPTION_LINE_GO)
		return status;
	if (!fetch.endpoint && !site_aggregator_find("fetch", &fetch.endpoint, &fetch.keys_path))
		return EXIT_FAILED;
	site_aggregator_user(user);
	if (!fetch.user)
		fetch.user = user;
	int r = aggregator_client_open_named(&client, fetch.endpoint, fetch.keys_path);
	status = EXIT_FAILED;
	if (r == 0)
		status = converse(&fetch, &client);
	else if (r != -ENOENT && r != -EACCES)
		log_error("%s", aggregator_client_explain(&client, r, fetch.endpoint));
	aggregator_client_close(&client);
	return status;
}
