#include "table_keeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "node-agent/files/cache_directory.h"
#include "table_cache.h"
#include "table_memory.h"
#include "unwind/table_arena.h"

#define SAVE_S 2  /* between two looks for new tables */
#define LOOK_S 60 /* for so long after a guest has come; then between two looks */

struct user {
	uid_t uid;
	int fd; /* owns */
	struct table_arena arena;
	uint64_t used; /* the number of the call that asked for it last; 0: free */
	bool is_new;   /* nothing is loaded yet */
	bool is_busy;  /* the thread reads or writes its tables */
	bool is_full;  /* its next process gets another arena; all tables of this one are stored */
	bool is_saved[TABLE_ARENA_ENTRIES];
};

struct table_keeper {
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	pthread_t thread;
	bool has_thread, stops;
	bool has_complained; /* about the directory */
	uint64_t nr_calls;
	time_t look_until_s;
	struct user users[TABLE_KEEPER_USERS_MAX];
	char directory[];
};

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* ---- the thread -------------------------------------------------------------------------------- */

static const struct cache_limits limits = {TABLE_CACHE_SIZE_MAX, TABLE_CACHE_FILES_MAX};

/* Symbols are kept in the same directory, under the same conditions. */
static void complain(struct table_keeper *keeper, int error)
{
	if (keeper->has_complained)
		return;
	keeper->has_complained = true;
	log_warning("symbols and unwind tables are not kept in %s: %s", keeper->directory,
		    error == -EPERM ? "another user owns it, or may write to it"
				    : strerror(-error));
}

static void load(struct table_keeper *keeper, struct user *user)
{
	user->is_new = false;
	user->is_busy = true;
	pthread_mutex_unlock(&keeper->lock);
	int r = table_cache_load(keeper->directory, user->uid, &user->arena, user->is_saved,
				 &limits);
	pthread_mutex_lock(&keeper->lock);
	user->is_busy = false;
	if (r < 0 && r != -ENOENT)
		complain(keeper, r);
}

static void say_full(const struct user *user)
{
	log_warning("user %u: unwind tables have nearly filled the memory that processes share: "
		    "new processes get a fresh one, others may have to build tables for themselves",
		    user->uid);
}

static void save(struct table_keeper *keeper, struct user *user)
{
	user->is_busy = true;
	pthread_mutex_unlock(&keeper->lock);
	int r = table_cache_store(keeper->directory, user->uid, &user->arena, user->is_saved,
				  &limits);
	bool is_full = table_arena_is_full(&user->arena);
	pthread_mutex_lock(&keeper->lock);
	user->is_busy = false;
	if (r < 0)
		complain(keeper, r);
	if (is_full && !user->is_full)
		say_full(user);
	user->is_full = is_full;
}

static void load_new(struct table_keeper *keeper)
{
	for (uint32_t i = 0; i < TABLE_KEEPER_USERS_MAX; i++)
		if (keeper->users[i].used && keeper->users[i].is_new)
			load(keeper, &keeper->users[i]);
}

static void save_all(struct table_keeper *keeper)
{
	for (uint32_t i = 0; i < TABLE_KEEPER_USERS_MAX; i++)
		if (keeper->users[i].used)
			save(keeper, &keeper->users[i]);
}

static void *run(void *argument)
{
	struct table_keeper *keeper = argument;

	pthread_setname_np(pthread_self(), "unwind-tables");
	pthread_mutex_lock(&keeper->lock);
	load_new(keeper);
	while (!keeper->stops) {
		const time_t now = now_s();
		const struct timespec until = {
			.tv_sec = now + (now < keeper->look_until_s ? SAVE_S : LOOK_S)};

		pthread_cond_timedwait(&keeper->changed, &keeper->lock, &until);
		load_new(keeper);
		save_all(keeper);
	}
	save_all(keeper);
	pthread_mutex_unlock(&keeper->lock);
	return NULL;
}

/* ---- the agent's side -------------------------------------------------------------------------- */

