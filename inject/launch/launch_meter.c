#include "launch_meter.h"

#include <string.h>

#include "inject/base/monotonic.h"
#include "proto/ring/record_ring.h"

static_assert(RECORD_METER_NATIVE_NS - RECORD_METER_ENTRY_NS == LAUNCH_METER_NATIVE &&
		      RECORD_METER_PYTHON_NS - RECORD_METER_ENTRY_NS == LAUNCH_METER_PYTHON &&
		      RECORD_METER_INTERN_NS - RECORD_METER_ENTRY_NS == LAUNCH_METER_INTERN &&
		      RECORD_METER_EXIT_NS - RECORD_METER_ENTRY_NS == LAUNCH_METER_EXIT &&
		      LAUNCH_METER_EXIT + 1 == LAUNCH_METER_PARTS,
	      "add_block() counts on it");

#define FIRST_PLACE (LAUNCH_METER_PERIOD / 2 - 1)
#define TRIALS      31u
#define SHARE_TURNS 4u /* one of so many metered calls tells shares */

static struct {
	uint32_t period;
	uint64_t start_cycles, start_ns;
	/* Cycles of the stamps themselves: of a call with a stamp for each part, and of one with as few as it can. */
	uint64_t own[LAUNCH_METER_PARTS], own_whole;
} self = {.period = LAUNCH_METER_PERIOD};

/* ns a cycle, times 2^SCALE_SHIFT, from the newest pair of times; any thread may write it. Floating point would change
 * the program's exception flags. */
#define SCALE_SHIFT 24
static _Atomic uint64_t scale;

static _Atomic uint64_t first_ns;

uint64_t launch_meter_first_ns(void)
{
	return atomic_load_explicit(&first_ns, memory_order_relaxed);
}

/* The guest starts long before the first launch, so the scale is exact to far less than the metered times are. */
static void set_scale(uint64_t now_ns, uint64_t now_cycles)
{
	if (now_ns > self.start_ns && now_cycles > self.start_cycles)
		atomic_store_explicit(
			&scale,
			(uint64_t)(((unsigned __int128)(now_ns - self.start_ns) << SCALE_SHIFT) /
				   (now_cycles - self.start_cycles)),
			memory_order_relaxed);
}

/* A counter that differs between processors may run backwards or jump, and a part may be shorter than its stamps. Such
 * differences are 0: no call takes days. */
static uint64_t to_ns(uint64_t cycles)
{
	if (cycles >> 50)
		return 0;
	return (uint64_t)(((unsigned __int128)cycles *
			   atomic_load_explicit(&scale, memory_order_relaxed)) >>
			  SCALE_SHIFT);
}

static void add(struct launch_meter *meter, enum record_meter_word word, uint64_t more)
{
	_Atomic uint64_t *to = &meter->to[word];

	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

/* Every place of a block comes once in 64 blocks. */
static uint8_t next_place(uint8_t place)
{
	return (uint8_t)((5u * place + 17u) % LAUNCH_METER_PERIOD);
}

static bool is_full(void)
{
	return self.period == 1;
}

void launch_meter_begin(struct launch_meter *meter)
{
	if (meter->open) /* its call threw, so its exit never came */
		launch_meter_end(meter);
	memset(meter->cycles, 0, sizeof(meter->cycles));
	meter->part = LAUNCH_METER_ENTRY;
	meter->is_next = meter->has_come = false;
	meter->left_before = meter->left;
	meter->on = meter->open = true;
	meter->tells_shares = !is_full() && meter->turn % SHARE_TURNS == 0;
	meter->by_part = is_full() || meter->tells_shares;
	/* Also brings the code of later stamps. */
	launch_meter_switch(meter, LAUNCH_METER_ENTRY);
	meter->cycles[LAUNCH_METER_ENTRY] = 0;
}

static void begin_thread(struct launch_meter *meter, _Atomic uint64_t *to, uint64_t now_ns)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong_explicit(&first_ns, &none, now_ns, memory_order_relaxed,
						memory_order_relaxed);
	meter->to = to;
	meter->since_ns = now_ns - meter->since_ns;
	if (!meter->handed)
		meter->place = FIRST_PLACE;
	meter->left = meter->handed ? meter->handed - 1 : (int32_t)FIRST_PLACE;
	set_scale(now_ns, launch_meter_cycles());
	add(meter, RECORD_METER_THREADS, 1);
	if (is_full()) { /* this call is metered from here on */
		meter->left = 0;
		launch_meter_begin(meter);
	}
}

