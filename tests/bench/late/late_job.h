/* A made job for the benches of late ranks, in the store of tests/report/straggler/straggler_fixture.h. Ranks load
 * data, run host code and two kernels, and meet in collectives, several in a step. Hosts and GPUs have clocks of their own.
 * Numbers that look random come from the seed. Used by one thread. */
#ifndef LATE_JOB_H
#define LATE_JOB_H

#include <stdbool.h>
#include <stdint.h>

/* What makes ranks late. */
enum late_cause {
	LATE_NOTHING,
	LATE_FUNCTION, /* numpy.py:resize takes longer */
	LATE_LOADER,   /* the loader keeps the rank waiting: poll in loader.py:next */
	LATE_SLEEP,    /* train.py:load_shard sleeps */
	LATE_BUSY_CPU, /* other programs have the CPU, in each step for another time */
	LATE_FAULTS,   /* numpy.py:resize takes page faults, which run in the kernel */
	LATE_KERNEL,   /* one kernel takes longer */
	LATE_GPU,      /* all kernels take longer */
	LATE_LINK, /* pairs of ranks exchange data before the steps' last collective: one pair more slowly */
	LATE_CAUSES
};

enum late_noise {
	LATE_NORMAL,
	LATE_LOGNORMAL,
	LATE_PARETO, /* with a shape of 1.5, up to a twentieth of the job */
	LATE_BURSTS, /* normal; in 2 % of the steps a burst of three steps begins that take up to twice as long */
	LATE_NOISES
};

/* Ranks first to last are late in each `every`-th step since `from`, so many times. */
struct late_plant {
	enum late_cause cause;
	uint32_t first, last;
	double late_ms;              /* in such a step */
	uint32_t from, every, times; /* every 0: always; times 0: to the end */
};

struct late_job {
	uint32_t ranks, ranks_per_host, steps;
	uint32_t collectives; /* in a step, at least 1 */
	double step_ms;       /* the usual work of a step */
	enum late_noise noise;
	double noise_part;  /* of the work: the deviation; of Pareto, the scale */
	bool noise_on_gpu;  /* otherwise on the host */
	double uneven_part; /* steps are longer or shorter by that, for all ranks alike */
	double drift_ppm;   /* clocks of hosts run faster or slower by up to that */
	double period_ms;   /* of the sampling clock */
	bool pairs;         /* pairs of ranks exchange data, as with LATE_LINK */
	/* All ranks end there, and start again as other processes on another communicator; 0: never. */
	uint32_t restart_at;
	double start_ms; /* each start takes up to so long, on each rank differently */
	struct late_plant plants[2];
	uint64_t seed;
};

/* The first pair's communicator has this key, the next one's is one more. */
#define LATE_JOB_PAIRS_KEY 0x1000u

/* Plays the job, and commits it. */
void late_job_play(const struct late_job *job);

/* Returns by how much the longest of the ranks usually (the median of 201 draws) exceeds the median rank before a
 * collective, by noise alone, in ms. */
double late_job_longest(const struct late_job *job);

/* Returns how the report names a cause, "" a link. Static. */
const char *late_job_words(enum late_cause cause);

#endif
