#include "guest_sizes.h"

#include <stdio.h>
#include <string.h>

#include "inject/cupti/buffer_pool.h"
#include "inject/cupti/name_table.h"
#include "inject/launch/launch_thread.h"
#include "unwind/unwind_table.h"

#define CGROUP_SHARE  8
#define MACHINE_SHARE 4
#define HALVINGS_MAX  10u

/* Lanes become fewer last, because a thread without a lane is not recorded at all. */
#define LANES_MIN      128u
#define LANES_HALVINGS 6u

static uint64_t halve(uint64_t size, uint32_t times, uint64_t least)
{
	return size >> times > least ? size >> times : least;
}

/* Makes buffers smaller before it makes them fewer, because CUPTI keeps a buffer for each thread. */
static void size_buffers(struct guest_sizes *sizes, uint32_t times)
{
	uint32_t bytes = BUFFER_POOL_BYTES, number = BUFFER_POOL_MAX;

	for (; times; times--) {
		if (bytes > BUFFER_POOL_BYTES_MIN)
			bytes /= 2;
		else if (number > BUFFER_POOL_MIN)
			number /= 2;
	}
	sizes->buffer_bytes = bytes;
	sizes->nr_buffers = number;
}

static void size_all(struct guest_sizes *sizes, uint32_t times)
{
	const struct record_ring_sizes full = RECORD_RING_SIZES_DEFAULT;
	const uint32_t lanes = times < LANES_HALVINGS ? full.launch_lanes : LANES_MIN;

	sizes->ring = (struct record_ring_sizes){
		.launch_lanes = lanes,
		.launch_lane_records = (uint32_t)halve(full.launch_lane_records, times, 256),
		.activity_records = (uint32_t)halve(full.activity_records, times, 1u << 12),
		.definition_bytes =
			(uint32_t)halve(full.definition_bytes, times, RECORD_RING_DEFINITION_MIN),
		.stacks = (uint32_t)halve(full.stacks, times, 1u << 14),
		.stack_words = (uint32_t)halve(full.stack_words, times, 1u << 17),
		.codes = (uint32_t)halve(full.codes, times, 1u << 12),
		.code_words = (uint32_t)halve(full.code_words, times, 1u << 15),
		.log_bytes = (uint32_t)halve(full.log_bytes, times, 1u << 20),
		.collectives = (uint32_t)halve(full.collectives, times, 1u << 10),
	};
	size_buffers(sizes, times);
	sizes->table_bytes = halve(UNWIND_BYTES_MAX, times, 4u << 20);
	sizes->name_bytes = halve(NAME_TABLE_BYTES, times, 1u << 20);
	sizes->bound = record_ring_bytes(&sizes->ring) +
		       (uint64_t)sizes->nr_buffers * sizes->buffer_bytes +
		       (uint64_t)lanes * sizeof(struct launch_thread) + sizes->table_bytes +
		       sizes->name_bytes;
}

/* What the guest brings into the process besides the sizes. */
static uint64_t fixed(const struct memory_limits *limits)
{
	return GUEST_SIZES_FIXED + GUEST_SIZES_HEAP + limits->thread_stack;
}

/* Address space for all sizes. While a table is built, its rows stand beside the packed form (unwind_table.c); both
 * have as many bytes as the tables may have, and the packed form some more for its blocks and rules. */
static uint64_t address_space(const struct guest_sizes *sizes)
{
	return sizes->bound + sizes->table_bytes + sizes->table_bytes / 32 + (1u << 20);
}

static uint64_t left_of_address_space(const struct memory_limits *limits)
{
	uint64_t left = limits->address_space > limits->address_space_used
				? (limits->address_space - limits->address_space_used) / 2
				: 0;

	if (limits->address_space == MEMORY_LIMIT_NONE)
		return MEMORY_LIMIT_NONE;
	return left > fixed(limits) ? left - fixed(limits) : 0;
}

static uint64_t share(uint64_t limit, uint64_t shares)
{
	return limit == MEMORY_LIMIT_NONE ? limit : limit / shares;
}

/* Returns the first limit that these sizes exceed. */
static enum guest_sizes_limit exceeded(const struct memory_limits *limits,
				       const struct guest_sizes *sizes)
{
	uint64_t ranks = limits->ranks ? limits->ranks : 1;

	if (record_ring_bytes(&sizes->ring) > limits->file)
		return GUEST_SIZES_FILE;
	if (address_space(sizes) > left_of_address_space(limits))
		return GUEST_SIZES_ADDRESS_SPACE;
	if (sizes->bound > share(limits->cgroup, CGROUP_SHARE * ranks))
		return GUEST_SIZES_CGROUP;
	if (sizes->bound > share(limits->machine, MACHINE_SHARE * ranks))
		return GUEST_SIZES_MACHINE;
	return GUEST_SIZES_UNLIMITED;
}

/* Returns the limit that these sizes need in place of the one that they exceed; 0: they may be taken. */
static uint64_t needed(const struct memory_limits *limits, const struct guest_sizes *sizes)
{
	uint64_t ring = record_ring_bytes(&sizes->ring);

	if (ring > limits->file)
		return ring;
	if (address_space(sizes) > left_of_address_space(limits))
		return limits->address_space_used + 2 * (address_space(sizes) + fixed(limits));
	return 0;
}

