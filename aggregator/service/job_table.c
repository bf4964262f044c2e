#include "job_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "closed_epochs.h"
#include "job_dir.h"
#include "job_reports.h"
#include "node_profiles.h"
#include "receiver.h"

#include "aggregator/profile/agent_session.h"
#include "aggregator/profile/collection.h"
#include "aggregator/store/store.h"
#include "aggregator/store/store_life.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"

#define LOOK_NS        50000000u   /* interval of looks at jobs that end */
#define LAST_WORDS_NS  200000000u  /* for agents to read the last acknowledgement */
#define SETTLE_NS      2000000000u /* for ranks that have not come yet */
#define NS_PER_MS      1000000ull
#define WAIT_NODES_MS  10000u
#define WAIT_SILENT_MS 300000u
#define HOST_SIZE      256u
#define SAVE_AGAIN_NS  10000000000u
#define FAILED_NS      60000000000u /* interval of lines about jobs that cannot begin */

struct job {
	struct open_profile profile; /* first, because callers know the job by it */
	struct job_mark mark;
	uint64_t since_ns; /* start of the job here */
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
	uint64_t pages_max, bytes_max;
	int lock_fd; /* the lock on the directory, since stores that rest have none; -1: no lock */
	struct receiver *receiver;
};

static int explain(char **error, const char *path, int status)
{
	return error_text_set(error, status, "%s: %s", path, strerror(-status));
}

/* ---- open */

/* Returns the open job that was not written for longest; NULL: there is room. */
static struct job *longest_unwritten(const struct job_table *table)
{
	struct job *oldest = NULL;
	uint32_t nr_open = 0;

	for (uint32_t i = 0; i < table->nr_jobs; i++) {
		struct job *job = table->jobs[i];

		if (store_rests(job->profile.store))
			continue;
		nr_open++;
		if (!oldest || job->profile.committed_ns < oldest->profile.committed_ns)
			oldest = job;
	}
	return nr_open >= table->stores_max ? oldest : NULL;
}

static void make_room(struct job_table *table)
{
	struct job *job = longest_unwritten(table);

	if (!job)
		return;
	/* Readers take the messages of a store without a writer for those of a killed one. */
	job->profile.schedule.whole = true;
	if (job->profile.schedule.behind)
		open_profile_commit(&job->profile, clock_now_ns());
	store_rest(job->profile.store);
}

void job_table_make_room(struct job_table *table, const struct open_profile *profile)
{
	if (store_rests(profile->store))
		make_room(table);
}

static int open_profile(struct job_table *table, struct job *job, const char *title, char **error)
{
	char store[PATH_MAX], nodes[PATH_MAX];
	const struct open_profile_options options = {
		.store_path = store,
		.pages_path = nodes,
		.title = title,
		.nr_nodes = job->mark.nr_nodes,
		.raw_samples = job->mark.flags & MESSAGE_JOB_RAW,
		.bytes_max = table->bytes_max,
		.receiver = table->receiver,
	};
	int r = job_dir_file(job->path, JOB_DIR_STORE, store);

	if (r == 0)
		r = job_dir_file(job->path, JOB_DIR_NODES, nodes);
	*error = NULL;
	make_room(table);
	snprintf(job->place, sizeof(job->place), "%s:%s", table->host, job->path);
	return r ? r : open_profile_open(&job->profile, &options, error);
}

static void destroy_job(struct job *job)
{
	open_profile_close(&job->profile);
	free(job);
}

/* Continues a job that was not complete when the last aggregator ended. A job that cannot be read gets a line, and
 * stays as it is; the others continue. */
