#include "page_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/base/child_process.h"
#include "cli/base/verbs.h"

#define ERROR_MAX 4096u

struct entry {
	char key[PAGE_CACHE_KEY]; /* "": the place is free */
	pid_t child;              /* 0: nobody makes it */
	int fd;                   /* the page or a part of it; -1: none */
	int error_fd; /* what the child said, in memory: it may say that a disk is full */
	uint64_t size;
	uint64_t changed_ns, asked_ns, begun_ns, made_ns;
	bool is_made;
	enum page_state failure; /* once it is made; PAGE_READY: none */
};

struct page_cache {
	char program[PATH_MAX];
	struct entry entries[PAGE_CACHE_PAGES];
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

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void clear(struct entry *entry)
{
	if (!*entry->key)
		return;
	if (entry->child > 0) {
		kill(-entry->child, SIGKILL); /* its group */
		waitpid(entry->child, NULL, 0);
	}
	close_file(&entry->fd);
	close_file(&entry->error_fd);
	*entry = (struct entry){0};
}

void page_cache_destroy(struct page_cache *cache)
{
	for (uint32_t i = 0; cache && i < PAGE_CACHE_PAGES; i++)
		clear(&cache->entries[i]);
	free(cache);
}

/* EXIT_LOSS: without what was damaged. */
static enum page_state failure_of(const struct entry *entry, int status)
{
	switch (WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED) {
	case EXIT_OK:
	case EXIT_LOSS:
		return entry->size ? PAGE_READY : PAGE_FAILED;
	case EXIT_NOTHING:
		return PAGE_NOTHING;
	case EXIT_USAGE:
		return PAGE_REFUSED;
	default:
		return PAGE_FAILED;
	}
}

static const char *directory_of_pages(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory == '/' ? directory : "/tmp";
}

/* A child knows its standard output alone, not what that is. The page that failed gives its room back. */
static void explain_failure(struct entry *entry)
{
	struct statvfs disk;

	if (fstatvfs(entry->fd, &disk) == 0 && disk.f_bavail == 0)
		dprintf(entry->error_fd, "no space is left for pages in %s (TMPDIR)\n",
			directory_of_pages());
	close_file(&entry->fd);
	entry->size = 0;
}

/* Looks after the child of an entry. */
static void poll_child(struct entry *entry)
{
	struct stat info;
	int status;

	if (entry->child <= 0 || waitpid(entry->child, &status, WNOHANG) != entry->child)
		return;
	entry->child = 0;
	entry->is_made = true;
	entry->made_ns = clock_now_ns();
	entry->size = fstat(entry->fd, &info) == 0 ? (uint64_t)info.st_size : 0;
	entry->failure = failure_of(entry, status);
	if (entry->failure == PAGE_FAILED)
		explain_failure(entry);
}

/* The place of a key, or a free one, or the one that nobody has asked for longest. NULL: children make all pages. */
static struct entry *place_of(struct page_cache *cache, const char *key)
{
	struct entry *oldest = NULL;

	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++)
		if (strcmp(cache->entries[i].key, key) == 0)
			return &cache->entries[i];
	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++) {
		struct entry *entry = &cache->entries[i];

		if (!entry->child && (!oldest || entry->asked_ns < oldest->asked_ns))
			oldest = entry;
	}
	if (!oldest)
		return NULL;
	clear(oldest);
	snprintf(oldest->key, sizeof(oldest->key), "%s", key);
	oldest->fd = oldest->error_fd = -1;
	return oldest;
}

/* Frees pages until the others have room. */
static void make_room(struct page_cache *cache, const struct entry *newest)
{
	for (;;) {
		struct entry *oldest = NULL;
		uint64_t bytes = 0;

		for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++) {
			struct entry *entry = &cache->entries[i];

			bytes += entry->size;
			if (*entry->key && entry != newest && !entry->child &&
			    (!oldest || entry->asked_ns < oldest->asked_ns))
				oldest = entry;
		}
		if (bytes <= PAGE_CACHE_BYTES || !oldest)
			return;
		clear(oldest);
	}
}

/* ---- children */

static int open_file(void)
{
	const char *directory = directory_of_pages();
	char path[PATH_MAX];
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || snprintf(path, sizeof(path), "%s/flamegrid-page-XXXXXX", directory) >=
			       (int)sizeof(path))
		return fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int spawn(const struct page_cache *cache, const struct page_wanted *wanted,
		 struct entry *entry)
{
	char *argv[PAGE_CACHE_ARGUMENTS + 2] = {(char *)cache->program};
	const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int fds[] = {input, entry->fd, entry->error_fd};

