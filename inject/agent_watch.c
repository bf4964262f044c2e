#include "agent_watch.h"

#include <stddef.h>
#include <unistd.h>

#include "agent_handshake.h"
#include "definition_writer.h"
#include "proto/record_ring.h"

#define LOOK_NS 1000000000u
#define GONE_NS 3000000000u /* an agent in the middle of its work is not away so long */
#define LAST_NS 1000000000u

static struct {
	struct agent_link link;
	struct record_ring *ring;
	struct definition_writer *notices;
	uint64_t next_ns, asked_ns;
} self = {.link.ring_fd = -1};

void agent_watch_start(const struct agent_link *link, struct record_ring *ring,
		       struct definition_writer *notices)
{
	self.link = *link;
	self.ring = ring;
	self.notices = notices;
	if (link->wanted && link->ring_fd < 0)
		definition_writer_notice(notices, NOTICE_AGENT_LINK, 0,
					 "no descriptor to spare: if the agent is started again, "
					 "this process is not taken along");
}

/* Whoever answered has not looked yet: the time of the answer counts as a beat. */
static bool is_gone(uint64_t now_ns, uint64_t patience_ns)
{
	uint64_t beat_ns = record_ring_last_beat(self.ring);

	if (beat_ns < self.asked_ns)
		beat_ns = self.asked_ns;
	return beat_ns < now_ns && now_ns - beat_ns >= patience_ns;
}

static bool look(uint64_t now_ns, uint64_t patience_ns)
{
	int error;

	if (self.link.ring_fd < 0)
		return false;
	if (self.asked_ns == 0)
		self.asked_ns = now_ns;
	if (!is_gone(now_ns, patience_ns) || access(self.link.path, F_OK) < 0)
		return false;
	error = agent_handshake_again(&self.link);
	if (error == 0)
		self.asked_ns = now_ns;
	else if (self.link.ring_fd < 0)
		definition_writer_notice(self.notices, NOTICE_AGENT_LINK, error,
					 "the agent is gone, and the program closed the "
					 "descriptor that the next one needs");
	return error == 0;
}

bool agent_watch_step(uint64_t now_ns)
{
	if (now_ns < self.next_ns)
		return false;
	self.next_ns = now_ns + LOOK_NS;
	return look(now_ns, GONE_NS);
}

void agent_watch_last(uint64_t now_ns)
{
	look(now_ns, LAST_NS);
}
