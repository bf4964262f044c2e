#include "agent_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "agent_handshake.h"

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "proto/ring/record_ring.h"

#define RETRY_NS     250000000u /* between two attempts */
#define GONE_NS      1000000000u
#define GIVE_UP_NS   60000000000u
#define LATE_NS      300000000u /* beats come four times a second */
#define LAST_GONE_NS 500000000u
#define LAST_STEP_NS 20000000

static struct agent_watch {
	struct agent_link link;
	struct record_ring *ring;
	struct definition_writer *notices;
	uint64_t next_ns;            /* of the next attempt */
	uint64_t asked_ns, begun_ns; /* when an agent was asked: the last time, and the first */
	bool absent;                 /* the socket's file was not there at the last attempt */
	bool gave_up;
	atomic_flag busy; /* a thread is asking, or offering */
} self = {.link.ring_fd = -1};

void agent_watch_start(const struct agent_link *link, struct record_ring *ring,
		       struct definition_writer *notices)
{
	uint64_t now_ns = monotonic_ns();

	self = (struct agent_watch){
		.link = *link,
		.ring = ring,
		.notices = notices,
		.asked_ns = now_ns,
		.begun_ns = now_ns,
	};
	if (link->ring_fd >= 0)
		record_ring_keep_code(ring);
	else if (link->wanted || !link->answered)
		definition_writer_notice(notices, NOTICE_AGENT_LINK, 0,
					 "no descriptor to spare: if the agent is started again, "
					 "this process is not taken along");
}

/* An agent that has just answered has not read yet, so the time of the answer counts as a beat. */
static bool is_gone(uint64_t now_ns)
{
	uint64_t beat_ns = record_ring_last_beat(self.ring);

	if (beat_ns < self.asked_ns)
		beat_ns = self.asked_ns;
	return beat_ns < now_ns && now_ns - beat_ns >= GONE_NS;
}

/* Returns whether the guest gives up. It never does once an agent has had the ring, because the next agent can use what
 * the first one read. */
static bool is_hopeless(int error, uint64_t now_ns)
{
	return !self.link.answered && record_ring_last_beat(self.ring) == 0 &&
	       (error == -EACCES || error == -EPROTO || now_ns - self.begun_ns >= GIVE_UP_NS);
}

static enum agent_watch_news give_up(void)
{
	self.gave_up = true;
	record_ring_count(self.ring, LEDGER_DEVICE_NONE, LEDGER_GUEST_GAVE_UP, 1, 0);
	definition_writer_notice(self.notices, NOTICE_AGENT_LINK, 0,
				 "no agent answered: this process was not recorded any more");
	return AGENT_WATCH_GAVE_UP;
}

static enum agent_watch_news step(uint64_t now_ns)
{
	int error;

	if (self.link.ring_fd < 0 || self.gave_up || now_ns < self.next_ns || !is_gone(now_ns))
		return AGENT_WATCH_NOTHING;
	self.next_ns = now_ns + RETRY_NS;
	error = access(self.link.path, F_OK) < 0 ? -ENOENT : agent_handshake_again(&self.link);
	if (error != -ENOENT && error != -ECONNREFUSED)
		self.asked_ns = now_ns;
	if (error == -EBADF)
		definition_writer_notice(self.notices, NOTICE_AGENT_LINK, error,
					 "the agent is gone, and the program closed the "
					 "descriptor that the next one needs");
	if (error && is_hopeless(error, now_ns))
		return give_up();
	return error == 0 ? AGENT_WATCH_TAKEN : AGENT_WATCH_NOTHING;
}

enum agent_watch_news agent_watch_step(uint64_t now_ns)
{
	enum agent_watch_news news;

	if (atomic_flag_test_and_set(&self.busy))
		return AGENT_WATCH_NOTHING;
	news = step(now_ns);
	atomic_flag_clear(&self.busy);
	return news;
}

/* Asks the system, which knows at once of an agent's end, if it shows us the agent. */
static bool is_killed(void)
{
	return self.link.agent_pid > 0 && kill(self.link.agent_pid, 0) < 0 && errno == ESRCH;
}

bool agent_watch_lives(uint64_t now_ns)
{
	uint64_t beat_ns = record_ring_last_beat(self.ring);

	return beat_ns && (now_ns < beat_ns || now_ns - beat_ns < LAST_GONE_NS) && !is_killed();
}

static bool offer(uint64_t now_ns)
{
	uint64_t beat_ns;
	int error;

	if (self.link.ring_fd < 0 || self.gave_up)
		return true;
	beat_ns = record_ring_last_beat(self.ring);
	if (agent_watch_lives(now_ns))
		return self.link.agent_pid > 0 || now_ns < beat_ns + LATE_NS;
	error = agent_handshake_offer(&self.link);
	/* An agent that was killed leaves its socket's file. The file is missing only while the next agent makes its
	 * own. */
	if (error == -ENOENT && !self.absent) {
		self.absent = true;
		return false;
	}
	return error != -ECONNREFUSED && error != -EAGAIN;
}

bool agent_watch_offer(uint64_t now_ns)
{
	bool is_over;

	if (atomic_flag_test_and_set(&self.busy))
		return true;
	is_over = offer(now_ns);
	atomic_flag_clear(&self.busy);
	return is_over;
}

void agent_watch_last(uint64_t until_ns)
{
	while (!agent_watch_offer(monotonic_ns()) && monotonic_ns() < until_ns)
		nanosleep(&(struct timespec){.tv_nsec = LAST_STEP_NS}, NULL);
}
