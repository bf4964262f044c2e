#include "job_table.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "closed_epochs.h"
#include "job_dir.h"
#include "job_end.h"
#include "job_reports.h"
#include "receiver.h"

#include "aggregator/store/store.h"
#include "aggregator/workers/page_room.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"

#define LOOK_NS        50000000u /* interval of looks at jobs that end */
#define NS_PER_MS      1000000ull
#define WAIT_NODES_MS  10000u
#define WAIT_SILENT_MS 300000u
#define HOST_SIZE      256u
#define SAVE_AGAIN_NS  10000000000u
#define FAILED_NS      60000000000u /* interval of lines about jobs that cannot begin */

enum job_state {
	JOB_WAITS, /* for room for its store */
	JOB_OPENS, /* a worker opens it */
	JOB_IS_OPEN,
	JOB_FAILED, /* it could not be opened */
};

struct job {
	struct open_profile profile; /* first, because callers know the job by it */
	struct worker_task task;     /* opens or closes it */
	struct job_table *table;
	enum job_state state;
	struct job_mark mark;
	struct job_end end;
	char *title, *why; /* own; the second says why it could not be opened */
	int error;         /* of the task */
	bool is_gone;      /* its store was deleted or moved */
	uint64_t again_ns; /* time of the next try to save and close it; 0: there was none */
	char path[PATH_MAX];
	char place[HOST_SIZE + PATH_MAX + 2];
};

struct job_table {
	char directory[PATH_MAX], host[HOST_SIZE];
	struct job *jobs[JOB_TABLE_MAX]; /* owns */
	uint32_t nr_jobs;
	struct closed_epochs closed;
	struct job_reports *reports;     /* owns */
	struct job_retention *retention; /* owns; NULL: all jobs are kept */
	uint64_t wait_nodes_ns, wait_silent_ns;
	uint64_t failed_ns; /* time of the last line about a job that cannot begin; 0: never */
	uint32_t stores_max;
	uint64_t bytes_max;
	struct metrics_board *board;
	struct page_room *page_room; /* owns; for all jobs' pages */
	int lock_fd; /* the lock on the directory, since stores that rest have none; -1: no lock */
	struct receiver *receiver;
	struct worker_pool *workers;
	struct frame_budget *budget;
};

static int explain(char **error, const char *path, int status)
{
	return error_text_set(error, status, "%s: %s", path, strerror(-status));
}

/* ---- open */

bool job_table_is_full(const struct job_table *table, struct open_profile **oldest)
{
	uint32_t nr_open = 0;

	*oldest = NULL;
	for (uint32_t i = 0; i < table->nr_jobs; i++) {
		struct open_profile *profile = &table->jobs[i]->profile;

		if (profile->rests)
			continue;
		nr_open++;
		if (!profile->away && (!*oldest || profile->committed_ns < (*oldest)->committed_ns))
			*oldest = profile;
	}
	return nr_open >= table->stores_max;
}

static int open_profile(struct job *job, char **error)
{
	const struct job_table *table = job->table;
	char store[PATH_MAX], nodes[PATH_MAX];
	const struct open_profile_options options = {
		.store_path = store,
		.pages_path = nodes,
		.title = job->title,
		.nr_nodes = job->mark.nr_nodes > 0 ? job->mark.nr_nodes : 0,
		.raw_samples = job->mark.flags & MESSAGE_JOB_RAW,
		.bytes_max = table->bytes_max,
		.board = table->board,
		.page_room = table->page_room,
		.page_user = job->mark.user,
		.receiver = table->receiver,
	};
	int r = job_dir_file(job->path, JOB_DIR_STORE, store);

	if (r == 0)
		r = job_dir_file(job->path, JOB_DIR_NODES, nodes);
	*error = NULL;
	return r ? r : open_profile_open(&job->profile, &options, error);
}

static void destroy_job(struct job *job)
{
	frame_queue_clear(&job->profile.frames, job->table->budget);
	open_profile_close(&job->profile);
	free(job->title);
	free(job->why);
	free(job);
}

