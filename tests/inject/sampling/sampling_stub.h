/* CUPTI's PC sampling on GPUs whose samples a test writes down. A context's handle tells its GPU. Any thread. */
#ifndef SAMPLING_STUB_H
#define SAMPLING_STUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/cupti/cupti_library.h"

#define STUB_CONTEXTS 80u

/* The handle of the context with this number, and its GPU: the number's last 64. */
#define STUB_CONTEXT(nr) ((void *)(uintptr_t)(0x1000 + 16 * (nr)))

/* CUPTI's reasons by a test's short names; "other" is the one that no sample may have. */
enum stub_reason { STUB_SCOREBOARD, STUB_SELECTED, STUB_BARRIER, STUB_REASONS };

struct stub_instruction {
	uint64_t crc, offset;
	uint32_t function_index;
	const char *function;
	uint32_t counts[STUB_REASONS]; /* samples; 0: CUPTI gives no such entry */
};

struct stub_context {
	bool on, windows, started;
	uint32_t nr_started, nr_stopped;
	uint32_t nr_enabled, nr_disabled, nr_looks;
	struct cupti_samples *last;       /* where it writes at the end */
	struct stub_instruction *waiting; /* borrowed */
	size_t nr_waiting, given;
	const uint32_t *ids;     /* their launches'; borrowed; NULL: all 0 */
	uint64_t other, dropped; /* with the next look, or at the end */
	int64_t wrong;           /* CUPTI's total is larger by this */
	int look_result;         /* of looks that find nothing waiting */
	int device_id;           /* -1: that of the handle */
};

struct sampling_stub {
	struct stub_context contexts[STUB_CONTEXTS];
	int enable_result, configure_result, reasons_result, start_result, stop_result;
	size_t nr_reasons; /* how many CUPTI tells of */
	uint32_t period;   /* of the last configuration; 0: CUPTI's own */
	void (*in_look)(void);
};

extern struct sampling_stub sampling_stub;

void sampling_stub_reset(void);
struct cupti_library sampling_stub_library(void);

/* Lets these wait on a context. */
void sampling_stub_wait(uint32_t nr, struct stub_instruction *waiting, size_t count);

#endif
