#include "job_keeper.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job_claim.h"
#include "job_nodes.h"
#include "keeper_word.h"
#include "leftovers.h"
#include "node_block.h"
#include "own_endpoints.h"
#include "own_rendezvous.h"
#include "rendezvous_search.h"
#include "respawn.h"

#include "aggregator/service/admission.h"
#include "aggregator/service/aggregator.h"
#include "aggregator/service/descriptor_limit.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/base/background.h"
#include "cli/base/output_dir.h"
#include "cli/run/output_files.h"
#include "cli/watch/job_watch.h"
#include "report/profile/profile_parts.h"
#include "report/profile/whole_profile.h"

#define READY_MS      10000
#define LOOK_MS       20
#define LAST_WORDS_MS 100   /* for the agents to read their last ACK */
#define FAILED_MS     2000  /* limit for the agents' goodbyes, if rank 0 failed or vanished */
#define GOODBYE_MS    60000 /* limit for known nodes, whose ranks may still run */
#define REPLACED_MS   1000  /* from one look for a later aggregator to the next */
#define STORE_LOOK_MS 200
#define BEAT_MS       200 /* from one word of life to the next, while rank 0 waits for other nodes */
#define NS_PER_MS     1000000u
#define ROUNDS_MAX    3 /* of the reports */

/* A restarted aggregator learns from this about the earlier ones. */
struct job_keeper_past {
	bool started;   /* agents can find the aggregator, so a restart makes sense */
	bool has_moved; /* it listens elsewhere now, and agents cannot find it yet */
	bool writes; /* all agents have ended, and the reports are due: nobody can continue the store */
	uint32_t blocks_seen;           /* of struct job_nodes */
	struct own_endpoints endpoints; /* the bound endpoints */
};

struct job_keeper_process {
	const struct job_keeper_options *options;
	const struct job_keeper_lost *lost; /* NULL: this is the step's first aggregator */
	char store_name[64];                /* in the profile's directory */
	int control;
	int ready;                    /* background.h's descriptor; the first child writes to it */
	struct job_keeper_past *past; /* in memory that all children share */
	struct output_dir output;
	struct aggregator *aggregator;
	pthread_t thread;
	atomic_bool is_over; /* the aggregator's thread has ended, so no agent needs to wait */
	int result;
	struct own_rendezvous rendezvous; /* has the keys; the parent holds its lock for life */
};

/* Returns whether another node has taken over, because it took this aggregator for lost. One that goes on with this
 * store waits until this aggregator has closed it. */
static bool is_replaced(struct job_keeper_process *process)
{
	if (!*process->options->step->key)
		return false;
	if (own_rendezvous_state(&process->rendezvous) == OWN_RENDEZVOUS_REPLACED)
		return true;
	const bool is_marked =
		output_dir_is_taken_over(&process->output, process->rendezvous.text.first);
	return is_marked && !process->options->folds_on_nodes;
}

/* ---- start */

/* The lost aggregator may live, and closes its store when it sees that another one takes over. A dead host's lock
 * stays for a while on file systems of several hosts. */
static int create_when_free(struct job_keeper_process *process,
			    const struct aggregator_options *options, char **error)
{
	uint64_t now_ns = clock_now_ns(), renewed_ns = now_ns;
	const uint64_t until_ns = now_ns + JOB_CLAIM_STORE_NS;
	struct pollfd end = {.fd = process->control};
	int r;

	while ((r = aggregator_create(options, &process->aggregator, error)) == -EBUSY &&
	       process->lost && now_ns < until_ns &&
	       !output_dir_is_taken_over(&process->output, process->rendezvous.text.first) &&
	       poll(&end, 1, STORE_LOOK_MS) <= 0) {
		free(*error);
		*error = NULL;
		now_ns = clock_now_ns();
		job_claim_renew(process->lost->claim_path, now_ns, &renewed_ns);
	}
	return r;
}

/* 0 or -errno, and *error as of aggregator_create(). */
static int create_where_it_can(struct job_keeper_process *process,
			       struct aggregator_options *options, char **error)
{
	struct own_endpoints *endpoints = &process->past->endpoints;

	for (;;) {
		options->nr_endpoints = endpoints->count;
		int r = create_when_free(process, options, error);
		if (process->past->started && own_endpoints_give_up(endpoints, r)) {
			process->past->has_moved = true;
			r = own_endpoints_choose(endpoints, process->options->interface);
		} else if (own_endpoints_drop_ipv6(endpoints, r)) {
			r = 0;
		} else {
			return r;
		}
		free(*error);
		*error = NULL;
		if (r)
			return r;
	}
}