static void add_time(struct launch_meter *meter, uint64_t now_ns)
{
	if (now_ns <= meter->since_ns)
		return;
	add(meter, RECORD_METER_THREAD_NS, now_ns - meter->since_ns);
	meter->since_ns = now_ns;
}

/* Adds what was metered, for all calls of its blocks, and their time. Until the shares of the parts are known, all of
 * it is the entry's. */
static void add_block(struct launch_meter *meter, uint64_t now_ns)
{
	uint64_t all = 0;

	for (uint32_t part = 0; part < LAUNCH_METER_PARTS; part++)
		all += meter->shares[part];
	for (uint32_t part = 0; part < LAUNCH_METER_PARTS; part++) {
		uint64_t ns = part == LAUNCH_METER_ENTRY ? meter->ns : 0;

		if (all)
			ns = meter->ns * meter->shares[part] / all;
		add(meter, RECORD_METER_ENTRY_NS + part, ns * meter->calls / meter->metered);
	}
	add(meter, RECORD_METER_METERED, meter->metered);
	add(meter, RECORD_METER_CALLS, meter->calls);
	meter->metered = 0;
	meter->calls = meter->ns = 0;
	add_time(meter, now_ns);
}

/* A block whose metered call was interrupted may be over before one counts. It is then added with the next block. */
static void end_block(struct launch_meter *meter, uint64_t now_ns)
{
	meter->calls += LAUNCH_METER_PERIOD;
	if (meter->metered)
		add_block(meter, now_ns);
	meter->place = next_place(meter->place);
	meter->is_past = false;
	meter->left = meter->place + 1;
}

void launch_meter_turn(struct launch_meter *meter, _Atomic uint64_t *to, uint64_t now_ns)
{
	if (!meter->to)
		begin_thread(meter, to, now_ns);
	meter->has_come = true;
	if (meter->left > 0)
		return;
	if (!meter->is_past) {
		set_scale(now_ns, launch_meter_cycles());
		if (is_full())
			add_time(meter, now_ns);
		meter->is_next = true;
		meter->is_past = !is_full();
		meter->left = is_full() ? 1 : (int32_t)LAUNCH_METER_PERIOD - 1 - meter->place;
	}
	if (meter->left <= 0)
		end_block(meter, now_ns);
}

void launch_meter_switch(struct launch_meter *meter, enum launch_meter_part part)
{
	uint64_t now = launch_meter_cycles();

	meter->cycles[meter->part] += now - meter->stamp;
	meter->stamp = now;
	meter->part = (uint8_t)part;
}

void launch_meter_pause(struct launch_meter *meter)
{
	launch_meter_switch(meter, LAUNCH_METER_EXIT);
	meter->on = meter->by_part = false;
}

void launch_meter_go_on(struct launch_meter *meter)
{
	meter->stamp = launch_meter_cycles();
	meter->on = true;
}

/* Adds what the metered call took, which stands for itself alone. */
static void add_call(struct launch_meter *meter)
{
	for (uint32_t part = 0; part < LAUNCH_METER_PARTS; part++)
		add(meter, RECORD_METER_ENTRY_NS + part, to_ns(meter->cycles[part]));
	add(meter, RECORD_METER_METERED, 1);
	add(meter, RECORD_METER_CALLS, 1);
}

/* What is left of cycles without the stamps' own. A counter may jump (to_ns()). */
static uint64_t without_own(uint64_t cycles, uint64_t own)
{
	return cycles > own && cycles >> 50 == 0 ? cycles - own : 0;
}

void launch_meter_end(struct launch_meter *meter)
{
	uint64_t whole = 0;

	meter->on = meter->by_part = meter->open = false;
	if (!meter->has_come && meter->left == meter->left_before) {
		meter->is_next = true;
		return;
	}
	meter->turn++;
	const bool has_parts = is_full() || meter->tells_shares;
	for (uint32_t part = 0; part < LAUNCH_METER_PARTS; part++) {
		if (has_parts)
			meter->cycles[part] = without_own(meter->cycles[part], self.own[part]);
		whole += meter->cycles[part];
	}
	if (!has_parts)
		whole = without_own(whole, self.own_whole);
	const uint64_t ns = to_ns(whole);
	if (meter->tells_shares) {
		if (ns <= LAUNCH_METER_OUTLIER_NS)
			for (uint32_t part = 0; part < LAUNCH_METER_PARTS; part++)
				meter->shares[part] += meter->cycles[part];
		meter->is_next = true;
		return;
	}
	if (ns > LAUNCH_METER_OUTLIER_NS) {
		add(meter, RECORD_METER_OUTLIERS, 1);
		add(meter, RECORD_METER_OUTLIER_NS, ns);
		meter->is_next = true;
		return;
	}
	if (is_full()) {
		add_call(meter);
		return;
	}
	meter->ns += (uint32_t)ns;
	meter->metered++;
}

