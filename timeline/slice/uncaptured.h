/* What a part of a profile does not know because its processes were not captured: the times between their capture
 * windows (capture_pauses.h). Such a time is neither busy nor idle. GPU work that was launched before it may run on in
 * it, and is busy time. Part of the slice. A struct uncaptured does not change while several threads use it; a struct
 * uncaptured_work is used by one thread. */
#ifndef UNCAPTURED_H
#define UNCAPTURED_H

#include "aggregator/core/timeline_table.h"
#include "timeline/trace/capture_pauses.h"
#include "timeline/trace/timeline_events.h"
#include "timeline/trace/timeline_steps.h"

struct uncaptured {
	const struct roster *roster;     /* borrowed */
	struct capture_pauses processes; /* owns */
	/* owns; process_id is the store's id of a device. What a GPU did is not known while one of its processes was
	 * not captured. */
	struct capture_pauses devices;
	bool is_of_steps; /* uncaptured_steps() made it */
};

/* Takes the pauses of processes that the roster has, which is borrowed until fini. 0 or -ENOMEM. Call
 * uncaptured_fini() in either case. */
int uncaptured_init(struct uncaptured *uncaptured, const struct roster *roster,
		    struct capture_pauses pauses);

/* The same with those of the request's processes. The source's profile is borrowed until fini. Errors as
 * timeline_source_read(). */
int uncaptured_read(struct uncaptured *uncaptured, struct timeline_source *source,
		    const struct timeline_request *request);

/* The same of a part that is a step: nobody asked for the time of a process outside its own step (timeline_steps_of()).
 * Of a GPU this is what lies outside the step of any process that let it work in its step, by the events. The roster is
 * borrowed until fini. 0 or -ENOMEM. */
int uncaptured_steps(struct uncaptured *uncaptured, const struct roster *roster,
		     const struct timeline_step *steps, uint32_t nr_steps,
		     const struct timeline_events *events);
void uncaptured_fini(struct uncaptured *uncaptured);

/* Returns whether the key's process or device has a step of its own, which is *from_ns to *to_ns. Of a device with
 * several processes it is the time that their steps have in common. */
bool uncaptured_step_of(const struct uncaptured *uncaptured, const struct timeline_key *key,
			uint64_t *from_ns, uint64_t *to_ns);

/* Returns the time in [from_ns, to_ns) in which processes were not captured, of all of them together. */
uint64_t uncaptured_sum_ns(const struct uncaptured *uncaptured, uint64_t from_ns, uint64_t to_ns);

/* The busy times within pauses, by the keys of a timeline_table. */
struct uncaptured_work {
	const struct uncaptured *of; /* borrowed; NULL: there are no pauses */
	struct timeline_table *busy; /* owns; NULL: there are no pauses */
};

/* of: borrowed until fini; NULL: there are no pauses. 0 or -ENOMEM. Call uncaptured_work_fini() in either case. */
int uncaptured_work_init(struct uncaptured_work *work, const struct uncaptured *of);
void uncaptured_work_fini(struct uncaptured_work *work);

/* piece: of a known process, with its end not before its begin. Waits count nowhere. 0 or -ENOMEM. */
int uncaptured_work_add(struct uncaptured_work *work, const struct timeline_work *piece);

/* Returns the busy time within the pauses of the key's process or device. */
uint64_t uncaptured_work_busy_ns(const struct uncaptured_work *work,
				 const struct timeline_key *key);

/* Returns how long the key's stream, process or device was not captured in [from_ns, to_ns), busy or not. 0 for levels
 * of kernels alone, whose idle time nobody asks for. */
uint64_t uncaptured_pauses_ns(const struct uncaptured *uncaptured, const struct timeline_key *key,
			      uint64_t from_ns, uint64_t to_ns);

#endif
