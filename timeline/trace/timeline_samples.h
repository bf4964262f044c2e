/* Samples of host threads that a profile keeps one by one (run --raw-samples), within a time, on a timeline's clock:
 * what each thread did when. Used by one thread. */
#ifndef TIMELINE_SAMPLES_H
#define TIMELINE_SAMPLES_H

#include "timeline_source.h"

#define TIMELINE_SAMPLES_MAX (1u << 22) /* further ones are counted, and left out */

struct timeline_sample {
	uint64_t begin_ns, end_ns; /* what it stands for */
	uint32_t process_id, tid;
	uint32_t stack_id; /* in the profile's catalog; 0: not known */
	uint32_t name_id;  /* of a wait: its reason, in the catalog; 0: not known */
	uint8_t kind;      /* HOST_SAMPLE_CPU or HOST_SAMPLE_OFF_CPU */
};

struct timeline_samples {
	struct timeline_sample *samples; /* owns; by process, thread and end */
	uint32_t nr_samples, room_samples;
	uint64_t nr_left_out;
};

/* Reads the samples of CPUs and waits with a part in [request->from_ns, request->to_ns). Without such samples it reads
 * nothing. 0; -EPROTO: the profile is damaged; an error of database.h; -ENOMEM. Call timeline_samples_fini() in any
 * case. */
int timeline_samples_init(struct timeline_samples *samples, struct timeline_source *source,
			  const char *store_path, const struct timeline_request *request);
void timeline_samples_fini(struct timeline_samples *samples);

/* Adds one in any order; sort() is for after the last. 0 or -ENOMEM. */
int timeline_samples_add(struct timeline_samples *samples, const struct timeline_sample *sample);
void timeline_samples_sort(struct timeline_samples *samples);

/* Returns the index of the first sample of the thread that ends after time_ns, or of the first of a later thread. */
uint32_t timeline_samples_find(const struct timeline_samples *samples, uint32_t process_id,
			       uint32_t tid, uint64_t time_ns);

#endif
