#include "nvtx_ranges.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "nvtx_abi.h"

#include "inject/base/lifecycle.h"

#define SLOT_BITS 16
static_assert(NVTX_RANGES_STARTED < (1u << SLOT_BITS), "a slot's number, plus one, fits");

struct open_range {
	uint64_t range_id; /* id of a started range; 0: pushed */
	uint32_t name;
	uint16_t domain;
	bool watched : 1, offered : 1;
	uint8_t token; /* of whom it was offered to; 0: not accepted */
};

struct nvtx_thread {
	uint32_t nr;      /* ranges, outermost first */
	uint32_t beyond;  /* pushed beyond NVTX_RANGES_DEPTH, and only counted */
	uint32_t foreign; /* ends_elsewhere at the time when the started ranges were last checked */
	struct open_range ranges[NVTX_RANGES_DEPTH];
};

struct watch {
	const char *name;
	void (*opened)(void), (*closed)(void);
};

__thread struct nvtx_thread *nvtx_ranges_own
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static _Atomic(struct nvtx_names *) names;
static atomic_bool off;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool key_made;
/* Generation << 1 | open; the range's id is the generation and the slot. */
static _Atomic uint64_t started[NVTX_RANGES_STARTED];
static _Atomic uint32_t next_slot;
/* ends of started ranges by other threads than the starting one */
static _Atomic uint32_t ends_elsewhere;

static struct watch watch; /* constant while watching is set */
static atomic_bool watching;
static _Atomic uint32_t nr_watched; /* open */
static void (*_Atomic tell)(void);  /* NULL: nobody is told */
/* Whom accepted ranges' ends are told to; set before the first range is offered. */
static void (*accepted_ends)(uint8_t token, bool with_thread);

/* ---- the watched name */

void nvtx_ranges_watch(const char *name, void (*opened)(void), void (*closed)(void))
{
	atomic_store(&watching, false);
	if (!name)
		return;
	watch = (struct watch){name, opened, closed};
	atomic_store(&watching, true);
}

static bool begins(const char **at, const struct nvtx_text *text)
{
	if (strncmp(*at, text->bytes, text->size) != 0 || memchr(*at, '\0', text->size))
		return false;
	*at += text->size;
	return true;
}

static bool is_watched(uint32_t domain, const struct nvtx_text *text)
{
	const char *at = watch.name;

	if (!text || !atomic_load_explicit(&watching, memory_order_acquire))
		return false;
	if (domain != NVTX_DOMAIN_DEFAULT &&
	    (!begins(&at, nvtx_names_domain_text(atomic_load(&names), domain)) || *at++ != ':'))
		return false;
	return begins(&at, text) && *at == '\0';
}

static void watched_opens(void)
{
	if (atomic_fetch_add(&nr_watched, 1) == 0)
		watch.opened();
}

static void watched_closes(void)
{
	if (atomic_fetch_sub(&nr_watched, 1) == 1)
		watch.closed();
}

void nvtx_ranges_tell(void (*changed)(void))
{
	atomic_store(&tell, changed);
}

static void tell_change(void)
{
	void (*changed)(void) = atomic_load_explicit(&tell, memory_order_acquire);

	if (__builtin_expect(changed != NULL, 0))
		changed();
}

/* ---- a thread's ranges */

static void forget_thread(void *user)
{
	struct nvtx_thread *thread = user;

	nvtx_ranges_own = NULL;
	for (uint32_t i = 0; i < thread->nr; i++) {
		if (thread->ranges[i].watched && !thread->ranges[i].range_id)
			watched_closes();
		if (thread->ranges[i].token)
			accepted_ends(thread->ranges[i].token, true);
	}
	munmap(thread, sizeof(*thread));
}

static void make_key(void)
{
	key_made = pthread_key_create(&key, forget_thread) == 0;
}

struct nvtx_names *nvtx_ranges_on(enum nvtx_digits digits)
{
	struct nvtx_names *known = atomic_load(&names), *mine;

	pthread_once(&key_once, make_key);
	if (known || !key_made)
		return known;
	mine = nvtx_names_create(digits);
	if (mine && !atomic_compare_exchange_strong(&names, &known, mine)) {
		nvtx_names_destroy(mine);
		mine = known;
	}
	return mine;
}

void nvtx_ranges_off(void)
{
	atomic_store(&off, true);
}

bool nvtx_ranges_name(uint32_t n, char text[static NVTX_TEXT_MAX + 1])
{
	const struct nvtx_names *known = atomic_load(&names);
	const struct nvtx_text *name = known ? nvtx_names_nth(known, n) : NULL;

	if (name) {
		memcpy(text, name->bytes, name->size);
		text[name->size] = '\0';
	}
	return name != NULL;
}

static bool is_on(void)
{
	return !atomic_load_explicit(&off, memory_order_relaxed) && atomic_load(&names) &&
	       lifecycle_state() != LIFECYCLE_FORKED;
}