void guest_sizes_make(const struct memory_limits *limits, struct guest_sizes *sizes)
{
	memset(sizes, 0, sizeof(*sizes));
	for (uint32_t times = 0; times <= HALVINGS_MAX; times++) {
		size_all(sizes, times);

		enum guest_sizes_limit limit = exceeded(limits, sizes);
		if (limit == GUEST_SIZES_UNLIMITED)
			break;
		sizes->limit = limit; /* the last limit that did not fit is the tightest */
	}
	sizes->needed = needed(limits, sizes);
	sizes->bound += GUEST_SIZES_FIXED;
}

bool guest_sizes_leave(const struct guest_sizes *sizes, const struct memory_limits *limits,
		       uint64_t bytes)
{
	return address_space(sizes) - GUEST_SIZES_FIXED + bytes <= left_of_address_space(limits);
}

bool guest_sizes_are_tight(const struct guest_sizes *sizes)
{
	const struct record_ring_sizes full = RECORD_RING_SIZES_DEFAULT;

	return sizes->ring.launch_lane_records <= full.launch_lane_records / 16;
}

/* Returns what the limit that set the sizes must be for sizes that are not tight; 0: the machine's memory did. */
static uint64_t roomy(const struct memory_limits *limits, enum guest_sizes_limit limit)
{
	const uint64_t ranks = limits->ranks ? limits->ranks : 1;
	struct guest_sizes sizes;
	uint32_t times = HALVINGS_MAX;

	do
		size_all(&sizes, times);
	while (guest_sizes_are_tight(&sizes) && times-- > 0);
	switch (limit) {
	case GUEST_SIZES_CGROUP:
		return sizes.bound * CGROUP_SHARE * ranks;
	case GUEST_SIZES_ADDRESS_SPACE:
		return limits->address_space_used + 2 * (address_space(&sizes) + fixed(limits));
	case GUEST_SIZES_FILE:
		return record_ring_bytes(&sizes.ring);
	default:
		return 0;
	}
}

static unsigned long long mib(uint64_t bytes)
{
	return (unsigned long long)((bytes + (1u << 20) - 1) >> 20);
}

void guest_sizes_text(const struct guest_sizes *sizes, const struct memory_limits *limits,
		      char text[static GUEST_SIZES_TEXT_MAX])
{
	static const char *const words[] = {
		[GUEST_SIZES_CGROUP] = "the cgroup's memory limit is",
		[GUEST_SIZES_MACHINE] = "the machine's memory is",
		[GUEST_SIZES_ADDRESS_SPACE] = "the limit on address space (ulimit -v) is",
		[GUEST_SIZES_FILE] = "the limit on file sizes (ulimit -f) is",
	};
	const uint64_t values[] = {
		[GUEST_SIZES_CGROUP] = limits->cgroup,
		[GUEST_SIZES_MACHINE] = limits->machine,
		[GUEST_SIZES_ADDRESS_SPACE] = limits->address_space,
		[GUEST_SIZES_FILE] = limits->file,
	};

	int length = 0;

	if (sizes->limit == GUEST_SIZES_UNLIMITED)
		snprintf(text, GUEST_SIZES_TEXT_MAX, "at most %llu MiB", mib(sizes->bound));
	else
		length = snprintf(text, GUEST_SIZES_TEXT_MAX,
				  "at most %llu MiB, because %s %llu MiB", mib(sizes->bound),
				  words[sizes->limit], mib(values[sizes->limit]));
	if (guest_sizes_are_tight(sizes) && roomy(limits, sizes->limit))
		snprintf(text + length, GUEST_SIZES_TEXT_MAX - (size_t)length,
			 "; %llu KiB are enough",
			 (unsigned long long)((roomy(limits, sizes->limit) + 1023) >> 10));
}

void guest_sizes_lack(const struct memory_limits *limits, char text[static GUEST_SIZES_TEXT_MAX])
{
	struct guest_sizes least;

	size_all(&least, HALVINGS_MAX);
	if (limits->data < limits->address_space)
		snprintf(text, GUEST_SIZES_TEXT_MAX,
			 "the limit of data is %llu KiB (ulimit -d), and the program has a part of "
			 "it: raise it",
			 (unsigned long long)(limits->data >> 10));
	else if (limits->address_space == MEMORY_LIMIT_NONE)
		snprintf(text, GUEST_SIZES_TEXT_MAX, "the kernel gives none");
	else
		snprintf(
			text, GUEST_SIZES_TEXT_MAX,
			"the limit on address space is %llu KiB (ulimit -v), %llu KiB were in "
			"use, and half of the rest must be enough: raise it to %llu KiB",
			(unsigned long long)(limits->address_space >> 10),
			(unsigned long long)(limits->address_space_used >> 10),
			(unsigned long long)((limits->address_space_used +
					      2 * (address_space(&least) + fixed(limits)) + 1023) >>
					     10));
}
