#include "control_job.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator_client.h"
#include "node_block.h"
#include "rendezvous_search.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/base/output_dir.h"
#include "cli/base/verbs.h"

#define ASK_NS    100000000u /* from one question to the next */
#define LOOK_MS   10         /* from one look at several aggregators to the next */
#define NS_PER_MS 1000000u

/* One aggregator of the job. */
struct conversation {
	struct aggregator_client client;
	struct message answer; /* the last answer; borrows from the client */
	bool has_answer, refused;
};

struct control_job {
	const struct control_job_options *options;
	struct conversation
		*list; /* owns; the job's aggregator, and those of its other blocks of nodes */
	uint32_t count, room;
	uint32_t nr_unreached; /* aggregators that are not in the list */
};

/* Returns a new one, or NULL: out of memory. */
static struct conversation *add(struct control_job *job)
{
	if (array_reserve(&job->list, &job->room, (uint64_t)job->count + 1, sizeof(*job->list)))
		return NULL;
	job->list[job->count] = (struct conversation){.refused = false};
	return &job->list[job->count++];
}

/* Control characters could command the terminal, so they are replaced. */
static void print_text(const struct message_text *text)
{
	for (uint32_t i = 0; i < text->size; i++) {
		unsigned char byte = (unsigned char)text->data[i];

		putchar(byte < ' ' || byte == 0x7f ? '_' : byte);
	}
}

/* ---- the aggregator's address */

static int open_found(struct control_job *job, const struct rendezvous *rendezvous)
{
	const int found = rendezvous_search_reachable(rendezvous, RENDEZVOUS_CONNECT_MS);
	struct conversation *one = found < 0 ? NULL : add(job);

	if (found < 0)
		return -ENOENT;
	return one ? aggregator_client_open(&one->client, rendezvous->endpoints[found],
					    &rendezvous->keys)
		   : -ENOMEM;
}

static int open_block(void *context, const char *path, const struct rendezvous *rendezvous)
{
	struct control_job *job = context;
	int r = open_found(job, rendezvous);

	if (r != -ENOENT)
		return r;
	log_warning("%s: the aggregator of these nodes cannot be reached from here", path);
	job->nr_unreached++;
	return 0;
}

/* The files of blocks are beside the directory as the user named it, without the number. */
static int open_blocks(struct control_job *job, const struct rendezvous *rendezvous)
{
	const char *profile = job->options->profile;
	size_t size = strlen(profile), number = strlen(rendezvous->number);
	char output_path[PATH_MAX];

	while (size > 1 && profile[size - 1] == '/')
		size--;
	if (size > number && memcmp(profile + size - number, rendezvous->number, number) == 0)
		size -= number;
	snprintf(output_path, sizeof(output_path), "%.*s", (int)size, profile);
	return node_block_visit(output_path, rendezvous->step, rendezvous->first, open_block, job);
}

