#include "job_standby.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end_budget.h"
#include "job_claim.h"
#include "keeper_word.h"
#include "rendezvous_search.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/base/background.h"
#include "cli/base/job_step.h"

#define READY_MS  2000
#define SPREAD_MS 2000u        /* nodes that ask at the same time try over this time */
#define AGAIN_NS  60000000000u /* between two tries that fail, each with a warning */
#define ROOM      (1u << 20)   /* bytes on the disk without which no aggregator can begin */

struct standby_process {
	const struct job_keeper_options *options;
	int control;
	char path[PATH_MAX]; /* of the rendezvous */
	struct job_claim claim;
	uint64_t again_ns; /* no try before, because the last one has failed */
	bool was_full;     /* it has, because the disk was full: as soon as there is room */
};

/* What the node asks. */
struct question {
	char server_public[KEY_SET_TEXT], first[KEY_SET_TEXT];
	char number[RENDEZVOUS_NUMBER_SIZE];
};

/* ---- taking over */

/* Finds the aggregator that agents find now. If the rendezvous is gone, another step has tidied it away, or its
 * aggregator has ended: then the mark in the profile's directory is gone, too. A block's may be one of an earlier
 * attempt of the step, which has ended. Returns whether it has not ended, as far as can be seen: if it does not answer,
 * it is lost. */
static bool has_not_ended(const struct standby_process *process, const struct question *question,
			  struct rendezvous *found)
{
	char directory[PATH_MAX], *error;
	int r = rendezvous_read(process->path, found, &error);

	free(error);
	if (r == 0 && process->options->step->block && strcmp(found->first, question->first) != 0)
		r = -ENOENT;
	if (r == -ENOENT) {
		found->nr_endpoints = 0;
		memcpy(found->number, question->number, sizeof(found->number));
		memcpy(found->keys.server_public, question->server_public, KEY_SET_TEXT);
		memcpy(found->first, question->first, KEY_SET_TEXT);
	}
	if (r == -ENOENT)
		r = rendezvous_search_directory(process->options->output_path, found, directory);
	return r == 0 && strcmp(found->first, question->first) == 0;
}

/* Runs the aggregator in a process of its own. So this one stands by again, also if that is killed. Returns whether
 * agents could find the aggregator, as far as is known. */
static bool lead(const struct standby_process *process, const struct job_keeper_lost *lost)
{
	int status = 0, other;
	pid_t ended;

	/* An aggregator whose keeper was killed goes on, and so is awaited, too. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	const pid_t pid = fork();
	if (pid == 0)
		_exit(!job_keeper_take_over(process->options, lost, process->control));
	if (pid < 0)
		log_warning("no process for the aggregator: %s", strerror(errno));
	while ((ended = waitpid(-1, &other, 0)) > 0 || errno == EINTR)
		if (ended == pid)
			status = other;
	return pid > 0 && (WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
}

/* Returns whether the disk of the job's profile is full. */
static bool is_disk_full(const struct standby_process *process)
{
	char path[PATH_MAX];
	struct statvfs disk;

	strcpy(path, process->path);
	return statvfs(dirname(path), &disk) == 0 && disk.f_frsize * disk.f_bavail < ROOM;
}

static bool may_try(struct standby_process *process)
{
	if (process->was_full && !is_disk_full(process))
		process->again_ns = 0;
	return clock_now_ns() >= process->again_ns;
}

/* The nodes have what they recorded, so there is time. */
static void try_later(struct standby_process *process)
{
	process->again_ns = clock_now_ns() + AGAIN_NS;
	process->was_full = is_disk_full(process);
	if (process->was_full)
		log_warning("this node could start no aggregator, because the disk of %s is full: "
			    "it tries again when there is room; nodes keep what they record until "
			    "then, as far as there is room for it on them",
			    process->options->output_path);
	else
		log_warning("this node could start no aggregator: it tries again in a minute; "
			    "nodes keep what they record until then, as far as there is room for "
			    "it on them");
}

/* Takes over if it is right to. Returns when all that follows is done. */
static void take_over(struct standby_process *process, const struct question *question)
{
	struct rendezvous lost, now;
	char path[PATH_MAX];

	if (!may_try(process) || !has_not_ended(process, question, &lost) ||
	    (lost.nr_endpoints &&
	     !rendezvous_search_is_lost(process->path, &lost, RENDEZVOUS_CONNECT_MS)))
		return;
	const int r = job_claim_make(&process->claim, process->path, lost.keys.server_public,
				     clock_now_ns(), path);
	if (r) {
		if (r != -EEXIST) /* which is another node's */
			try_later(process);
		return;
	}
	/* The one that had the claim before has removed it after its rendezvous was there. */
	if (!has_not_ended(process, question, &now) ||
	    strcmp(now.keys.server_public, lost.keys.server_public) != 0) {
		unlink(path);
		return;
	}
	if (!process->options->step->block)
		log_warning("the aggregator of this job cannot be reached any more: this node "
			    "starts another");
	else if (lost.nr_endpoints) /* else it is the block's first one */
		log_warning("the aggregator of this node's block cannot be reached any more: this "
			    "node starts another");
	job_claim_remove_dead(&process->claim, process->path);
	const struct job_keeper_lost keeper = {&lost, path};
	if (!lead(process, &keeper))
		try_later(process);
	unlink(path);
}

/* ---- the process */

/* Waits for this node's turn. false: nobody is there any more. A node that goes on alone says so by a signal. */
static bool await_turn(const struct standby_process *process)
{
	struct pollfd news = {.fd = process->control, .events = POLLIN};
	uint32_t number = 0;
	int r;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint32_t)getpid();
	const uint64_t begin_ns = clock_now_ns();
	do
		r = poll(&news, 1,
			 end_budget_timeout_ms(begin_ns, number % SPREAD_MS, clock_now_ns()));
	while (r < 0 && errno == EINTR);
	return r == 0;
}

