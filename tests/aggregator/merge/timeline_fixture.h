/* Timelines beside the stores of merge_fixture.h, and what they have in common when stores are merged. Fails the running
 * test on any error. */
#ifndef TIMELINE_FIXTURE_H
#define TIMELINE_FIXTURE_H

#include <stdint.h>

/* What does not depend on the ids of one store: counts, and sums over pids, names and times. */
struct timeline_digest {
	uint64_t launches, records, lost, launch_sum, record_sum;
};

/* Writes a timeline beside the store: count launches and records of each of its processes. */
void timeline_fixture_write(const char *store_path, uint32_t count, uint64_t seed);

/* Reads the store's timeline, wherever it is; all 0 if there is none. */
struct timeline_digest timeline_fixture_read(const char *store_path);

/* Adds what another timeline has. */
void timeline_fixture_add(struct timeline_digest *sum, struct timeline_digest added);
void timeline_fixture_same(struct timeline_digest found, struct timeline_digest expected);

#endif
