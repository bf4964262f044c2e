/* The sampler of kernels on the stub of CUPTI, with a ring, and what came out of it. It replaces the clocks,
 * device_query_speed() and cupti_host_part_map(): wrap them. Fails the running test on any error. One thread at a time, if nothing is said. */
#ifndef SAMPLING_FIXTURE_H
#define SAMPLING_FIXTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "inject/base/definition_writer.h"
#include "inject/cupti/cupti_library.h"
#include "inject/cupti/device_query.h"
#include "tests/inject/test_ring.h"

#define SAMPLING_PASSED_MAX 65536u

/* An entry as it came out of the ring. */
struct sampling_passed {
	uint32_t device_id, offset, count;
	uint32_t stack_id, cbid; /* of exact samples; else 0 */
	uint64_t crc;
	const char *reason, *kernel; /* the kernel's first 15 bytes */
	uint32_t kernel_size;
};

struct sampling_fixture {
	struct sampling_passed entries[SAMPLING_PASSED_MAX];
	uint32_t nr, nr_definitions, nr_reasons, nr_notices;
	char reasons[64][32], kernels[SAMPLING_PASSED_MAX][16], notice[512];
	uint64_t samples; /* of all entries */
	struct test_ring ring;
	struct definition_writer writer;
	struct cupti_library library; /* the stub's */
	struct device_query_speed speed;
	/* the function by which CUPTI's host part was mapped last, and the sessions that had begun on context 0 */
	const void *mapped;
	uint32_t nr_enabled_when_mapped;
	/* any thread: seconds added to all clocks but the real one; nobody waits for the real one */
	_Atomic time_t later_s;
	atomic_bool real_time_is_over;
};

extern struct sampling_fixture sampling_fixture;

/* For cmocka. */
int sampling_fixture_set_up(void **state);
int sampling_fixture_tear_down(void **state);

/* Reads what was passed on, and gives the ring its room back. */
void sampling_fixture_read(void);

/* Sums a reason of the ledger over all GPUs. */
uint64_t sampling_fixture_counted(enum ledger_reason reason);

/* Reads, and asserts the ledger: the first number is the sum of the others and of what was passed on. */
void sampling_fixture_ledger(uint64_t all, uint64_t other, uint64_t lost);

/* Lets the sampler work, a second after the last time at least. Any thread. */
void sampling_fixture_step(void);

/* Makes the stub's context with this number, and begins its session. */
void sampling_fixture_begin(uint32_t nr);

void sampling_fixture_entry(uint32_t at, uint32_t device_id, uint64_t crc, const char *kernel,
			    uint32_t offset, const char *reason, uint32_t count);

#endif
