/* Launches and ranges that are being measured: each has values from CUPTI's counters, and times from its kernels'
 * records. They come in any order. Once all are there, they are added up; what never gets all is lost. A range's time
 * is that from the first begin of its kernels to their last end. Memory is static. Any thread; the calls take a lock of
 * their own. The ledger counts a range as a launch:
 *	LEDGER_METRIC_LAUNCHES = those added up + LEDGER_METRIC_SHARED + LEDGER_METRIC_LOST */
#ifndef MEASUREMENTS_H
#define MEASUREMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "metric_sums.h"

#define MEASUREMENTS_MAX     256u           /* at a time */
#define MEASUREMENTS_PARTS   16u            /* launches, or ranges, of one measurement */
#define MEASUREMENTS_WAIT_NS 10000000000ull /* for a kernel's record, from its launch on */
#define MEASUREMENTS_NONE    UINT32_MAX
#define MEASUREMENTS_UNKNOWN UINT32_MAX /* of kernels */

struct record_ring;

/* Forgets all. The sums and the ring are borrowed for good. flush_soon: asks for the GPU's records, and any thread may
 * call it. */
void measurements_init(struct metric_sums *sums, struct record_ring *ring,
		       void (*flush_soon)(void));

/* Begins a measurement. subject: of a launch without the name. Returns its number; MEASUREMENTS_NONE: there is no
 * room. Asks for records once half of it is taken. */
uint32_t measurements_begin(const struct metric_subject *subject);

/* Adds a launch to it, before the launch is made: its record may come at once. Of a range this is the first call that
 * asks the GPU for work. */
void measurements_launch(uint32_t number, uint32_t correlation_id, uint64_t now_ns);

/* Adds a call, the first one as well, to the last range, before the call is made. Threads' ids may cross. nr_kernels:
 * how many records of kernels it will have. Where that is not known, as with graphs, the range takes what has come by
 * measurements_expire(). A range without kernels is in no count of the ledger. The second function takes kernels back,
 * because their launch failed. */
void measurements_call(uint32_t number, uint32_t correlation_id, uint32_t nr_kernels);
void measurements_uncall(uint32_t number, uint32_t nr_kernels);

/* Ends the last range, when its work had ended: kernels that begin later are not its own, whatever their ids.
 * CLOCK_REALTIME. */
void measurements_end(uint32_t number, uint64_t closed_ns);

/* Says that other work may have been counted with the last launch; or that it failed, so that there is no record, and
 * the measurement ends. */
void measurements_shared(uint32_t number);
void measurements_failed(uint32_t number);

/* Give its values, or end it without; of MEASUREMENTS_NONE they do nothing. numbers: as metric_sums_add(). */
void measurements_values(uint32_t number, const uint32_t *numbers, const double *values,
			 uint32_t nr_values);
void measurements_lose(uint32_t number);

/* Forgets it, because launches for its other passes do not come. The ledger does not count it. */
void measurements_give_up(uint32_t number);

/* A kernel's record. */
struct measured_kernel {
	uint32_t correlation_id, name_id, device_id;
	uint64_t begin_ns, end_ns; /* CLOCK_REALTIME */
};

/* Takes a kernel's record. Costs one load while nothing is being measured. */
void measurements_record(const struct measured_kernel *kernel);

/* Ends measurements whose records do not come. all: each that is not complete, since all records have come. */
void measurements_expire(uint64_t now_ns, bool all);

/* Defines the sums. Returns the number of those without room. */
uint32_t measurements_define(struct definition_writer *writer);

#endif
