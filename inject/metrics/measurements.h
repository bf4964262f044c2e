/* Launches that are being measured: each has values from CUPTI's counters, and a time from its kernel's record. They
 * come in any order. Once both are there, they are added up; what never gets both is lost. Memory is static. Any
 * thread; the calls take a lock of their own. The ledger:
 *	LEDGER_METRIC_LAUNCHES = those added up + LEDGER_METRIC_SHARED + LEDGER_METRIC_LOST */
#ifndef MEASUREMENTS_H
#define MEASUREMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "metric_sums.h"

#define MEASUREMENTS_MAX     256u           /* at a time */
#define MEASUREMENTS_PARTS   16u            /* launches of one measurement */
#define MEASUREMENTS_WAIT_NS 10000000000ull /* for a kernel's record, from its launch on */
#define MEASUREMENTS_NONE    UINT32_MAX

struct record_ring;

/* Forgets all. The sums and the ring are borrowed for good. */
void measurements_init(struct metric_sums *sums, struct record_ring *ring);

/* Begins a measurement. subject: without the name. Returns its number; MEASUREMENTS_NONE: there is no room. */
uint32_t measurements_begin(const struct metric_subject *subject);

/* Adds a launch to it, before the launch is made: its record may come at once. */
void measurements_launch(uint32_t number, uint32_t correlation_id, uint64_t now_ns);

/* Says that other work may have been counted with the last launch; or that it failed, so that there is no record, and
 * the measurement ends. */
void measurements_shared(uint32_t number);
void measurements_failed(uint32_t number);

/* Give its values, or end it without; of MEASUREMENTS_NONE they do nothing. numbers: as metric_sums_add(). */
void measurements_values(uint32_t number, const uint32_t *numbers, const double *values,
			 uint32_t nr_values);
void measurements_lose(uint32_t number);

/* Forgets it, because launches for its other passes do not come. It counts as not measured. */
void measurements_give_up(uint32_t number);

/* Takes a kernel's record. Costs one load while nothing is being measured. */
void measurements_record(uint32_t correlation_id, uint32_t name_id, uint64_t ns);

/* Ends measurements whose records do not come. all: each that is not complete. */
void measurements_expire(uint64_t now_ns, bool all);

/* Defines the sums. Returns the number of those without room. */
uint32_t measurements_define(struct definition_writer *writer);

#endif