	if (input < 0)
		return -errno;
	for (uint32_t i = 0; i < wanted->nr_argv; i++)
		argv[i + 1] = (char *)wanted->argv[i];
	int error = child_process_start(cache->program, argv, environ, fds, &entry->child);

	close(input);
	return error;
}

static void begin(const struct page_cache *cache, const struct page_wanted *wanted,
		  struct entry *entry)
{
	close_file(&entry->fd);
	close_file(&entry->error_fd);
	entry->size = 0;
	entry->is_made = false;
	entry->failure = PAGE_READY;
	entry->changed_ns = wanted->changed_ns;
	entry->begun_ns = entry->made_ns = clock_now_ns();
	entry->error_fd = memfd_create("flamegrid-error", MFD_CLOEXEC);
	entry->fd = open_file();
	const int open_error = entry->fd < 0 ? errno : 0;
	int error = entry->fd < 0 || entry->error_fd < 0 ? -errno : spawn(cache, wanted, entry);

	if (!error)
		return;
	entry->child = 0;
	entry->is_made = true;
	entry->failure = PAGE_FAILED;
	if (open_error)
		dprintf(entry->error_fd, "no page can be made in %s (TMPDIR): %s\n",
			directory_of_pages(), strerror(open_error));
	else
		dprintf(entry->error_fd, "%s\n", strerror(-error));
}

static uint32_t count_children(struct page_cache *cache)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++) {
		poll_child(&cache->entries[i]);
		count += cache->entries[i].child > 0;
	}
	return count;
}

/* ---- pages */

static bool is_fresh(const struct entry *entry, const struct page_wanted *wanted)
{
	const uint64_t took_ns = entry->made_ns - entry->begun_ns;

	if (!entry->is_made)
		return false;
	return (!wanted->is_live && entry->changed_ns == wanted->changed_ns &&
		entry->failure == PAGE_READY) ||
	       clock_now_ns() - entry->made_ns < PAGE_CACHE_FRESH_NS + 4 * took_ns;
}

static char *read_error(const struct entry *entry)
{
	char *text = calloc(1, ERROR_MAX + 1);

	if (text && (entry->error_fd < 0 || pread(entry->error_fd, text, ERROR_MAX, 0) <= 0))
		snprintf(text, ERROR_MAX, "%s", "the page could not be made\n");
	return text;
}

static enum page_state give(struct page_cache *cache, const struct entry *entry, struct page *page)
{
	make_room(cache, entry);
	page->fd = entry->failure ? -1 : fcntl(entry->fd, F_DUPFD_CLOEXEC, 0);
	if (page->fd < 0) {
		page->error = read_error(entry);
		return entry->failure ? entry->failure : PAGE_FAILED;
	}
	page->size = entry->size;
	return PAGE_READY;
}

enum page_state page_cache_get(struct page_cache *cache, const struct page_wanted *wanted,
			       struct page *page)
{
	const uint32_t nr_children = count_children(cache);
	struct entry *entry = place_of(cache, wanted->key);

	*page = (struct page){.fd = -1};
	if (!entry)
		return PAGE_MAKING;
	entry->asked_ns = clock_now_ns();
	if (entry->child)
		return PAGE_MAKING;
	if (!is_fresh(entry, wanted)) {
		if (nr_children < PAGE_CACHE_CHILDREN)
			begin(cache, wanted, entry);
		return PAGE_MAKING;
	}
	return give(cache, entry, page);
}

bool page_cache_begin(struct page_cache *cache, const struct page_wanted *wanted)
{
	const uint32_t nr_children = count_children(cache);
	struct entry *entry =
		nr_children < PAGE_CACHE_CHILDREN ? place_of(cache, wanted->key) : NULL;

	if (!entry)
		return false;
	entry->asked_ns = clock_now_ns();
	begin(cache, wanted, entry);
	return true;
}

enum page_state page_cache_look(struct page_cache *cache, const char *key, struct page *page)
{
	count_children(cache);
	*page = (struct page){.fd = -1};
	for (uint32_t i = 0; i < PAGE_CACHE_PAGES; i++) {
		struct entry *entry = &cache->entries[i];

		if (strcmp(entry->key, key) != 0)
			continue;
		entry->asked_ns = clock_now_ns();
		return entry->is_made ? give(cache, entry, page) : PAGE_MAKING;
	}
	return PAGE_NOTHING;
}
