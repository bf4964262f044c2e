#include "control_job.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator_client.h"
#include "rendezvous_search.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/verbs.h"

#define ASK_NS    100000000u /* from one question to the next */
#define NS_PER_MS 1000000u

struct control_job {
	const struct control_job_options *options;
	struct aggregator_client client;
	struct message answer; /* the last answer; borrows from the client */
	bool has_answer, refused;
};

/* Control characters could command the terminal, so they are replaced. */
static void print_text(const struct message_text *text)
{
	for (uint32_t i = 0; i < text->size; i++) {
		unsigned char byte = (unsigned char)text->data[i];

		putchar(byte < ' ' || byte == 0x7f ? '_' : byte);
	}
}

/* ---- the aggregator's address */

static int open_profile(struct control_job *job)
{
	struct rendezvous rendezvous;
	char path[PATH_MAX], *error = NULL;
	int found = -1;

	if (snprintf(path, sizeof(path), "%s/" OUTPUT_MARK, job->options->profile) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	if (rendezvous_read(path, &rendezvous, &error) == 0)
		found = rendezvous_search_reachable(&rendezvous, RENDEZVOUS_CONNECT_MS);
	free(error);
	if (found < 0) {
		log_error("%s: no job of several ranks writes there now, or its aggregator "
			  "cannot be reached from here; for a run of one process give its --pid in "
			  "place of PROFILE",
			  job->options->profile);
		return -ENOENT;
	}
	return aggregator_client_open(&job->client, rendezvous.endpoints[found], &rendezvous.keys);
}

/* ---- asking */

static bool is_done(const struct control_job *job)
{
	const struct message_control *answer = &job->answer.control;

	if (!job->has_answer || answer->nr_agents == 0)
		return false;
	for (uint32_t i = 0; i < answer->nr_agents; i++)
		if (answer->agents[i].state == CONTROL_WAITING)
			return false;
	return true;
}

static struct message_text text_of(const char *text)
{
	return (struct message_text){text, text ? (uint32_t)strlen(text) : 0};
}

static int ask(struct control_job *job)
{
	const struct message message = {
		.type = MESSAGE_CONTROL,
		.control = {.kind = CONTROL_ASK,
			    .token = job->client.token,
			    .action = job->options->action,
			    .relative = job->options->relative,
			    .from_ns = job->options->from_ns,
			    .until_ns = job->options->until_ns,
			    .job_key = text_of(job->options->job),
			    .job_user = text_of(job->options->user)},
	};

	return aggregator_client_send(&job->client, &message);
}

static void say_refusal(const struct control_job *job, const struct message_text *reason)
{
	const char *name = job->options->job;

	log_error("%s%s%.*s", name ? name : "", name ? ": " : "", (int)reason->size, reason->data);
}

static void take_message(struct control_job *job, const struct message *message)
{
	if (message->type == MESSAGE_REFUSE) {
		say_refusal(job, &message->refuse.reason);
		job->refused = true;
	}
	if (message->type != MESSAGE_CONTROL || message->control.kind != CONTROL_ANSWER ||
	    message->control.token != job->client.token)
		return;
	job->answer = *message;
	job->has_answer = true;
}

static int receive(struct control_job *job)
{
	struct message message;
	int r;

	while ((r = aggregator_client_receive(&job->client, &message)) > 0) {
		job->has_answer = false; /* it borrows from the frame, which is freed now */
		take_message(job, &message);
	}
	return r;
}

/* Asks until all agents have taken the command, or the time is over. 0 or -errno. */
static int converse(struct control_job *job)
{
	uint64_t until_ns = clock_now_ns() + job->options->wait_ns, ask_ns = 0, now_ns;
	int r = 0;

	while (r >= 0 && !job->refused && !is_done(job) && (now_ns = clock_now_ns()) < until_ns) {
		if (now_ns >= ask_ns) {
			r = ask(job);
			ask_ns = now_ns + ASK_NS;
		}
		aggregator_client_wait(&job->client, ASK_NS / NS_PER_MS);
		if (r >= 0)
			r = receive(job);
	}
	return r < 0 ? r : 0;
}

/* ---- the answer */

static void print_agent(const struct message_control_agent *agent)
{
	static const char *const states[] = {"no", "yes", "late"};

	printf("%-5s %9" PRIu32 " ", states[agent->state], agent->nr_processes);
	if (agent->bound_ns)
		printf(" %9.1f us  ", (double)agent->bound_ns / 1000);
	else
		printf(" %12s  ", agent->state ? "its own" : "-");
	print_text(&agent->node);
	putchar('\n');
}

static int report(const struct control_job *job)
{
	const struct message_control *answer = &job->answer.control;
	uint32_t nr_waiting = 0, nr_late = 0;

	if (!job->has_answer) {
		log_error("the aggregator does not answer");
		return EXIT_FAILED;
	}
	if (!job->options->quiet)
		printf("%-5s %9s  %12s  %s\n", "TAKEN", "PROCESSES", "CLOCK +-", "NODE");
	for (uint32_t i = 0; i < answer->nr_agents; i++) {
		nr_waiting += answer->agents[i].state == CONTROL_WAITING;
		nr_late += answer->agents[i].state == CONTROL_LATE;
		if (!job->options->quiet)
			print_agent(&answer->agents[i]);
	}
	if (answer->nr_agents == 0)
		log_notice("no agent has come yet: later ones will get the command");
	if (nr_waiting)
		log_warning("%" PRIu32 " of %" PRIu32 " agents did not take the command in time",
			    nr_waiting, answer->nr_agents);
	if (nr_late)
		log_warning("%" PRIu32 " of %" PRIu32 " agents heard of it after its time had come",
			    nr_late, answer->nr_agents);
	return nr_waiting || nr_late || answer->nr_agents == 0 ? EXIT_FAILED : EXIT_OK;
}

static int carry_out(struct control_job *job)
{
	const struct control_job_options *options = job->options;
	int r = options->profile ? open_profile(job)
				 : aggregator_client_open_named(&job->client, options->endpoint,
								options->keys_path);

	if (r == -ENOENT || r == -EACCES)
		return EXIT_FAILED;
	if (r == 0)
		r = converse(job);
	if (r)
		log_error("%s", aggregator_client_explain(&job->client, r, options->endpoint));
	return r || job->refused ? EXIT_FAILED : report(job);
}

int control_job(const struct control_job_options *options)
{
	struct control_job job = {.options = options};
	int status = carry_out(&job);

	aggregator_client_close(&job.client);
	return status;
}
