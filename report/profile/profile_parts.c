#include "profile_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "aggregator/merge/profile_merge.h"
#include "aggregator/pages/page_set.h"
#include "aggregator/pages/page_store.h"
#include "aggregator/store/store_life.h"
#include "aggregator/store/store_timeline.h"
#include "base/array.h"
#include "base/error_text.h"

/* One node's profile, as a source of a merge. */
struct node {
	const struct profile_part *part;
	uint32_t writer; /* in its set; NODE_LOST: what nobody can read of it */
};

#define NODE_LOST UINT32_MAX

struct sources {
	struct merge_source *list; /* owns */
	struct node *nodes;        /* owns; as many as there are sources */
	uint32_t nr;
	bool has_timelines;
};

/* ---- finding */

static bool ends_with(const char *name, const char *end)
{
	const size_t size = strlen(name), end_size = strlen(end);

	return size >= end_size && strcmp(name + size - end_size, end) == 0;
}

/* Adds the part whose store has this path, unless it is known. 0 or -ENOMEM. */
static int add(struct profile_parts *parts, const char *path)
{
	for (uint32_t i = 0; i < parts->nr_parts; i++)
		if (strcmp(parts->parts[i].path, path) == 0)
			return 0;
	if (array_reserve(&parts->parts, &parts->room, (uint64_t)parts->nr_parts + 1,
			  sizeof(*parts->parts)))
		return -ENOMEM;
	struct profile_part *part = &parts->parts[parts->nr_parts++];
	*part = (struct profile_part){.path = strdup(path)};
	if (asprintf(&part->nodes_path, "%s" PROFILE_PARTS_NODES, path) < 0)
		part->nodes_path = NULL;
	if (!part->path || !part->nodes_path)
		return -ENOMEM;
	part->has_store = stat(path, &part->store) == 0;
	if (stat(part->nodes_path, &part->nodes))
		part->nodes = (struct stat){0};
	return 0;
}

