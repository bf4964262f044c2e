#include "strip_crew.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/roster.h"
#include "base/thread_crew.h"
#include "timeline/trace/timeline_stretches.h"

struct share {                   /* of the devices, with the processes that use them */
	struct time_strips made; /* ticks and counts */
	struct strip_maker maker;
	int error;
};

struct crew {
	const struct strip_maker *whole; /* borrowed */
	struct share *shares;            /* owns */
	uint32_t nr;
};

/* Processes that use the same devices mostly have the same first one. */
static uint32_t share_of(const struct crew *crew, uint32_t process_id)
{
	const struct strip_devices *devices = &crew->whole->devices;
	const struct roster_process *process = roster_process(devices->roster, process_id);
	const uint32_t device = strip_devices_find(
		devices, process_id, process->nr_devices ? process->devices[0].device_id : 0);
	const uint32_t nr =
		devices->nr_devices < TIME_STRIPS_MOST ? devices->nr_devices : TIME_STRIPS_MOST;

	return device < nr ? (uint32_t)((uint64_t)device * crew->nr / nr) : crew->nr - 1;
}

static int choose_share(const struct crew *crew, uint32_t part, struct strip_maker *maker)
{
	const uint32_t nr = roster_size(crew->whole->devices.roster).processes;
	const uint8_t *wanted = crew->whole->processes;

	maker->processes = calloc(nr + 1ull, 1);
	if (!maker->processes)
		return -ENOMEM;
	for (uint32_t id = 1; id <= nr; id++)
		maker->processes[id - 1] =
			(!wanted || wanted[id - 1]) && share_of(crew, id) == part;
	return 0;
}

static void read_share(void *context, uint32_t part)
{
	struct crew *crew = context;
	struct share *share = &crew->shares[part];
	const struct strip_maker *whole = crew->whole;

	share->made = (struct time_strips){.first_ns = whole->made->first_ns,
					   .end_ns = whole->made->end_ns,
					   .is_part = whole->made->is_part,
					   .axis = whole->made->axis};
	share->maker = (struct strip_maker){.made = &share->made,
					    .source = timeline_source_again(whole->source),
					    .nccl = whole->nccl,
					    .pieces_max = whole->pieces_max / crew->nr,
					    .cut_to_ns = whole->cut_to_ns,
					    .known_from_ns = whole->known_from_ns,
					    .known_to_ns = whole->known_to_ns};
	share->error = share->maker.source ? strip_maker_init(&share->maker, &TIMELINE_REQUEST_ALL)
					   : -ENOMEM;
	if (!share->error)
		share->error = choose_share(crew, part, &share->maker);
	if (!share->error)
		share->error = strip_maker_read(&share->maker);
}

/* Whether all is as one reader would have found it: no two shares have one device, and there is nothing that several
 * may have counted. 0; -EAGAIN: it is not, or one needs more memory than there is for several. */
static int check_shares(const struct crew *crew)
{
	bool have_work[TIME_STRIPS_MOST] = {false};

	for (uint32_t part = 0; part < crew->nr; part++) {
		const struct share *share = &crew->shares[part];
		const struct timeline_counts *counts = &share->made.counts;

		if (share->error)
			return -EAGAIN;
		if (counts->unknown || counts->unclocked || counts->log.damaged ||
		    counts->log.compressed)
			return -EAGAIN;
		for (uint32_t i = 0; i < TIME_STRIPS_MOST && i < share->maker.devices.nr_devices;
		     i++) {
			if (share->maker.have_work[i] && have_work[i])
				return -EAGAIN;
			have_work[i] |= share->maker.have_work[i];
		}
	}
	return 0;
}

static void take_share(struct strip_maker *whole, struct share *share)
{
	const struct step_ticks *ticks = &share->made.ticks;

	for (uint32_t i = 0; i < whole->devices.nr_devices; i++)
		whole->have_work[i] |= share->maker.have_work[i];
	for (uint32_t i = 0; i < TIME_STRIPS_MOST; i++)
		if (share->maker.bins[i].ns) {
			whole->bins[i] = share->maker.bins[i];
			share->maker.bins[i] = (struct strip_bins){0};
		}
	for (uint32_t i = 0; ticks->apart && i < STEP_TICKS_MOST; i++)
		if (ticks->begins_ns[i])
			step_ticks_note(&whole->made->ticks,
					(uint32_t)(ticks->first + i * ticks->apart),
					ticks->begins_ns[i]);
	timeline_stretches_count(&whole->made->counts, &share->made.counts);
}

/* 0; -EAGAIN: the maker is as it was, and one reader has to read all. */
static int read_shares(struct strip_maker *whole, uint32_t nr_shares)
{
	struct crew crew = {
		.whole = whole, .shares = calloc(nr_shares, sizeof(*crew.shares)), .nr = nr_shares};

	if (!crew.shares)
		return -EAGAIN;
	thread_crew_run(nr_shares, read_share, &crew);
	int error = check_shares(&crew);
	for (uint32_t i = 0; i < nr_shares; i++) {
		if (!error)
			take_share(whole, &crew.shares[i]);
		timeline_source_destroy(crew.shares[i].maker.source);
		strip_maker_fini(&crew.shares[i].maker);
	}
	free(crew.shares);
	return error;
}

int strip_crew_read(struct strip_maker *maker)
{
	const uint32_t size = thread_crew_size();
	const uint32_t nr = maker->devices.nr_known < size ? maker->devices.nr_known : size;

	return nr > 1 && read_shares(maker, nr) == 0 ? 0 : strip_maker_read(maker);
}
