/* Divides the exact time of each kernel by what its instructions waited for: in proportion to the kernel's samples. The
 * parts of a row of totals sum to its nanoseconds, and the samples of all parts are those of the profile. Where several
 * paths launch a kernel, one with STALL_EXACT_LEAST exact samples (HOST_SAMPLE_EXACT) is divided by these alone; the
 * others by what is left, which nothing tells apart. Used by one thread. */
#ifndef STALL_SPLIT_H
#define STALL_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/core/fold_table.h"
#include "report/profile/profile.h"

/* Of a kernel under one path: places times reasons that have parts of their own. */
#define STALL_PLACES_MAX 512u
/* Of a profile, together. If there were more, what has a smaller share of all time has no part of its own. */
#define STALL_PARTS_MAX 16384u
/* Of a kernel: the most frequent of these have parts of their own in any case. */
#define STALL_PLACES_LEAST 4u
/* Of the other places of a kernel; beyond these one part has the rest. */
#define STALL_REASONS_MAX 64u

/* With so many a share of a half is known within 4 points (one standard deviation). */
#define STALL_EXACT_LEAST 200u

enum stall_part_kind {
	STALL_PART_PLACE,
	STALL_PART_OTHER,         /* of one reason, the places without a part of their own */
	STALL_PART_OTHER_REASONS, /* the same, of the reasons that are too many */
	STALL_PART_NOT_SAMPLED,   /* no sample of the kernel is known */
};

struct stall_part {
	enum stall_part_kind kind;
	/* the kernel's totals; of a kernel without a record only process, device and name */
	const struct fold_key *key;
	bool has_record;
	/* the kernel was launched by several paths, so that nothing tells which samples belong to this one */
	bool is_assumed;
	uint32_t stack_id; /* of STALL_PART_PLACE: node, as in proto/host_sample.h */
	uint32_t reason;   /* string; 0: not known, or several */
	uint64_t count;    /* samples */
	uint64_t ns;
};

/* Finds a number that is the same for rows whose launches readers see in the same place. 0 or an error. */
typedef int stall_split_path(void *context, const struct fold_key *key, uint32_t *path);
typedef int stall_split_take(void *context, const struct stall_part *part);

/* Gives all parts of all kernels to take(), as long as that returns 0; nothing if the profile has no samples of running
 * kernels. Parts without samples and time are left out. How a row is divided depends on the profile's content, and not
 * on the order in which it has it. Returns what take() or path() did; -EPROTO: the profile is damaged; or -ENOMEM. */
int stall_split_each(const struct profile *profile, stall_split_path *path, stall_split_take *take,
		     void *context);

#endif
