#include "activity_watch.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "activity_clock.h"
#include "cupti_library.h"

#include "inject/base/definition_writer.h"
#include "inject/base/monotonic.h"
#include "proto/absence.h"
#include "proto/ring/record_ring.h"

#define NS_PER_S     1000000000u
#define S_PER_DAY    86400u
#define PATIENCE_MAX 1000000u

static uint32_t read_patience(const char *text)
{
	uint32_t rounds = 0;

	if (!text || *text == '\0')
		return ACTIVITY_WATCH_PATIENCE;
	for (; *text >= '0' && *text <= '9' && rounds < PATIENCE_MAX; text++)
		rounds = rounds * 10 + (uint32_t)(*text - '0');
	return *text == '\0' ? rounds : ACTIVITY_WATCH_PATIENCE;
}

static uint64_t read_address_space(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

void activity_watch_init(struct activity_watch *watch, struct record_ring *ring,
			 struct definition_writer *definitions, const struct cupti_library *library,
			 void (*take_up)(bool callbacks))
{
	*watch = (struct activity_watch){
		.ring = ring,
		.definitions = definitions,
		.library = library,
		.take_up = take_up,
		.patience = read_patience(getenv(ACTIVITY_WATCH_ENV)),
		.address_space = read_address_space(),
	};
}

static void enter(struct activity_watch *watch, enum activity_watch_state state)
{
	watch->state = state;
	watch->rounds = 0;
}

/* Notes that records come: all launches until now have theirs, or these are on their way. */
static void see_life(struct activity_watch *watch, const struct activity_watch_counts *counts)
{
	enter(watch, ACTIVITY_WATCH_OURS);
	watch->records = counts->records;
	watch->base_launches = counts->launches;
}

static void say_taken(struct activity_watch *watch)
{
	uint64_t second = watch->taken_at_ns / NS_PER_S % S_PER_DAY;

	if (watch->taken_said)
		return;
	watch->taken_said = true;
	/* CUPTI is also silent if it finds no memory for its thread or its buffers. */
	watch->starved = watch->records == 0 && watch->address_space != UINT64_MAX;
	if (watch->starved)
		definition_writer_notice(
			watch->definitions, NOTICE_CUPTI_FAILED, 0,
			ABSENCE_FAILED "CUPTI delivers no GPU records: the limit on address space "
				       "is %llu KiB (ulimit -v), and leaves it too little room, or "
				       "another user of CUPTI's activity API has them",
			(unsigned long long)(watch->address_space >> 10));
	else
		definition_writer_notice(
			watch->definitions, NOTICE_ACTIVITY_TAKEN, 0,
			"another user of CUPTI's activity API (the PyTorch profiler?) took over "
			"before %02u:%02u:%02u UTC: GPU records are missing from then on, until it "
			"has been left alone for %u flushes",
			(unsigned int)(second / 3600), (unsigned int)(second / 60 % 60),
			(unsigned int)(second % 60), watch->patience);
}

static void say_lent(struct activity_watch *watch)
{
	if (watch->taken_said)
		return;
	watch->taken_said = true;
	definition_writer_notice(watch->definitions, NOTICE_ACTIVITY_TAKEN, 0,
				 "another profiler's session has the GPU records until it is over: "
				 "they are missing here");
}

/* Counts launches that have no records and will have none. */
static void count_missing(struct activity_watch *watch, uint64_t launches)
{
	record_ring_count(watch->ring, LEDGER_DEVICE_NONE,
			  watch->starved ? LEDGER_LAUNCH_UNDELIVERED : LEDGER_ACTIVITY_TAKEN,
			  launches, 0);
	if (watch->back_said || watch->starved)
		return;
	watch->back_said = true;
	definition_writer_notice(watch->definitions, NOTICE_ACTIVITY_TAKEN, 0,
				 "another user of CUPTI's activity API had the GPU records of %llu "
				 "launches, or had switched them off",
				 (unsigned long long)launches);
}

static uint64_t missing(const struct activity_watch *watch,
			const struct activity_watch_counts *counts)
{
	return counts->launches - watch->base_launches;
}

static void note_time(struct activity_watch *watch)
{
	watch->taken_at_ns = realtime_ns();
}

static void ask(struct activity_watch *watch, const struct activity_watch_counts *counts)
{
	watch->resources = counts->resources;
	note_time(watch);
	watch->library->activity_enable_and_dump(CUPTI_ABI_KIND_CONTEXT);
	enter(watch, ACTIVITY_WATCH_ASKED);
}

static void hear(struct activity_watch *watch, const struct activity_watch_counts *counts)
{
	struct activity_clock clock;

	if (counts->resources == watch->resources) {
		say_taken(watch);
		enter(watch, ACTIVITY_WATCH_TAKEN);
		return;
	}
	watch->take_up(false);
	watch->again_launches = counts->launches;
	activity_clock_get(&clock);
	watch->library->get_timestamp(&watch->again_ns);
	watch->again_ns = activity_clock_realtime(&clock, watch->again_ns);
	enter(watch, ACTIVITY_WATCH_WAITING);
}

/* Judges the first records since the kinds were enabled again. If the GPU was only late, their work began before
 * that. */
static void judge(struct activity_watch *watch, const struct activity_watch_counts *counts)
{
	if (counts->earliest_ns >= watch->again_ns)
		count_missing(watch, watch->again_launches - watch->base_launches);
}

void activity_watch_step(struct activity_watch *watch, const struct activity_watch_counts *counts)
{
	bool launched = counts->launches != watch->launches;

	watch->launches = counts->launches;
	if (watch->state == ACTIVITY_WATCH_LENT) {
		say_lent(watch);
		return;
	}
	if (counts->records != watch->records) {
		watch->starved = false;
		if (watch->state == ACTIVITY_WATCH_WAITING)
			judge(watch, counts);
		else if (watch->state == ACTIVITY_WATCH_TAKEN)
			count_missing(watch, missing(watch, counts));
		see_life(watch, counts);
		return;
	}
	if (!watch->library->activity_enable_and_dump)
		return;
	switch (watch->state) {
	case ACTIVITY_WATCH_OURS:
		watch->rounds += launched && missing(watch, counts);
		if (watch->rounds >= ACTIVITY_WATCH_ROUNDS &&
		    missing(watch, counts) >= ACTIVITY_WATCH_LAUNCHES)
			ask(watch, counts);
		break;
	case ACTIVITY_WATCH_ASKED:
		hear(watch, counts);
		break;
	case ACTIVITY_WATCH_TAKEN:
		if (++watch->rounds != watch->patience)
			break;
		watch->take_up(true);
		count_missing(watch, missing(watch, counts));
		see_life(watch, counts);
		break;
	case ACTIVITY_WATCH_WAITING:
	case ACTIVITY_WATCH_LENT:
		break;
	}
}

void activity_watch_ask(struct activity_watch *watch, const struct activity_watch_counts *counts)
{
	if (watch->state == ACTIVITY_WATCH_OURS && watch->library->activity_enable_and_dump &&
	    counts->records == watch->records && missing(watch, counts) >= ACTIVITY_WATCH_LAUNCHES)
		ask(watch, counts);
}

void activity_watch_renew(struct activity_watch *watch, const struct activity_watch_counts *counts)
{
	struct activity_watch_counts before = *counts;

	before.launches = watch->launches;
	activity_watch_finish(watch, &before);
	see_life(watch, counts);
}

void activity_watch_lend(struct activity_watch *watch, const struct activity_watch_counts *counts)
{
	if (watch->state == ACTIVITY_WATCH_LENT)
		return;
	if (watch->state == ACTIVITY_WATCH_OURS)
		see_life(watch, counts);
	else
		activity_watch_step(watch, counts);
	watch->launches = counts->launches;
	enter(watch, ACTIVITY_WATCH_LENT);
}

void activity_watch_take_back(struct activity_watch *watch,
			      const struct activity_watch_counts *counts)
{
	watch->take_up(true);
	if (missing(watch, counts))
		count_missing(watch, missing(watch, counts));
	watch->launches = counts->launches;
	see_life(watch, counts);
}

void activity_watch_lost(struct activity_watch *watch, const struct activity_watch_counts *counts)
{
	if (watch->state != ACTIVITY_WATCH_LENT && counts->records != watch->records)
		activity_watch_step(watch, counts);
	else if (missing(watch, counts))
		count_missing(watch, missing(watch, counts));
	watch->launches = counts->launches;
	see_life(watch, counts);
}

void activity_watch_finish(struct activity_watch *watch, const struct activity_watch_counts *counts)
{
	if (watch->state != ACTIVITY_WATCH_LENT && counts->records != watch->records) {
		activity_watch_step(watch, counts);
		return;
	}
	if (watch->state == ACTIVITY_WATCH_ASKED && counts->resources == watch->resources)
		say_taken(watch);
	if (watch->state != ACTIVITY_WATCH_OURS)
		count_missing(watch, missing(watch, counts));
}
