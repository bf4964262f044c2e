#include "shared_subscriber.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "shared_session.h"

#include "inject/base/lifecycle.h"
#include "inject/base/monotonic.h"
#include "inject/cupti/cupti_library.h"

#define CBIDS              64u
#define HANDLES            64u        /* so many that a used one is not soon given again */
#define FORWARDING_MAX     16u        /* threads that are told apart */
#define WAIT_NS            500000000u /* for the guest to be back */
#define FORWARDING_WAIT_NS 100000000u

/* CUPTI 13.3 has functions that take a subscriber of the newer kind. */
#define VERSION_13_3 130300u

enum plane { /* domains that are shared */
	     PLANE_RESOURCE = 0,
	     PLANE_STATE,
	     PLANES,
};

static const uint32_t domains[PLANES] = {CUPTI_ABI_DOMAIN_RESOURCE, CUPTI_ABI_DOMAIN_STATE};

enum holder {
	NOBODY = 0,    /* the guest has no subscription: CUPTI answers */
	HELD = 1,      /* by the guest */
	LEAVING = 2,   /* by the guest, which is inside cuptiFinalize() */
	RETURNING = 3, /* by nobody, until the guest subscribes again */
	HOLDER_MASK = 3,
	SECOND = 4, /* somebody shares it */
};

struct second {
	cupti_callback_fn *callback;
	void *user;
};

static struct {
	struct shared_subscriber_parts parts;
	_Atomic(const struct cupti_library *) library; /* NULL: never held */
	_Atomic(void *) subscriber;
	atomic_uint word;                              /* enum holder */
	_Atomic uint64_t ours[PLANES], theirs[PLANES]; /* a bit a cbid */
	_Atomic(struct second *) second;
	atomic_uint nr_handles;
	_Atomic uintptr_t forwarding[FORWARDING_MAX]; /* threads in its function */
	atomic_uint nr_unlisted;                      /* further threads in its function */
	_Atomic uintptr_t caller;                     /* an address in the code that shares */
	struct second handles[HANDLES];
} self;

void shared_subscriber_init(const struct shared_subscriber_parts *parts)
{
	self.parts = *parts;
}

static const struct cupti_library *cupti(void)
{
	return atomic_load_explicit(&self.library, memory_order_acquire);
}

static enum holder holder(void)
{
	return atomic_load(&self.word) & HOLDER_MASK;
}

uintptr_t shared_subscriber_caller(void)
{
	return atomic_load(&self.caller);
}

bool shared_subscriber_is_there(void)
{
	return atomic_load(&self.word) & SECOND;
}

/* ---- callbacks that are enabled */

static bool find_plane(uint32_t domain, uint32_t cbid, enum plane *plane)
{
	*plane = domain == CUPTI_ABI_DOMAIN_STATE ? PLANE_STATE : PLANE_RESOURCE;
	return domains[*plane] == domain && cbid < CBIDS;
}

static bool is_wanted(enum plane plane, uint32_t cbid)
{
	return (atomic_load(&self.ours[plane]) | atomic_load(&self.theirs[plane])) >> cbid & 1;
}

/* Tells CUPTI whether a callback is wanted. A thread changes its bit before it calls, and looks again after CUPTI's
 * call. So the last call is right, in any order of two threads' calls. */
static int apply(enum plane plane, uint32_t cbid)
{
	if (holder() != HELD)
		return CUPTI_ABI_SUCCESS; /* CUPTI is told when the guest is back */
	for (;;) {
		bool wanted = is_wanted(plane, cbid);
		int result = cupti()->enable_callback(wanted, atomic_load(&self.subscriber),
						      domains[plane], cbid);

		if (is_wanted(plane, cbid) == wanted)
			return result;
	}
}

/* Changes a callback in the guest's or the second subscriber's set. A callback that CUPTI does not know is not kept in
 * the set. */