static bool is_file(int folder, const char *name)
{
	struct stat status;

	return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

/* A store's own files end as SQLite names them; a file of nodes belongs to the store without that end. */
static int add_file(struct profile_parts *parts, const char *folder, int folder_size,
		    const char *name)
{
	static const char *const not_stores[] = {
		"-wal",     "-shm",          "-journal",          ".tmp",
		"-compact", PAGE_SET_WANTED, PROFILE_PARTS_MERGED};
	int size = (int)strlen(name), status = -ENOMEM;
	char *path;

	for (size_t i = 0; i < sizeof(not_stores) / sizeof(*not_stores); i++)
		if (ends_with(name, not_stores[i]))
			return 0;
	if (ends_with(name, PROFILE_PARTS_NODES))
		size -= (int)strlen(PROFILE_PARTS_NODES);
	if (asprintf(&path, "%.*s%.*s", folder_size, folder, size, name) >= 0) {
		status = add(parts, path);
		free(path);
	}
	return status;
}

static int find(struct profile_parts *parts, const char *store_path)
{
	const char *slash = strrchr(store_path, '/'), *name = slash ? slash + 1 : store_path;
	const int folder_size = (int)(name - store_path);
	const size_t size = strlen(name), part_size = strlen(PROFILE_PARTS_PART);
	const struct dirent *entry;
	char *folder = folder_size ? strndup(store_path, (size_t)folder_size) : strdup(".");
	int status = folder ? add(parts, store_path) : -ENOMEM;

	DIR *directory = status ? NULL : opendir(folder);
	while (directory && !status && (entry = readdir(directory)) != NULL)
		if (strncmp(entry->d_name, name, size) == 0 &&
		    strncmp(entry->d_name + size, PROFILE_PARTS_PART, part_size) == 0 &&
		    is_file(dirfd(directory), entry->d_name))
			status = add_file(parts, store_path, folder_size, entry->d_name);
	if (directory)
		closedir(directory);
	free(folder);
	return status;
}

int profile_parts_find(struct profile_parts *parts, const char *store_path, char **error)
{
	*parts = (struct profile_parts){.parts = NULL};
	*error = NULL;
	/* A store may lack, as long as nodes' profiles are beside it. */
	struct stat store;
	int status = stat(store_path, &store) && errno != ENOENT ? -errno : find(parts, store_path);
	return status ? error_text_set(error, status, "%s: %s", store_path, strerror(-status)) : 0;
}

static void forget(struct profile_part *part)
{
	page_set_destroy(part->set);
	for (uint32_t i = 0; i < part->nr_nodes_timelines; i++)
		free(part->nodes_timelines[i]);
	free(part->nodes_timelines);
	free(part->timeline);
	free(part->path);
	free(part->nodes_path);
}

void profile_parts_leave_out(struct profile_parts *parts, uint32_t number)
{
	forget(&parts->parts[number]);
	parts->parts[number] = parts->parts[--parts->nr_parts];
}

void profile_parts_fini(struct profile_parts *parts)
{
	for (uint32_t i = 0; i < parts->nr_parts; i++)
		forget(&parts->parts[i]);
	free(parts->parts);
	*parts = (struct profile_parts){.parts = NULL};
}

/* ---- reading */

static uint32_t nr_writers(const struct profile_part *part)
{
	return part->set ? page_set_writers(part->set) : 0;
}

int profile_parts_load(struct profile_parts *parts, char **error)
{
	*error = NULL;
	for (uint32_t i = 0; i < parts->nr_parts; i++) {
		struct profile_part *part = &parts->parts[i];
		int status = page_set_load(part->nodes_path, &part->set);

		part->are_nodes_damaged = status == -EPROTO;
		if (status && status != -ENOENT && status != -EPROTO)
			return error_text_set(error, status, "%s: %s", part->nodes_path,
					      strerror(-status));
		for (uint32_t k = 0; k < nr_writers(part); k++)
			part->are_nodes_damaged |= page_set_lost_pages(part->set, k) > 0;
		part->are_nodes_damaged |= part->set && page_set_lost_writers(part->set) > 0;
	}
	return 0;
}

bool profile_parts_are_several(const struct profile_parts *parts)
{
	return parts->nr_parts > 1 || parts->parts[0].set || parts->parts[0].are_nodes_damaged;
}

/* ---- merging */

static int add_page(void *context, const struct profile_page *page)
{
	return page_store_add(context, page);
}

static int open_node(void *context, enum merge_part part, struct database **database, char **error)
{
	const struct node *node = context;
	struct page_store *store;
	static const enum page_store_part parts[] = {
		[MERGE_PART_NAMES] = PAGE_STORE_NAMES,
		[MERGE_PART_ROWS] = PAGE_STORE_ROWS,
		[MERGE_PART_ALL] = PAGE_STORE_ALL,
	};

	*database = NULL;
	if (node->writer == NODE_LOST)
		return error_text_set(error, -EPROTO, "%s: damaged, or not of this version",
				      node->part->nodes_path);
	int status = page_store_create(parts[part], &store);
	if (!status)
		status = page_set_read(node->part->set, node->writer, add_page, store);
	if (status)
		page_store_destroy(store);
	else if (!(*database = page_store_finish(store)))
		status = -ENOMEM;
	return status ? error_text_set(error, status, "%s: the profile of a node: %s",
				       node->part->nodes_path,
				       status == -EPROTO ? "damaged" : strerror(-status))
		      : 0;
}

static int reserve(struct profile_parts *parts, struct sources *sources)
{
	size_t room = 1;

	for (uint32_t i = 0; i < parts->nr_parts; i++) {
		struct profile_part *part = &parts->parts[i];
		const uint32_t nr = nr_writers(part);

		room += 2 + nr;
		part->nodes_timelines = calloc(nr + 1ul, sizeof(*part->nodes_timelines));
		if (!part->nodes_timelines)
			return -ENOMEM;
		part->nr_nodes_timelines = nr;
	}
	sources->list = calloc(room, sizeof(*sources->list));
	sources->nodes = calloc(room, sizeof(*sources->nodes));
	return sources->list && sources->nodes ? 0 : -ENOMEM;
}

static void list_part(struct profile_part *part, struct sources *sources)
{
	if (part->has_store)
		sources->list[sources->nr++] = (struct merge_source){
			.path = part->path,
			.is_left_out = &part->is_store_damaged,
			.timeline_of = sources->has_timelines ? part->path : NULL,
			.timeline = &part->timeline,
		};
	for (uint32_t i = 0; i < nr_writers(part); i++) {
		struct node *node = &sources->nodes[sources->nr];

		if (!page_set_round(part->set, i))
			continue; /* no round of it is complete */
		*node = (struct node){part, i};
		sources->list[sources->nr++] = (struct merge_source){
			.path = part->nodes_path,
			.open = open_node,
			.context = node,
			.writer = page_set_writer(part->set, i),
			.nr_pages = page_set_pages(part->set, i),
			.nr_lost = page_set_lost_pages(part->set, i),
			.timeline_of = sources->has_timelines ? part->path : NULL,
			.timeline = &part->nodes_timelines[i],
		};
	}
	if (part->set ? page_set_lost_writers(part->set) > 0 : part->are_nodes_damaged) {
		struct node *node = &sources->nodes[sources->nr];

		*node = (struct node){part, NODE_LOST};
		sources->list[sources->nr++] = (struct merge_source){
			.path = part->nodes_path, .open = open_node, .context = node};
	}
}

int profile_parts_merge(struct profile_parts *parts, const char *merged_path, bool has_timelines,
			char **error)
{
	struct sources sources = {.has_timelines = has_timelines};
	int status = reserve(parts, &sources);

	*error = NULL;
	if (status)
		error_text_set(error, status, "%s: %s", parts->parts[0].path, strerror(-status));
	for (uint32_t i = 0; i < parts->nr_parts && !status; i++)
		list_part(&parts->parts[i], &sources);
	if (!status && !sources.nr)
		status = error_text_set(error, -ENOENT, "%s: no node's profile has come to it",
					parts->parts[0].path);
	if (!status)
		status = profile_merge(sources.list, sources.nr, true, merged_path, error);
	free(sources.list);
	free(sources.nodes);
	return status;
}

/* ---- replacing */

/* Whether the path is the file that was found, as it was then. */
static bool is_same(const char *path, const struct stat *found)
{
	struct stat now;

	return stat(path, &now) == 0 && now.st_ino == found->st_ino &&
	       now.st_dev == found->st_dev && now.st_size == found->st_size &&
	       now.st_mtim.tv_sec == found->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == found->st_mtim.tv_nsec;
}

/* A log that a killed writer left would be taken for that of the store that comes in its place. to NULL: removes it. */
static int move_log(const char *from, const char *to)
{
	static const char *const ends[] = {"-wal", "-shm"};
	int status = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends) && !status; i++) {
		char old[PATH_MAX], new[PATH_MAX];

		if (snprintf(old, sizeof(old), "%s%s", from, ends[i]) >= (int)sizeof(old) ||
		    snprintf(new, sizeof(new), "%s%s", to ? to : "", ends[i]) >= (int)sizeof(new))
			return -ENAMETOOLONG;
		if ((to ? rename(old, new) : unlink(old)) && errno != ENOENT)
			status = -errno;
	}
	return status;
}

