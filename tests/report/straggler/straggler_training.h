/* A made training job, in the store of straggler_fixture.h: ranks that load data, compute on the host and on the GPU,
 * and meet in an all_reduce each step. Clocks of hosts and GPUs are seconds apart. Samples of the main thread are those
 * of a sampling clock, and each wait. */
#ifndef STRAGGLER_TRAINING_H
#define STRAGGLER_TRAINING_H

#include <stdbool.h>
#include <stdint.h>

/* What the late rank does. */
enum training_plant {
	TRAINING_NOTHING,
	TRAINING_HOST,    /* a tenth longer in numpy.py:resize */
	TRAINING_LOADER,  /* a wait of 12 ms more, poll in loader.py:next */
	TRAINING_KERNELS, /* gemm takes 9 ms more, or shard_ms */
	TRAINING_EXTRA,   /* 12 ms of train.py:spin, which the others do not call */
	TRAINING_EVEN,    /* 12 ms more in all that train.py:spin calls */
	TRAINING_PARTNER, /* as LOADER; another thread waits, too */
	TRAINING_TOKENS,  /* 4 ms more in train.py:tokenize_batch, in each second step */
	TRAINING_SHARD,   /* shard_ms of sleep in train.py:load_shard */
	TRAINING_QUEUE,   /* 6 ms without a CPU */
	TRAINING_FAULTS,  /* 12 ms more of page faults in numpy.py:resize, which all have */
};

struct training {
	uint32_t ranks, steps;
	enum training_plant plant;
	uint32_t late_rank;
	uint32_t
		ranks_per_host; /* 0: all ranks are on one host; otherwise the late rank's host is late */
	uint32_t late_from, late_to; /* the steps in which it is late; both 0: all */
	uint32_t late_each;          /* of these, only each such one; 0: all */
	double noise_ms;
	double gemm_noise_ms; /* in gemm */
	uint32_t kernels;     /* into which gemm is divided, gemm_0 and so on; 0: it is one */
	double shard_ms;      /* 0: 5 */
	double host_ms;       /* in numpy.py:resize; 0: 100 */
	double period_ms;     /* of the sampling clock; 0: 5 */
	double start_ms;    /* before the first step: what the late rank's host and GPU do longer */
	bool gpu_alone;     /* no samples are recorded */
	bool one_clock;     /* of all ranks */
	bool waits_for_gpu; /* before each collective the host waits for the kernels */
	bool waits_for_room; /* the same in the GPU's queue, and the stack does not say so */
	uint64_t key;        /* of the communicator; 0: 0xfeed */
	uint64_t seed;
};

/* Plays the job, and commits it. */
void training_play(const struct training *training);

#endif
