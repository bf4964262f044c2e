/* What a check asks, and what it answers (run_check.h). */
#ifndef RUN_VERDICT_H
#define RUN_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "run_work.h"

#define RUN_CHECK_ALARMS 0.01  /* of all rows and the step together */
#define RUN_CHECK_MISSES 0.001 /* of each row */
/* What runs may differ by beyond what a single run shows: by its windows or ranks; by the least and the greatest
 * duration alone; and where other GPUs of the same type ran. Assumed, not measured. */
#define RUN_CHECK_UNSEEN       0.001
#define RUN_CHECK_UNSEEN_DRIFT 0.01
#define RUN_CHECK_OTHER_GPU    0.03
#define RUN_CHECK_UNSEEN_STEP  0.02 /* of the time of a step */
/* A check doubts that steps are the same if they seem longer by more than chance explains in all but this part of equal
 * pairs. Of one run on each side they seem longer by this at least, as hosts vary from run to run; and by this, where
 * runs do not tell how much steps vary. Both are assumed. */
#define RUN_CHECK_DOUBTS      0.01
#define RUN_CHECK_DOUBT_LEAST 0.1
#define RUN_CHECK_DOUBT_SHORT 0.25

/* Where the noise is known from: what varies. */
enum check_source {
	CHECK_FROM_NOTHING,
	CHECK_FROM_RUNS,     /* whole runs, once there are four, or three on one side */
	CHECK_FROM_RANKS,    /* the ranks of one run, each with itself in the other */
	CHECK_FROM_WINDOWS,  /* tenths of seconds of a run */
	CHECK_FROM_LAUNCHES, /* the least and greatest durations; launches count as independent */
	CHECK_SOURCES,
};

enum check_state {
	CHECK_SAME,
	CHECK_FASTER, /* by the limit, or more */
	CHECK_REGRESSED,
	CHECK_NOISY,
	CHECK_NEW,        /* only after; the row of all kernels judges it */
	CHECK_VANISHED,   /* only before */
	CHECK_NOT_JUDGED, /* NCCL's, whose kernels wait for others; not in each run; or a cause */
	CHECK_STATES,
};

/* Changes are relative: 0.01 is 1 % more. NAN: not known. */
struct check_row {
	const char *name; /* borrowed from the runs */
	enum run_kind kind;
	double share; /* of the GPU time without NCCL's kernels, on the side where it is greater */
	double share_after; /* of all GPU time after; NAN: it is not there */
	double before_ns,
		after_ns; /* a step or collective; without these a run, as long as the first one before */
	double change, count_change, duration_change;
	double low, high; /* the interval of change */
	double resolves;  /* a change that is found nearly always */
	const char *
		line; /* borrowed; the line whose launches take most of the growth; NULL: not known, or none */
	double line_part; /* of the growth, from 0 to 1 */
	bool is_cause; /* too small to be judged, and listed as all kernels have regressed by a tenth or more of it */
	enum check_source source;
	enum check_state state;
};

/* The time of a step by the wall clock, on average. NAN: not known. */
struct check_step {
	bool is_known; /* the runs' steps are, and their pace */
	double before_ns, after_ns, change;
	double low, high; /* the interval of change */
	/* What kernels take more of it, without NCCL's; on the average GPU. NAN, as idle_ns: ranks share GPUs, or have
	 * other numbers of GPUs in other runs. */
	double kernels_ns;
	double idle_ns; /* what the average GPU idles more; the rest are copies, NCCL's kernels, and overlap */
	const char *line; /* borrowed; where they do so; NULL: not known, or in several functions */
	int32_t gpu;      /* REPORT_GPU_NONE: several, or not known */
	uint32_t nr_gpus; /* 0: not known */
	enum check_source source;
	enum check_state state;
	/* The runs do not tell how much it varies: they are short; or they launch so often that too few windows are
	 * kept, however long they are. */
	bool is_short, is_thin;
	/* It is not known though steps are. Or it seems longer by more than the limit and by more than equal runs do
	 * (RUN_CHECK_DOUBTS), but has not regressed for sure. Only this makes a check too noisy, since hosts vary more
	 * than kernels. */
	bool is_doubtful;
};

struct check_question {
	const struct run_work *const *runs; /* those before, then those after */
	uint32_t nr_before, nr_after;       /* 1 or more, each */
	double max_regress, min_share;      /* 0.01: 1 %; max_regress is above 0 */
};

struct check_result {
	struct check_step step;
	struct check_row *rows; /* owns; all kernels together first, then by share */
	uint32_t nr_rows, nr_faster, nr_regressed, nr_noisy;
	enum run_unit unit;
	bool lossy, other_gpus;
	bool other_size; /* not all runs had as many ranks and GPUs, so the verdict is CHECK_NOISY */
	bool unclear; /* kernels were launched more often by different factors, so nobody knows how long the runs are */
	bool scaled; /* times are those of runs as long as the first one, and not all runs are */
	/* Kernels became slower or faster alike, by this: the clock may explain it, which is not read. 0: they
	 * did not. */
	double alike;
	enum check_state verdict; /* CHECK_SAME, CHECK_FASTER, CHECK_REGRESSED or CHECK_NOISY */
};

struct noise;

/* Judges a relative change, one of nr_judged of the check. *low and *high become its interval. Returns CHECK_SAME,
 * CHECK_FASTER, CHECK_REGRESSED or CHECK_NOISY. Pure; any thread. */
enum check_state run_verdict_judge(const struct check_question *question, const struct noise *noise,
				   double relative, uint32_t nr_judged, double *low, double *high);

#endif