static struct job *create_job(struct job_table *table, uint64_t now_ns)
{
	struct job *job = calloc(1, sizeof(*job));

	if (job)
		*job = (struct job){.table = table,
				    .end = {.mark = &job->mark,
					    .since_ns = now_ns,
					    .wait_nodes_ns = table->wait_nodes_ns,
					    .wait_silent_ns = table->wait_silent_ns},
				    .profile = {.away = true, .rests = true}};
	return job;
}

/* Agents are told the place from now on. */
static void set_open(struct job *job)
{
	snprintf(job->place, sizeof(job->place), "%s:%s", job->table->host, job->path);
	job->profile.said_place = job->place;
	job->profile.away = false;
	job->state = JOB_IS_OPEN;
}

/* Everything in its store was loaded, and is stored. So the store may rest if too many are open. */
static void add_open(struct job_table *table, struct job *job)
{
	struct open_profile *oldest;

	if (job_table_is_full(table, &oldest))
		store_rest(job->profile.store);
	set_open(job);
	job->profile.rests = store_rests(job->profile.store);
	table->jobs[table->nr_jobs++] = job;
}

/* Continues a job that was not complete when the last aggregator ended. A job that cannot be read gets a line, and
 * stays as it is; the others continue. */
static int take_up(struct job_table *table, const char *name, uint64_t now_ns)
{
	struct job *job = create_job(table, now_ns);
	char *error = NULL;
	enum job_dir_state state = JOB_DIR_IS_OPEN;
	int r = job ? job_dir_file(table->directory, name, job->path) : -ENOMEM;

	if (r == 0)
		r = job_dir_read(job->path, &job->mark, &state, &error);
	if (r == 0 && state != JOB_DIR_IS_OPEN) {
		if (state == JOB_DIR_IS_CLOSED) /* its reports were not finished */
			r = job_reports_add(table->reports, job->path,
					    job->mark.flags & MESSAGE_JOB_COARSE);
		destroy_job(job);
		return r;
	}
	if (r == 0 && table->nr_jobs == JOB_TABLE_MAX)
		r = -EMFILE;
	if (r == 0)
		r = open_profile(job, &error);
	if (r == 0) {
		add_open(table, job);
		return 0;
	}
	if (r != -ENOENT && r != -ENOTDIR && r != -ENOMEM)
		log_error("%s", error ? error : strerror(-r));
	free(error);
	if (job)
		destroy_job(job);
	return r == -ENOMEM ? r : 0;
}

static int take_up_all(struct job_table *table, uint64_t now_ns, char **error)
{
	const struct dirent *entry;
	DIR *directory = opendir(table->directory);
	int r = 0;

	if (!directory || access(table->directory, W_OK) < 0)
		r = explain(error, table->directory, -errno);
	while (r == 0 && (entry = readdir(directory)) != NULL)
		if (*entry->d_name != '.')
			r = take_up(table, entry->d_name, now_ns);
	if (directory)
		closedir(directory);
	return r;
}

int job_table_create(const struct job_table_options *options, uint64_t now_ns,
		     struct job_table **table, char **error)
{
	struct job_table *new_table = calloc(1, sizeof(*new_table));
	int r;