static int create_aggregator(struct job_keeper_process *process)
{
	struct own_endpoints *own = &process->past->endpoints;
	const char *endpoints[OWN_ENDPOINTS_MAX] = {own->text[0], own->text[1]};
	char store_path[PATH_MAX], pages_path[PATH_MAX], *error = NULL;
	const int32_t nr_nodes = process->options->step->nr_nodes;
	struct aggregator_options options = {
		.endpoints = endpoints,
		.store_path = store_path,
		.title = process->options->title,
		.nr_nodes = nr_nodes == JOB_STEP_UNKNOWN ? 0 : nr_nodes,
		.keys = &process->rendezvous.text.keys,
		.raw_samples = process->options->raw_samples,
		.bytes_max = process->options->bytes_max,
		.timeline = process->options->timeline,
		.pages_path = pages_path,
	};
	int r = output_dir_file(&process->output, process->store_name, store_path);

	if (r == 0 && snprintf(pages_path, sizeof(pages_path), "%s" PROFILE_PARTS_NODES,
			       store_path) >= (int)sizeof(pages_path))
		r = -ENAMETOOLONG;
	if (r == 0)
		r = own_endpoints_choose(own, process->options->interface);
	if (r)
		return r;
	r = create_where_it_can(process, &options, &error);
	if (r)
		log_error("%s", error ? error : strerror(-r));
	free(error);
	if (r == 0)
		own_endpoints_take(own, process->aggregator);
	return r;
}

static void *run_aggregator(void *argument)
{
	struct job_keeper_process *process = argument;

	process->result = aggregator_run(process->aggregator);
	atomic_store(&process->is_over, true);
	return NULL;
}

static int start(struct job_keeper_process *process)
{
	int r = create_aggregator(process);

	if (r)
		return r;
	r = -pthread_create(&process->thread, NULL, run_aggregator, process);
	if (r) {
		log_error("the aggregator's thread: %s", strerror(-r));
		return r;
	}
	if (!process->past->started || process->past->has_moved)
		r = own_rendezvous_publish(&process->rendezvous, process->options->output_path,
					   &process->output, process->aggregator);
	process->past->has_moved &= r != 0;
	if (r) {
		aggregator_stop(process->aggregator);
		pthread_join(process->thread, NULL);
	}
	return r;
}

/* ---- end */

static bool is_for_job(const struct job_keeper_process *process)
{
	return process->options->step->block == 0;
}

static struct job_nodes expected_nodes(const struct job_keeper_process *process)
{
	return (struct job_nodes){
		.step = process->options->step,
		.fan_in = process->options->fan_in,
		.output_path = process->options->output_path,
		.folds_on_nodes = process->options->folds_on_nodes,
		.aggregator = process->aggregator,
		.first = process->rendezvous.text.first,
		.has_taken_over = process->lost != NULL,
		.seen = &process->past->blocks_seen,
	};
}

enum ending { ENDING_WELL, ENDING_FAILED, ENDING_REPLACED };

/* Waits until rank 0 has ended. The word stays in the socket, because a restarted aggregator must read it, too. */
static enum ending await_rank_0(struct job_keeper_process *process)
{
	struct pollfd news = {.fd = process->control, .events = POLLIN};
	const struct job_nodes nodes = expected_nodes(process);
	char word = KEEPER_WORD_FAILED;
	ssize_t size;

	while (poll(&news, 1, REPLACED_MS) <= 0) {
		if (is_replaced(process))
			return ENDING_REPLACED;
		job_nodes_look(&nodes);
	}
	do
		size = recv(process->control, &word, sizeof(word), MSG_PEEK);
	while (size < 0 && errno == EINTR);
	return size == sizeof(word) && word == KEEPER_WORD_ENDED ? ENDING_WELL : ENDING_FAILED;
}

