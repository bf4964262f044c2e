#include "refused_guests.h"

#include <stdlib.h>
#include <string.h>

#include "guest_listener.h"
#include "process_description.h"

#include "node-agent/base/fair_shares.h"
#include "node-agent/files/proc_file.h"

struct refused_guests {
	struct refused_guest guests[REFUSED_GUESTS_MAX];
	uint32_t count;
	uint64_t look_ns; /* time of the next look at whether the guests live */
};

struct refused_guests *refused_guests_create(void)
{
	return calloc(1, sizeof(struct refused_guests));
}

static void drop(struct refused_guests *guests, uint32_t index)
{
	process_description_destroy(guests->guests[index].description);
	guests->guests[index] = guests->guests[--guests->count];
}

void refused_guests_destroy(struct refused_guests *guests)
{
	if (!guests)
		return;
	while (guests->count > 0)
		drop(guests, 0);
	free(guests);
}

static bool is_of(const struct refused_guest *guest, const struct guest_arrival *arrival)
{
	return guest->uid == arrival->uid && memcmp(guest->hello.instance, arrival->hello->instance,
						    sizeof(guest->hello.instance)) == 0;
}

bool refused_guests_wants(const struct refused_guests *guests, const struct guest_arrival *arrival)
{
	uint32_t held = 0;

	for (uint32_t i = 0; i < guests->count; i++) {
		if (is_of(&guests->guests[i], arrival))
			return false;
		held += guests->guests[i].uid == arrival->uid;
	}
	return fair_shares_admit(arrival->uid, held, REFUSED_GUESTS_MAX - guests->count);
}

void refused_guests_add(struct refused_guests *guests, const struct guest_arrival *arrival,
			uint64_t start_ticks, const char *why,
			struct process_description *description)
{
	struct refused_guest *guest = &guests->guests[guests->count++];

	*guest = (struct refused_guest){
		.hello = *arrival->hello,
		.uid = arrival->uid,
		.pid = arrival->pid,
		.start_ticks = start_ticks,
		.why = why,
		.description = description,
	};
}

bool refused_guests_forget(struct refused_guests *guests, const struct guest_arrival *arrival)
{
	for (uint32_t i = 0; i < guests->count; i++) {
		if (is_of(&guests->guests[i], arrival)) {
			drop(guests, i);
			return true;
		}
	}
	return false;
}

static void tell(struct refused_guests *guests, uint32_t index, refused_guests_end end,
		 void *context)
{
	end(context, &guests->guests[index]);
	guests->guests[index].description = NULL;
	drop(guests, index);
}

uint32_t refused_guests_look(struct refused_guests *guests, refused_guests_end end, void *context)
{
	for (uint32_t i = 0; i < guests->count;) {
		const struct refused_guest *guest = &guests->guests[i];

		if (guest->pid == 0 || proc_file_is_alive(guest->pid, guest->start_ticks)) {
			i++;
			continue;
		}
		tell(guests, i, end, context);
	}
	return guests->count;
}

uint64_t refused_guests_step(struct refused_guests *guests, uint64_t now_ns, refused_guests_end end,
			     void *context)
{
	if (guests->count > 0 && now_ns >= guests->look_ns) {
		guests->look_ns = now_ns + REFUSED_GUESTS_LOOK_NS;
		refused_guests_look(guests, end, context);
	}
	return guests->count ? guests->look_ns : UINT64_MAX;
}

void refused_guests_end_all(struct refused_guests *guests, refused_guests_end end, void *context)
{
	while (guests->count > 0)
		tell(guests, 0, end, context);
}
