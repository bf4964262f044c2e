#include "node_keeper.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator_search.h"
#include "end_budget.h"
#include "leftovers.h"
#include "node_aggregator.h"
#include "node_members.h"
#include "node_way.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/base/background.h"
#include "node-agent/agent_rights.h"
#include "node-agent/base/socket_path.h"
#include "node-agent/files/proc_file.h"

#define MEMBERS_MAX    1024
#define LOOK_MS        20 /* from one look at the agent to the next, while a member waits */
#define PASSES_TO_WAIT 2  /* a pass that runs may miss the last records */
#define PLACE_MS       500u /* of the end's time, the most until a site has said the profile's place */
#define FULL_MS        1400 /* wait for a disk that is full; a member waits longer */
#define SITE_MS        1500 /* wait for a site's aggregator; a member waits longer */
#define NS_PER_MS      1000000u
#define MS_PER_S       1000u
#define AGENT_RUNS     1 /* an exit status is 0 or -errno */

struct node_keeper {
	struct step_dir dir;
	int listener;
	char members_path[STEP_DIR_MAX + 16], agent_path[STEP_DIR_MAX + 16];
	struct member members[MEMBERS_MAX];
	int nr_members;
	bool had_members, lost_member;
	uint64_t nr_watches; /* watches requested so far */
	struct agent *agent;
	struct node_way way;
	pthread_t agent_thread;
	atomic_int agent_result;
	const struct site_aggregator *site; /* NULL: the rendezvous names the aggregator */
	struct node_aggregator aggregator;  /* used without a site's */
	struct aggregator_search *site_search;
	bool site_failure_said, disk_failure_said;
};

/* ---- members */

static void watch(struct node_keeper *keeper, const struct member *member,
		  enum bpf_source_watch what)
{
	if (member->pid > 0 && agent_watch(keeper->agent, member->pid, what) == 0)
		keeper->nr_watches++;
}

/* Compares the real user. Until exec the owner of /proc/PID is not the user (proc(5)). The agent may have more rights
 * than its user. */
static bool is_of_our_user(pid_t pid)
{
	uid_t real, effective;

	return proc_file_users(pid, &real, &effective) == 0 && real == geteuid();
}

static void watch_task(struct node_keeper *keeper, struct member *member, int32_t pid)
{
	watch(keeper, member, BPF_SOURCE_WATCH_END);
	member->pid = pid > 0 && is_of_our_user(pid) ? pid : 0;
	watch(keeper, member, BPF_SOURCE_WATCH_PROCESS);
	member->state = MEMBER_BRINGS_TASK;
	member->target = keeper->nr_watches;
}

