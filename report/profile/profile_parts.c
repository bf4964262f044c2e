#include "profile_parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/merge/profile_merge.h"
#include "aggregator/pages/page_set.h"
#include "aggregator/pages/page_store.h"
#include "base/array.h"
#include "base/error_text.h"

/* One node's profile, as a source of a merge. */
struct node {
	const struct profile_part *part;
	uint32_t writer;
};

struct sources {
	struct merge_source *list; /* owns */
	struct node *nodes;        /* owns; as many as there are sources */
	uint32_t nr;
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
	part->has_store = access(path, F_OK) == 0;
	return 0;
}

/* A store's own files end as SQLite names them; a file of nodes belongs to the store without that end. */
static int add_file(struct profile_parts *parts, const char *folder, int folder_size,
		    const char *name)
{
	static const char *const not_stores[] = {"-wal", "-shm", "-journal", PAGE_SET_WANTED};
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
		    strncmp(entry->d_name + size, PROFILE_PARTS_PART, part_size) == 0)
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
	int status = find(parts, store_path);
	return status ? error_text_set(error, status, "%s: %s", store_path, strerror(-status)) : 0;
}

void profile_parts_fini(struct profile_parts *parts)
{
	for (uint32_t i = 0; i < parts->nr_parts; i++) {
		page_set_destroy(parts->parts[i].set);
		free(parts->parts[i].path);
		free(parts->parts[i].nodes_path);
	}
	free(parts->parts);
	*parts = (struct profile_parts){.parts = NULL};
}

/* ---- reading */

int profile_parts_load(struct profile_parts *parts, char **error)
{
	*error = NULL;
	for (uint32_t i = 0; i < parts->nr_parts; i++) {
		struct profile_part *part = &parts->parts[i];
		int status = page_set_load(part->nodes_path, &part->set);

		if (status && status != -ENOENT)
			return error_text_set(error, status, "%s: %s", part->nodes_path,
					      status == -EPROTO ? "damaged, or not of this version"
								: strerror(-status));
	}
	return 0;
}

bool profile_parts_are_several(const struct profile_parts *parts)
{
	return parts->nr_parts > 1 || parts->parts[0].set;
}

/* ---- merging */

static int add_page(void *context, const struct profile_page *page)
{
	return page_store_add(context, page);
}

static int open_node(void *context, struct database **database, char **error)
{
	const struct node *node = context;
	struct page_store *store;
	int status = page_store_create(&store);

	*database = NULL;
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

static uint32_t nr_writers(const struct profile_part *part)
{
	return part->set ? page_set_writers(part->set) : 0;
}

static int reserve(const struct profile_parts *parts, struct sources *sources)
{
	size_t room = 1;

	for (uint32_t i = 0; i < parts->nr_parts; i++)
		room += 1 + nr_writers(&parts->parts[i]);
	sources->list = calloc(room, sizeof(*sources->list));
	sources->nodes = calloc(room, sizeof(*sources->nodes));
	return sources->list && sources->nodes ? 0 : -ENOMEM;
}

static void list_part(const struct profile_part *part, struct sources *sources)
{
	if (part->has_store)
		sources->list[sources->nr++] = (struct merge_source){.path = part->path};
	for (uint32_t i = 0; i < nr_writers(part); i++) {
		struct node *node = &sources->nodes[sources->nr];

		if (!page_set_round(part->set, i))
			continue; /* no round of it is complete */
		*node = (struct node){part, i};
		sources->list[sources->nr++] =
			(struct merge_source){part->nodes_path, open_node, node};
	}
}

int profile_parts_merge(const struct profile_parts *parts, const char *merged_path, char **error)
{
	struct sources sources = {.nr = 0};
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

/* Removes the file, if it is there. */
static int remove_file(const char *path, const char *end)
{
	char *name;
	int status = 0;

	if (asprintf(&name, "%s%s", path, end) < 0)
		return -ENOMEM;
	if (unlink(name) && errno != ENOENT)
		status = -errno;
	free(name);
	return status;
}

/* A log that a killed writer left would be taken for that of the store that comes in its place. */
static int remove_log(const char *store_path)
{
	int status = remove_file(store_path, "-wal");

	return status ? status : remove_file(store_path, "-shm");
}

static int remove_part(const struct profile_part *part, bool is_first)
{
	int status = remove_file(part->nodes_path, "");

	if (!status && !is_first)
		status = remove_file(part->path, "");
	return status || is_first ? status : remove_log(part->path);
}

int profile_parts_replace(const struct profile_parts *parts, const char *merged_path)
{
	const char *store_path = parts->parts[0].path;
	char *whole_path;
	int status;

	if (asprintf(&whole_path, "%s" PROFILE_PARTS_PART "whole", store_path) < 0)
		return -ENOMEM;
	/* First it is one more part. */
	status = rename(merged_path, whole_path) ? -errno : remove_log(store_path);
	if (!status && rename(whole_path, store_path))
		status = -errno;
	for (uint32_t i = 0; i < parts->nr_parts && !status; i++)
		status = remove_part(&parts->parts[i], i == 0);
	free(whole_path);
	return status;
}