static int open_profile(struct control_job *job)
{
	struct rendezvous rendezvous;
	char path[PATH_MAX], *error = NULL;

	if (snprintf(path, sizeof(path), "%s/" OUTPUT_MARK, job->options->profile) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	int r = rendezvous_read(path, &rendezvous, &error) ? -ENOENT : open_found(job, &rendezvous);
	free(error);
	if (r == -ENOENT)
		log_error("%s: no job of several ranks writes there now, or its aggregator "
			  "cannot be reached from here; for a run of one process give its --pid in "
			  "place of PROFILE",
			  job->options->profile);
	return r ? r : open_blocks(job, &rendezvous);
}

/* ---- asking */

static bool has_taken(const struct conversation *one)
{
	const struct message_control *answer = &one->answer.control;

	if (!one->has_answer || answer->nr_agents == 0)
		return false;
	for (uint32_t i = 0; i < answer->nr_agents; i++)
		if (answer->agents[i].state == CONTROL_WAITING)
			return false;
	return true;
}

static bool is_done(const struct control_job *job)
{
	uint32_t done = 0;

	for (uint32_t i = 0; i < job->count; i++)
		done += job->list[i].refused || has_taken(&job->list[i]);
	return done == job->count;
}

static struct message_text text_of(const char *text)
{
	return (struct message_text){text, text ? (uint32_t)strlen(text) : 0};
}

static int ask(const struct control_job *job, struct conversation *one)
{
	const struct message message = {
		.type = MESSAGE_CONTROL,
		.control = {.kind = CONTROL_ASK,
			    .token = one->client.token,
			    .action = job->options->action,
			    .relative = job->options->relative,
			    .from_ns = job->options->from_ns,
			    .until_ns = job->options->until_ns,
			    .job_key = text_of(job->options->job),
			    .job_user = text_of(job->options->user)},
	};

	return aggregator_client_send(&one->client, &message);
}

static void say_refusal(const struct control_job *job, const struct message_text *reason)
{
	const char *name = job->options->job;

	log_error("%s%s%.*s", name ? name : "", name ? ": " : "", (int)reason->size, reason->data);
}

static void take_message(const struct control_job *job, struct conversation *one,
			 const struct message *message)
{
	if (message->type == MESSAGE_REFUSE) {
		say_refusal(job, &message->refuse.reason);
		one->refused = true;
	}
	if (message->type != MESSAGE_CONTROL || message->control.kind != CONTROL_ANSWER ||
	    message->control.token != one->client.token)
		return;
	one->answer = *message;
	one->has_answer = true;
}

static int receive(const struct control_job *job, struct conversation *one)
{
	struct message message;
	int r;

	while ((r = aggregator_client_receive(&one->client, &message)) > 0) {
		one->has_answer = false; /* it borrows from the frame, which is freed now */
		take_message(job, one, &message);
	}
	return r;
}

static void wait_for_news(struct control_job *job)
{
	if (job->count == 1)
		aggregator_client_wait(&job->list[0].client, ASK_NS / NS_PER_MS);
	else
		poll(NULL, 0, LOOK_MS);
}

/* Asks until all agents have taken the command, or the time is over. 0 or -errno. */
static int converse(struct control_job *job)
{
	uint64_t until_ns = clock_now_ns() + job->options->wait_ns, ask_ns = 0, now_ns;
	int r = 0;

	while (r >= 0 && !is_done(job) && (now_ns = clock_now_ns()) < until_ns) {
		for (uint32_t i = 0; i < job->count && now_ns >= ask_ns && r >= 0; i++)
			r = job->list[i].refused ? 0 : ask(job, &job->list[i]);
		if (now_ns >= ask_ns)
			ask_ns = now_ns + ASK_NS;
		wait_for_news(job);
		for (uint32_t i = 0; i < job->count && r >= 0; i++)
			r = receive(job, &job->list[i]);
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

/* What all aggregators have answered. */
struct sums {
	uint32_t nr_agents, nr_waiting, nr_late, nr_silent; /* the last: of aggregators */
};

static void add_answer(const struct control_job *job, const struct conversation *one,
		       struct sums *sums)
{
	const struct message_control *answer = &one->answer.control;

	for (uint32_t i = 0; one->has_answer && i < answer->nr_agents; i++) {
		sums->nr_agents++;
		sums->nr_waiting += answer->agents[i].state == CONTROL_WAITING;
		sums->nr_late += answer->agents[i].state == CONTROL_LATE;
		if (!job->options->quiet)
			print_agent(&answer->agents[i]);
	}
}

static int report(const struct control_job *job)
{
	struct sums sums = {.nr_agents = 0};

	for (uint32_t i = 0; i < job->count; i++)
		sums.nr_silent += !job->list[i].has_answer;
	if (sums.nr_silent == job->count) {
		log_error("the aggregator does not answer");
		return EXIT_FAILED;
	}
	if (sums.nr_silent)
		log_warning("%" PRIu32 " of the job's %" PRIu32 " aggregators do not answer",
			    sums.nr_silent, job->count);
	if (!job->options->quiet)
		printf("%-5s %9s  %12s  %s\n", "TAKEN", "PROCESSES", "CLOCK +-", "NODE");
	for (uint32_t i = 0; i < job->count; i++)
		add_answer(job, &job->list[i], &sums);
	if (sums.nr_agents == 0)
		log_notice("no agent has come yet: later ones will get the command");
	if (sums.nr_waiting)
		log_warning("%" PRIu32 " of %" PRIu32 " agents did not take the command in time",
			    sums.nr_waiting, sums.nr_agents);
	if (sums.nr_late)
		log_warning("%" PRIu32 " of %" PRIu32 " agents heard of it after its time had come",
			    sums.nr_late, sums.nr_agents);
	const uint32_t nr_missed =
		sums.nr_waiting + sums.nr_late + sums.nr_silent + job->nr_unreached;

	return nr_missed || sums.nr_agents == 0 ? EXIT_FAILED : EXIT_OK;
}

static int open_named(struct control_job *job)
{
	struct conversation *one = add(job);

	return one ? aggregator_client_open_named(&one->client, job->options->endpoint,
						  job->options->keys_path)
		   : -ENOMEM;
}

/* Returns whether an aggregator has refused the command. */
static bool is_refused(const struct control_job *job)
{
	bool refused = false;

	for (uint32_t i = 0; i < job->count; i++)
		refused |= job->list[i].refused;
	return refused;
}

static int carry_out(struct control_job *job)
{
	const struct control_job_options *options = job->options;
	int r = options->profile ? open_profile(job) : open_named(job);

	if (r == -ENOENT || r == -EACCES)
		return EXIT_FAILED;
	if (r == 0)
		r = converse(job);
	if (r)
		log_error("%s", job->count ? aggregator_client_explain(&job->list[0].client, r,
								       options->endpoint)
					   : strerror(-r));
	return r || is_refused(job) ? EXIT_FAILED : report(job);
}

int control_job(const struct control_job_options *options)
{
	struct control_job job = {.options = options};
	int status = carry_out(&job);

	for (uint32_t i = 0; i < job.count; i++)
		aggregator_client_close(&job.list[i].client);
	free(job.list);
	return status;
}