static void accept_members(struct node_keeper *keeper)
{
	int fd;

	while (keeper->nr_members < MEMBERS_MAX &&
	       (fd = accept4(keeper->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct member *member = &keeper->members[keeper->nr_members++];

		*member = (struct member){.fd = fd, .pid = node_members_pid(fd)};
		watch(keeper, member, BPF_SOURCE_WATCH_CHILDREN);
		member->target = keeper->nr_watches;
		keeper->had_members = true;
	}
}

static void hear_member(struct node_keeper *keeper, struct member *member)
{
	struct agent_status status;
	char words[NODE_KEEPER_TIME_SIZE];
	int32_t task;
	ssize_t size = recv(member->fd, words, sizeof(words), MSG_DONTWAIT);

	if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
		member->leaves = true;
	/* A member that leaves in order asks for its data first. */
	if (member->leaves && member->state <= MEMBER_RUNS)
		keeper->lost_member = true;
	if (size == NODE_KEEPER_TASK_SIZE && words[0] == NODE_KEEPER_TASK &&
	    member->state <= MEMBER_RUNS) {
		memcpy(&task, words + 1, sizeof(task));
		watch_task(keeper, member, task);
	}
	if (size == NODE_KEEPER_TASK_SIZE &&
	    (words[0] == NODE_KEEPER_INTERRUPTED || words[0] == NODE_KEEPER_TERMINATED)) {
		memcpy(&task, words + 1, sizeof(task));
		agent_stopped(keeper->agent, task,
			      words[0] == NODE_KEEPER_INTERRUPTED ? SIGINT : SIGTERM);
	}
	if (size != NODE_KEEPER_TIME_SIZE || words[0] != NODE_KEEPER_DRAIN ||
	    member->state != MEMBER_RUNS)
		return;
	agent_status(keeper->agent, &status);
	member->state = MEMBER_WAITS_FOR_PASS;
	member->target = status.passes + PASSES_TO_WAIT;
	memcpy(&member->ended_ns, words + 1, sizeof(member->ended_ns));
}

/* Lets leaving members go. The last ones stay connected, because they wait until all work is done. */
static void hear_members(struct node_keeper *keeper)
{
	for (int i = 0; i < keeper->nr_members; i++)
		if (!keeper->members[i].leaves)
			hear_member(keeper, &keeper->members[i]);
	if (node_members_staying(keeper->members, keeper->nr_members) == 0)
		return;
	for (int i = 0; i < keeper->nr_members;) {
		if (!keeper->members[i].leaves) {
			i++;
			continue;
		}
		watch(keeper, &keeper->members[i], BPF_SOURCE_WATCH_END);
		close(keeper->members[i].fd);
		keeper->members[i] = keeper->members[--keeper->nr_members];
	}
}

static void say(const struct member *member, enum node_keeper_word word)
{
	const char byte = (char)word;

	/* A member that has stopped reading harms only itself. */
	(void)send(member->fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void answer(struct member *member, enum node_keeper_word word)
{
	say(member, word);
	member->state = MEMBER_ANSWERED;
}

/* ---- a site's aggregator */

static void connect_to_site(void *context, const char *endpoint)
{
	struct node_keeper *keeper = context;

	if (node_way_connect(&keeper->way, endpoint,
			     keeper->site->has_keys ? &keeper->site->keys : NULL))
		log_warning("the aggregator's endpoint: %s", strerror(ENOMEM));
}

/* One line stands for all members of the node. */
static void say_site_failure(struct node_keeper *keeper, const struct agent_status *status)
{
	if (keeper->site_failure_said)
		return;
	keeper->site_failure_said = true;
	log_warning("%s: %s", keeper->site->endpoint, site_aggregator_problem(status));
}

/* The agent has ended with an error. Returns whether a site's aggregator has never taken it, after a line that says so.
 */
static bool was_refused(struct node_keeper *keeper, const struct agent_status *status)
{
	if (!keeper->site || keeper->way.profile || status->welcomed)
		return false;
	if (!keeper->site_failure_said)
		log_warning("%s: the aggregator has refused this node, as said before: nothing of "
			    "it is in a profile",
			    keeper->site->endpoint);
	keeper->site_failure_said = true;
	return true;
}

static bool is_late(const struct member *member, uint64_t ms)
{
	return clock_now_ns() >= member->ended_ns + ms * NS_PER_MS;
}

/* Returns whether the member's data will not be stored, or too late. */
static bool has_site_failed(const struct node_keeper *keeper, const struct member *member,
			    const struct agent_status *status)
{
	return keeper->site && !keeper->way.profile &&
	       ((!status->welcomed && status->key_refusals) || is_late(member, SITE_MS));
}

/* Says once for all members that the node's own profile cannot be written, if that is so. Returns whether it is. */
static bool has_disk_failed(struct node_keeper *keeper, const struct member *member,
			    const struct agent_status *status)
{
	if (!keeper->way.profile || !is_late(member, FULL_MS))
		return false;
	if (!keeper->disk_failure_said)
		keeper->disk_failure_said = node_profile_say_unstored(keeper->way.profile, status);
	return keeper->disk_failure_said;
}

/* Returns whether an aggregator of jobs has welcomed this node. place: of the profile, "": it was not told. */
static bool find_place(const struct node_keeper *keeper, const struct agent_status *status,
		       char place[static PROFILE_LINK_PLACE_MAX])
{
	if (keeper->way.profile)
		return node_profile_place(keeper->way.profile, place);
	snprintf(place, PROFILE_LINK_PLACE_MAX, "%s", status->profile ? status->profile : "");
	return status->welcomed;
}

/* The place of the profile follows the word. */
static void answer_stored(const struct node_keeper *keeper, struct member *member,
			  const struct agent_status *status)
{
	char words[1 + NODE_KEEPER_PLACE_MAX], place[PROFILE_LINK_PLACE_MAX];

	find_place(keeper, status, place);
	const int size =
		snprintf(words, sizeof(words), "%c%s",
			 keeper->way.profile ? NODE_KEEPER_KEPT : NODE_KEEPER_STORED, place);
	(void)send(member->fd, words, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
	member->state = MEMBER_ANSWERED;
}

/* Returns whether the member's data is stored. A site's aggregator must have welcomed the agent, too: an unknown agent
 * is in no profile. A profile of this node is safe without that, and waits only for a while. */
static bool is_stored(const struct node_keeper *keeper, const struct member *member,
		      const struct agent_status *status)
{
	char place[PROFILE_LINK_PLACE_MAX];

	return member->state == MEMBER_WAITS_FOR_ACK && status->acked_seq >= member->target &&
	       (!keeper->site || find_place(keeper, status, place) ||
		(keeper->way.profile && is_late(member, PLACE_MS)));
}

/* Returns whether a member still waits. */
static bool answer_members(struct node_keeper *keeper)
{
	const bool failed = atomic_load(&keeper->agent_result) != AGENT_RUNS;
	struct agent_status status;
	bool waits = false;

	agent_status(keeper->agent, &status);
	for (int i = 0; i < keeper->nr_members; i++) {
		struct member *member = &keeper->members[i];

		if (member->state < MEMBER_RUNS && (failed || status.watches >= member->target)) {
			say(member, member->state == MEMBER_COMES ? NODE_KEEPER_WELCOME
								  : NODE_KEEPER_WATCHED);
			member->state = MEMBER_RUNS;
		}
		waits |= member->state < MEMBER_RUNS;
		if (member->state == MEMBER_WAITS_FOR_PASS && status.passes >= member->target) {
			member->state = MEMBER_WAITS_FOR_ACK;
			member->target = status.sent_seq;
		}
		if (member->state != MEMBER_WAITS_FOR_PASS && member->state != MEMBER_WAITS_FOR_ACK)
			continue;
		if (failed)
			answer(member, was_refused(keeper, &status) ? NODE_KEEPER_SAID
								    : NODE_KEEPER_FAILED);
		else if (is_stored(keeper, member, &status))
			answer_stored(keeper, member, &status);
		else if (has_site_failed(keeper, member, &status)) {
			say_site_failure(keeper, &status);
			answer(member, NODE_KEEPER_SAID);
		} else if (has_disk_failed(keeper, member, &status))
			answer(member, NODE_KEEPER_SAID);
		else
			waits = true;
		if (is_late(member, NODE_WAY_END_MS))
			node_way_fold(&keeper->way);
	}
	return waits;
}

/* ---- the process */

static void *run_agent(void *argument)
{
	struct node_keeper *keeper = argument;

	atomic_store(&keeper->agent_result, agent_run(keeper->agent));
	return NULL;
}

static void wait_for_news(const struct node_keeper *keeper, int timeout_ms)
{
	struct pollfd news[MEMBERS_MAX + 1];

	news[0] = (struct pollfd){.fd = keeper->listener, .events = POLLIN};
	for (int i = 0; i < keeper->nr_members; i++)
		news[i + 1] = (struct pollfd){.fd = keeper->members[i].fd, .events = POLLIN};
	poll(news, (nfds_t)keeper->nr_members + 1, timeout_ms);
}

/* Tells the job's aggregator whether ranks of this node still run. */
static void tell_end(struct node_keeper *keeper, uint64_t ended_ns)
{
	if (keeper->way.profile)
		node_profile_ranks_ended(keeper->way.profile, ended_ns);
	else
		agent_ranks_ended(keeper->agent, ended_ns);
}

/* Of two timeouts for poll(). */
static int sooner(int a_ms, int b_ms)
{
	return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

static void serve(struct node_keeper *keeper)
{
	bool waits = false;

	while (!keeper->had_members || node_members_staying(keeper->members, keeper->nr_members)) {
		int timeout_ms = keeper->site ? -1 : node_aggregator_wait_ms(&keeper->aggregator);

		timeout_ms = sooner(timeout_ms, node_way_wait_ms(&keeper->way));
		wait_for_news(keeper, waits ? sooner(timeout_ms, LOOK_MS) : timeout_ms);
		node_way_look(&keeper->way);
		if (!keeper->site)
			node_aggregator_look(&keeper->aggregator);
		accept_members(keeper);
		hear_members(keeper);
		waits = answer_members(keeper);
		tell_end(keeper, node_members_ended_ns(keeper->members, keeper->nr_members));
	}
}

/* Removes the directory under its lock, so that no process can be joining. false: a process had joined before. */
static bool close_doors(struct node_keeper *keeper)
{
	if (step_dir_relock(&keeper->dir))
		return true; /* without the directory no process can join */
	accept_members(keeper);
	hear_members(keeper);
	if (node_members_staying(keeper->members, keeper->nr_members)) {
		step_dir_unlock(&keeper->dir);
		return false;
	}
	unlink(keeper->members_path);
	return true;
}

static int start(struct node_keeper *keeper, const struct node_keeper_options *options)
{
	struct agent_options agent = options->agent;
	struct capability_set rights;
	const char *problem;
	char *error = NULL;
	int r;

	agent.socket_path = keeper->agent_path;
	agent.give_up_ms = END_BUDGET_MS;
	if (keeper->site) {
		agent.job = &keeper->site->job;
		agent.leaves_words = true;
	}
	agent_rights_choose(&agent, true, &rights);
	agent.rights = &rights;
	node_way_init(&keeper->way, options->profile, options->asks, keeper->site != NULL, &rights,
		      &agent);
	r = step_dir_live(&keeper->dir);
	if (r) /* the directory may look like a dead run's */
		log_warning("the lock of this node's agent: %s", strerror(-r));
	r = agent_create(&agent, &keeper->agent, &error);
	if (r) {
		log_error("%s", error ? error : strerror(-r));
		free(error);
		return r;
	}
	keeper->listener = socket_path_listen(keeper->members_path, 0600, &problem);
	if (keeper->listener < 0) {
		log_warning("%s: %s", problem, strerror(-keeper->listener));
		return keeper->listener;
	}
	/* The agent's thread, which starts below, inherits these rights. */
	r = capability_set_keep(&rights);
	if (r)
		log_warning("capabilities cannot be given up: %s", strerror(-r));
	r = node_way_begin(&keeper->way, keeper->agent);
	if (r)
		return r;
	atomic_store(&keeper->agent_result, AGENT_RUNS);
	r = -pthread_create(&keeper->agent_thread, NULL, run_agent, keeper);
	if (r) {
		log_warning("the agent's thread: %s", strerror(-r));
		return r;
	}
	r = keeper->site ? aggregator_search_start(keeper->site->endpoint, connect_to_site, keeper,
						   &keeper->site_search)
			 : 0;
	if (r) {
		agent_stop(keeper->agent);
		pthread_join(keeper->agent_thread, NULL);
	}
	return r;
}

/* The members wait for the job's profile, whose job has ended then. */
static void say_writes(void *context, uint64_t since_ns)
{
	const struct node_keeper *keeper = context;
	char words[NODE_KEEPER_TIME_SIZE] = {NODE_KEEPER_WRITES};

	memcpy(words + 1, &since_ns, sizeof(since_ns));
	for (int i = 0; i < keeper->nr_members; i++)
		(void)send(keeper->members[i].fd, words, sizeof(words),
			   MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Lets other processes of the step start an agent of their own. */
static void leave_node(struct node_keeper *keeper)
{
	if (keeper->listener < 0)
		return;
	step_dir_remove(&keeper->dir);
	close(keeper->listener);
	keeper->listener = -1;
}

static void leave_members(struct node_keeper *keeper)
{
	for (int i = 0; i < keeper->nr_members; i++)
		close(keeper->members[i].fd);
	keeper->nr_members = 0;
}

static void go_on_alone(struct node_keeper *keeper)
{
	leave_node(keeper);
	leave_members(keeper);
	background_leave(getpgrp());
}

/* A short step may be over on this node before rank 0 has started. Returns whether the job's aggregator has come. */
static bool await_alone(struct node_keeper *keeper)
{
	go_on_alone(keeper);
	return node_aggregator_await_first(&keeper->aggregator);
}

/* The agent has the records until it is stopped. */
static void await_before_end(struct node_keeper *keeper)
{
	if (keeper->site || keeper->way.profile)
		return;
	if (node_aggregator_take_successor(&keeper->aggregator) ||
	    node_aggregator_is_lost(&keeper->aggregator)) {
		go_on_alone(keeper);
		node_aggregator_await_next(&keeper->aggregator);
	}
	if (!node_aggregator_may_come(&keeper->aggregator))
		return;
	log_warning("no aggregator of the job has been seen, as if rank 0 had not started: this "
		    "node waits for it alone, %u s; without it, what its ranks recorded is lost",
		    NODE_AGGREGATOR_LATE_MS / MS_PER_S);
	await_alone(keeper);
}

static void follow_alone(struct node_keeper *keeper, struct end_budget *budget)
{
	node_profile_rest(keeper->way.profile, NODE_AGGREGATOR_LATE_MS / MS_PER_S);
	if (!await_alone(keeper))
		return;
	budget->since_ns = clock_now_ns();
	budget->limit_ms = node_aggregator_follow(&keeper->aggregator, budget->since_ns);
}

static void end(struct node_keeper *keeper)
{
	char job_directory[PATH_MAX];
	struct job_standby *standby = &keeper->aggregator.standby;
	struct end_budget budget = {.since_ns = node_members_waits_since_ns(
					    keeper->members, keeper->nr_members, clock_now_ns())};
	const char *found = NULL;
	bool is_marked = false;

	job_standby_end(standby, keeper->lost_member, budget.since_ns);
	aggregator_search_stop(keeper->site_search);
	if (keeper->lost_member)
		agent_stopped(keeper->agent, AGENT_STOP_ALL, SIGKILL);
	/* A killed member has told no end. */
	tell_end(keeper, budget.since_ns);
	node_way_settle(&keeper->way, budget.since_ns);
	await_before_end(keeper);
	agent_stop(keeper->agent);
	pthread_join(keeper->agent_thread, NULL);
	node_way_agent_ended(&keeper->way);
	agent_destroy(keeper->agent);
	if (!keeper->site) {
		budget.limit_ms = node_aggregator_follow(&keeper->aggregator, budget.since_ns);
		if (keeper->way.profile && node_aggregator_may_come(&keeper->aggregator))
			follow_alone(keeper, &budget);
		node_aggregator_add_timeline(&keeper->aggregator, &budget);
		found = node_aggregator_directory(&keeper->aggregator, job_directory, &is_marked);
	} else if (keeper->way.profile) {
		budget.limit_ms = END_BUDGET_SEND_MS;
	}
	node_way_finish(&keeper->way, found, is_marked, &budget);
	leave_node(keeper);
	job_standby_end(standby, keeper->lost_member, budget.since_ns);
	if (standby->ended) /* the node's own profile is where it belongs */
		say_writes(keeper, budget.since_ns);
	job_standby_finish(standby, say_writes, keeper);
	leave_members(keeper);
}

/* Prepares for the step's aggregator, if the site's is not used. 0 or -errno after a warning. */
static int prepare_aggregator(struct node_keeper *keeper, const struct node_keeper_options *options)
{
	const bool has_profile = options->profile && !options->asks;
	int r = options->site
			? 0
			: node_aggregator_init(&keeper->aggregator, options->job, has_profile);

	if (r == 0 && !options->site)
		node_aggregator_stand_by(&keeper->aggregator, options->job);
	return r;
}

struct start_arguments {
	const struct node_keeper_options *options;
	const struct step_dir *dir;
};

static void keep(void *argument, int ready)
{
	const struct start_arguments *arguments = argument;
	const struct end_budget none = {0};
	struct node_keeper *keeper = calloc(1, sizeof(*keeper));

	if (!keeper)
		return;
	prctl(PR_SET_NAME, "flamegrid-node");
	keeper->dir = *arguments->dir;
	keeper->site = arguments->options->site;
	keeper->aggregator.standby.keeper.fd = -1;
	keeper->dir.lock = -1; /* the process that started us holds the lock until we are ready */
	step_dir_file(&keeper->dir, STEP_DIR_MEMBERS, keeper->members_path,
		      sizeof(keeper->members_path));
	step_dir_file(&keeper->dir, STEP_DIR_AGENT, keeper->agent_path, sizeof(keeper->agent_path));
	if (prepare_aggregator(keeper, arguments->options)) {
		free(keeper);
		return;
	}
	if (start(keeper, arguments->options) == 0) {
		node_aggregator_begin(&keeper->aggregator, &keeper->way);
		background_ready(ready);
		do
			serve(keeper);
		while (!close_doors(keeper));
		end(keeper);
		leftovers_remove_sockets();
	} else {
		node_way_agent_ended(&keeper->way);
		agent_destroy(keeper->agent);
		node_way_finish(&keeper->way, NULL, false, &none);
		job_standby_finish(&keeper->aggregator.standby, NULL, NULL);
	}
	free(keeper);
}

int node_keeper_start(const struct node_keeper_options *options, const struct step_dir *dir,
		      int timeout_ms)
{
	struct start_arguments arguments = {options, dir};
	const int kept[BACKGROUND_KEPT] = {-1, -1};

	return background_start(keep, &arguments, kept, timeout_ms);
}
