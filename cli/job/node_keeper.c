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
#include "job_standby.h"
#include "leftovers.h"
#include "node_members.h"
#include "node_profile.h"
#include "rendezvous_search.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/base/background.h"
#include "node-agent/agent_rights.h"
#include "node-agent/base/socket_path.h"
#include "node-agent/files/proc_file.h"

#define MEMBERS_MAX    1024
#define LOOK_MS        20   /* from one look at the agent to the next, while a member waits */
#define CONNECT_MS     300u /* of the end's time, the most until another aggregator answers */
#define PASSES_TO_WAIT 2    /* a pass that runs may miss the last records */
#define PLACE_MS       500u /* of the end's time, the most until a site has said the profile's place */
#define SITE_MS        1500        /* wait for a site's aggregator; a member waits longer */
#define LOST_NS        1000000000u /* from the loss of the aggregator to the look for another */
#define NS_PER_MS      1000000u
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
	struct node_profile
		*profile; /* the node's own; NULL: the job's aggregator takes all events */
	pthread_t agent_thread;
	atomic_int agent_result;
	struct rendezvous_search search;
	const char *output_path;    /* of node_keeper_options */
	struct job_standby standby; /* used with a profile of this node */
	uint64_t look_ns;           /* when to look for another aggregator, while ours is lost */
	const struct site_aggregator *site; /* NULL: the rendezvous names the aggregator */
	struct aggregator_search *site_search;
	bool site_failure_said;
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
	const struct node_keeper *keeper = context;

	const struct key_set *keys = keeper->site->has_keys ? &keeper->site->keys : NULL;

	if (keeper->profile ? node_profile_connect(keeper->profile, endpoint, keys)
			    : agent_connect(keeper->agent, endpoint, keys))
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

static bool is_late(const struct member *member, uint64_t ms)
{
	return clock_now_ns() >= member->ended_ns + ms * NS_PER_MS;
}

/* Returns whether the member's data will not be stored, or too late. */
static bool has_site_failed(const struct node_keeper *keeper, const struct member *member,
			    const struct agent_status *status)
{
	return keeper->site && !keeper->profile &&
	       ((!status->welcomed && status->key_refusals) || is_late(member, SITE_MS));
}

/* Returns whether an aggregator of jobs has welcomed this node. place: of the profile, "": it was not told. */
static bool find_place(const struct node_keeper *keeper, const struct agent_status *status,
		       char place[static PROFILE_LINK_PLACE_MAX])
{
	if (keeper->profile)
		return node_profile_place(keeper->profile, place);
	snprintf(place, PROFILE_LINK_PLACE_MAX, "%s", status->profile ? status->profile : "");
	return status->welcomed;
}

/* The place of the profile follows the word. */
static void answer_stored(const struct node_keeper *keeper, struct member *member,
			  const struct agent_status *status)
{
	char words[1 + NODE_KEEPER_PLACE_MAX], place[PROFILE_LINK_PLACE_MAX];

	find_place(keeper, status, place);
	const int size = snprintf(words, sizeof(words), "%c%s", NODE_KEEPER_STORED, place);
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
		(keeper->profile && is_late(member, PLACE_MS)));
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
			answer(member, NODE_KEEPER_FAILED);
		else if (is_stored(keeper, member, &status))
			answer_stored(keeper, member, &status);
		else if (has_site_failed(keeper, member, &status)) {
			say_site_failure(keeper, &status);
			answer(member, NODE_KEEPER_SAID);
		} else
			waits = true;
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

/* A killed aggregator is started again on its node within a second. */
static bool is_lost(const struct node_keeper *keeper, uint64_t now_ns)
{
	const uint64_t lost_ns = keeper->profile ? node_profile_lost_ns(keeper->profile) : 0;

	return lost_ns && now_ns >= lost_ns + LOST_NS;
}

/* Returns whether there is another aggregator in place of the lost one. If there is none, this node may start it. */
static bool find_next(struct node_keeper *keeper, const char **endpoint,
		      const struct key_set **keys)
{
	const uint64_t now_ns = clock_now_ns();

	if (!is_lost(keeper, now_ns) || now_ns < keeper->look_ns)
		return false;
	keeper->look_ns = now_ns + LOST_NS;
	if (rendezvous_search_again(&keeper->search, RENDEZVOUS_CONNECT_MS, endpoint, keys))
		return true;
	job_standby_ask(&keeper->standby, &keeper->search.rendezvous);
	return false;
}

static void look_for_aggregator(struct node_keeper *keeper)
{
	const char *endpoint;
	const struct key_set *keys;

	if (keeper->site)
		return;
	if (keeper->search.found ? !find_next(keeper, &endpoint, &keys)
				 : rendezvous_search_step(&keeper->search, &endpoint, &keys) != 1)
		return;
	if (keeper->profile ? node_profile_connect(keeper->profile, endpoint, keys)
			    : agent_connect(keeper->agent, endpoint, keys))
		log_warning("the aggregator's endpoint: %s", strerror(ENOMEM));
}

/* Tells the job's aggregator whether ranks of this node still run. */
static void tell_end(struct node_keeper *keeper)
{
	const uint64_t ended_ns = node_members_ended_ns(keeper->members, keeper->nr_members);

	if (keeper->profile)
		node_profile_ranks_ended(keeper->profile, ended_ns);
	else
		agent_ranks_ended(keeper->agent, ended_ns);
}