static int change(_Atomic uint64_t *set, enum plane plane, uint32_t cbid, bool enable)
{
	uint64_t bit = (uint64_t)1 << cbid;
	int result;

	if (!enable) {
		atomic_fetch_and(&set[plane], ~bit);
		return apply(plane, cbid);
	}
	atomic_fetch_or(&set[plane], bit);
	result = apply(plane, cbid);
	if (result != CUPTI_ABI_SUCCESS)
		atomic_fetch_and(&set[plane], ~bit);
	return result;
}

int shared_subscriber_enable(uint32_t enable, uint32_t domain, uint32_t cbid)
{
	enum plane plane;

	if (!find_plane(domain, cbid, &plane))
		return CUPTI_ABI_INVALID_PARAMETER;
	return change(self.ours, plane, cbid, enable != 0);
}

bool shared_subscriber_is_ours(uint32_t domain, uint32_t cbid)
{
	enum plane plane;

	return find_plane(domain, cbid, &plane) &&
	       atomic_load_explicit(&self.ours[plane], memory_order_relaxed) >> cbid & 1;
}

/* Enters the thread among those that are in the second subscriber's function, where a thread may be twice. Returns its
 * place; NULL: all places are taken, and the thread is only counted. */
static _Atomic uintptr_t *come_in(void)
{
	for (uint32_t i = 0; i < FORWARDING_MAX; i++) {
		uintptr_t nobody = 0;

		if (atomic_compare_exchange_strong(&self.forwarding[i], &nobody,
						   (uintptr_t)pthread_self()))
			return &self.forwarding[i];
	}
	atomic_fetch_add(&self.nr_unlisted, 1);
	return NULL;
}

void shared_subscriber_forward(uint32_t domain, uint32_t cbid, const void *data)
{
	enum plane plane;
	struct second *second;

	if (!find_plane(domain, cbid, &plane) ||
	    !(atomic_load_explicit(&self.theirs[plane], memory_order_relaxed) >> cbid & 1))
		return;
	_Atomic uintptr_t *place = come_in();
	second = atomic_load(&self.second);
	if (second)
		second->callback(second->user, domain, cbid, data);
	if (place)
		atomic_store(place, 0);
	else
		atomic_fetch_sub(&self.nr_unlisted, 1);
}

static uint32_t count_others(void)
{
	uint32_t nr = atomic_load(&self.nr_unlisted);

	for (uint32_t i = 0; i < FORWARDING_MAX; i++) {
		uintptr_t thread = atomic_load(&self.forwarding[i]);

		nr += thread && thread != (uintptr_t)pthread_self();
	}
	return nr;
}

/* Waits until no other thread is in the second subscriber's function, which may then be unloaded. A thread that stays
 * there longer is not waited for, because it may wait for this one. */
static void await_forwarding(void)
{
	uint64_t until_ns = monotonic_ns() + FORWARDING_WAIT_NS;

	while (count_others() && monotonic_ns() < until_ns)
		sched_yield();
}

static void clear(_Atomic uint64_t *set, bool tell)
{
	for (uint32_t plane = 0; plane < PLANES; plane++) {
		uint64_t bits = atomic_exchange(&set[plane], 0);

		for (uint32_t cbid = 0; tell && cbid < CBIDS; cbid++)
			if (bits >> cbid & 1)
				apply((enum plane)plane, cbid);
	}
}

static void drop_second(bool tell)
{
	if (!atomic_exchange(&self.second, NULL))
		return;
	clear(self.theirs, tell);
	await_forwarding();
	atomic_fetch_and(&self.word, ~(unsigned int)SECOND);
}

/* ---- slot functions */

static bool is_handle(const void *subscriber)
{
	return (uintptr_t)subscriber - (uintptr_t)self.handles < sizeof(self.handles);
}

static bool is_current(const void *subscriber)
{
	return subscriber == atomic_load(&self.second);
}

