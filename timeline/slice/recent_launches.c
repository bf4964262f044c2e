#include "recent_launches.h"

#include <errno.h>
#include <stdlib.h>

#define PLACES_LEAST 256u

void recent_launches_fini(struct recent_launches *launches)
{
	free(launches->places);
	launch_ids_fini(&launches->gone);
	launch_ids_fini(&launches->gone_calls);
	launch_ids_fini(&launches->launchless);
	*launches = (struct recent_launches){0};
}

static struct recent_place *place_of(const struct recent_launches *launches,
				     uint32_t correlation_id)
{
	return &launches->places[correlation_id & (launches->nr_places - 1)];
}

static bool is_taken(const struct recent_place *place)
{
	return place->has_launch || place->has_call;
}

/* What had places of its own keeps them. 0; -ENOSPC: there is no room; -ENOMEM. */
static int grow(struct recent_launches *launches, size_t *room_bytes)
{
	struct recent_launches grown = {.nr_places = launches->nr_places ? 2 * launches->nr_places
									 : PLACES_LEAST};
	const size_t bytes = (grown.nr_places - launches->nr_places) * sizeof(*grown.places);

	if (grown.nr_places > RECENT_LAUNCHES_MOST || bytes > *room_bytes)
		return -ENOSPC;
	grown.places = calloc(grown.nr_places, sizeof(*grown.places));
	if (!grown.places)
		return -ENOMEM;
	*room_bytes -= bytes;
	for (uint32_t i = 0; i < launches->nr_places; i++)
		if (is_taken(&launches->places[i]))
			*place_of(&grown, launches->places[i].correlation_id) = launches->places[i];
	free(launches->places);
	launches->places = grown.places;
	launches->nr_places = grown.nr_places;
	return 0;
}

static bool is_waiting(const struct recent_place *place, const struct timeline_launch *next)
{
	return place->has_launch && !place->was_found &&
	       next->time_ns < place->launch.time_ns + RECENT_LAUNCHES_WAIT_NS;
}

static bool is_of(const struct recent_place *place, uint16_t window, uint32_t correlation_id)
{
	return place->correlation_id == correlation_id && place->window == window;
}

static int leave(struct recent_launches *launches, struct recent_place *place, size_t *room_bytes)
{
	int error = 0;

	if (place->has_launch)
		error = launch_ids_add(&launches->gone, place->window, place->correlation_id,
				       room_bytes);
	if (place->has_call && !error)
		error = launch_ids_add(&launches->gone_calls, place->window, place->correlation_id,
				       room_bytes);
	*place = (struct recent_place){0};
	return error;
}

/* Returns an empty place, or that with the launch's key. NULL: no memory. */
static struct recent_place *make_place(struct recent_launches *launches,
				       const struct timeline_launch *launch, size_t *room_bytes)
{
	for (;;) {
		struct recent_place *place =
			launches->nr_places ? place_of(launches, launch->correlation_id) : NULL;

		if (place &&
		    (!is_taken(place) || is_of(place, launch->window, launch->correlation_id)))
			return place;
		if (!place || is_waiting(place, launch)) {
			const int error = grow(launches, room_bytes);

			if (error == -ENOMEM || (error && !place))
				return NULL;
			if (!error)
				continue;
		}
		return leave(launches, place, room_bytes) ? NULL : place;
	}
}

int recent_launches_add(struct recent_launches *launches, const struct timeline_launch *launch,
			size_t *room_bytes)
{
	struct recent_place *place = make_place(launches, launch, room_bytes);
	const bool is_call = launch->flags & RECORD_LAUNCH_HOST;

	if (!place)
		return -ENOMEM;
	/* All of a key are needed before its work is. */
	launches->is_odd |= place->was_found || (is_call ? place->has_call : place->has_launch);
	launches->is_late |=
		launch_ids_may_have(&launches->launchless, launch->window, launch->correlation_id);
	place->correlation_id = launch->correlation_id;
	place->window = launch->window;
	*(is_call ? &place->call : &place->launch) =
		(struct recent_launch){launch->time_ns, launch->tid, launch->stack_id};
	*(is_call ? &place->has_call : &place->has_launch) = true;
	return 0;
}

/* A wait may be of either: the last one before its end; else the first behind. */
static const struct recent_launch *choose(struct recent_launches *launches,
					  const struct recent_place *place, uint64_t end_ns)
{
	const struct recent_launch *early = &place->launch, *late = &place->call;

	launches->is_odd |= early->time_ns == late->time_ns;
	if (late->time_ns < early->time_ns) {
		early = &place->call;
		late = &place->launch;
	}
	return late->time_ns <= end_ns ? late : early;
}

const struct recent_launch *recent_launches_find(struct recent_launches *launches,
						 const struct timeline_work *work)
{
	struct recent_place *place =
		launches->nr_places ? place_of(launches, work->correlation_id) : NULL;
	const bool is_wait = work->kind == RECORD_GPU_SYNC;

	if (!place || !is_taken(place) || !is_of(place, work->window, work->correlation_id) ||
	    (!is_wait && !place->has_launch))
		return NULL;
	place->was_found = true;
	if (is_wait && place->has_launch && place->has_call)
		return choose(launches, place, work->end_ns);
	if (!place->has_launch)
		return &place->call;
	/* A call that lies between work and launch hides the launch. */
	launches->is_odd |= place->has_call && place->launch.time_ns > work->end_ns;
	return &place->launch;
}

int recent_launches_lacks(struct recent_launches *launches, const struct timeline_work *work,
			  size_t *room_bytes, bool *is_sure)
{
	*is_sure =
		!launch_ids_may_have(&launches->gone, work->window, work->correlation_id) &&
		(work->kind != RECORD_GPU_SYNC ||
		 !launch_ids_may_have(&launches->gone_calls, work->window, work->correlation_id));
	return launch_ids_add(&launches->launchless, work->window, work->correlation_id,
			      room_bytes);
}