static void serve(struct node_keeper *keeper)
{
	bool waits = false;

	while (!keeper->had_members || node_members_staying(keeper->members, keeper->nr_members)) {
		int timeout_ms = keeper->site ? -1 : rendezvous_search_wait_ms(&keeper->search);

		if (keeper->profile && timeout_ms < 0)
			timeout_ms = LOST_NS / NS_PER_MS;
		if (waits && (timeout_ms < 0 || timeout_ms > LOOK_MS))
			timeout_ms = LOOK_MS;
		wait_for_news(keeper, timeout_ms);
		look_for_aggregator(keeper);
		accept_members(keeper);
		hear_members(keeper);
		waits = answer_members(keeper);
		tell_end(keeper);
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
	if (options->profile &&
	    node_profile_create(options->profile, &rights, &keeper->profile) == 0) {
		agent.endpoint = NODE_PROFILE_ENDPOINT;
		agent.zmq_context = node_profile_context(keeper->profile);
	} else if (options->profile)
		log_warning("this node keeps no profile, and sends its events");
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
	r = keeper->profile ? node_profile_start(keeper->profile, keeper->agent) : 0;
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

/* Writes the directory of the job's profile. NULL: it is not known. *is_marked: it is marked as the aggregator's. */
static const char *find_job_directory(const struct node_keeper *keeper, char path[static PATH_MAX],
				      bool *is_marked)
{
	const struct rendezvous_search *search = &keeper->search;
	int r = keeper->site || !search->found
			? -ENAMETOOLONG
			: rendezvous_search_directory(keeper->output_path, &search->rendezvous,
						      path);

	*is_marked = r == 0;
	return r == -ENAMETOOLONG ? NULL : path;
}

/* The last of the profile goes to the step's aggregator of now, also where the loss of ours has not been noticed, or
 * another is just being started. Returns how long the job's end may be held up for it. */
static uint32_t follow_aggregator(struct node_keeper *keeper, uint64_t since_ns)
{
	const struct end_budget budget = {since_ns, END_BUDGET_SEND_MS - CONNECT_MS};
	const uint64_t now_ns = clock_now_ns();
	const char *endpoint;
	const struct key_set *keys;

	if (keeper->profile && keeper->site)
		return END_BUDGET_SEND_MS;
	if (!keeper->profile || !keeper->search.found)
		return 0;
	job_standby_await(&keeper->standby,
			  end_budget_left_ms(&budget, now_ns) - END_BUDGET_ROUND_MS);
	if (rendezvous_search_again(&keeper->search, CONNECT_MS, &endpoint, &keys)) {
		if (node_profile_connect(keeper->profile, endpoint, keys))
			log_warning("the aggregator's endpoint: %s", strerror(ENOMEM));
	} else if (is_lost(keeper, now_ns))
		return 0; /* there is none */
	return END_BUDGET_SEND_MS;
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

static void end(struct node_keeper *keeper)
{
	char job_directory[PATH_MAX];
	struct end_budget budget = {.since_ns = node_members_waits_since_ns(
					    keeper->members, keeper->nr_members, clock_now_ns())};
	bool is_marked;

	job_standby_end(&keeper->standby, keeper->lost_member, budget.since_ns);
	aggregator_search_stop(keeper->site_search);
	if (keeper->lost_member)
		agent_stopped(keeper->agent, AGENT_STOP_ALL, SIGKILL);
	agent_stop(keeper->agent);
	pthread_join(keeper->agent_thread, NULL);
	node_profile_agent_ended(keeper->profile);
	agent_destroy(keeper->agent);
	budget.limit_ms = follow_aggregator(keeper, budget.since_ns);
	const char *found = find_job_directory(keeper, job_directory, &is_marked);
	node_profile_finish(keeper->profile, found, is_marked, &budget);
	step_dir_remove(&keeper->dir);
	close(keeper->listener);
	job_standby_end(&keeper->standby, keeper->lost_member, budget.since_ns);
	job_standby_finish(&keeper->standby, say_writes, keeper);
	for (int i = 0; i < keeper->nr_members; i++)
		close(keeper->members[i].fd);
}

/* A step without a key shares its rendezvous with others, so nobody could tell whose aggregator is lost. */
static void start_standby(struct node_keeper *keeper, const struct node_keeper_options *options)
{
	int r = options->profile && !options->site && *options->step->key
			? job_standby_start(&keeper->standby, options->job)
			: 0;

	if (r)
		log_warning("this node cannot start an aggregator if the job's is lost: %s",
			    strerror(-r));
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
	keeper->output_path = arguments->options->output_path;
	keeper->standby.keeper.fd = -1;
	keeper->dir.lock = -1; /* the process that started us holds the lock until we are ready */
	step_dir_file(&keeper->dir, STEP_DIR_MEMBERS, keeper->members_path,
		      sizeof(keeper->members_path));
	step_dir_file(&keeper->dir, STEP_DIR_AGENT, keeper->agent_path, sizeof(keeper->agent_path));
	if (!keeper->site &&
	    rendezvous_search_init(&keeper->search, arguments->options->output_path,
				   arguments->options->step))
		log_warning("the aggregator's place: %s", strerror(ENAMETOOLONG));
	else if (start_standby(keeper, arguments->options),
		 start(keeper, arguments->options) == 0) {
		background_ready(ready);
		do
			serve(keeper);
		while (!close_doors(keeper));
		end(keeper);
		leftovers_remove_sockets();
	} else {
		node_profile_agent_ended(keeper->profile);
		agent_destroy(keeper->agent);
		node_profile_finish(keeper->profile, NULL, false, &none);
		job_standby_finish(&keeper->standby, NULL, NULL);
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