static void stand_by(void *argument, int ready)
{
	struct standby_process *process = argument;
	const char declines = KEEPER_WORD_DECLINES;
	struct question question;
	ssize_t size;

	prctl(PR_SET_NAME, "flamegrid-stby");
	if (rendezvous_search_path(process->options->output_path, process->options->step,
				   process->path))
		return;
	background_ready(ready);
	for (;;) {
		do
			size = recv(process->control, &question, sizeof(question), 0);
		while (size < 0 && errno == EINTR);
		if (size != sizeof(question) || !await_turn(process))
			return;
		take_over(process, &question);
		/* A node that has had an aggregator may be needed again. */
		(void)send(process->control, &declines, sizeof(declines), MSG_NOSIGNAL);
	}
}

int job_standby_start(struct job_standby *standby, const struct job_keeper_options *options)
{
	struct standby_process process = {.options = options};

	*standby = (struct job_standby){.keeper = {.fd = -1,
						   .folds_on_nodes = options->folds_on_nodes,
						   .writes_part = options->step->block != 0}};
	return background_start_talking(stand_by, &process, &process.control, READY_MS,
					&standby->keeper.fd, &standby->keeper.group);
}

/* ---- the node's side */

/* At the end the words are read by job_keeper_await(). */
bool job_standby_leads(struct job_standby *standby)
{
	char word;

	while (standby->keeper.fd >= 0 && !standby->ended &&
	       recv(standby->keeper.fd, &word, sizeof(word), MSG_DONTWAIT) == sizeof(word))
		if (word == KEEPER_WORD_LEADS || word == KEEPER_WORD_DECLINES) {
			standby->asked = false;
			standby->leads = word == KEEPER_WORD_LEADS;
		}
	return standby->leads;
}

void job_standby_await(struct job_standby *standby, uint32_t timeout_ms)
{
	struct pollfd news = {.fd = standby->keeper.fd, .events = POLLIN};

	if (standby->asked)
		poll(&news, 1, (int)timeout_ms);
	job_standby_leads(standby);
}

void job_standby_ask(struct job_standby *standby, const struct rendezvous *lost)
{
	struct question question;

	if (standby->keeper.fd < 0 || job_standby_leads(standby) || standby->asked)
		return;
	memcpy(question.server_public, lost->keys.server_public, sizeof(question.server_public));
	memcpy(question.first, lost->first, sizeof(question.first));
	memcpy(question.number, lost->number, sizeof(question.number));
	standby->asked = send(standby->keeper.fd, &question, sizeof(question),
			      MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(question);
}

void job_standby_end(struct job_standby *standby, bool failed, uint64_t ended_ns)
{
	if (standby->ended || !job_standby_leads(standby))
		return;
	standby->ended = true;
	job_keeper_end(&standby->keeper, failed, ended_ns);
}

void job_standby_finish(struct job_standby *standby, keeper_word_told told, void *context)
{
	if (standby->ended)
		job_keeper_await(&standby->keeper, told, context);
	else if (standby->keeper.fd >= 0)
		close(standby->keeper.fd);
	standby->keeper.fd = -1;
}
