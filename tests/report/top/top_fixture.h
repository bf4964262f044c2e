/* A profile's sums, made row by row over report_fixture. Fails the running test on any error. */
#ifndef TOP_FIXTURE_H
#define TOP_FIXTURE_H

#include <stdint.h>

#include "report/profile/profile_sums.h"
#include "report/top/top_view.h"

#define MS 1000000ull
#define S  1000000000ull

extern struct profile_sums top_from;

int top_fixture_set_up(void **state);
int top_fixture_tear_down(void **state);

/* A running process with one GPU. */
uint32_t top_fixture_process(const char *node, uint32_t pid, int32_t rank, int32_t gpu);

/* Sets the time in which a process's GPU was busy, from 1 s on by CUPTI's clock, and up to when it was heard of. */
void top_fixture_busy(uint32_t process, uint64_t busy_ns, uint64_t last_ns, uint64_t heard_ns);
void top_fixture_uncaptured(uint32_t process, uint64_t uncaptured_ns);
void top_fixture_stream_busy(uint32_t process, uint32_t stream_id, uint64_t busy_ns);

/* Adds work to the totals; kind: enum record_gpu_kind. */
void top_fixture_work(uint32_t process, uint32_t stream_id, uint8_t kind, const char *name,
		      uint64_t count, uint64_t ns);

/* Reads them, with all kernels. */
struct top_sums *top_fixture_read(void);

/* Returns the node with this label below the parent; NULL: none. */
const struct top_node *top_fixture_child(const struct top_sums *sums, const struct top_node *parent,
					 const char *label);

#endif
