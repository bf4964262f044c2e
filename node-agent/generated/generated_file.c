#include "generated_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cached_graph.h"
#include "kernel_lines.h"
#include "source_age.h"

#include "node-agent/files/permitted_file.h"
#include "node-agent/files/proc_file.h"
#include "proto/generated_path.h"

#define ENTRIES      "fxgraph"
#define ENTRY_LEVELS 2u /* of directories above an entry */

/* An entry of the cache. */
struct found {
	char *data; /* owns; NULL: none */
	size_t size;
	struct timespec changed;
};

/* A search for the entries of a key. */
struct search {
	struct text_span key;
	uid_t owner;
	uint32_t nr_names, nr_found; /* that were looked at */
	struct found entry;          /* the newest */
	bool differ, is_cut;         /* entries of the key differ; not all names were looked at */
};

/* ---- files */

/* Root's files are not believed either. The agent may read them where the user may not, below a directory that is
 * root's alone. The process is looked at after the file was opened, since its pid may be another one's by now. */
static bool is_believed(int fd, pid_t pid, uid_t owner)
{
	struct stat status;
	uid_t real, effective;

	if (pid > 0 && (proc_file_users(pid, &real, &effective) || real != owner))
		return false;
	return fstat(fd, &status) == 0 && status.st_uid == owner;
}

/* Reads up to max bytes, however long the file is. Returns their number. */
static size_t read_up_to(int fd, char *data, size_t max)
{
	size_t size = 0;

	while (size < max) {
		ssize_t got = pread(fd, data + size, max - size, (off_t)size);

		if (got <= 0)
			break;
		size += (size_t)got;
	}
	return size;
}

/* Returns the begin of the file, which the caller owns. NULL: it is empty, or out of memory. */
static char *read_begin(int fd, size_t max, size_t *size)
{
	struct stat status;

	*size = 0;
	if (fstat(fd, &status) || status.st_size <= 0)
		return NULL;
	if ((uint64_t)status.st_size < max)
		max = (size_t)status.st_size;
	char *data = malloc(max);
	if (data)
		*size = read_up_to(fd, data, max);
	return data;
}

static bool is_too_large(int fd)
{
	struct stat status;

	return fstat(fd, &status) || status.st_size > (off_t)GENERATED_FILE_SIZE_MAX;
}

static char *read_code(const struct generated_file_place *place, pid_t pid, size_t *size)
{
	int fd = permitted_file_open_in(pid, place->path, place->owner, 0);
	char *code = NULL;

	*size = 0;
	if (fd < 0)
		return NULL;
	if (is_believed(fd, pid, place->owner) && !is_too_large(fd))
		code = read_begin(fd, GENERATED_FILE_SIZE_MAX, size);
	close(fd);
	return code;
}

/* ---- the cache */

static bool tell_the_same(const struct found *a, const struct found *b)
{
	const struct text_span one = {a->data, a->size}, other = {b->data, b->size};

	return text_span_equals(cached_graph_graph(one), cached_graph_graph(other)) &&
	       text_span_equals(cached_graph_traces(one), cached_graph_traces(other));
}

/* Reads an entry of the key. */
static void take_entry(struct search *search, int fd)
{
	struct stat status;
	struct found found = {0};

	if (fstat(fd, &status))
		return;
	found.changed = status.st_mtim;
	found.data = read_begin(fd, GENERATED_FILE_ENTRY_MAX, &found.size);
	if (!found.data)
		return;
	search->nr_found++;
	if (search->entry.data && !tell_the_same(&found, &search->entry))
		search->differ = true;
	if (search->entry.data && !source_age_is_later(&found.changed, &search->entry.changed)) {
		free(found.data);
		return;
	}
	free(search->entry.data);
	search->entry = found;
}

static void try_entry(struct search *search, int directory, const char *name)
{
	char head[CACHED_GRAPH_HEAD_SIZE];
	int fd = permitted_file_open_at(directory, name, search->owner);

	if (fd < 0)
		return;
	if (is_believed(fd, 0, search->owner)) {
		const struct text_span begin = {head, read_up_to(fd, head, sizeof(head))};

		if (text_span_equals(cached_graph_key(begin), search->key))
			take_entry(search, fd);
	}
	close(fd);
}

static bool goes_on(struct search *search)
{
	if (search->nr_names++ >= GENERATED_FILE_NAMES_MAX ||
	    search->nr_found >= GENERATED_FILE_ENTRIES_MAX)
		search->is_cut = true;
	return !search->is_cut;
}

/* Takes the directory. levels: of directories below it. */
static void look_in(struct search *search, int directory, uint32_t levels)
{
	DIR *names = directory >= 0 ? fdopendir(directory) : NULL;
	struct dirent *entry;

	if (!names) {
		if (directory >= 0)
			close(directory);
		return;
	}
	while ((entry = readdir(names))) {
		if (entry->d_name[0] == '.')
			continue;
		if (!goes_on(search))
			break;
		if (levels == 0)
			try_entry(search, dirfd(names), entry->d_name);
		else
			look_in(search,
				permitted_file_open_directory_at(dirfd(names), entry->d_name,
								 search->owner),
				levels - 1);
	}
	closedir(names);
}

static void find_entry(struct search *search, const struct generated_file_place *place, pid_t pid,
		       struct text_span cache)
{
	char path[PATH_MAX];
	int size = snprintf(path, sizeof(path), "%.*s/" ENTRIES, (int)cache.size, cache.data);

	if (size > 0 && (size_t)size < sizeof(path))
		look_in(search, permitted_file_open_directory_in(pid, path, place->owner),
			ENTRY_LEVELS);
}

/* ---- both */

static struct kernel_lines *make_lines(const struct search *search, struct text_span code,
				       const struct generated_file_place *place, pid_t pid)
{
	const struct found *found = &search->entry;
	const struct text_span entry = {found->data, found->size};
	struct kernel_lines *lines =
		kernel_lines_create(code, cached_graph_graph(entry), cached_graph_traces(entry));

	if (!lines || kernel_lines_count(lines) == 0) {
		kernel_lines_destroy(lines);
		return NULL;
	}
	if (found->data && (search->differ || search->is_cut ||
			    source_age_is_newer(lines, pid, place->owner, &found->changed)))
		kernel_lines_mark_near(lines);
	return lines;
}

/* *is_there: the file was found. */
static struct kernel_lines *read_in(const struct generated_file_place *place, pid_t pid,
				    bool *is_there)
{
	struct search search = {.owner = place->owner};
	struct text_span cache = {.data = place->path}, code = {0};

	*is_there = false;
	if (!generated_path_parse(place->path, strlen(place->path), &cache.size, &search.key.data))
		return NULL;
	search.key.size = GENERATED_PATH_KEY_SIZE;
	char *text = read_code(place, pid, &code.size);
	if (!text)
		return NULL;
	*is_there = true;
	code.data = text;
	find_entry(&search, place, pid, cache);
	struct kernel_lines *lines = make_lines(&search, code, place, pid);
	free(search.entry.data);
	free(text);
	return lines;
}

struct kernel_lines *generated_file_read(const struct generated_file_place *place)
{
	bool is_there = false;
	struct kernel_lines *lines = place->pid > 0 ? read_in(place, place->pid, &is_there) : NULL;

	return is_there || place->in_other_root ? lines : read_in(place, 0, &is_there);
}