/* NULL: no memory. */
static struct nvtx_thread *own_thread(void)
{
	struct nvtx_thread *thread = nvtx_ranges_own;

	if (__builtin_expect(thread != NULL, 1))
		return thread;

	int saved_errno = errno;
	thread = mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (thread != MAP_FAILED && pthread_setspecific(key, thread) != 0) {
		munmap(thread, sizeof(*thread));
		thread = MAP_FAILED;
	}
	errno = saved_errno;
	if (thread == MAP_FAILED)
		return NULL;
	nvtx_ranges_own = thread;
	return thread;
}

static void remove_at(struct nvtx_thread *thread, uint32_t i)
{
	const uint8_t token = thread->ranges[i].token;

	memmove(&thread->ranges[i], &thread->ranges[i + 1],
		(thread->nr - i - 1) * sizeof(thread->ranges[0]));
	thread->nr--;
	if (__builtin_expect(token, 0))
		accepted_ends(token, false);
}

static bool is_open(uint64_t range_id)
{
	uint64_t slot = (range_id & ((1u << SLOT_BITS) - 1)) - 1;

	return slot < NVTX_RANGES_STARTED &&
	       atomic_load_explicit(&started[slot], memory_order_acquire) ==
		       ((range_id >> SLOT_BITS) << 1 | 1);
}

/* Takes out the ranges that other threads have ended. */
static void look_through(struct nvtx_thread *thread)
{
	uint32_t ends = atomic_load_explicit(&ends_elsewhere, memory_order_acquire);

	if (__builtin_expect(thread->foreign == ends, 1))
		return;
	thread->foreign = ends;
	for (uint32_t i = thread->nr; i-- > 0;)
		if (thread->ranges[i].range_id && !is_open(thread->ranges[i].range_id))
			remove_at(thread, i);
}

static int count_of(const struct nvtx_thread *thread, uint32_t domain)
{
	int nr = 0;

	for (uint32_t i = 0; i < thread->nr; i++)
		nr += thread->ranges[i].domain == domain && !thread->ranges[i].range_id;
	return nr;
}

static int push(uint32_t domain, uint32_t name, bool watched)
{
	struct nvtx_thread *thread = own_thread();
	int level;

	if (!thread)
		return NVTX_ABI_NO_TRACKING;
	look_through(thread);
	level = count_of(thread, domain);
	if (thread->nr == NVTX_RANGES_DEPTH || thread->beyond) {
		thread->beyond++;
		return level;
	}
	thread->ranges[thread->nr++] =
		(struct open_range){.name = name, .domain = (uint16_t)domain, .watched = watched};
	if (watched)
		watched_opens();
	return level;
}

static int push_told(uint32_t domain, uint32_t name, bool watched)
{
	int level = push(domain, name, watched);

	tell_change();
	return level;
}

int nvtx_ranges_push(uint32_t domain, struct nvtx_text *text)
{
	if (!is_on())
		return NVTX_ABI_NO_TRACKING;
	bool watched = is_watched(domain, text);
	return push_told(domain, nvtx_names_intern(atomic_load(&names), domain, text), watched);
}

int nvtx_ranges_push_name(uint32_t domain, uint32_t name)
{
	if (!is_on())
		return NVTX_ABI_NO_TRACKING;
	return push_told(domain, name,
			 is_watched(domain, nvtx_names_text(atomic_load(&names), name)));
}

int nvtx_ranges_pop(uint32_t domain)
{
	struct nvtx_thread *thread = nvtx_ranges_own;

	if (!thread || !is_on())
		return NVTX_ABI_NO_TRACKING;
	if (thread->beyond) {
		thread->beyond--;
		return count_of(thread, domain);
	}
	for (uint32_t i = thread->nr; i-- > 0;) {
		bool watched = thread->ranges[i].watched;

		if (thread->ranges[i].domain != domain || thread->ranges[i].range_id)
			continue;
		remove_at(thread, i);
		if (watched)
			watched_closes();
		tell_change();
		return count_of(thread, domain);
	}
	return NVTX_ABI_NO_TRACKING;
}

/* ---- steps */

/* A domain that no pop names. The name is of the default domain. */
#define DOMAIN_STEP UINT16_MAX
static_assert(NVTX_DOMAINS_MAX < DOMAIN_STEP, "no domain has this id");

static void end_step(struct nvtx_thread *thread)
{
	for (uint32_t i = thread->nr; i-- > 0;) {
		bool watched = thread->ranges[i].watched;

		if (thread->ranges[i].domain != DOMAIN_STEP)
			continue;
		remove_at(thread, i);
		if (watched)
			watched_closes();
		return;
	}
}

