#include "page_cache.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

struct entry {
	char key[PAGE_CACHE_KEY]; /* "": the place is free */
	char *arguments;          /* owns; one behind the other, each with its NUL */
	const char *name;         /* the last of them */
	uint32_t nr_arguments;
	uint64_t turn; /* it waits: those with a lower one are begun before; 0: it does not */
	struct page_child child;
	uint64_t changed_ns, asked_ns;
	bool is_awaited; /* whoever asked for it has not taken it; false while it is made: nobody asks yet */
};

struct page_cache {
	char program[PATH_MAX];
	struct entry entries[PAGE_CACHE_PAGES];
	uint64_t turns; /* so far */
};

int page_cache_create(struct page_cache **cache)
{
	*cache = calloc(1, sizeof(**cache));
	if (!*cache)
		return -ENOMEM;
	const ssize_t size =
		readlink("/proc/self/exe", (*cache)->program, sizeof((*cache)->program) - 1);

	if (size < 0) {
		const int error = -errno;

		free(*cache);
		*cache = NULL;
		return error;
	}
	return 0;
}

/* ---- entries */

static void clear(struct entry *entry)
{
	if (!*entry->key)
		return;
	page_child_fini(&entry->child);
	free(entry->arguments);
	*entry = (struct entry){0};
}

void page_cache_destroy(struct page_cache *cache)
{
	for (uint32_t i = 0; cache && i < PAGE_CACHE_PAGES; i++)
		clear(&cache->entries[i]);
	free(cache);
}

static bool is_making(const struct entry *entry)
{
	return *entry->key && !entry->turn && entry->child.state == PAGE_MAKING;
}

static bool is_made(const struct entry *entry)
{
	return *entry->key && !entry->turn && entry->child.state != PAGE_MAKING;
}

/* Whether its asker may still come back. */
static bool is_held(const struct entry *entry, uint64_t now_ns)
{
	const uint64_t ended_ns = is_made(entry) ? entry->child.ended_ns : 0;
	const uint64_t since_ns = entry->asked_ns > ended_ns ? entry->asked_ns : ended_ns;

	return entry->is_awaited && now_ns - since_ns < PAGE_CACHE_HELD_NS;
}

/* Whether its place can be taken. A command that cannot be ended yet keeps its own. */
static bool can_go(const struct entry *entry, uint64_t now_ns)
{
	return is_made(entry) && entry->child.pid <= 0 && !is_held(entry, now_ns);
}

static struct entry *find(struct page_cache *cache, const char *key)
{
	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++)
		if (strcmp(cache->entries[i].key, key) == 0)
			return &cache->entries[i];
	return NULL;
}

/* The one that can go and was not asked for longest, but for one of them; NULL: none can. */
static struct entry *find_oldest(struct page_cache *cache, const struct entry *but, uint64_t now_ns)
{
	struct entry *oldest = NULL;

	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++) {
		struct entry *entry = &cache->entries[i];

		if (entry != but && can_go(entry, now_ns) &&
		    (!oldest || entry->asked_ns < oldest->asked_ns))
			oldest = entry;
	}
	return oldest;
}

/* A place for a new key; NULL: there is none. */
static struct entry *take_place(struct page_cache *cache, const char *key, uint64_t now_ns)
{
	struct entry *entry = find(cache, "");

	if (!entry)
		entry = find_oldest(cache, NULL, now_ns);
	if (!entry)
		return NULL;
	clear(entry);
	snprintf(entry->key, sizeof(entry->key), "%s", key);
	entry->child = PAGE_CHILD_NONE;
	return entry;
}

static uint64_t count_bytes(const struct page_cache *cache)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++)
		bytes += cache->entries[i].child.size;
	return bytes;
}

/* Frees pages until the others have room. Returns whether they have. */
static bool make_room(struct page_cache *cache, const struct entry *but, uint64_t now_ns)
{
	struct entry *oldest;

	while (count_bytes(cache) > PAGE_CACHE_BYTES &&
	       (oldest = find_oldest(cache, but, now_ns)) != NULL)
		clear(oldest);
	return count_bytes(cache) <= PAGE_CACHE_BYTES;
}

/* ---- what is made, and when */

static int note_arguments(struct entry *entry, const struct page_wanted *wanted)
{
	size_t size = 0, at = 0;

	assert(wanted->nr_argv && wanted->nr_argv <= PAGE_CACHE_ARGUMENTS);
	for (uint32_t i = 0; i < wanted->nr_argv; i++)
		size += strlen(wanted->argv[i]) + 1;
	char *arguments = malloc(size);

	if (!arguments)
		return -ENOMEM;
	for (uint32_t i = 0; i < wanted->nr_argv; i++) {
		entry->name = strcpy(arguments + at, wanted->argv[i]);
		at += strlen(wanted->argv[i]) + 1;
	}
	free(entry->arguments);
	entry->arguments = arguments;
	entry->nr_arguments = wanted->nr_argv;
	entry->changed_ns = wanted->changed_ns;
	return 0;
}

static void begin(const struct page_cache *cache, struct entry *entry, uint64_t now_ns)
{
	char *argv[PAGE_CACHE_ARGUMENTS + 2] = {(char *)cache->program}, *at = entry->arguments;

	for (uint32_t i = 0; i < entry->nr_arguments; i++) {
		argv[i + 1] = at;
		at += strlen(at) + 1;
	}
	entry->turn = 0;
	page_child_start(&entry->child, cache->program, argv, now_ns);
}

