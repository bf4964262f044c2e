#include "events_crew.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/profile/roster.h"
#include "base/thread_crew.h"

struct share {                          /* of the processes: one after the other by their ids */
	struct timeline_source *source; /* owns, but that of the first share */
	struct timeline_request request;
	uint8_t *processes; /* owns; of the request */
	struct timeline_events events;
	int error;
};

struct crew {
	struct share shares[THREAD_CREW_MOST];
	uint32_t nr;
};

static void fini(struct crew *crew)
{
	for (uint32_t i = 0; i < crew->nr; i++) {
		struct share *share = &crew->shares[i];

		timeline_events_fini(&share->events);
		free(share->processes);
		if (i)
			timeline_source_destroy(share->source);
	}
}

/* 0; -EAGAIN: there is no memory for several readers. Call fini() in either case. */
static int init(struct crew *crew, struct timeline_source *source,
		const struct timeline_request *range, uint32_t nr_processes)
{
	const uint8_t *wanted = range->processes;

	for (uint32_t i = 0; i < crew->nr; i++) {
		struct share *share = &crew->shares[i];
		const uint32_t first = (uint32_t)((uint64_t)nr_processes * i / crew->nr);
		const uint32_t end = (uint32_t)((uint64_t)nr_processes * (i + 1) / crew->nr);

		share->source = i ? timeline_source_again(source) : source;
		share->processes = calloc(nr_processes + 1ull, 1);
		if (!share->source || !share->processes)
			return -EAGAIN;
		for (uint32_t id = first; id < end; id++)
			share->processes[id] = wanted ? wanted[id] : 1;
		share->request = *range;
		share->request.processes = share->processes;
	}
	return 0;
}

static void read_share(void *context, uint32_t part)
{
	struct share *share = &((struct crew *)context)->shares[part];

	share->error = timeline_events_read(share->source, &share->request, false, &share->events);
}

/* What several shares may have counted is counted by one reader, who also needs less memory and fewer files. */
static int check(const struct share *share)
{
	const struct timeline_counts *counts = &share->events.counts;

	if (share->error)
		return share->error == -ENOMEM || share->error == -EMFILE || share->error == -ENFILE
			       ? -EAGAIN
			       : share->error;
	return counts->unknown || counts->unclocked || counts->log.damaged || counts->log.compressed
		       ? -EAGAIN
		       : 0;
}

static int extend(void **list, uint32_t nr, uint32_t nr_more, size_t size)
{
	void *longer = realloc(*list, (nr + (size_t)nr_more + 1) * size);

	if (!longer)
		return -ENOMEM;
	*list = longer;
	return nr_more > UINT32_MAX - 1 - nr ? -ENOMEM : 0;
}

static void append_launches(struct timeline_launch *to, const struct timeline_launch *from,
			    uint32_t nr, uint32_t flows_before)
{
	for (uint32_t i = 0; i < nr; i++) {
		to[i] = from[i];
		to[i].flow += from[i].flow ? flows_before : 0;
	}
}

static void append_work(struct timeline_work *to, const struct timeline_work *from, uint32_t nr,
			uint32_t launches_before)
{
	for (uint32_t i = 0; i < nr; i++) {
		to[i] = from[i];
		if (from[i].launch != TIMELINE_SOURCE_NONE)
			to[i].launch += launches_before;
	}
}

static void add_counts(struct timeline_counts *sum, const struct timeline_counts *counts)
{
	sum->others += counts->others;
	sum->log.launches += counts->log.launches;
	sum->log.records += counts->log.records;
}

/* Puts the events of a share behind those of the shares before. Rooms are those that are used. */
static int append(struct timeline_events *all, const struct timeline_events *more)
{
	int error = extend((void **)&all->launches, all->nr_launches, more->nr_launches,
			   sizeof(*all->launches));

	if (!error)
		error = extend((void **)&all->marks, all->nr_marks, more->nr_marks,
			       sizeof(*all->marks));
	if (!error)
		error = extend((void **)&all->work, all->nr_work, more->nr_work,
			       sizeof(*all->work));
	if (error)
		return error;
	append_launches(all->launches + all->nr_launches, more->launches, more->nr_launches,
			all->nr_flows);
	append_work(all->work + all->nr_work, more->work, more->nr_work, all->nr_launches);
	if (more->nr_marks)
		memcpy(all->marks + all->nr_marks, more->marks,
		       more->nr_marks * sizeof(*all->marks));
	all->room_launches = all->nr_launches += more->nr_launches;
	all->room_marks = all->nr_marks += more->nr_marks;
	all->room_work = all->nr_work += more->nr_work;
	all->nr_flows += more->nr_flows;
	all->nr_ranks += more->nr_ranks;
	all->nr_launchless += more->nr_launchless;
	add_counts(&all->counts, &more->counts);
	return 0;
}

/* 0; -EAGAIN: one reader should read all; or an error of a share. Without 0 there are no events. */
static int read_shares(struct crew *crew, struct timeline_events *events)
{
	int error = 0;

	thread_crew_run(crew->nr, read_share, crew);
	for (uint32_t i = 0; i < crew->nr && !error; i++)
		error = check(&crew->shares[i]);
	if (error)
		return error;
	*events = crew->shares[0].events;
	crew->shares[0].events = (struct timeline_events){0};
	for (uint32_t i = 1; i < crew->nr && !error; i++) {
		error = append(events, &crew->shares[i].events);
		timeline_events_fini(&crew->shares[i].events);
	}
	if (!error)
		return 0;
	timeline_events_fini(events);
	return error == -ENOMEM ? -EAGAIN : error;
}

int events_crew_read(struct timeline_source *source, const struct timeline_request *range,
		     struct timeline_events *events)
{
	const struct roster *roster = timeline_source_profile(source)->collection->roster;
	const uint32_t nr_processes = roster_size(roster).processes, size = thread_crew_size();
	struct crew crew = {.nr = size < nr_processes ? size : nr_processes};

	*events = (struct timeline_events){0};
	if (crew.nr < 2)
		return timeline_events_read(source, range, false, events);
	int error = init(&crew, source, range, nr_processes);
	if (!error)
		error = read_shares(&crew, events);
	fini(&crew);
	return error == -EAGAIN ? timeline_events_read(source, range, false, events) : error;
}