void nvtx_ranges_step(struct nvtx_text *text)
{
	struct nvtx_thread *thread = is_on() ? own_thread() : NULL;

	if (!thread)
		return;
	look_through(thread);
	end_step(thread);
	if (thread->nr == NVTX_RANGES_DEPTH || thread->beyond)
		return;
	bool watched = is_watched(NVTX_DOMAIN_DEFAULT, text);
	push(DOMAIN_STEP, nvtx_names_intern(atomic_load(&names), NVTX_DOMAIN_DEFAULT, text),
	     watched);
}

void nvtx_ranges_step_end(void)
{
	if (nvtx_ranges_own && is_on())
		end_step(nvtx_ranges_own);
}

/* ---- started ranges */

/* The highest bit of a watched range's id. */
#define WATCHED (1ull << 63)

/* 0: all slots are taken. */
static uint64_t take_slot(void)
{
	uint32_t first = atomic_fetch_add_explicit(&next_slot, 1, memory_order_relaxed);

	for (uint32_t i = 0; i < NVTX_RANGES_STARTED; i++) {
		uint32_t slot = (first + i) % NVTX_RANGES_STARTED;
		uint64_t state = atomic_load_explicit(&started[slot], memory_order_relaxed);

		if (!(state & 1) &&
		    atomic_compare_exchange_strong(&started[slot], &state, state | 1))
			return (state >> 1) << SLOT_BITS | (slot + 1);
	}
	return 0;
}

static uint64_t start(uint32_t domain, uint32_t name, bool watched)
{
	struct nvtx_thread *thread = own_thread();
	uint64_t range_id = thread ? take_slot() : 0;

	if (range_id == 0)
		return 0;
	look_through(thread);
	/* Without room the range is still open, but in no stack. */
	if (thread->nr < NVTX_RANGES_DEPTH)
		thread->ranges[thread->nr++] = (struct open_range){.range_id = range_id,
								   .name = name,
								   .domain = (uint16_t)domain,
								   .watched = watched};
	if (watched)
		watched_opens();
	tell_change();
	return watched ? range_id | WATCHED : range_id;
}

uint64_t nvtx_ranges_start(uint32_t domain, struct nvtx_text *text)
{
	if (!is_on())
		return 0;
	bool watched = is_watched(domain, text);
	return start(domain, nvtx_names_intern(atomic_load(&names), domain, text), watched);
}

uint64_t nvtx_ranges_start_name(uint32_t domain, uint32_t name)
{
	if (!is_on())
		return 0;
	return start(domain, name, is_watched(domain, nvtx_names_text(atomic_load(&names), name)));
}

static bool take_out(uint64_t range_id)
{
	struct nvtx_thread *thread = nvtx_ranges_own;

	for (uint32_t i = thread ? thread->nr : 0; i-- > 0;) {
		if (thread->ranges[i].range_id != range_id)
			continue;
		remove_at(thread, i);
		return true;
	}
	return false;
}

void nvtx_ranges_end(uint64_t range_id)
{
	bool watched = range_id & WATCHED;
	uint64_t id = range_id & ~WATCHED;
	uint64_t slot = (id & ((1u << SLOT_BITS) - 1)) - 1;
	uint64_t state = (id >> SLOT_BITS) << 1 | 1;

	if (slot >= NVTX_RANGES_STARTED || lifecycle_state() == LIFECYCLE_FORKED)
		return;
	/* The next generation, closed. */
	if (!atomic_compare_exchange_strong(&started[slot], &state, state + 1))
		return;
	if (!take_out(id))
		atomic_fetch_add_explicit(&ends_elsewhere, 1, memory_order_release);
	if (watched)
		watched_closes();
	tell_change();
}

/* ---- launches */

uint32_t nvtx_ranges_open(uint32_t *out, uint32_t max)
{
	struct nvtx_thread *thread = nvtx_ranges_own;
	uint32_t nr = 0, all;

	if (!thread || max == 0)
		return 0;
	look_through(thread);
	all = thread->nr;
	/* One frame stands for all ranges that have none. */
	if (thread->beyond || all > max)
		out[nr++] = NVTX_NAME_LOST;
	if (all > max - nr)
		all = max - nr;
	while (all > 0)
		out[nr++] = thread->ranges[--all].name;
	return nr;
}

/* ---- offers */

void nvtx_ranges_tell_ends(void (*ended)(uint8_t token, bool with_thread))
{
	accepted_ends = ended;
}

void nvtx_ranges_offer(uint8_t (*take)(void *context, uint32_t name), void *context)
{
	struct nvtx_thread *thread = nvtx_ranges_own;
	uint32_t i = thread ? thread->nr : 0;
	uint8_t token = 0;

	/* Newer ranges are behind older ones. */
	while (i > 0 && !thread->ranges[i - 1].offered)
		i--;
	for (; thread && i < thread->nr; i++) {
		thread->ranges[i].offered = true;
		if (!token)
			thread->ranges[i].token = token = take(context, thread->ranges[i].name);
	}
}

void nvtx_ranges_text(uint32_t name, char text[static NVTX_RANGES_TEXT])
{
	nvtx_names_whole(atomic_load(&names), name, text);
}