static int take_up(struct job_table *table, const char *name, uint64_t now_ns)
{
	struct job *job = calloc(1, sizeof(*job));
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
		r = open_profile(table, job, NULL, &error);
	if (r == 0) {
		job->since_ns = now_ns;
		table->jobs[table->nr_jobs++] = job;
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
	DIR *directory;
	int r = 0;

	if (mkdir(table->directory, 0750) < 0 && errno != EEXIST)
		return explain(error, table->directory, -errno);
	directory = opendir(table->directory);
	if (!directory || access(table->directory, W_OK) < 0)
		r = explain(error, table->directory, -errno);
	while (r == 0 && (entry = readdir(directory)) != NULL)
		if (*entry->d_name != '.')
			r = take_up(table, entry->d_name, now_ns);
	if (directory)
		closedir(directory);
	return r;
}

/* Locks the directory itself, so that no lock file is left. On file systems without locks there is no lock. */
static int take_lock(struct job_table *table, char **error)
{
	table->lock_fd = open(table->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (table->lock_fd < 0)
		return explain(error, table->directory, -errno);
	if (flock(table->lock_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
		store_life_keep(table->lock_fd);
		return 0;
	}
	return error_text_set(error, -EBUSY,
			      "%s: another aggregator writes the profiles of this directory",
			      table->directory);
}

static uint64_t share_of_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) / JOB_TABLE_PAGES_SHARE *
	       (uint64_t)sysconf(_SC_PAGESIZE);
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
	new_table->pages_max = options->pages_max ? options->pages_max : share_of_memory();
	new_table->bytes_max = options->bytes_max;
	new_table->lock_fd = -1;
	new_table->receiver = options->receiver;
	gethostname(new_table->host, sizeof(new_table->host) - 1);
	new_table->reports = job_reports_create(options->reports);
	r = new_table->reports ? 0 : -ENOMEM;
	if (r == 0 && mkdir(options->directory, 0750) < 0 && errno != EEXIST)
		r = explain(error, options->directory, -errno);
	/* Agents report this path to users, so it must not depend on our directory. */
	if (r == 0 && !realpath(options->directory, new_table->directory))
		r = explain(error, options->directory, -errno);
	if (r == 0)
		r = take_lock(new_table, error);
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

/* Adds a job. On failure no directory is left. */
static int add_job(struct job_table *table, const struct job_mark *mark, const char *title,
		   uint64_t now_ns, struct job **added)
{
	struct job *job = calloc(1, sizeof(*job));
	char *error = NULL;

	if (!job)
		return -ENOMEM;
	job->mark = *mark;
	job->since_ns = now_ns;
	int r = job_dir_create(table->directory, mark, job->path);
	if (r) {
		explain(&error, table->directory, r);
	} else {
		r = open_profile(table, job, title, &error);
		if (r) {
			open_profile_close(&job->profile);
			job_dir_remove(job->path);
		}
	}
	if (r == 0) {
		table->jobs[table->nr_jobs++] = *added = job;
		log_info("%s begins", job->path);
		return 0;
	}
	if (r != -ENOMEM)
		say_failure(table, error ? error : strerror(-r), now_ns);
	free(error);
	free(job);
	return r;
}

/* Returns 0; -ENOMEM; an enum refuse_code, with *reason in static storage. */
static int find_job(struct job_table *table, const struct message_job *said, uint64_t now_ns,
		    struct job **job, const char **reason)
{
	struct job_mark mark;
	char *title;
	int r;

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
	*reason = "no profile could be made for this job";
	title = said->title.size ? strndup(said->title.data, said->title.size) : NULL;
	r = said->title.size && !title ? -ENOMEM : add_job(table, &mark, title, now_ns, job);
	free(title);
	if (r)
		return r == -ENOMEM ? r : REFUSE_STORE;
	return 0;
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
		    const struct message_hello *hello, struct message_welcome *welcome,
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
	welcome->profile = (struct message_text){job->place, (uint32_t)strlen(job->place)};
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

bool job_table_has_room(const struct job_table *table, const struct open_profile *profile,
			uint64_t bytes)
{
	const char *user = ((const struct job *)profile)->mark.user; /* its first member */
	uint64_t of_all = bytes, of_user = bytes;

	for (uint32_t i = 0; i < table->nr_jobs; i++) {
		const struct job *job = table->jobs[i];
		const uint64_t of_job = node_profiles_bytes(job->profile.nodes);

		of_all += of_job;
		of_user += strcmp(job->mark.user, user) == 0 ? of_job : 0;
	}
	return of_all <= table->pages_max && of_user <= table->pages_max / 2;
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

/* Returns the time when an agent of the job was last heard, but at least job->since_ns. */
static uint64_t last_heard_ns(const struct job *job)
{
	uint64_t last_ns = profile_agents_last_ns(open_profile_agents(&job->profile));

	return last_ns > job->since_ns ? last_ns : job->since_ns;
}

/* Counts agents whose goodbye is missing, and which may still come. Those of an earlier aggregator had time since we
 * began. */
static uint64_t count_open(const struct job_table *table, const struct job *job, uint64_t now_ns)
{
	const uint64_t wait_ns = table->wait_silent_ns;
	const uint64_t since_ns = now_ns > wait_ns ? now_ns - wait_ns : 0;
	uint64_t open, heard = profile_agents_heard(open_profile_agents(&job->profile), since_ns,
						    since_ns, &open);

	return now_ns < job->since_ns + wait_ns ? open : heard;
}

/* Returns whether no further agent is expected. Ranks that never use CUDA are not known. A rank that ends at once may
 * be alone on its node, and the next rank there brings the node's agent again. So every rank must have come. */
static bool has_all_agents(const struct job *job, uint64_t quiet_ns)
{
	bool knows_nodes = job->mark.nr_nodes > 0;

	if (knows_nodes &&
	    profile_agents_nodes(open_profile_agents(&job->profile)) < job->mark.nr_nodes)
		return false;
	if (job->mark.world_size <= 0)
		return knows_nodes;
	return profile_agents_have_ranks(open_profile_agents(&job->profile),
					 job->mark.world_size) ||
	       (knows_nodes && quiet_ns >= SETTLE_NS);
}

static bool is_complete(const struct job_table *table, const struct job *job, uint64_t now_ns)
{
	uint64_t quiet_ns = now_ns - last_heard_ns(job);

	if (!commit_schedule_is_clean(&job->profile.schedule) || quiet_ns < LAST_WORDS_NS ||
	    count_open(table, job, now_ns))
		return false;
	return quiet_ns >= table->wait_nodes_ns || has_all_agents(job, quiet_ns);
}

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

static void say_it_is_gone(const struct job *job)
{
	log_error("%s: the profile was deleted or moved while it was written: what came is lost "
		  "with it, and no more is taken",
		  job->path);
}

void job_table_drop(struct job_table *table, struct open_profile *profile)
{
	for (uint32_t i = 0; i < table->nr_jobs; i++) {
		struct job *job = table->jobs[i];

		if (&job->profile != profile)
			continue;
		table->jobs[i] = table->jobs[--table->nr_jobs];
		say_it_is_gone(job);
		closed_epochs_add(&table->closed, open_profile_agents(profile));
		let_go(table, job);
		destroy_job(job);
		return;
	}
}

static void say_who_is_missing(const struct job *job)
{
	const int64_t nr_nodes = profile_agents_nodes(open_profile_agents(&job->profile));
	uint64_t silent;

	profile_agents_heard(open_profile_agents(&job->profile), 0, 0, &silent);
	if (nr_nodes >= 0 && nr_nodes < job->mark.nr_nodes)
		log_warning("%s: %lld of %d nodes did not join", job->path,
			    (long long)job->mark.nr_nodes - nr_nodes, (int)job->mark.nr_nodes);
	if (silent)
		log_warning("%s: %llu agents did not say goodbye: the end of their work may be "
			    "missing",
			    job->path, (unsigned long long)silent);
}

static void close_job(struct job_table *table, struct job *job)
{
	bool is_gone = store_has_moved(job->profile.store);

	if (is_gone)
		say_it_is_gone(job);
	else
		say_who_is_missing(job);
	closed_epochs_add(&table->closed, open_profile_agents(&job->profile));
	let_go(table, job);
	open_profile_close(&job->profile);
	int r = is_gone ? 0 : job_dir_close(job->path);
	if (r == 0 && !is_gone)
		r = job_reports_add(table->reports, job->path,
				    job->mark.flags & MESSAGE_JOB_COARSE);
	if (r)
		log_error("%s: %s", job->path, strerror(-r));
	free(job);
}

/* Returns whether the nodes' profiles are in their file, or there is no place for it any more. */
static bool save(struct job *job, uint64_t now_ns)
{
	if (now_ns < job->again_ns)
		return false;
	job->again_ns = now_ns + SAVE_AGAIN_NS;
	return open_profile_save_nodes(&job->profile) == 0 || store_has_moved(job->profile.store);
}

uint64_t job_table_step(struct job_table *table, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t i = 0; i < table->nr_jobs;) {
		struct job *job = table->jobs[i];

		if (is_complete(table, job, now_ns) && save(job, now_ns)) {
			close_job(table, job);
			table->jobs[i] = table->jobs[--table->nr_jobs];
			continue;
		}
		if (count_open(table, job, now_ns) == 0)
			next_ns = now_ns + LOOK_NS;
		i++;
	}
	return job_reports_step(table->reports) ? now_ns + LOOK_NS : next_ns;
}