	*table = NULL;
	*error = NULL;
	if (!new_table)
		return -ENOMEM;
	new_table->wait_nodes_ns =
		NS_PER_MS * (options->wait_nodes_ms ? options->wait_nodes_ms : WAIT_NODES_MS);
	new_table->wait_silent_ns =
		NS_PER_MS * (options->wait_silent_ms ? options->wait_silent_ms : WAIT_SILENT_MS);
	new_table->stores_max = options->stores_max ? options->stores_max : JOB_TABLE_MAX;
	new_table->page_room = page_room_create(0);
	new_table->bytes_max = options->bytes_max;
	new_table->board = options->board;
	new_table->lock_fd = -1;
	new_table->receiver = options->receiver;
	new_table->workers = options->workers;
	new_table->budget = options->budget;
	gethostname(new_table->host, sizeof(new_table->host) - 1);
	new_table->reports = job_reports_create(options->reports);
	r = new_table->reports && new_table->page_room ? 0 : -ENOMEM;
	if (r == 0 && mkdir(options->directory, 0750) < 0 && errno != EEXIST)
		r = explain(error, options->directory, -errno);
	/* Agents report this path to users, so it must not depend on our directory. */
	if (r == 0 && !realpath(options->directory, new_table->directory))
		r = explain(error, options->directory, -errno);
	if (r == 0)
		r = job_dir_lock(new_table->directory, &new_table->lock_fd, error);
	if (r == 0)
		r = take_up_all(new_table, now_ns, error);
	if (r == 0 && (options->keep.bytes || options->keep.age_ns)) {
		new_table->retention = job_retention_start(new_table->directory, &options->keep);
		r = new_table->retention ? 0 : -ENOMEM;
	}
	if (r) {
		job_table_destroy(new_table);
		return r;
	}
	*table = new_table;
	return 0;
}

void job_table_destroy(struct job_table *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < table->nr_jobs; i++)
		destroy_job(table->jobs[i]);
	job_reports_destroy(table->reports);
	job_retention_stop(table->retention);
	page_room_destroy(table->page_room);
	if (table->lock_fd >= 0)
		close(table->lock_fd);
	free(table);
}

/* ---- agents */

/* Agents ask again every few seconds, so this line is limited. */
static void say_failure(struct job_table *table, const char *error, uint64_t now_ns)
{
	if (table->failed_ns && now_ns - table->failed_ns < FAILED_NS)
		return;
	table->failed_ns = now_ns;
	log_error("a job cannot begin: %s", error);
}

static struct job *job_of(struct worker_task *task)
{
	return (struct job *)((char *)task - offsetof(struct job, task));
}

/* On failure no directory is left. */
static void run_open(struct worker_task *task, struct batch_decoder *decoder)
{
	struct job *job = job_of(task);

	(void)decoder;
	job->error = job_dir_create(job->table->directory, &job->mark, job->path);
	if (job->error) {
		explain(&job->why, job->table->directory, job->error);
		return;
	}
	job->error = open_profile(job, &job->why);
	if (job->error) {
		open_profile_close(&job->profile);
		job_dir_remove(job->path);
	}
}

static void end_open(struct worker_task *task)
{
	struct job *job = job_of(task);

	if (job->error) {
		job->state = JOB_FAILED;
		job->profile.rests = true;
		say_failure(job->table, job->why ? job->why : strerror(-job->error),
			    clock_now_ns());
		return;
	}
	set_open(job);
	log_info("%s begins", job->path);
}

struct open_profile *job_table_waiting(const struct job_table *table)
{
	for (uint32_t i = 0; i < table->nr_jobs; i++)
		if (table->jobs[i]->state == JOB_WAITS)
			return &table->jobs[i]->profile;
	return NULL;
}

void job_table_open(struct job_table *table, struct open_profile *profile)
{
	struct job *job = (struct job *)profile; /* its first member */

	job->state = JOB_OPENS;
	profile->rests = false;
	job->task = (struct worker_task){.run = run_open, .done = end_open};
	worker_pool_give(table->workers, &job->task);
}

static int add_job(struct job_table *table, const struct job_mark *mark,
		   const struct message_text *title, uint64_t now_ns, struct job **added)
{
	struct job *job = create_job(table, now_ns);

	if (!job)
		return -ENOMEM;
	job->mark = *mark;
	job->title = title->size ? strndup(title->data, title->size) : NULL;
	if (title->size && !job->title) {
		free(job);
		return -ENOMEM;
	}
	table->jobs[table->nr_jobs++] = *added = job;
	return 0;
}

/* Returns 0; -ENOMEM; an enum refuse_code, with *reason in static storage. */
static int find_job(struct job_table *table, const struct message_job *said, uint64_t now_ns,
		    struct job **job, const char **reason)
{
	struct job_mark mark;