/* Waits until the guest is back, because CUPTI is told only then of callbacks that are enabled in the meantime. */
static void await_return(void)
{
	uint64_t until_ns = monotonic_ns() + WAIT_NS;

	while ((holder() == LEAVING || holder() == RETURNING) && monotonic_ns() < until_ns)
		sched_yield();
}

/* Makes the caller the second subscriber, if there is none. Returns false if CUPTI's refusal stands. */
static bool become_second(void)
{
	unsigned int word = atomic_load(&self.word);

	do {
		if ((word & SECOND) ||
		    ((word & HOLDER_MASK) != HELD && (word & HOLDER_MASK) != RETURNING))
			return false;
	} while (!atomic_compare_exchange_weak(&self.word, &word, word | SECOND));
	return true;
}

static int give_handle(void **subscriber, cupti_callback_fn *callback, void *user, uintptr_t caller)
{
	struct second *second = &self.handles[atomic_fetch_add(&self.nr_handles, 1) % HANDLES];

	second->callback = callback;
	second->user = user;
	atomic_store(&self.caller, caller);
	atomic_store(&self.second, second);
	*subscriber = second;
	return CUPTI_ABI_SUCCESS;
}

static bool may_share(void *const *subscriber, cupti_callback_fn *callback)
{
	return subscriber && callback && lifecycle_state() != LIFECYCLE_FORKED;
}

/* Subscribes a user. While the guest leaves CUPTI and comes back, nobody holds the subscription; a user that took it
 * then would keep the guest out. */
static int slot_subscribe(void **subscriber, cupti_callback_fn *callback, void *user)
{
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);
	int result = CUPTI_ABI_SUBSCRIBER_TAKEN;

	await_return();
	if (holder() != RETURNING || !may_share(subscriber, callback))
		result = cupti()->subscribe(subscriber, callback, user);
	if (result == CUPTI_ABI_SUBSCRIBER_TAKEN && may_share(subscriber, callback) &&
	    become_second())
		return give_handle(subscriber, callback, user, caller);
	return result;
}

static int slot_subscribe_v2(void **subscriber, cupti_callback_fn *callback, void *user,
			     struct cupti_subscriber_params *params)
{
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);
	int result;

	await_return();
	result = cupti()->subscribe_v2(subscriber, callback, user, params);
	if (result == CUPTI_ABI_SUBSCRIBER_TAKEN && cupti()->version < VERSION_13_3 &&
	    may_share(subscriber, callback) && become_second())
		return give_handle(subscriber, callback, user, caller);
	return result;
}

static int slot_unsubscribe(void *subscriber)
{
	if (!is_handle(subscriber))
		return cupti()->unsubscribe(subscriber);
	if (!is_current(subscriber))
		return CUPTI_ABI_INVALID_PARAMETER;
	drop_second(lifecycle_state() != LIFECYCLE_FORKED);
	return CUPTI_ABI_SUCCESS;
}

static int enable_theirs(const void *subscriber, uint32_t enable, uint32_t domain, uint32_t cbid)
{
	enum plane plane;

	if (!is_current(subscriber))
		return CUPTI_ABI_INVALID_PARAMETER;
	if (!find_plane(domain, 0, &plane))
		return enable ? CUPTI_ABI_NOT_SUPPORTED : CUPTI_ABI_SUCCESS;
	if (!find_plane(domain, cbid, &plane))
		return CUPTI_ABI_INVALID_PARAMETER;
	return change(self.theirs, plane, cbid, enable != 0);
}

static int slot_enable_callback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	if (!is_handle(subscriber))
		return cupti()->enable_callback(enable, subscriber, domain, cbid);
	return enable_theirs(subscriber, enable, domain, cbid);
}

static int enable_domain_theirs(const void *subscriber, uint32_t enable, uint32_t domain)
{
	int result = enable_theirs(subscriber, enable, domain, 1);

	/* CUPTI says where the domain ends. */
	for (uint32_t cbid = 2; result == CUPTI_ABI_SUCCESS && cbid < CBIDS; cbid++)
		enable_theirs(subscriber, enable, domain, cbid);
	return result;
}

