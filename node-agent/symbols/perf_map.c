#include "perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "node-agent/files/permitted_file.h"
#include "node-agent/files/proc_file.h"

#define STATUS_SIZE_MAX 16384u
#define TEXT_SIZE_MAX   (128u << 20)
#define ENTRIES_MAX     (4u << 20)
#define NAME_LENGTH_MAX 4096u

struct entry {
	uint64_t start, end;
	uint32_t name;  /* offset in text */
	uint32_t order; /* where two entries overlap, the later one counts */
};

/* The addresses where one entry counts. Spans are disjoint and sorted by start. */
struct span {
	uint64_t start, end;
	uint32_t name;
};

struct perf_map {
	int fd;
	char *text; /* owns; the part that was read; names are terminated in place */
	size_t size, parsed;
	uint32_t room;
	struct entry *entries; /* owns; in the order of the file */
	uint32_t nr_entries, max_entries;
	struct span *spans; /* owns */
	uint32_t nr_spans, room_spans;
};

/* ---- the file ---------------------------------------------------------------------------------- */

/* Returns the last number of NSpid: the pid that the process has in its own namespace. */
static pid_t read_own_pid(pid_t pid)
{
	char *text;
	size_t size;
	pid_t own_pid = pid;

	if (proc_file_read(pid, "status", STATUS_SIZE_MAX, &text, &size))
		return 0;
	const char *pids = strstr(text, "\nNSpid:");
	if (pids) {
		const char *end = strchr(pids + 1, '\n');

		while (end && end > pids && end[-1] != '\t' && end[-1] != ' ')
			end--;
		if (end)
			own_pid = (pid_t)strtol(end, NULL, 10);
	}
	free(text);
	return own_pid;
}

static bool is_believed(int fd, uid_t real, uid_t effective)
{
	struct stat status;

	/* A link to a file of root does not show that root put the file here. */
	return fstat(fd, &status) == 0 && status.st_uid == effective && status.st_nlink == 1 &&
	       (status.st_uid != 0 || real == 0);
}

static int open_map(pid_t pid)
{
	char path[64];
	pid_t own_pid = pid > 0 ? read_own_pid(pid) : 0;
	uid_t real, effective;

	if (own_pid <= 0 || proc_file_users(pid, &real, &effective))
		return -ENOENT;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)own_pid);
	int fd = permitted_file_open_in(pid, path, effective, O_NOFOLLOW);
	if (fd < 0)
		return -ENOENT;
	if (is_believed(fd, real, effective))
		return fd;
	close(fd);
	return -ENOENT;
}

bool perf_map_exists(pid_t pid)
{
	int fd = open_map(pid);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Reads to the present end of the file. Returns whether the file had grown. */
static bool read_on(struct perf_map *map)
{
	size_t before = map->size;
	struct stat status;

	if (fstat(map->fd, &status) || status.st_size <= (off_t)map->size)
		return false;
	size_t end = status.st_size > (off_t)TEXT_SIZE_MAX ? TEXT_SIZE_MAX : (size_t)status.st_size;
	if (array_reserve(&map->text, &map->room, end, 1))
		return false;
	while (map->size < end) {
		ssize_t got =
			pread(map->fd, map->text + map->size, end - map->size, (off_t)map->size);
		if (got <= 0)
			break;
		map->size += (size_t)got;
	}
	return map->size > before;
}

/* ---- its lines --------------------------------------------------------------------------------- */

static bool parse_hex(const char **at, const char *end, uint64_t *value)
{
	const char *begin = *at;

	*value = 0;
	if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X'))
		*at = begin = *at + 2;
	for (; *at < end && *at - begin < 16; ++*at) {
		char c = **at;
		unsigned int digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned int)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (unsigned int)((c | 0x20) - 'a') + 10;
		else
			break;
		*value = *value << 4 | digit;
	}
	if (*at == begin || *at == end || **at != ' ')
		return false;
	++*at;
	return true;
}