/* Writes a path for one more file of the profile. */
static int new_path(const char *store_path, const char *kind, char path[static PATH_MAX])
{
	uint64_t name;

	if (getrandom(&name, sizeof(name), 0) != sizeof(name))
		return -EIO;
	return snprintf(path, PATH_MAX, "%s%s%016llx", store_path, kind, (unsigned long long)name) <
			       PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

/* Removes a file that is merged. One that is damaged gets another name, for those who may mend it. */
static int remove_file(const char *path, const char *store_path, bool is_damaged)
{
	char aside[PATH_MAX];
	int status = is_damaged ? new_path(store_path, PROFILE_PARTS_DAMAGED, aside) : 0;

	if (!status && (is_damaged ? rename(path, aside) : unlink(path)) && errno != ENOENT)
		status = -errno;
	return status;
}

/* Removes a store, its log and its timeline, unless it has changed or is written. The timeline goes first: a store
 * without it is not taken before the merged one, and nothing is left behind. */
static int remove_store(const struct profile_part *part, const char *path, const char *store_path)
{
	if (!is_same(path, &part->store) || store_life_is_written(path))
		return 0;
	if (part->timeline && !part->is_store_damaged)
		event_place_remove(AT_FDCWD, part->timeline);
	int status = remove_file(path, store_path, part->is_store_damaged);
	return status ? status : move_log(path, NULL);
}

/* A writer of the store writes the file of nodes, too. */
static int remove_nodes(const struct profile_part *part, const char *path, const char *store_path)
{
	if (!is_same(part->nodes_path, &part->nodes) || store_life_is_written(path))
		return 0;
	for (uint32_t i = 0; i < part->nr_nodes_timelines && !part->are_nodes_damaged; i++)
		if (part->nodes_timelines[i])
			event_place_remove(AT_FDCWD, part->nodes_timelines[i]);
	return remove_file(part->nodes_path, store_path, part->are_nodes_damaged);
}

/* ---- timelines */

/* Writes the place by id of a store's timeline. Returns whether the store has one. */
static bool find_place(const char *path, const char *store_path, char place[static PATH_MAX])
{
	uint8_t id[STORE_TIMELINE_ID];
	struct database *database;
	bool known = false;

	if (access(path, F_OK) || database_open(path, true, &database, NULL))
		return false;
	int error = store_timeline_read(database, id, &known);
	database_close(database);
	return !error && known && event_place_by_id(store_path, id, place) == 0;
}

/* Gives the timeline beside a store its place by id, where it is found under whichever name the store gets. Returns
 * whether it did. */
static bool place_by_id(const char *path, const char *store_path, char place[static PATH_MAX])
{
	char beside[PATH_MAX];

	return event_place_beside(path, beside) == 0 && access(beside, F_OK) == 0 &&
	       find_place(path, store_path, place) && event_place_move(beside, place) == 0;
}

/* Moves the timeline of the first store, whose place another store takes. 0 or -ENOMEM. */
static int place_first(struct profile_part *first)
{
	char place[PATH_MAX];

	if (!first->timeline || !place_by_id(first->path, first->path, place))
		return 0;
	free(first->timeline);
	first->timeline = strdup(place);
	return first->timeline ? 0 : -ENOMEM;
}

/* Gives the timeline of the first store, which is in place, its place beside that. It is found by its id, too. */
static void place_beside(const char *store_path)
{
	char beside[PATH_MAX], place[PATH_MAX];

	if (event_place_beside(store_path, beside) == 0 &&
	    find_place(store_path, store_path, place))
		(void)event_place_move(place, beside);
}

void profile_parts_forget(const char *merged_path, const char *first_path)
{
	char beside[PATH_MAX], place[PATH_MAX];
	const bool has_place = find_place(merged_path, first_path, place);

	/* Whoever removes the store alone removes the timeline: another process may put it in place just now. */
	if (unlink(merged_path) == 0 && has_place)
		event_place_remove(AT_FDCWD, place);
	if (event_place_beside(merged_path, beside) == 0)
		event_place_remove(AT_FDCWD, beside);
}

/* Gives the file the name of the first store, unless another process has put one there. */
static int take_place(const char *whole_path, const char *store_path)
{
	if (link(whole_path, store_path) == 0)
		return unlink(whole_path) ? -errno : 0;
	if (errno == EEXIST)
		return 0;                                   /* it stays a part */
	return rename(whole_path, store_path) ? -errno : 0; /* a file system without links */
}

int profile_parts_replace(struct profile_parts *parts, const char *merged_path)
{
	struct profile_part *first = &parts->parts[0];
	char whole_path[PATH_MAX], old_path[PATH_MAX], place[PATH_MAX];
	int status = new_path(first->path, PROFILE_PARTS_PART, whole_path);

	if (!status)
		status = new_path(first->path, PROFILE_PARTS_PART, old_path);
	if (!status)
		place_by_id(merged_path, first->path, place);
	/* First it is one more part, and so is the store whose place it takes. */
	if (!status && rename(merged_path, whole_path))
		status = -errno;
	/* Those who may read the store may go on to do so. */
	if (!status && first->has_store && chmod(whole_path, first->store.st_mode & 0777))
		status = -errno;
	if (!status)
		status = place_first(first);
	if (!status)
		status = move_log(first->path, old_path);
	if (!status && rename(first->path, old_path) && errno != ENOENT)
		status = -errno;
	if (!status)
		status = take_place(whole_path, first->path);
	if (!status)
		status = remove_nodes(first, old_path, first->path);
	if (!status && first->has_store)
		status = remove_store(first, old_path, first->path);
	for (uint32_t i = 1; i < parts->nr_parts && !status; i++) {
		const struct profile_part *part = &parts->parts[i];

		status = remove_nodes(part, part->path, first->path);
		if (!status && part->has_store)
			status = remove_store(part, part->path, first->path);
	}
	if (!status)
		place_beside(first->path);
	return status;
}
