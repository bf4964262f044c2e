#include "shared_session.h"

#include <stdatomic.h>

#include "inject/base/lifecycle.h"
#include "inject/base/monotonic.h"
#include "inject/cupti/cupti_library.h"

#define KINDS         64u
#define LAST_FLUSH_NS 2000000000u /* the time to flush after all kinds were disabled */

static struct {
	struct shared_session_parts parts;
	_Atomic(const struct cupti_library *) library;
	_Atomic(cupti_buffer_request_fn *) request;
	_Atomic(cupti_buffer_complete_fn *) complete; /* NULL: never registered */
	_Atomic bool registered;                      /* they are CUPTI's */
	_Atomic uint64_t kinds;                       /* a bit a kind */
	_Atomic bool began;                           /* a kind was enabled since */
	_Atomic uint64_t idle_since_ns;               /* without kinds; 0: flushed since */
} self;

void shared_session_init(const struct shared_session_parts *parts)
{
	self.parts = *parts;
}

static const struct cupti_library *cupti(void)
{
	return atomic_load_explicit(&self.library, memory_order_acquire);
}

bool shared_session_has_callbacks(void)
{
	return atomic_load(&self.registered);
}

bool shared_session_is_on(void)
{
	uint64_t since_ns = atomic_load(&self.idle_since_ns);

	if (!atomic_load(&self.registered))
		return false;
	return atomic_load(&self.kinds) || (since_ns && monotonic_ns() < since_ns + LAST_FLUSH_NS);
}

bool shared_session_has_kind(uint32_t kind)
{
	return kind < KINDS && atomic_load(&self.kinds) >> kind & 1 && shared_session_is_on();
}

void shared_session_flush(const struct cupti_library *library, uint32_t flag)
{
	if (!shared_session_is_on())
		library->activity_flush_all(flag);
}

void shared_session_take_back(void)
{
	atomic_store(&self.registered, false);
}

void shared_session_reset(void)
{
	atomic_store(&self.registered, false);
	atomic_store(&self.complete, NULL);
	atomic_store(&self.kinds, 0);
}

/* Begins a session. The guest's records that CUPTI holds reach the guest before its callbacks are replaced. */
static void begin(void)
{
	atomic_store(&self.began, false);
	atomic_store(&self.idle_since_ns, monotonic_ns());
	if (!atomic_exchange(&self.registered, true))
		self.parts.lend();
}

static int slot_register(cupti_buffer_request_fn *request, cupti_buffer_complete_fn *complete)
{
	int result;

	if (lifecycle_state() == LIFECYCLE_FORKED || !request || !complete)
		return cupti()->activity_register_callbacks(request, complete);
	begin();
	result = cupti()->activity_register_callbacks(request, complete);
	if (result == CUPTI_ABI_SUCCESS) {
		atomic_store(&self.request, request);
		atomic_store(&self.complete, complete);
	} else {
		atomic_store(&self.registered, false);
	}
	return result;
}

/* Begins another session for a user that registers once, and then begins one session after another. */
static void begin_again(void)
{
	cupti_buffer_complete_fn *complete = atomic_load(&self.complete);

	if (!complete || atomic_load(&self.registered))
		return;
	begin();
	cupti()->activity_register_callbacks(atomic_load(&self.request), complete);
}

static int slot_enable(uint32_t kind)
{
	int result;

	if (lifecycle_state() == LIFECYCLE_FORKED || kind >= KINDS)
		return cupti()->activity_enable(kind);
	begin_again();
	atomic_fetch_or(&self.kinds, (uint64_t)1 << kind);
	atomic_store(&self.began, true);
	result = cupti()->activity_enable(kind);
	if (result != CUPTI_ABI_SUCCESS)
		atomic_fetch_and(&self.kinds, ~((uint64_t)1 << kind));
	return result;
}

static int slot_disable(uint32_t kind)
{
	int result = cupti()->activity_disable(kind);
	uint64_t bit = kind < KINDS ? (uint64_t)1 << kind : 0;

	if (atomic_load(&self.kinds) == bit && bit)
		atomic_store(&self.idle_since_ns, monotonic_ns());
	atomic_fetch_and(&self.kinds, ~bit);
	return result;
}

static int slot_flush_all(uint32_t flag)
{
	bool last = atomic_load(&self.registered) && atomic_load(&self.began) &&
		    !atomic_load(&self.kinds);
	int result = cupti()->activity_flush_all(flag);

	if (last && !atomic_load(&self.kinds)) {
		atomic_store(&self.idle_since_ns, 0);
		self.parts.flush_soon();
	}
	return result;
}

/* Fetches before the clock changes. CUPTI converts times when it delivers records, so the records that it holds now
 * still get the system's times. */
static int slot_clock(cupti_timestamp_fn *read)
{
	if (lifecycle_state() != LIFECYCLE_FORKED && read && !shared_session_is_on())
		self.parts.lend();
	return cupti()->activity_register_timestamp(read);
}

void shared_session_slots(const struct cupti_library *library,
			  struct import_slot slots[static SHARED_SESSION_SLOTS])
{
	atomic_store(&self.library, library);
	slots[0] = (struct import_slot){"cuptiActivityRegisterCallbacks",
					(void *)library->activity_register_callbacks,
					(void *)slot_register};
	slots[1] = (struct import_slot){"cuptiActivityEnable", (void *)library->activity_enable,
					(void *)slot_enable};
	slots[2] = (struct import_slot){"cuptiActivityDisable", (void *)library->activity_disable,
					(void *)slot_disable};
	slots[3] =
		(struct import_slot){"cuptiActivityFlushAll", (void *)library->activity_flush_all,
				     (void *)slot_flush_all};
	slots[4] = (struct import_slot){"cuptiActivityRegisterTimestampCallback",
					(void *)library->activity_register_timestamp,
					(void *)slot_clock};
}