/* Puts it behind those that wait. What it was before goes. 0 or -ENOMEM. */
static int enqueue(struct page_cache *cache, struct entry *entry, const struct page_wanted *wanted)
{
	int error = note_arguments(entry, wanted);

	if (error)
		return error;
	page_child_fini(&entry->child);
	entry->turn = ++cache->turns;
	return 0;
}

/* What is made ahead holds up no page. */
static uint32_t count_making(const struct page_cache *cache)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++)
		count += is_making(&cache->entries[i]) && cache->entries[i].is_awaited;
	return count;
}

/* Whether anything is made ahead, or waits for it. */
static bool has_ahead(const struct page_cache *cache)
{
	bool has = false;

	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++)
		has |= *cache->entries[i].key && !is_made(&cache->entries[i]) &&
		       !cache->entries[i].is_awaited;
	return has;
}

/* NULL: none waits. */
static struct entry *find_next(struct page_cache *cache)
{
	struct entry *next = NULL;

	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++) {
		struct entry *entry = &cache->entries[i];

		if (entry->turn && (!next || entry->turn < next->turn))
			next = entry;
	}
	return next;
}

static void tend(struct page_cache *cache, uint64_t now_ns)
{
	struct entry *next;

	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++) {
		struct entry *entry = &cache->entries[i];

		if (*entry->key)
			page_child_poll(&entry->child, entry->name, now_ns);
		if (entry->turn && entry->is_awaited &&
		    !is_held(entry, now_ns)) /* its asker has gone */
			clear(entry);
	}
	while (count_making(cache) < PAGE_CACHE_CHILDREN && (next = find_next(cache)) != NULL &&
	       make_room(cache, NULL, now_ns))
		begin(cache, next, now_ns);
}

void page_cache_tend(struct page_cache *cache)
{
	tend(cache, clock_now_ns());
}

/* ---- pages */

/* Whoever waited for a page gets that one, even if a later one would differ: it might wait for good otherwise. */
static bool is_fresh(const struct entry *entry, const struct page_wanted *wanted, uint64_t now_ns)
{
	const struct page_child *child = &entry->child;
	const uint64_t took_ns = child->ended_ns - child->begun_ns;
	const uint64_t age_ns = now_ns - child->ended_ns;

	if (child->pid > 0 || (entry->is_awaited && age_ns < PAGE_CACHE_HELD_NS))
		return true;
	if (child->state != PAGE_READY)
		return age_ns < PAGE_CACHE_FRESH_NS + took_ns;
	return (!wanted->is_live && entry->changed_ns == wanted->changed_ns) ||
	       age_ns < PAGE_CACHE_FRESH_NS + 4 * took_ns;
}

static enum page_state give(struct page_cache *cache, struct entry *entry, enum page_ask ask,
			    struct page *page, uint64_t now_ns)
{
	const struct page_child *child = &entry->child;

	make_room(cache, entry, now_ns);
	if (ask == PAGE_TAKE)
		entry->is_awaited = false;
	page->fd = child->state == PAGE_READY ? fcntl(child->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (page->fd < 0) {
		page->error = page_child_error(child);
		return child->state == PAGE_READY ? PAGE_FAILED : child->state;
	}
	page->size = child->size;
	return PAGE_READY;
}

enum page_state page_cache_get(struct page_cache *cache, const struct page_wanted *wanted,
			       enum page_ask ask, struct page *page)
{
	const uint64_t now_ns = clock_now_ns();

	*page = (struct page){.fd = -1};
	tend(cache, now_ns);
	struct entry *entry = find(cache, wanted->key);
	const bool is_there = entry != NULL;

	if (is_there && is_made(entry) && is_fresh(entry, wanted, now_ns)) {
		entry->asked_ns = now_ns;
		return give(cache, entry, ask, page, now_ns);
	}
	if (ask == PAGE_AHEAD && (count_making(cache) >= PAGE_CACHE_CHILDREN || has_ahead(cache)))
		return PAGE_MAKING;
	if (!is_there)
		entry = take_place(cache, wanted->key, now_ns);
	if (!entry)
		return PAGE_FULL;
	if ((!is_there || is_made(entry)) && enqueue(cache, entry, wanted)) {
		clear(entry);
		return PAGE_FAILED;
	}
	entry->asked_ns = now_ns;
	entry->is_awaited |= ask != PAGE_AHEAD;
	tend(cache, now_ns);
	return PAGE_MAKING;
}

bool page_cache_begin(struct page_cache *cache, const struct page_wanted *wanted)
{
	const uint64_t now_ns = clock_now_ns();

	tend(cache, now_ns);
	struct entry *entry = count_making(cache) <= PAGE_CACHE_CHILDREN
				      ? take_place(cache, wanted->key, now_ns)
				      : NULL;

	if (!entry)
		return false;
	if (note_arguments(entry, wanted)) {
		clear(entry);
		return false;
	}
	entry->asked_ns = now_ns;
	entry->is_awaited = true;
	begin(cache, entry, now_ns);
	return true;
}

enum page_state page_cache_look(struct page_cache *cache, const char *key, enum page_ask ask,
				struct page *page)
{
	const uint64_t now_ns = clock_now_ns();

	*page = (struct page){.fd = -1};
	tend(cache, now_ns);
	struct entry *entry = find(cache, key);

	if (!entry)
		return PAGE_NOTHING;
	entry->asked_ns = now_ns;
	return is_made(entry) ? give(cache, entry, ask, page, now_ns) : PAGE_MAKING;
}