	*reason = "HELLO has an impossible job key or user";
	if (job_mark_take(&mark, said))
		return REFUSE_MALFORMED;
	for (uint32_t i = 0; i < table->nr_jobs; i++) {
		*job = table->jobs[i];
		if (strcmp((*job)->mark.key, mark.key) == 0 &&
		    strcmp((*job)->mark.user, mark.user) == 0)
			return 0;
	}
	*reason = "too many jobs at once";
	if (table->nr_jobs == JOB_TABLE_MAX)
		return REFUSE_LIMIT;
	return add_job(table, &mark, &said->title, now_ns, job);
}

/* Answers an agent of a closed job. An agent that said goodbye gets its WELCOME, because it may not know that all its
 * messages are stored. Any other agent comes too late. */
static bool answer_closed(const struct job_table *table, const struct peer *peer,
			  const struct message_hello *hello, const struct message_welcome *welcome)
{
	struct message message = {.type = MESSAGE_WELCOME, .welcome = *welcome};
	const struct closed_epoch *closed = closed_epochs_find(&table->closed, hello->epoch);

	if (!closed)
		return false;
	message.welcome.durable_seq = closed->durable_seq;
	if (closed->ended)
		receiver_send(table->receiver, peer, &message);
	else
		receiver_refuse(table->receiver, peer, REFUSE_UNDEFINED,
				"this job's profile is closed");
	return true;
}

int job_table_admit(struct job_table *table, const struct peer *peer,
		    const struct message_hello *hello, const struct message_welcome *welcome,
		    struct open_profile **profile)
{
	const char *reason;
	struct job *job;

	*profile = NULL;
	if (answer_closed(table, peer, hello, welcome))
		return 1;
	int r = find_job(table, &hello->job, peer->heard_ns, &job, &reason);
	if (r > 0)
		receiver_refuse(table->receiver, peer, (enum refuse_code)r, reason);
	if (r)
		return r < 0 ? r : 1;
	*profile = &job->profile;
	return 0;
}

static bool is_called(const char *name, const struct message_text *text)
{
	return strlen(name) == text->size && memcmp(name, text->data, text->size) == 0;
}

static bool begins_with(const char *key, const struct message_text *text)
{
	return strlen(key) > text->size && key[text->size] == '.' &&
	       memcmp(key, text->data, text->size) == 0;
}

int job_table_find(const struct job_table *table, const struct message_text *user,
		   const struct message_text *key, struct open_profile **profile,
		   const char **reason)
{
	uint32_t nr_found = 0;

	*profile = NULL;
	*reason = "no such job of this user has a profile that is open";
	for (uint32_t i = 0; i < table->nr_jobs; i++) {
		struct job *job = table->jobs[i];
		bool whole = is_called(job->mark.key, key);

		if (!is_called(job->mark.user, user) || !(whole || begins_with(job->mark.key, key)))
			continue;
		*profile = &job->profile;
		if (whole)
			return 0;
		nr_found++;
	}
	if (nr_found == 1)
		return 0;
	*profile = NULL;
	if (nr_found)
		*reason = "several steps of it have a profile that is open: say which";
	return REFUSE_UNDEFINED;
}

uint32_t job_table_count(const struct job_table *table)
{
	return table->nr_jobs;
}

struct open_profile *job_table_profile(const struct job_table *table, uint32_t i)
{
	return &table->jobs[i]->profile;
}

/* ---- the end */

static void let_go(struct job_table *table, const struct job *job)
{
	uint32_t nr_peers;
	struct peer *peers = peer_table_peers(receiver_peers(table->receiver), &nr_peers);

	for (uint32_t i = 0; i < nr_peers; i++) {
		if (peers[i].profile != &job->profile)
			continue;
		peers[i].profile = NULL;
		peers[i].session = NULL;
	}
}

