#include "node_member.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "end_budget.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/base/background.h"

#define READY_MS 10000

/* Returns the descriptor; -errno: no keeper answers. */
static int connect_to_keeper(const struct step_dir *dir)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	step_dir_file(dir, STEP_DIR_MEMBERS, address.sun_path, sizeof(address.sun_path));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	int error = -errno;
	close(fd);
	return error;
}

/* Returns the next word with its data; 0: the time is over, or the keeper is gone (*is_gone). */
static char hear_more(const struct node_member *member, int timeout_ms, bool *is_gone,
		      char more[static NODE_KEEPER_PLACE_MAX])
{
	struct pollfd news = {.fd = member->fd, .events = POLLIN};
	char words[1 + NODE_KEEPER_PLACE_MAX];
	int ready;

	do
		ready = poll(&news, 1, timeout_ms);
	while (ready < 0 && errno == EINTR);
	const bool has_news = ready == 1;
	ssize_t size = has_news ? recv(member->fd, words, sizeof(words) - 1, 0) : 0;

	memset(more, 0, NODE_KEEPER_PLACE_MAX);
	*is_gone = has_news && size <= 0;
	if (size <= 0)
		return 0;
	memcpy(more, words + 1, (size_t)size - 1);
	return *words;
}

static char hear(const struct node_member *member, int timeout_ms)
{
	char more[NODE_KEEPER_PLACE_MAX];
	bool is_gone;

	return hear_more(member, timeout_ms, &is_gone, more);
}

static bool become_watched(const struct node_member *member, int32_t task)
{
	char words[NODE_KEEPER_TASK_SIZE] = {NODE_KEEPER_TASK};
	char word;

	if (task == 0)
		return hear(member, READY_MS) == NODE_KEEPER_WELCOME;
	memcpy(words + 1, &task, sizeof(task));
	if (send(member->fd, words, sizeof(words), MSG_NOSIGNAL) != sizeof(words))
		return false;
	/* the welcome may come first */
	do
		word = hear(member, READY_MS);
	while (word == NODE_KEEPER_WELCOME);
	return word == NODE_KEEPER_WATCHED;
}

int node_member_join(struct node_member *member, const struct node_keeper_options *options)
{
	int r = step_dir_lock(&member->dir, options->step, options->agent.node_name);

	member->fd = -1;
	if (r) {
		log_warning("no directory for the agent of this node: %s", strerror(-r));
		return r;
	}
	member->fd = connect_to_keeper(&member->dir);
	if (member->fd < 0) {
		r = node_keeper_start(options, &member->dir, READY_MS);
		if (r)
			log_warning("the agent of this node: %s", strerror(-r));
		else
			member->fd = connect_to_keeper(&member->dir);
	}
	step_dir_unlock(&member->dir);
	if (r == 0 && member->fd < 0)
		r = member->fd;
	/* Without the keeper's word this process is still a member. But its first processes may not be watched. */
	if (r == 0 && !become_watched(member, options->task))
		log_warning("the agent of this node has not said that it is ready: %s",
			    strerror(ETIMEDOUT));
	return r;
}

void node_member_stopped(const struct node_member *member, int32_t rank, int signal)
{
	char words[NODE_KEEPER_TASK_SIZE] = {signal == SIGINT ? NODE_KEEPER_INTERRUPTED
							      : NODE_KEEPER_TERMINATED};

	memcpy(words + 1, &rank, sizeof(rank));
	/* If this fails, the keeper is gone, and nobody counts members any more. */
	if (member->fd >= 0)
		(void)send(member->fd, words, sizeof(words), MSG_NOSIGNAL);
}

static void leave_keeper(const struct node_member *member)
{
	struct ucred keeper;
	socklen_t size = sizeof(keeper);

	if (getsockopt(member->fd, SOL_SOCKET, SO_PEERCRED, &keeper, &size) == 0 && keeper.pid > 0)
		background_leave(getpgid(keeper.pid));
}

void node_member_drain(struct node_member *member, uint64_t ended_ns,
		       struct node_member_answer *answer)
{
	char words[NODE_KEEPER_TIME_SIZE] = {NODE_KEEPER_DRAIN};
	char heard;

	*answer = (struct node_member_answer){0};
	if (member->fd < 0)
		return;
	/* A keeper that was killed may have left words. */
	memcpy(words + 1, &ended_ns, sizeof(ended_ns));
	(void)send(member->fd, words, sizeof(words), MSG_NOSIGNAL);
	heard = hear_more(member,
			  end_budget_timeout_ms(ended_ns, END_BUDGET_STORE_MS, clock_now_ns()),
			  &answer->is_gone, answer->place);
	answer->keeps = heard == NODE_KEEPER_KEPT;
	answer->stored = answer->keeps || heard == NODE_KEEPER_STORED;
	answer->said = heard == NODE_KEEPER_SAID;
}

enum node_member_end node_member_leave(struct node_member *member, uint64_t ended_ns)
{
	char more[NODE_KEEPER_PLACE_MAX];
	bool is_gone = false, writes = false;

	if (member->fd < 0)
		return NODE_MEMBER_DONE;
	shutdown(member->fd, SHUT_WR); /* the keeper closes its end at once, or after its work */
	while (!is_gone) {
		char word = hear_more(
			member, end_budget_timeout_ms(ended_ns, END_BUDGET_MS, clock_now_ns()),
			&is_gone, more);

		if (!word)
			break;
		if (word != NODE_KEEPER_WRITES)
			continue;
		writes = true;
		memcpy(&ended_ns, more, sizeof(ended_ns));
	}
	if (!is_gone)
		leave_keeper(member);
	close(member->fd);
	member->fd = -1;
	if (is_gone)
		return NODE_MEMBER_DONE;
	return writes ? NODE_MEMBER_WRITES : NODE_MEMBER_SENDS;
}
