#include "outstanding_launches.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "window_word.h"

#include "inject/cupti/context_count.h"

#define IDS     (1u << 20)
#define WORDS   (IDS / 64)
#define STREAMS 256u

/* Neighbouring ids are in neighbouring words, so that threads that launch at once rarely need the same word. */
typedef _Atomic uint64_t bitmap[WORDS];

static bitmap begun, pending, many, outside;
static uint64_t marked[WORDS]; /* pending at marked_ns */
static uint64_t marked_ns;
static uint64_t seen[WORDS]; /* pending at the last call of outstanding_launches_last() */

static atomic_bool began_late; /* launches before that have no bit in begun */

/* Work that is done when its stream is. */
static struct {
	_Atomic uint64_t id; /* correlation id + 1; 0: free */
	_Atomic(const void *) stream;
	_Atomic uint64_t begun_ns; /* 0: still being written */
} streams[STREAMS];

static uint64_t bit_of(uint32_t id)
{
	return 1ull << (id / WORDS % 64);
}

static bool has(bitmap map, uint32_t id)
{
	return atomic_load_explicit(&map[id % WORDS], memory_order_relaxed) & bit_of(id);
}

/* Sequentially consistent: a thread that closes the gate for launches and then counts must see the launches that went
 * through. */
static void set(bitmap map, uint32_t id, bool on)
{
	if (on)
		atomic_fetch_or(&map[id % WORDS], bit_of(id));
	else if (has(map, id))
		atomic_fetch_and(&map[id % WORDS], ~bit_of(id));
}

void outstanding_launches_reset(void)
{
	for (uint32_t i = 0; i < WORDS; i++) {
		atomic_store_explicit(&begun[i], 0, memory_order_relaxed);
		atomic_store_explicit(&pending[i], 0, memory_order_relaxed);
		atomic_store_explicit(&many[i], 0, memory_order_relaxed);
		atomic_store_explicit(&outside[i], 0, memory_order_relaxed);
	}
	for (uint32_t i = 0; i < STREAMS; i++)
		atomic_store(&streams[i].id, 0);
	atomic_store(&began_late, false);
	marked_ns = 0;
	memset(seen, 0, sizeof(seen));
}

void outstanding_launches_forget_done(void)
{
	for (uint32_t i = 0; i < WORDS; i++) {
		uint64_t word = atomic_load(&pending[i]);

		atomic_fetch_and(&begun[i], word);
		atomic_fetch_and(&outside[i], word);
	}
	atomic_store(&began_late, false);
}

static void begin(uint32_t correlation_id, bool is_outside, bool is_many)
{
	set(begun, correlation_id, true);
	set(many, correlation_id, is_many);
	set(outside, correlation_id, is_outside);
	set(pending, correlation_id, true);
}

void outstanding_launches_begin(uint32_t correlation_id, bool is_outside)
{
	begin(correlation_id, is_outside, false);
}

void outstanding_launches_begin_many(uint32_t correlation_id, bool is_outside, const void *stream,
				     uint64_t now_ns)
{
	begin(correlation_id, is_outside, true);
	/* If no entry is free, only a wait for the whole context ends the work. */
	for (uint32_t i = 0; stream && i < STREAMS; i++) {
		uint64_t none = 0;

		if (atomic_load_explicit(&streams[i].id, memory_order_relaxed) != 0 ||
		    !atomic_compare_exchange_strong(&streams[i].id, &none,
						    (uint64_t)correlation_id + 1))
			continue;
		atomic_store(&streams[i].stream, stream);
		atomic_store(&streams[i].begun_ns, now_ns);
		break;
	}
}

void outstanding_launches_cancel(uint32_t correlation_id)
{
	set(begun, correlation_id, false);
	set(pending, correlation_id, false);
}

/* CUPTI gives no launch the id 0. */
void outstanding_launches_begin_unknown(uint64_t now_ns)
{
	set(many, 0, true);
	set(outside, 0, false);
	set(pending, 0, true);
	memset(marked, 0, sizeof(marked));
	marked[0] = bit_of(0);
	marked_ns = now_ns;
}

void outstanding_launches_begin_late(void)
{
	atomic_store(&began_late, true);
}

bool outstanding_launches_has_unknown(void)
{
	return has(pending, 0);
}

bool outstanding_launches_is_pending(uint32_t correlation_id)
{
	return has(pending, correlation_id);
}

bool outstanding_launches_is_outside(uint32_t correlation_id)
{
	return has(outside, correlation_id);
}

bool outstanding_launches_record(uint32_t correlation_id)
{
	if (!has(many, correlation_id))
		set(pending, correlation_id, false);
	return (has(begun, correlation_id) || atomic_load(&began_late)) &&
	       !has(outside, correlation_id);
}

void outstanding_launches_captured(uint32_t correlation_id)
{
	if (!window_word_is_plain())
		outstanding_launches_cancel(correlation_id);
}

bool outstanding_launches_wants(uint32_t correlation_id, uint32_t context_id)
{
	if (window_word_is_plain())
		return true;
	context_count_note(context_id);
	return outstanding_launches_record(correlation_id);
}

void outstanding_launches_stream_waited(const void *stream, uint64_t since_ns)
{
	for (uint32_t i = 0; stream && i < STREAMS; i++) {
		uint64_t id = atomic_load(&streams[i].id);
		uint64_t begun_ns = atomic_load(&streams[i].begun_ns);

		if (id == 0 || begun_ns == 0 || begun_ns >= since_ns ||
		    atomic_load(&streams[i].stream) != stream)
			continue;
		set(pending, (uint32_t)(id - 1), false);
		atomic_store(&streams[i].begun_ns, 0);
		atomic_store(&streams[i].id, 0);
	}
}

void outstanding_launches_context_waited(uint64_t since_ns, uint64_t now_ns)
{
	/* All work that was marked before the wait began is done, or never was. */
	if (marked_ns && marked_ns < since_ns)
		for (uint32_t i = 0; i < WORDS; i++)
			if (marked[i])
				atomic_fetch_and(&pending[i], ~marked[i]);
	for (uint32_t i = 0; i < WORDS; i++)
		marked[i] = atomic_load(&pending[i]);
	marked_ns = now_ns;
}

uint32_t outstanding_launches_count(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < WORDS; i++) {
		uint64_t word = atomic_load(&pending[i]);

		count += word ? (uint32_t)__builtin_popcountll(word) : 0;
	}
	return count;
}

bool outstanding_launches_last(void)
{
	bool lasts = false;

	for (uint32_t i = 0; i < WORDS; i++) {
		uint64_t word = atomic_load(&pending[i]);

		if (i == 0)
			word &= ~bit_of(0); /* nothing is known of it */
		lasts |= (word & seen[i]) != 0;
		seen[i] = word;
	}
	return lasts;
}
