#include "memory_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proto/sparse_memory.h"

#define TEXT_MAX  1024u /* a line or a path; a longer one is no cgroup's */
#define RANKS_MAX 1024u
#define STACK     (8ull << 20)
/* Version 1 says "no limit" with the largest number of whole pages. */
#define UNLIMITED (1ull << 62)

/* Variables with the number of processes on this node, in the order of launchers from the nearest. Slurm's may be
 * "8(x2)". */
static const char *const rank_variables[] = {
	"LOCAL_WORLD_SIZE",          "OMPI_COMM_WORLD_LOCAL_SIZE",
	"MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
	"PALS_LOCAL_SIZE",           "SLURM_STEP_TASKS_PER_NODE",
};

struct lines {
	int fd;
	size_t at, size;
	char text[4096];
	char line[TEXT_MAX]; /* the last one that was read */
};

/* What the reading needs. It is mapped, because the thread that starts CUDA may have a tiny stack. */
struct reading {
	const char *root;
	char version_1[TEXT_MAX], version_2[TEXT_MAX]; /* the process's cgroups; "": none */
	char folder[TEXT_MAX], path[TEXT_MAX];
	struct lines lines, limit;
};

static bool append(char *text, const char *more)
{
	size_t size = strlen(text), more_size = strlen(more);

	if (size + more_size >= TEXT_MAX)
		return false;
	memcpy(text + size, more, more_size + 1);
	return true;
}

/* Opens the file folder/name. Returns false if it cannot be opened. */
static bool open_lines(struct reading *reading, const char *folder, const char *name,
		       struct lines *lines)
{
	lines->at = lines->size = 0;
	lines->fd = -1;
	*reading->path = '\0';
	if (append(reading->path, folder) && append(reading->path, name))
		lines->fd = open(reading->path, O_RDONLY | O_CLOEXEC);
	return lines->fd >= 0;
}

/* Reads the next line without its end, cut if it is too long. Returns false if there is none. */
static bool next_line(struct lines *lines)
{
	size_t size = 0;
	bool any = false;

	for (;;) {
		if (lines->at == lines->size) {
			ssize_t got;

			do
				got = read(lines->fd, lines->text, sizeof(lines->text));
			while (got < 0 && errno == EINTR);
			if (got <= 0)
				break;
			lines->at = 0;
			lines->size = (size_t)got;
		}
		char c = lines->text[lines->at++];
		any = true;
		if (c == '\n')
			break;
		if (size < TEXT_MAX - 1)
			lines->line[size++] = c;
	}
	lines->line[size] = '\0';
	return any;
}

/* Not strtoull(): it is bound to newer C libraries than the guest may need. */
static uint64_t decimal(const char *text)
{
	uint64_t value = 0;

	for (; *text >= '0' && *text <= '9' && value < UNLIMITED / 10; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	return value;
}

/* Returns whether a list with commas has this word. */
static bool has_word(const char *list, const char *word)
{
	size_t size = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, word, size) == 0 && (at[size] == ',' || at[size] == '\0'))
			return true;
	return false;
}

/* "4:memory:/a/b" of version 1, "0::/a/b" of version 2. */
static void find_cgroups(struct reading *reading)
{
	struct lines *lines = &reading->lines;

	if (!open_lines(reading, reading->root, "/proc/self/cgroup", lines))
		return;
	while (next_line(lines)) {
		char *list = strchr(lines->line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		if (list[1] == '\0')
			strcpy(reading->version_2, path);
		else if (has_word(list + 1, "memory"))
			strcpy(reading->version_1, path);
	}
	close(lines->fd);
}

static void take_limit(struct reading *reading, const char *file, uint64_t *least)
{
	struct lines *lines = &reading->limit;

	if (!open_lines(reading, reading->folder, file, lines))
		return;
	if (next_line(lines) && *lines->line >= '0' && *lines->line <= '9') {
		uint64_t limit = decimal(lines->line);

		if (limit < UNLIMITED / 10 && limit < *least)
			*least = limit;
	}
	close(lines->fd);
}

/* Returns the part of a cgroup's path that lies below the mounted one; "": the path lies outside of it. */
static const char *below(const char *path, const char *mounted)
{
	size_t size = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);

	if (strncmp(path, mounted, size) != 0 || (path[size] != '/' && path[size] != '\0') ||
	    strstr(path, "/.."))
		return "";
	return strcmp(path + size, "/") == 0 ? "" : path + size;
}