static void forget(struct user *user)
{
	if (!user->used)
		return;
	table_arena_unmap(&user->arena);
	close(user->fd);
	user->used = 0;
}

static bool begin(struct user *user, uid_t uid)
{
	int fd;

	forget(user);
	fd = table_memory_create();
	if (fd < 0)
		return false;
	if (table_arena_map(fd, &user->arena)) {
		close(fd);
		return false;
	}
	user->uid = uid;
	user->fd = fd;
	user->is_new = true;
	user->is_full = false;
	memset(user->is_saved, 0, sizeof(user->is_saved));
	return true;
}

/* Returns the user's place, or the one that is to become it. NULL: the thread works on all of them. */
static struct user *place_of(struct table_keeper *keeper, uid_t uid)
{
	struct user *oldest = NULL;

	for (uint32_t i = 0; i < TABLE_KEEPER_USERS_MAX; i++) {
		struct user *user = &keeper->users[i];

		if (user->used && user->uid == uid)
			return user;
		if (!user->is_busy && (!oldest || user->used < oldest->used))
			oldest = user;
	}
	return oldest;
}

/* Returns whether the place is the user's, and new tables find room there. While the thread works on it, it stays.
 * Without the thread there is nothing to store first. */
static bool has_room(const struct table_keeper *keeper, struct user *user, uid_t uid)
{
	if (!user->used || user->uid != uid)
		return false;
	if (!keeper->has_thread && table_arena_is_full(&user->arena)) {
		user->is_full = true;
		say_full(user);
	}
	return !user->is_full || user->is_busy;
}

int table_keeper_memory(struct table_keeper *keeper, uid_t uid)
{
	struct user *user;
	int fd = -1;

	pthread_mutex_lock(&keeper->lock);
	user = place_of(keeper, uid);
	if (user && (has_room(keeper, user, uid) || begin(user, uid))) {
		user->used = ++keeper->nr_calls;
		fd = user->fd;
	}
	keeper->look_until_s = now_s() + LOOK_S;
	pthread_cond_signal(&keeper->changed);
	pthread_mutex_unlock(&keeper->lock);
	return fd;
}

static bool start_thread(struct table_keeper *keeper)
{
	keeper->has_thread = pthread_create(&keeper->thread, NULL, run, keeper) == 0;
	return keeper->has_thread;
}

struct table_keeper *table_keeper_start(const char *directory)
{
	size_t size = directory ? strlen(directory) + 1 : 1;
	struct table_keeper *keeper = calloc(1, sizeof(*keeper) + size);
	pthread_condattr_t attributes;

	if (!keeper)
		return NULL;
	pthread_mutex_init(&keeper->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&keeper->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (!directory)
		return keeper;
	memcpy(keeper->directory, directory, size);
	table_keeper_memory(keeper, geteuid());
	if (start_thread(keeper))
		return keeper;
	table_keeper_stop(keeper, 0);
	return NULL;
}

/* Returns whether the thread has ended, or there is none. */
static bool join(struct table_keeper *keeper, uint32_t wait_ms)
{
	struct timespec until;

	if (!keeper->has_thread)
		return true;
	pthread_mutex_lock(&keeper->lock);
	keeper->stops = true;
	pthread_cond_signal(&keeper->changed);
	pthread_mutex_unlock(&keeper->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += wait_ms / 1000;
	until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return pthread_timedjoin_np(keeper->thread, NULL, &until) == 0;
}

void table_keeper_stop(struct table_keeper *keeper, uint32_t wait_ms)
{
	if (!keeper)
		return;
	if (!join(keeper, wait_ms)) {
		pthread_detach(keeper->thread); /* it still uses all that there is */
		return;
	}
	for (uint32_t i = 0; i < TABLE_KEEPER_USERS_MAX; i++)
		forget(&keeper->users[i]);
	pthread_cond_destroy(&keeper->changed);
	pthread_mutex_destroy(&keeper->lock);
	free(keeper);
}
