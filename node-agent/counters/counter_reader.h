/* Has the counters of GPUs sampled by a process of its own (counter_child.h), and keeps what it says until it is asked
 * for. The process begins and ends with the reader, and has the rights of who creates that. If it ends or hangs before,
 * or says the impossible, nothing is sampled any more, which the states tell. The agent loop asks; a thread reads what
 * the process says. It begins with the first GPU that is used. */
#ifndef COUNTER_READER_H
#define COUNTER_READER_H

#include <stdint.h>

#include "base/process_cost.h"
#include "node-agent/base/nvml_library.h"
#include "proto/counter_sampling.h"

#define COUNTER_READER_HANG_NS 20000000000ull /* CUDA and CUPTI start within it */

struct counter_reader;

struct counter_reader_options {
	const char *program;  /* that is started; borrowed for create() only */
	uint64_t interval_ns; /* from one sample to the next; above 0 */
	uint64_t hang_ns;     /* a process that says nothing for so long hangs */
};

/* Starts the process, which loads nothing until a GPU is used. NULL: out of memory. */
struct counter_reader *counter_reader_create(const struct counter_reader_options *options);

/* Ends the process, and waits at most wait_ms until it is gone. If the driver holds it, a thread is left that frees the
 * reader. Accepts NULL. */
void counter_reader_destroy(struct counter_reader *reader, uint32_t wait_ms);

/* The GPU at this PCI address is used, and is used no longer. Calls come in pairs. use() returns the reader's number of
 * the GPU for the calls below; -1: there is no room. */
int counter_reader_use(struct counter_reader *reader, uint32_t pci_domain, uint32_t pci_bus,
		       uint32_t pci_device);
void counter_reader_leave(struct counter_reader *reader, int device);

/* Takes samples of a GPU out, up to most, the oldest first; device_id is 0. Returns their number. Never waits. */
uint32_t counter_reader_take(struct counter_reader *reader, int device,
			     struct counter_sample *samples, uint32_t most);

/* Tells what became of the sampling until now; device_id is 0. asked_ns goes on while the GPU is used. Never waits. */
void counter_reader_find(struct counter_reader *reader, int device, struct counter_state *state);

/* Tells the use of the GPU at this PCI address by all samples since the last call, kept or not, as GPM would tell it.
 * What GPM has and samples have not is not known. Without samples reading->has_sample is false. A
 * telemetry_reader_more. Never waits. */
void counter_reader_fill(void *reader, uint32_t pci_domain, uint32_t pci_bus, uint32_t pci_device,
			 struct nvml_gpm_reading *reading);

/* Tells what the process has cost. Accepts NULL, which costs nothing. Never waits. */
void counter_reader_cost(struct counter_reader *reader, struct process_cost *cost);

#endif