/* Rank 0 may be gone, or have no time to read. */
static void say(const struct job_keeper_process *process, char word)
{
	(void)send(process->control, &word, sizeof(word), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void say_who_lives(const struct job_keeper_process *process)
{
	const struct job_nodes nodes = expected_nodes(process);
	struct keeper_lives lives;

	job_nodes_count(&nodes, &lives);
	(void)send(process->control, &lives, sizeof(lives), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns what rank 0's ending becomes meanwhile. */
static enum ending await_agents(struct job_keeper_process *process, enum ending ending)
{
	const struct job_nodes nodes = expected_nodes(process);
	const uint64_t limit_ms = ending == ENDING_WELL ? GOODBYE_MS : FAILED_MS;
	uint64_t begin_ns = clock_now_ns(), since_ms = 0, look_ms = REPLACED_MS, beat_ms = 0;

	while (since_ms < limit_ms && !job_nodes_are_complete(&nodes, since_ms) &&
	       !atomic_load(&process->is_over)) {
		poll(NULL, 0, LOOK_MS);
		since_ms = (clock_now_ns() - begin_ns) / NS_PER_MS;
		if (since_ms >= beat_ms) {
			say_who_lives(process);
			job_nodes_look(&nodes);
			beat_ms = since_ms + BEAT_MS;
		}
		if (since_ms < look_ms)
			continue;
		if (is_replaced(process))
			break;
		look_ms = since_ms + REPLACED_MS;
	}
	return is_replaced(process) ? ENDING_REPLACED : ending;
}

static void say_strangers(const struct job_keeper_process *process)
{
	struct aggregator_status status;

	aggregator_status(process->aggregator, &status);
	if (status.strangers)
		log_warning("%llu connections without this job's keys were turned away",
			    (unsigned long long)status.strangers);
}

/* Puts the nodes' own profiles into this store: the job's, or that of this aggregator's part. 1: there were some; 0:
 * none; or -errno after a message. */
static int make_whole(const struct job_keeper_process *process, const char *store_name)
{
	char store_path[PATH_MAX], *error = NULL;
	int r = output_dir_file(&process->output, store_name, store_path);

	if (r == 0)
		r = whole_profile_settle(store_path, &error);
	if (r < 0)
		log_error("%s", error ? error : strerror(-r));
	free(error);
	return r;
}

/* false: no process was profiled, so no profile is kept. An incomplete profile is always kept. */
static bool write_reports(struct job_keeper_process *process)
{
	bool is_empty = false;
	char *summary = NULL, *error = NULL;
	int r = make_whole(process, OUTPUT_STORE), round = 0;

	if (r < 0)
		return true;
	do {
		free(summary);
		free(error);
		r = output_files_write(&process->output, &process->options->names, &is_empty,
				       &summary, &error);
		/* A node that waited two seconds in vain may have left its profile meanwhile. A part that is written
		 * stays, however often it is merged. */
	} while (make_whole(process, OUTPUT_STORE) == 1 && ++round < ROUNDS_MAX);
	if (r < 0)
		log_error("%s", error ? error : "the reports could not be written");
	else if (summary && !(is_empty && process->result))
		fputs(summary, stderr);
	is_empty = is_empty && process->result == 0;
	if (!is_empty && *process->output.earlier)
		log_notice(OUTPUT_EARLIER, process->output.earlier);
	free(summary);
	free(error);
	return !is_empty;
}

/* Says that agents can find the aggregator. */
static void say_ready(const struct job_keeper_process *process)
{
	const char word = KEEPER_WORD_LEADS;

	if (!process->lost) {
		background_ready(process->ready);
		return;
	}
	unlink(process->lost->claim_path);
	(void)send(process->control, &word, sizeof(word), MSG_NOSIGNAL);
}

/* Returns whether the profile's files are to stay. What a lost aggregator has written does, and so does a part. */
static bool write_files(struct job_keeper_process *process)
{
	const struct job_nodes nodes = expected_nodes(process);

	if (!is_for_job(process)) {
		make_whole(process, process->store_name);
		return true;
	}
	job_nodes_await_blocks(&nodes);
	return write_reports(process) || process->lost;
}

/* Writes the reports, or the part, unless a later aggregator does, and ends. */
static void write_profile(struct job_keeper_process *process, bool is_anothers)
{
	/* The aggregator has reported the deleted store, and no report can be made from it. */
	const bool is_deleted = process->result == -ESTALE;
	const struct job_nodes nodes = expected_nodes(process);
	char word;

	process->past->writes = !is_anothers;
	bool keeps = is_deleted || is_anothers || write_files(process);
	output_dir_close(&process->output, keeps);
	/* The job's aggregator waits for a block's part until then. */
	if (!is_anothers)
		own_rendezvous_remove(&process->rendezvous);
	/* Closing a socket with unread data resets the connection, and may take back our answer (ECONNRESET). So rank
	 * 0's word is read first. */
	(void)recv(process->control, &word, sizeof(word), MSG_DONTWAIT);
	say(process, KEEPER_WORD_DONE);
	/* Of blocks whose last aggregator was killed. */
	if (is_for_job(process) && !is_anothers && job_nodes_have_blocks(&nodes))
		leftovers_remove_rendezvous(process->options->output_path, -1);
}

/* Ends the aggregator. */
static void end(struct job_keeper_process *process, enum ending ending)
{
	const struct job_nodes nodes = expected_nodes(process);
	struct keeper_lives lives;

	if (ending == ENDING_REPLACED)
		log_notice("another node has taken this aggregator for lost, and has started one "
			   "that writes the profile");
	else {
		job_nodes_count(&nodes, &lives);
		keeper_word_say_missing(&lives, process->options->folds_on_nodes);
		say_strangers(process);
	}
	poll(NULL, 0, LAST_WORDS_MS);
	aggregator_stop(process->aggregator);
	pthread_join(process->thread, NULL);
	if (process->result && process->result != -ESTALE)
		log_error("the profile is incomplete: %s", strerror(-process->result));
	aggregator_destroy(process->aggregator);
}

/* Runs in a child process. 0: all work is done. */
static int aggregate(void *argument, uint32_t round)
{
	struct job_keeper_process *process = argument;

	prctl(PR_SET_NAME, "flamegrid-job");
	descriptor_limit_raise();
	if (process->past->writes) {
		say(process, KEEPER_WORD_WRITES);
		write_profile(process, false);
		return 0;
	}
	if (start(process))
		return 1;
	if (round == 0)
		say_ready(process);
	process->past->started = true;
	if (is_for_job(process))
		leftovers_remove_rendezvous(process->options->output_path, process->control);
	enum ending ending = await_rank_0(process);
	if (ending != ENDING_REPLACED)
		ending = await_agents(process, ending);
	if (is_for_job(process) && ending != ENDING_REPLACED)
		own_rendezvous_remove(&process->rendezvous);
	if (ending != ENDING_REPLACED)
		say(process, KEEPER_WORD_WRITES);
	end(process, ending);
	write_profile(process, ending == ENDING_REPLACED);
	return 0;
}

/* A signal to end is obeyed. After any other end a new aggregator continues the profile. */
static bool aggregate_again(void *argument, uint32_t round, int wait_status)
{
	const struct job_keeper_process *process = argument;
	int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;

	if (!process->past->started || number == SIGTERM || number == SIGINT || number == SIGHUP)
		return false;
	if (number)
		log_warning("the aggregator was ended by signal %d (%s): it is started again on "
			    "its profile, %u of %u times; what it had confirmed is kept, and the "
			    "rest comes again",
			    number, strsignal(number), round + 1, RESPAWN_MAX);
	return true;
}

/* Opens the profile's directory, and chooses the store's name in it. 0 or -errno. */
static int open_output(struct job_keeper_process *process)
{
	const struct job_keeper_options *options = process->options;
	char directory[PATH_MAX];
	uint64_t name;

	strcpy(process->store_name, OUTPUT_STORE);
	if (!process->lost ||
	    rendezvous_search_directory(options->output_path, process->lost->rendezvous, directory))
		return is_for_job(process) && (options->folds_on_nodes || !process->lost)
			       ? output_dir_open(&process->output, options->output_path)
			       : -ENOENT; /* the job has ended, or its store is not there */
	/* Agents have kept what was not acknowledged, so it goes on in the same store. */
	if (!options->folds_on_nodes)
		return output_dir_take_over(&process->output, options->output_path,
					    process->lost->rendezvous->number,
					    process->lost->rendezvous->first);
	if (getrandom(&name, sizeof(name), 0) != sizeof(name))
		return -EIO;
	snprintf(process->store_name, sizeof(process->store_name), OUTPUT_PART "%016llx",
		 (unsigned long long)name);
	if (!is_for_job(process))
		return output_dir_join(&process->output, options->output_path,
				       process->lost->rendezvous->number);
	return output_dir_take_over(&process->output, options->output_path,
				    process->lost->rendezvous->number,
				    process->lost->rendezvous->first);
}

/* A store in which nothing stands would only be in the way of those who read its directory. */
static void remove_empty_store(const struct job_keeper_process *process)
{
	char path[PATH_MAX];
	struct stat status;

	if (*process->output.path &&
	    output_dir_file(&process->output, process->store_name, path) == 0 &&
	    stat(path, &status) == 0 && status.st_size == 0)
		unlink(path);
}

/* Runs the parent of the aggregator's process. It holds whatever must outlive a killed child: the locks of the
 * profile's directory and of the rendezvous, the keys, and rank 0's connection. */
static void keep(void *argument, int ready)
{
	struct job_keeper_process *process = argument;
	struct own_rendezvous *rendezvous = &process->rendezvous;
	const struct respawn_body body = {aggregate, aggregate_again, process};
	struct job_watch watch;
	int r;

	prctl(PR_SET_NAME, "flamegrid-keep");
	process->ready = ready;
	process->past = mmap(NULL, sizeof(*process->past), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (process->past == MAP_FAILED) {
		log_error("no memory for the aggregator: %s", strerror(errno));
		return;
	}
	r = own_rendezvous_create(rendezvous, process->options->output_path,
				  process->options->step);
	if (r == 0)
		r = open_output(process);
	if (r == 0 && (r = admission_make_keys(&rendezvous->text.keys)) != 0)
		log_error("no keys for the job: %s", strerror(-r));
	strcpy(rendezvous->text.first, process->lost ? process->lost->rendezvous->first
						     : rendezvous->text.keys.server_public);
	if (r == 0) {
		job_watch_start(&watch, process->output.path,
				is_for_job(process) ? process->options->watch : NULL);
		r = respawn_run(&body);
		job_watch_stop(&watch);
	}
	if (r)
		own_rendezvous_remove(&process->rendezvous);
	if (process->lost && !process->past->started)
		remove_empty_store(process);
	own_rendezvous_close(rendezvous);
	/* If all is done, the child has closed the directory, and this call only closes the descriptor. */
	if (process->lost && !process->past->started)
		output_dir_leave(&process->output);
	else
		output_dir_close(&process->output, process->past->started);
}

bool job_keeper_take_over(const struct job_keeper_options *options,
			  const struct job_keeper_lost *lost, int control)
{
	struct job_keeper_process process = {
		.options = options, .lost = lost, .control = control, .output.mark = -1};

	keep(&process, -1);
	return process.past != MAP_FAILED && process.past->started;
}

int job_keeper_start(struct job_keeper *keeper, const struct job_keeper_options *options)
{
	struct job_keeper_process process = {.options = options, .output.mark = -1};

	*keeper = (struct job_keeper){.fd = -1, .folds_on_nodes = options->folds_on_nodes};
	keeper->has_blocks = options->folds_on_nodes &&
			     node_block_is_one_of_several(options->step, options->fan_in);
	return background_start_talking(keep, &process, &process.control, READY_MS, &keeper->fd,
					&keeper->group);
}

void job_keeper_end(struct job_keeper *keeper, bool failed, uint64_t ended_ns)
{
	const char word = failed ? KEEPER_WORD_FAILED : KEEPER_WORD_ENDED;

	keeper->ended_ns = ended_ns;
	keeper->failed = failed;
	/* The keeper of a replaced aggregator has ended, and its answer waits. */
	if (keeper->fd >= 0)
		(void)send(keeper->fd, &word, sizeof(word), MSG_NOSIGNAL);
}

void job_keeper_await(struct job_keeper *keeper, keeper_word_told told, void *context)
{
	if (keeper->fd < 0)
		return;
	struct keeper_lives lives = {.word = KEEPER_WORD_NONE};
	const char last = keeper_word_await(keeper->fd, keeper->ended_ns, keeper->failed, &lives,
					    told, context);

	if (last == KEEPER_WORD_WRITES && keeper->writes_part)
		log_notice("this node's part of the profile is still being written; flamegrid "
			   "report reads the profile at any time");
	else if (last == KEEPER_WORD_WRITES && keeper->has_blocks)
		log_notice("other blocks of nodes may still write their parts of the profile, and "
			   "the reports come after that; flamegrid report reads the profile at any "
			   "time");
	else
		keeper_word_say_left(last, &lives, keeper->folds_on_nodes);
	if (last && last != KEEPER_WORD_DONE)
		background_leave(keeper->group);
	close(keeper->fd);
	keeper->fd = -1;
}
