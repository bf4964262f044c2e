#include "page_room.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct page_user {
	struct page_user *next;
	uint64_t bytes;
	uint32_t nr_shares;
	char name[];
};

struct page_room {
	pthread_mutex_t lock; /* guards all that follows */
	uint64_t bytes, max_bytes;
	struct page_user *users; /* owns the list */
};

static uint64_t share_of_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) / PAGE_ROOM_SHARE *
	       (uint64_t)sysconf(_SC_PAGESIZE);
}

struct page_room *page_room_create(uint64_t max_bytes)
{
	struct page_room *room = calloc(1, sizeof(*room));

	if (!room)
		return NULL;
	pthread_mutex_init(&room->lock, NULL);
	room->max_bytes = max_bytes ? max_bytes : share_of_memory();
	return room;
}

void page_room_destroy(struct page_room *room)
{
	if (!room)
		return;
	pthread_mutex_destroy(&room->lock);
	free(room);
}

/* The caller holds the lock. NULL: out of memory. */
static struct page_user *find_user(struct page_room *room, const char *name)
{
	struct page_user *user = room->users;

	while (user && strcmp(user->name, name) != 0)
		user = user->next;
	if (user)
		return user;
	user = calloc(1, sizeof(*user) + strlen(name) + 1);
	if (!user)
		return NULL;
	strcpy(user->name, name);
	user->next = room->users;
	room->users = user;
	return user;
}

int page_share_join(struct page_share *share, struct page_room *room, const char *user)
{
	pthread_mutex_lock(&room->lock);
	*share = (struct page_share){.room = room, .user = find_user(room, user)};
	if (share->user)
		share->user->nr_shares++;
	else
		share->room = NULL;
	pthread_mutex_unlock(&room->lock);
	return share->user ? 0 : -ENOMEM;
}

/* The caller holds the lock. */
static void drop_user(struct page_room *room, struct page_user *user)
{
	struct page_user **at = &room->users;

	while (*at != user)
		at = &(*at)->next;
	*at = user->next;
	free(user);
}

void page_share_leave(struct page_share *share)
{
	struct page_room *room = share->room;

	if (!room)
		return;
	page_share_set(share, 0);
	pthread_mutex_lock(&room->lock);
	if (--share->user->nr_shares == 0)
		drop_user(room, share->user);
	pthread_mutex_unlock(&room->lock);
	*share = (struct page_share){0};
}

bool page_share_take(struct page_share *share, uint64_t bytes)
{
	struct page_room *room = share->room;

	if (!room)
		return true;
	pthread_mutex_lock(&room->lock);
	const bool has_room = room->bytes + bytes <= room->max_bytes &&
			      share->user->bytes + bytes <= room->max_bytes / 2;
	if (has_room) {
		room->bytes += bytes;
		share->user->bytes += bytes;
		share->bytes += bytes;
	}
	pthread_mutex_unlock(&room->lock);
	return has_room;
}

void page_share_set(struct page_share *share, uint64_t bytes)
{
	struct page_room *room = share->room;

	if (!room)
		return;
	pthread_mutex_lock(&room->lock);
	room->bytes += bytes - share->bytes;
	share->user->bytes += bytes - share->bytes;
	share->bytes = bytes;
	pthread_mutex_unlock(&room->lock);
}
