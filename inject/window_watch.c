#include "window_watch.h"

#include <stdbool.h>
#include <stdint.h>

#include "activity_flush.h"

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "inject/beside/shared_session.h"
#include "inject/capture/activity_buffers.h"
#include "inject/capture/graph_callback.h"
#include "inject/capture/subscription.h"
#include "inject/cupti/activity_clock.h"
#include "inject/cupti/activity_watch.h"
#include "inject/cupti/cupti_library.h"
#include "inject/window/capture_window.h"
#include "proto/ring/record_ring.h"

static struct {
	struct record_ring *ring;
	struct definition_writer *definitions;
	const struct cupti_library *library;
	struct activity_watch watch;
	uint32_t window; /* the watch's; 0: none yet */
} self;

void window_watch_init(struct record_ring *ring, struct definition_writer *definitions,
		       const struct cupti_library *library)
{
	self.ring = ring;
	self.definitions = definitions;
	self.library = library;
	activity_watch_init(&self.watch, ring, definitions, library, subscription_take_up);
}

static struct activity_watch_counts seen(void)
{
	struct activity_watch_counts counts;

	activity_buffers_seen(&counts.records, &counts.resources, &counts.earliest_ns);
	counts.launches = record_ring_own_launches(self.ring) - graph_callback_captured();
	return counts;
}

/* Call it within the lock of the capture window. */
static void follow_window(const struct activity_watch_counts *counts)
{
	uint32_t window = capture_window_count();

	if (self.window && self.window != window)
		activity_watch_renew(&self.watch, counts);
	self.window = window;
}

void window_watch_step(void)
{
	struct activity_watch_counts counts = seen();

	follow_window(&counts);
	if (shared_session_is_on())
		activity_watch_lend(&self.watch, &counts);
	else if (self.watch.state == ACTIVITY_WATCH_LENT)
		activity_watch_take_back(&self.watch, &counts);
	activity_watch_step(&self.watch, &counts);
}

void window_watch_lend(void)
{
	bool locked;

	if (lifecycle_state() != LIFECYCLE_ON)
		return;
	locked = capture_window_yield();
	if (locked && capture_window_is_open()) {
		activity_clock_look(self.library);
		self.library->activity_flush_all(0);
		struct activity_watch_counts counts = seen();

		follow_window(&counts);
		activity_watch_lend(&self.watch, &counts);
	}
	capture_window_yielded(locked, false);
}

void window_watch_hear_of_loss(void)
{
	struct activity_watch_counts counts;

	if (!capture_window_was_lost())
		return;
	definition_writer_notice(self.definitions, NOTICE_ACTIVITY_TAKEN, 0,
				 "another user of CUPTI ended it in this process (cuptiFinalize): "
				 "captured again in another window");
	if (!self.window)
		return;
	counts = seen();
	activity_watch_lost(&self.watch, &counts);
	self.window = 0;
}

void window_watch_finish(void)
{
	struct activity_watch_counts counts = seen();

	if (self.window && self.window != capture_window_count())
		activity_watch_renew(&self.watch, &counts);
	activity_watch_ask(&self.watch, &counts);
	if (self.watch.state == ACTIVITY_WATCH_ASKED) {
		activity_flush_run(1);
		counts = seen();
	}
	activity_watch_finish(&self.watch, &counts);
}

void window_watch_finish_late(void)
{
	struct activity_watch_counts counts;

	if (!self.window)
		return;
	counts = seen();
	activity_watch_renew(&self.watch, &counts);
}
