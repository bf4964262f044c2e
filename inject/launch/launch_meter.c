#include "launch_meter.h"

#include <string.h>

#include "inject/base/monotonic.h"
#include "proto/ring/record_ring.h"

#define FIRST_PLACE (LAUNCH_METER_PERIOD / 2 - 1)
#define TRIALS      31u

static struct {
	uint32_t period;
	uint64_t start_cycles, start_ns;
	uint64_t own[LAUNCH_METER_PARTS]; /* cycles of the stamps themselves */
} self = {.period = LAUNCH_METER_PERIOD};

/* ns a cycle, times 2^SCALE_SHIFT, from the newest pair of times; any thread may write it. Floating point would change
 * the program's exception flags. */
#define SCALE_SHIFT 24
static _Atomic uint64_t scale;

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

static void wait_for_next(struct launch_meter *meter)
{
	uint8_t place = next_place(meter->place);

	if (meter->resume) {
		meter->left = meter->resume;
		meter->resume = 0;
		return;
	}
	meter->left = self.period == 1 ? 1 : (int32_t)LAUNCH_METER_PERIOD - meter->place + place;
	meter->place = place;
}

static void begin_thread(struct launch_meter *meter, _Atomic uint64_t *to, uint64_t now_ns)
{
	meter->to = to;
	meter->since_ns = now_ns;
	meter->place = FIRST_PLACE;
	meter->left = self.period == 1 ? 0 : (int32_t)FIRST_PLACE;
	meter->stamp = launch_meter_cycles();
	set_scale(now_ns, meter->stamp);
	add(meter, RECORD_METER_THREADS, 1);
}

void launch_meter_turn(struct launch_meter *meter, _Atomic uint64_t *to, uint64_t now_ns)
{
	if (!meter->to)
		begin_thread(meter, to, now_ns);
	if (meter->open) /* its call threw, so its exit never came */
		launch_meter_end(meter);
	if (meter->left > 0)
		return;
	uint64_t entry = launch_meter_cycles() - meter->stamp;
	set_scale(now_ns, meter->stamp);
	memset(meter->cycles, 0, sizeof(meter->cycles));
	meter->part = LAUNCH_METER_ENTRY;
	meter->call_ns = now_ns;
	meter->on = meter->open = true;
	wait_for_next(meter);
	/* What this function takes is not the call's: its code is seldom in a near cache, since most calls do without.
	 * The stamp also brings the code of later stamps. */
	launch_meter_switch(meter, LAUNCH_METER_ENTRY);
	meter->cycles[LAUNCH_METER_ENTRY] = entry;
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
	meter->on = false;
}

void launch_meter_go_on(struct launch_meter *meter)
{
	meter->stamp = launch_meter_cycles();
	meter->on = true;
}

void launch_meter_end(struct launch_meter *meter)
{
	uint64_t ns[LAUNCH_METER_PARTS], sum_ns = 0;

	meter->on = meter->open = false;
	for (uint32_t part = 0; part < LAUNCH_METER_PARTS; part++)
		sum_ns += ns[part] = to_ns(meter->cycles[part] - self.own[part]);
	if (sum_ns > LAUNCH_METER_OUTLIER_NS) {
		add(meter, RECORD_METER_OUTLIERS, 1);
		add(meter, RECORD_METER_OUTLIER_NS, sum_ns);
		meter->resume = meter->left > 1 ? (uint16_t)(meter->left - 1) : 0;
		meter->left = 1;
		return;
	}
	for (uint32_t part = 0; part < LAUNCH_METER_PARTS; part++)
		add(meter, RECORD_METER_ENTRY_NS + part, ns[part] * self.period);
	add(meter, RECORD_METER_METERED, 1);
	add(meter, RECORD_METER_CALLS, self.period);
	if (meter->call_ns > meter->since_ns)
		add(meter, RECORD_METER_THREAD_NS, meter->call_ns - meter->since_ns);
	meter->since_ns = meter->call_ns;
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
	uint64_t cycles[LAUNCH_METER_PARTS][TRIALS];
	struct launch_meter meter = {.left = LAUNCH_METER_PERIOD, .to = words};

	for (uint32_t trial = 0; trial < TRIALS;) {
		make_empty_call(&meter);
		if (!meter.open)
			continue;
		meter.open = false;
		for (uint32_t part = 0; part < LAUNCH_METER_PARTS; part++)
			insert(cycles[part], trial, meter.cycles[part]);
		trial++;
	}
	for (uint32_t part = 0; part < LAUNCH_METER_PARTS; part++)
		self.own[part] = cycles[part][TRIALS / 2];
}

void launch_meter_init(uint32_t period)
{
	self.period = LAUNCH_METER_PERIOD;
	measure_own();
	self.period = period;
	self.start_ns = monotonic_ns();
	self.start_cycles = launch_meter_cycles();
}
