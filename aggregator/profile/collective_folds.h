/* The collectives of a store: folded rows, and raw rows of some calls. Calls wait as raw rows until those of all ranks
 * have come; then they are folded. So the folded rows do not grow with the run:
 *   - sums of the calls by process, communicator, thread, function and size class, and how often and how long others
 *     waited for these calls;
 *   - what is known of a communicator as a whole (collective_fold.h);
 *   - the time of the calls' kernels, split (collective_split.h).
 * Raw rows are kept of each communicator's newest calls, of the collectives with the longest waits and the calls before
 * these, and of calls that are spread over the run. Single-threaded. */
#ifndef COLLECTIVE_FOLDS_H
#define COLLECTIVE_FOLDS_H

#include "collective_fold.h"
#include "collective_log.h"
#include "collective_split.h"

#include "base/hash_index.h"

/* Collectives of a communicator, and calls of it, that wait for their other ranks and for their kernels. Beyond these
 * the oldest are folded as they are. */
#define COLLECTIVE_FOLDS_WAITING       8192u
#define COLLECTIVE_FOLDS_WAITING_CALLS (1u << 20)
/* If the number of ranks is not known, a rank that is missing is waited for until so many later collectives came. */
#define COLLECTIVE_FOLDS_UNKNOWN 256u
/* By how much begins of kernels on one host may differ without a meaning. */
#define COLLECTIVE_FOLDS_CLOCK_NS 10000
/* Raw rows that are kept of each communicator. Of wide ones they are those of two collectives, of the newest
 * COLLECTIVE_FOLDS_NEWEST ones (who is late now is known by these), and of the COLLECTIVE_FOLDS_COSTLIEST ones with the
 * longest waits. Of the latter the rank's call before is kept in addition: what ranks did between the two shows why one
 * was late. */
#define COLLECTIVE_FOLDS_LAST      1000u
#define COLLECTIVE_FOLDS_WORST     200u
#define COLLECTIVE_FOLDS_SPREAD    1000u
#define COLLECTIVE_FOLDS_NEWEST    32u
#define COLLECTIVE_FOLDS_COSTLIEST 32u
/* The newest sends and receives of each rank are kept, too, and do not count to those: they show the stages of
 * pipelines. In communicators of few ranks more are kept, for COLLECTIVE_FOLDS_NEWEST exchanges of all ranks, but not
 * more calls than COLLECTIVE_FOLDS_EXCHANGED. */
#define COLLECTIVE_FOLDS_EXCHANGES 128u
#define COLLECTIVE_FOLDS_EXCHANGED 16384u

/* Calls of a histogram whose times are alike: 8 bins between a power of 2 and the next. */
struct collective_bin {
	uint32_t bin, count;
	uint64_t ns; /* their sum */
};

struct collective_sum_key {
	uint32_t process, communicator_id; /* communicator_id 0: none, or not known */
	uint32_t tid, function;            /* enum collective_function */
	uint32_t size_class;               /* the number of bits of a call's bytes */
	uint32_t is_across; /* 1: compared with ranks of other writers; never in a store */
};

struct collective_sum {
	struct collective_sum_key key;
	uint64_t calls, numbered;      /* numbered: those with a number on the communicator */
	uint64_t failed, bytes;        /* bytes: of calls that did not fail */
	uint64_t total_ns, max_ns;     /* of host time */
	uint64_t first, last_sequence; /* 0: none */
	uint64_t gpu_calls, gpu_ns;    /* calls whose kernel is known, and the kernels' time */
	uint64_t unjoined;             /* calls with a launch, but without a known kernel */
	uint64_t used;                 /* calls that were compared with those of the other ranks */
	uint64_t waited_ns;            /* its waits for others */
	/* Of these without the first of each function (collective_match_is_first()): calls in which this rank alone was
	 * the last, and the others' waits for it. */
	uint64_t last, others_ns;
	/* owns; in order: how far it was behind the rank before it, where it was last */
	struct collective_bin *behind;
	uint32_t nr_behind;
};

enum collective_verdict {
	COLLECTIVE_WAITS, /* not folded yet */
	COLLECTIVE_KEPT,  /* folded; the raw row is kept */
	COLLECTIVE_DROPPED,
};

struct collective_folds {
	struct collective_log *log; /* owns; the raw rows. Communicators by process and id */
	uint32_t *writers, *hosts;  /* own; by process */
	uint32_t nr_processes, nr_hosts;
	struct collective_fold *folds; /* owns */
	uint32_t nr_folds, room_folds;
	struct collective_sum *sums; /* owns */
	uint32_t nr_sums, room_sums;
	struct hash_index index;         /* of sums */
	struct collective_splits splits; /* of the kernels of folded calls */
	/* own; of each call of the log, after collective_folds_take() (collective_folding.h): an enum
	 * collective_verdict, and waited_ns */
	uint8_t *verdicts;
	uint64_t *waited_ns;
	uint32_t nr_further; /* owners beside the first: collective_folds_share() */
};

/* NULL: out of memory. destroy() accepts NULL. */
struct collective_folds *collective_folds_create(void);
void collective_folds_destroy(struct collective_folds *folds);

/* Gives the folds a further owner, who destroys them, too. From then on nobody changes them. Returns them. */
struct collective_folds *collective_folds_share(struct collective_folds *folds);

/* Adds a process that is new. 0 or -ENOMEM. */
int collective_folds_process(struct collective_folds *folds, uint32_t process, uint32_t writer,
			     uint32_t host);

/* Return the fold, or the sum, with these keys, which is made if it is missing. NULL: out of memory. Borrowed until the
 * next call. */
struct collective_fold *collective_folds_fold(struct collective_folds *folds, uint32_t writer,
					      uint64_t key);
struct collective_sum *collective_folds_sum(struct collective_folds *folds,
					    const struct collective_sum_key *key);

/* Returns the communicator; NULL: it is not known. */
const struct communicator *collective_folds_end(const struct collective_folds *folds,
						uint32_t process, uint32_t communicator_id);

/* Returns the bin of a time. Adds the bins of from, or one time, to a histogram: 0 or -ENOMEM. Returns the median, to
 * an eighth. */
uint32_t collective_bin_of(uint64_t ns);
int collective_bins_add(struct collective_bin **bins, uint32_t *nr_bins,
			const struct collective_bin *from);
uint64_t collective_bins_median(const struct collective_bin *bins, uint32_t nr_bins);

#endif