/* Visits the process's cgroup and all above it, up to the mounted one. */
static void walk(struct reading *reading, const char *point, const char *rest, const char *file,
		 uint64_t *least)
{
	char *folder = reading->folder;

	*folder = '\0';
	if (!append(folder, reading->root) || !append(folder, point))
		return;
	size_t top = strlen(folder);
	if (!append(folder, rest))
		return;
	for (;;) {
		take_limit(reading, file, least);
		if (strlen(folder) <= top)
			return;
		*strrchr(folder, '/') = '\0';
	}
}

/* Cuts the text at the next blank. Returns the text behind it, or NULL. */
static char *cut(char *text)
{
	char *blank = text ? strchr(text, ' ') : NULL;

	if (!blank)
		return NULL;
	*blank = '\0';
	return blank + 1;
}

/* "36 35 98:0 /mounted /point rw,noatime shared:1 - cgroup2 cgroup rw,memory" */
static void read_mount(struct reading *reading, uint64_t *least)
{
	char *mounted = reading->lines.line, *type = strstr(mounted, " - "), *point, *options;

	for (int i = 0; i < 3; i++)
		mounted = cut(mounted);
	point = cut(mounted);
	if (!cut(point) || !type)
		return;
	type += strlen(" - ");
	options = cut(cut(type));
	if (strcmp(type, "cgroup2") == 0 && *reading->version_2)
		walk(reading, point, below(reading->version_2, mounted), "/memory.max", least);
	else if (strcmp(type, "cgroup") == 0 && *reading->version_1 && options &&
		 has_word(options, "memory"))
		walk(reading, point, below(reading->version_1, mounted), "/memory.limit_in_bytes",
		     least);
}

static uint64_t cgroup_limit(struct reading *reading)
{
	struct lines *lines = &reading->lines;
	uint64_t least = MEMORY_LIMIT_NONE;

	find_cgroups(reading);
	if (!open_lines(reading, reading->root, "/proc/self/mountinfo", lines))
		return least;
	while (next_line(lines))
		read_mount(reading, &least);
	close(lines->fd);
	return least;
}

/* Reads the first line, "MemTotal:       24683644 kB". It makes no system call that a filter may not know. */
static uint64_t machine_memory(struct reading *reading)
{
	struct lines *lines = &reading->lines;
	uint64_t kib = 0;

	if (!open_lines(reading, reading->root, "/proc/meminfo", lines))
		return MEMORY_LIMIT_NONE;
	if (next_line(lines) && strncmp(lines->line, "MemTotal:", 9) == 0)
		kib = decimal(lines->line + 9 + strspn(lines->line + 9, " "));
	close(lines->fd);
	return kib ? kib << 10 : MEMORY_LIMIT_NONE;
}

static uint64_t resource_limit(int resource)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return MEMORY_LIMIT_NONE;
	return limit.rlim_cur;
}

/* Reads the first number of statm, which is in pages. */
static uint64_t mapped(struct reading *reading)
{
	struct lines *lines = &reading->lines;
	uint64_t pages = 0;

	if (!open_lines(reading, reading->root, "/proc/self/statm", lines))
		return 0;
	if (next_line(lines))
		pages = decimal(lines->line);
	close(lines->fd);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint32_t ranks(void)
{
	for (size_t i = 0; i < sizeof(rank_variables) / sizeof(*rank_variables); i++) {
		const char *value = getenv(rank_variables[i]);
		uint64_t number = value ? decimal(value) : 0;

		if (number > 0)
			return number < RANKS_MAX ? (uint32_t)number : RANKS_MAX;
	}
	return 1;
}

void memory_limits_read(const char *root, struct memory_limits *limits)
{
	int saved_errno = errno;
	struct reading *reading = sparse_memory_map(sizeof(*reading), PROT_READ | PROT_WRITE);

	*limits = (struct memory_limits){
		.cgroup = MEMORY_LIMIT_NONE,
		.machine = MEMORY_LIMIT_NONE,
		.address_space = resource_limit(RLIMIT_AS),
		.data = resource_limit(RLIMIT_DATA),
		.file = resource_limit(RLIMIT_FSIZE),
		.thread_stack = resource_limit(RLIMIT_STACK),
		.ranks = ranks(),
	};
	if (limits->thread_stack == MEMORY_LIMIT_NONE)
		limits->thread_stack = STACK;
	if (reading) {
		reading->root = root;
		limits->cgroup = cgroup_limit(reading);
		limits->machine = machine_memory(reading);
		limits->address_space_used = mapped(reading);
		munmap(reading, sizeof(*reading));
	}
	errno = saved_errno;
}