static void run_close(struct worker_task *task, struct batch_decoder *decoder)
{
	struct job *job = job_of(task);

	(void)decoder;
	job->is_gone = job->is_gone || store_has_moved(job->profile.store);
	if (job->is_gone)
		log_error("%s: the profile was deleted or moved while it was written: what came is "
			  "lost with it, and no more is taken",
			  job->path);
	else
		job_end_say_missing(&job->end, open_profile_agents(&job->profile), job->path);
	open_profile_close(&job->profile);
	job->error = job->is_gone ? 0 : job_dir_close(job->path);
}

static void end_close(struct worker_task *task)
{
	struct job *job = job_of(task);
	int r = job->error;

	if (r == 0 && !job->is_gone)
		r = job_reports_add(job->table->reports, job->path,
				    job->mark.flags & MESSAGE_JOB_COARSE);
	if (r)
		log_error("%s: %s", job->path, strerror(-r));
	destroy_job(job);
}

/* Takes the job, which is here, out of the table. An agent of the same name begins another job from now on. */
static void close_job(struct job_table *table, uint32_t i)
{
	struct job *job = table->jobs[i];

	table->jobs[i] = table->jobs[--table->nr_jobs];
	closed_epochs_add(&table->closed, open_profile_agents(&job->profile));
	let_go(table, job);
	job->profile.away = true;
	job->task = (struct worker_task){.run = run_close, .done = end_close};
	worker_pool_give(table->workers, &job->task);
}

void job_table_drop(struct job_table *table, struct open_profile *profile)
{
	for (uint32_t i = 0; i < table->nr_jobs; i++) {
		if (&table->jobs[i]->profile != profile)
			continue;
		table->jobs[i]->is_gone = true;
		close_job(table, i);
		return;
	}
}

/* Refuses the agents for which the job could not be opened, and forgets it. */
static void fail_job(struct job_table *table, uint32_t i)
{
	struct job *job = table->jobs[i];
	struct held_frame *frame;

	table->jobs[i] = table->jobs[--table->nr_jobs];
	let_go(table, job);
	while ((frame = frame_queue_pop(&job->profile.frames, table->budget)) != NULL) {
		const struct peer *peer = peer_table_of(receiver_peers(table->receiver),
							frame->sender, frame->serial);

		if (peer)
			receiver_refuse(table->receiver, peer, REFUSE_STORE,
					"no profile could be made for this job");
		held_frame_release(frame);
	}
	destroy_job(job);
}

/* Returns whether the nodes' profiles are in their file, or there is no place for it any more. Else asks for that. */
static bool is_saved(struct job *job, uint64_t now_ns)
{
	struct open_profile *profile = &job->profile;

	if (!open_profile_has_nodes(profile) || profile->saved)
		return true;
	if (now_ns >= job->again_ns) {
		job->again_ns = now_ns + SAVE_AGAIN_NS;
		profile->save_wanted = true;
	}
	return false;
}

uint64_t job_table_step(struct job_table *table, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t i = 0; i < table->nr_jobs;) {
		struct job *job = table->jobs[i];

		if (job->state == JOB_FAILED) {
			fail_job(table, i);
			continue;
		}
		if (job->profile.away || job->profile.frames.first) {
			i++;
			continue;
		}
		const struct profile_agents agents = open_profile_agents(&job->profile);
		if (commit_schedule_is_clean(&job->profile.schedule) &&
		    job_end_is_complete(&job->end, agents, now_ns) && is_saved(job, now_ns)) {
			close_job(table, i);
			continue;
		}
		if (job->profile.save_wanted && !job->profile.rests)
			next_ns = now_ns;
		else if (job_end_count_open(&job->end, agents, now_ns) == 0 &&
			 next_ns > now_ns + LOOK_NS)
			next_ns = now_ns + LOOK_NS;
		i++;
	}
	if (!job_reports_step(table->reports))
		return next_ns;
	return next_ns < now_ns + LOOK_NS ? next_ns : now_ns + LOOK_NS;
}