void launch_meter_hand_on(struct launch_meter *meter, uint64_t now_ns)
{
	if (!meter->to)
		return;
	if (is_full()) {
		add_time(meter, now_ns);
		meter->is_next = false; /* the next thread's first call says so itself */
	}
	meter->since_ns = now_ns > meter->since_ns ? now_ns - meter->since_ns : 0;
	meter->handed = (uint8_t)meter->left;
	meter->left = 0;
	meter->to = NULL;
	meter->on = meter->by_part = meter->open = false;
}

void launch_meter_add_stack(struct launch_meter *meter, uint64_t begin, uint32_t stacks)
{
	uint64_t cycles = launch_meter_cycles() - begin;

	if (meter->on)
		meter->stamp += cycles;
	if (!meter->to)
		return;
	add(meter, RECORD_METER_STACKS, stacks);
	add(meter, RECORD_METER_STACK_NS, to_ns(cycles));
}

/* A call that does nothing, with the stamps of launch_callback.c and stack_capture.c. */
static void make_empty_call(struct launch_meter *meter)
{
	launch_meter_stamp(meter);
	if (launch_meter_is_due(meter))
		launch_meter_turn(meter, meter->to, 1);
	launch_meter_enter_part(meter, LAUNCH_METER_PYTHON);
	__asm__ volatile("" ::: "memory");
	launch_meter_enter_part(meter, LAUNCH_METER_NATIVE);
	__asm__ volatile("" ::: "memory");
	launch_meter_enter_part(meter, LAUNCH_METER_INTERN);
	__asm__ volatile("" ::: "memory");
	launch_meter_enter_part(meter, LAUNCH_METER_ENTRY);
	__asm__ volatile("" ::: "memory");
	if (__builtin_expect(meter->on, 0))
		launch_meter_pause(meter);
	__asm__ volatile("" ::: "memory");
	if (__builtin_expect(meter->open, 0)) {
		launch_meter_go_on(meter);
		launch_meter_pause(meter);
	}
}

/* Puts value into values[nr], which are in rising order. */
static void insert(uint64_t *values, uint32_t nr, uint64_t value)
{
	for (; nr > 0 && values[nr - 1] > value; nr--)
		values[nr] = values[nr - 1];
	values[nr] = value;
}

/* Learns what the stamps cost, and the branches that the processor expects to go the other way. */
static void measure_own(void)
{
	_Atomic uint64_t words[RECORD_METER_WORDS] = {0};
	uint64_t cycles[LAUNCH_METER_PARTS][TRIALS], whole[TRIALS];
	struct launch_meter meter = {.left = LAUNCH_METER_PERIOD, .to = words};

	for (uint32_t trial = 0; trial < 2 * TRIALS;) {
		meter.turn = (uint8_t)(trial / TRIALS); /* first those that tell shares */
		make_empty_call(&meter);
		if (!meter.open)
			continue;
		meter.open = false;
		for (uint32_t part = 0; trial < TRIALS && part < LAUNCH_METER_PARTS; part++)
			insert(cycles[part], trial, meter.cycles[part]);
		if (trial >= TRIALS)
			insert(whole, trial - TRIALS,
			       meter.cycles[LAUNCH_METER_ENTRY] + meter.cycles[LAUNCH_METER_EXIT]);
		trial++;
	}
	for (uint32_t part = 0; part < LAUNCH_METER_PARTS; part++)
		self.own[part] = cycles[part][TRIALS / 2];
	self.own_whole = whole[TRIALS / 2];
}

void launch_meter_init(uint32_t period)
{
	self.period = LAUNCH_METER_PERIOD;
	measure_own();
	self.period = period;
	self.start_ns = monotonic_ns();
	first_ns = 0;
	self.start_cycles = launch_meter_cycles();
}