static int slot_enable_domain(uint32_t enable, void *subscriber, uint32_t domain)
{
	if (!is_handle(subscriber))
		return cupti()->enable_domain(enable, subscriber, domain);
	return enable_domain_theirs(subscriber, enable, domain);
}

static int slot_enable_all_domains(uint32_t enable, void *subscriber)
{
	if (!is_handle(subscriber))
		return cupti()->enable_all_domains ? cupti()->enable_all_domains(enable, subscriber)
						   : CUPTI_ABI_NOT_SUPPORTED;
	if (!is_current(subscriber))
		return CUPTI_ABI_INVALID_PARAMETER;
	if (enable)
		return CUPTI_ABI_NOT_SUPPORTED;
	clear(self.theirs, true);
	return CUPTI_ABI_SUCCESS;
}

/* Ends CUPTI for the other user, and with it the guest's subscription. */
static int slot_finalize(void)
{
	int (*finalize)(void) = cupti()->finalize;
	int result;
	bool locked;

	if (lifecycle_state() != LIFECYCLE_ON || holder() != HELD)
		return finalize();
	locked = self.parts.yield();
	if (locked)
		self.parts.fetch();
	result = finalize();
	if (result == CUPTI_ABI_SUCCESS) {
		drop_second(false);
		shared_session_reset();
		clear(self.ours, false);
		atomic_store(&self.word, RETURNING);
	}
	self.parts.yielded(locked, result == CUPTI_ABI_SUCCESS);
	return result;
}

void shared_subscriber_slots(const struct cupti_library *library,
			     struct import_slot slots[static SHARED_SUBSCRIBER_SLOTS])
{
	const struct import_slot all[SHARED_SUBSCRIBER_SLOTS] = {
		{"cuptiSubscribe", (void *)library->subscribe, (void *)slot_subscribe},
		{"cuptiSubscribe_v2", (void *)library->subscribe_v2, (void *)slot_subscribe_v2},
		{"cuptiUnsubscribe", (void *)library->unsubscribe, (void *)slot_unsubscribe},
		{"cuptiEnableCallback", (void *)library->enable_callback,
		 (void *)slot_enable_callback},
		{"cuptiEnableDomain", (void *)library->enable_domain, (void *)slot_enable_domain},
		{"cuptiEnableAllDomains", (void *)library->enable_all_domains,
		 (void *)slot_enable_all_domains},
		{"cuptiFinalize", (void *)library->finalize, (void *)slot_finalize},
	};

	memcpy(slots, all, sizeof(all));
}

/* ---- the guest's subscription */

static void set_holder(enum holder new_holder)
{
	unsigned int word = atomic_load(&self.word);

	while (!atomic_compare_exchange_weak(&self.word, &word, (word & SECOND) | new_holder))
		;
}

void shared_subscriber_held(const struct cupti_library *library, void *subscriber)
{
	atomic_store(&self.subscriber, subscriber);
	atomic_store(&self.library, library);
	clear(self.ours, false);
	set_holder(HELD);
	for (uint32_t plane = 0; plane < PLANES; plane++)
		for (uint32_t cbid = 0; cbid < CBIDS; cbid++)
			if (atomic_load(&self.theirs[plane]) >> cbid & 1)
				apply((enum plane)plane, cbid);
}

bool shared_subscriber_leave(void)
{
	unsigned int word = HELD;

	return atomic_compare_exchange_strong(&self.word, &word, LEAVING);
}

void shared_subscriber_left(bool left)
{
	if (left)
		clear(self.ours, false);
	set_holder(left ? RETURNING : HELD);
}

void shared_subscriber_lost(void)
{
	set_holder(NOBODY);
	clear(self.ours, false);
}
