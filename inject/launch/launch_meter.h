/* Meters what the guest costs the launching thread. Of each 64 calls one is metered, at a place that changes from block
 * to block, so that a loop of 64 launches does not always show the same one. With METER_OPTION_ENV=full all calls are.
 * Stamps are cycles of the processor's counter; the times since the guest's start turn them into ns. Sums go to the
 * meter of the thread's lane (proto/ring/record_ring.h), which no other thread writes.
 *
 * What is metered begins with launch_callback_enter() and ends with launch_callback_exit(). CUPTI's own work is
 * outside, and so is the way from CUPTI to these functions. A metered call of more than LAUNCH_METER_OUTLIER_NS was
 * interrupted: it is counted apart, and the next call is metered in its place. New stacks are always metered, and are
 * left out of the parts.
 *
 * Stamps cost much where caches are cold, as those of sampled calls are. So the call before makes all ready, and such a
 * call has as few stamps as it can, which tell its whole time. One of four has all stamps instead: it does not count,
 * and only tells which share each part has. With METER_OPTION_ENV=full all calls have all stamps. What the stamps
 * themselves cost is left out, as launch_meter_init() measured it.
 *
 * One thread each, but for launch_meter_init(). */
#ifndef LAUNCH_METER_H
#define LAUNCH_METER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LAUNCH_METER_PERIOD     64u
#define LAUNCH_METER_OUTLIER_NS 100000u

enum launch_meter_part {
	LAUNCH_METER_ENTRY,
	LAUNCH_METER_NATIVE,
	LAUNCH_METER_PYTHON,
	LAUNCH_METER_INTERN,
	LAUNCH_METER_EXIT,
	LAUNCH_METER_PARTS,
};

struct launch_meter { /* zeroed: the thread has made no call */
	int32_t left; /* calls up to the next one with a turn, and it; 0: the next one begins a thread */
	bool on;      /* the guest's work at present is metered */
	bool by_part;        /* and each part has a stamp */
	bool open;           /* the metered call has begun, and has not ended */
	bool is_next;        /* the next call is metered */
	bool has_come;       /* launch_meter_turn() came while the call was open */
	bool tells_shares;   /* it does not count, but tells the shares of the parts */
	bool is_past;        /* the block's place of the metered call has come */
	uint8_t turn;        /* of SHARE_TURNS */
	uint8_t part, place; /* of the stamp; of the metered call in its block */
	uint8_t handed;      /* `left` of the thread before; 0: there was none */
	uint8_t metered;     /* calls whose blocks are not added yet */
	/* `left` when the call was opened; if it is the same at the end, and no turn came, the call does not count */
	int32_t left_before;
	uint32_t calls; /* of blocks that are over and not added yet */
	uint32_t ns;    /* that the metered calls took */
	uint64_t stamp; /* cycles */
	uint64_t
		since_ns; /* up to here, the thread's time is counted; between two threads, the time not added yet */
	_Atomic uint64_t *to; /* the lane's meter; NULL: none */
	uint64_t cycles[LAUNCH_METER_PARTS];
	uint64_t shares[LAUNCH_METER_PARTS]; /* cycles of the calls that tell them */
};

/* Begins to measure the counter. period: LAUNCH_METER_PERIOD, or 1. Call it before the first launch. */
void launch_meter_init(uint32_t period);

/* CLOCK_MONOTONIC of the first call of any thread since launch_meter_init(); 0: there was none. Any thread. */
uint64_t launch_meter_first_ns(void);

static inline uint64_t launch_meter_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t cycles;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(cycles));
	return cycles;
#else
#error "no cycle counter is known for this processor"
#endif
}

/* Part of launch_meter_stamp(). */
void launch_meter_begin(struct launch_meter *meter);

/* Stamps the beginning of a call if it is the metered one. It may turn out to be within another, or none that counts:
 * then the next one is. */
static inline void launch_meter_stamp(struct launch_meter *meter)
{
	if (__builtin_expect(meter->is_next, 0))
		launch_meter_begin(meter);
}

/* Counts a call of a thread that has a lane. Returns whether launch_meter_turn() must be called. */
static inline bool launch_meter_is_due(struct launch_meter *meter)
{
	return __builtin_expect(--meter->left <= 0, 0);
}

/* Begins with the thread's first call, makes ready that the next call is metered, or ends a block. to: the meter of the
 * thread's lane. */
void launch_meter_turn(struct launch_meter *meter, _Atomic uint64_t *to, uint64_t now_ns);

/* Part of launch_meter_enter_part(). */
void launch_meter_switch(struct launch_meter *meter, enum launch_meter_part part);

/* What follows belongs to this part of the call, as what comes before may do already. */
static inline void launch_meter_enter_part(struct launch_meter *meter, enum launch_meter_part part)
{
	if (__builtin_expect(meter->by_part, 0) && meter->part != part)
		launch_meter_switch(meter, part);
}

/* Stops the clock while CUDA does its own work, and lets it go on with the exit. */
void launch_meter_pause(struct launch_meter *meter);
void launch_meter_go_on(struct launch_meter *meter);

/* Takes the metered call, whose clock is stopped, into its block. */
void launch_meter_end(struct launch_meter *meter);

/* Ends the thread's part of the block: the meter's next call is that of another thread, perhaps with another lane. */
void launch_meter_hand_on(struct launch_meter *meter, uint64_t now_ns);

/* Adds work for a new stack that began at the stamp `begin`. stacks: 1, or 0 if it is counted already. */
void launch_meter_add_stack(struct launch_meter *meter, uint64_t begin, uint32_t stacks);

#endif