/* Skips malformed lines. 0, -ENOMEM or -ENOSPC. */
static int parse_line(struct perf_map *map, char *line, char *end)
{
	const char *at = line;
	uint64_t start, size;

	if (!parse_hex(&at, end, &start) || !parse_hex(&at, end, &size) || at == end || size == 0 ||
	    start + size < start)
		return 0;
	if (map->nr_entries == ENTRIES_MAX)
		return -ENOSPC;
	if (array_reserve(&map->entries, &map->max_entries, map->nr_entries + 1,
			  sizeof(*map->entries)))
		return -ENOMEM;
	if (end - at > NAME_LENGTH_MAX)
		end = line + (at - line) + NAME_LENGTH_MAX;
	for (char *c = line + (at - line); c < end; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	*end = '\0';
	map->entries[map->nr_entries] = (struct entry){
		.start = start,
		.end = start + size,
		.name = (uint32_t)(at - map->text),
		.order = map->nr_entries,
	};
	map->nr_entries++;
	return 0;
}

/* Parses whole lines only, since the writer has not finished the last one. */
static int parse(struct perf_map *map)
{
	int r = 0;

	while (r == 0 && map->parsed < map->size) {
		char *line = map->text + map->parsed;
		char *end = memchr(line, '\n', map->size - map->parsed);

		if (!end)
			break;
		r = parse_line(map, line, end);
		map->parsed = (size_t)(end - map->text) + 1;
	}
	return r;
}

/* ---- which entry counts where ------------------------------------------------------------------ */

static int by_start(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* A heap of entries with the highest order first. */
struct heap {
	const struct entry **entries;
	uint32_t count;
};

static void push(struct heap *heap, const struct entry *entry)
{
	uint32_t i = heap->count++;

	for (; i > 0 && heap->entries[(i - 1) / 2]->order < entry->order; i = (i - 1) / 2)
		heap->entries[i] = heap->entries[(i - 1) / 2];
	heap->entries[i] = entry;
}

static void pop(struct heap *heap)
{
	const struct entry *last = heap->entries[--heap->count];
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < heap->count &&
		    heap->entries[child + 1]->order > heap->entries[child]->order)
			child++;
		if (child >= heap->count || heap->entries[child]->order < last->order)
			break;
		heap->entries[i] = heap->entries[child];
		i = child;
	}
	heap->entries[i] = last;
}

/* Goes through the addresses in order; open holds the entries around the current one. Each step begins or ends one
 * entry, so each entry makes at most two spans. */
static void sweep(struct perf_map *map, const struct entry *sorted, struct heap *open)
{
	uint32_t next = 0;
	uint64_t at = 0;

	map->nr_spans = 0;
	while (next < map->nr_entries || open->count > 0) {
		while (open->count > 0 && open->entries[0]->end <= at)
			pop(open);
		if (open->count == 0) {
			if (next == map->nr_entries)
				break;
			at = sorted[next].start;
		}
		while (next < map->nr_entries && sorted[next].start <= at)
			push(open, &sorted[next++]);
		const struct entry *top = open->entries[0];
		uint64_t end = top->end;
		if (end <= at)
			continue;
		if (next < map->nr_entries && sorted[next].start < end)
			end = sorted[next].start;
		map->spans[map->nr_spans++] = (struct span){at, end, top->name};
		at = end;
	}
}

static int arrange(struct perf_map *map)
{
	uint32_t count = map->nr_entries;
	struct entry *sorted = malloc((count + 1) * sizeof(*sorted));
	struct heap open = {.entries = malloc((count + 1) * sizeof(*open.entries))};
	bool ok = sorted && open.entries &&
		  array_reserve(&map->spans, &map->room_spans, 2ull * count + 1,
				sizeof(*map->spans)) == 0;

	if (ok) {
		if (count > 0)
			memcpy(sorted, map->entries, count * sizeof(*sorted));
		qsort(sorted, count, sizeof(*sorted), by_start);
		sweep(map, sorted, &open);
	}
	free(sorted);
	free(open.entries);
	return ok ? 0 : -ENOMEM;
}

/* ---- interface --------------------------------------------------------------------------------- */

void perf_map_refresh(struct perf_map *map)
{
	uint32_t before = map->nr_entries;

	if (!read_on(map))
		return;
	parse(map); /* an entry for which memory is missing has no name */
	if (map->nr_entries > before)
		arrange(map);
}

int perf_map_open(pid_t pid, struct perf_map **map)
{
	int fd = open_map(pid);
	struct perf_map *new_map = fd < 0 ? NULL : calloc(1, sizeof(*new_map));

	*map = NULL;
	if (!new_map) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? -ENOENT : -ENOMEM;
	}
	new_map->fd = fd;
	perf_map_refresh(new_map);
	*map = new_map;
	return 0;
}

void perf_map_close(struct perf_map *map)
{
	if (!map)
		return;
	close(map->fd);
	free(map->text);
	free(map->entries);
	free(map->spans);
	free(map);
}

const char *perf_map_find(const struct perf_map *map, uint64_t address)
{
	uint32_t low = 0, high = map->nr_spans;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map->spans[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || map->spans[low - 1].end <= address)
		return NULL;
	return map->text + map->spans[low - 1].name;
}
