/* A log of two processes with random work on three devices, and the truth of it. */
#ifndef STRIPS_FIXTURE_H
#define STRIPS_FIXTURE_H

#include "tests/support/cmocka_test.h"

#include "timeline/strips/time_strips.h"

#define FIRST_NS  2000000000u
#define SPAN_NS   20000u
#define PIECES    400u /* of a process */
#define STEPS     20u
#define OFFSET_NS 5000
/* Two of process 1; process 2 has the second one, too, and one that is not described. */
#define DEVICES 3u

struct truth { /* of a piece of GPU work that is no wait */
	struct gpu_record record;
	uint64_t wait_ns;
	uint32_t process_id, strip;
};

struct strips_fixture {
	char store[64];
	struct profile profile;
	uint32_t gemm, nccl;
	uint32_t random;
	struct timeline_source *source;
	struct nccl_waits_kernel kernels[2 * PIECES];
	struct nccl_waits waits;
	struct truth truths[2 * PIECES];
	uint32_t nr_truths;
	/* By strip: the first part that runs in each nanosecond, + 1; 0: none. */
	uint8_t first[DEVICES][SPAN_NS];
};

int strips_fixture_set_up(void **state);
int strips_fixture_tear_down(void **state);

/* Returns a random number below most. */
uint32_t strips_fixture_some(struct strips_fixture *f, uint32_t most);

/* The time of the launch of a process's i-th piece, which begins so long after FIRST_NS; 0: it has none. Each third
 * piece has one, a little before it if that is within the time. */
uint64_t strips_fixture_launch(uint32_t i, uint64_t start_ns);

#endif
