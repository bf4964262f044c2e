/* Where the kernels of a communicator's ranks, in processes of one host, meet on the device: a kernel begins when its
 * rank's stream comes to it, and ends on all ranks a while after the last of them has begun theirs. Any thread. */
#ifndef ENCOUNTER_H
#define ENCOUNTER_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "comm.h"

struct encounter_area; /* shared memory; mapped for the life of the process, as kernels may yet look at it */

#define ENCOUNTER_TRANSFER_NS 20000u

/* Of the communicator with this key. NULL: no shared memory. unlink: all ranks have opened it. */
struct encounter_area *encounter_open(uint64_t key);
void encounter_unlink(uint64_t key);

/* The calling thread's next kernel meets those of others: nr_collectives times those of all ranks, and for each peer
 * with a number in sends and receives those of it. Numbers are counted up in the communicator. On a stream that is
 * captured nobody meets. */
struct encounter_plan {
	struct ncclComm *comm;
	uint32_t nr_collectives;
	uint32_t nr_sends, nr_receives;
	const uint32_t *sends, *receives; /* peers */
};
void encounter_expect(const struct encounter_plan *plan);

#endif
