#include "page_child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

#include "base/log.h"
#include "cli/base/child_process.h"
#include "cli/base/verbs.h"
#include "report/names/clean_text.h"

#define ERROR_MAX 4096u
#define NS_PER_S  UINT64_C(1000000000)

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static const char *directory_of_pages(void)
{
	const char *directory = getenv("TMPDIR");

	return directory && *directory == '/' ? directory : "/tmp";
}

/* ---- begin */

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

static int spawn(struct page_child *child, const char *program, char *const *argv)
{
	const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int fds[] = {input, child->fd, child->error_fd};

	if (input < 0)
		return -errno;
	int error = child_process_start(program, argv, environ, fds, &child->pid);

	close(input);
	return error;
}

void page_child_start(struct page_child *child, const char *program, char *const *argv,
		      uint64_t now_ns)
{
	*child = PAGE_CHILD_NONE;
	child->begun_ns = child->ended_ns = now_ns;
	child->state = PAGE_MAKING;
	child->error_fd = memfd_create("flamegrid-error", MFD_CLOEXEC);
	child->fd = open_file();
	const int open_error = child->fd < 0 ? errno : 0;
	int error = child->fd < 0 || child->error_fd < 0 ? -errno : spawn(child, program, argv);

	if (!error)
		return;
	child->pid = 0;
	child->state = PAGE_FAILED;
	if (open_error)
		dprintf(child->error_fd, "no page can be made in %s (TMPDIR): %s\n",
			directory_of_pages(), strerror(open_error));
	else
		dprintf(child->error_fd, "%s\n", strerror(-error));
	close_file(&child->fd);
}

/* ---- end */

/* EXIT_LOSS: without what was damaged. */
static enum page_state state_of(const struct page_child *child, int status)
{
	switch (WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED) {
	case EXIT_OK:
	case EXIT_LOSS:
		return child->size ? PAGE_READY : PAGE_FAILED;
	case EXIT_NOTHING:
		return PAGE_NOTHING;
	case EXIT_USAGE:
		return PAGE_REFUSED;
	default:
		return PAGE_FAILED;
	}
}

/* A command knows its standard output alone, not what that is. */
static void explain_failure(const struct page_child *child)
{
	struct statvfs disk;

	if (fstatvfs(child->fd, &disk) == 0 && disk.f_bavail == 0)
		dprintf(child->error_fd, "no space is left for pages in %s (TMPDIR)\n",
			directory_of_pages());
}

static void end(struct page_child *child, int status, uint64_t now_ns)
{
	struct stat info;

	child->ended_ns = now_ns;
	child->size = fstat(child->fd, &info) == 0 ? (uint64_t)info.st_size : 0;
	child->state = state_of(child, status);
	if (child->state == PAGE_READY) {
		close_file(&child->error_fd);
		return;
	}
	if (child->state == PAGE_FAILED)
		explain_failure(child);
	close_file(&child->fd);
	child->size = 0;
}

/* A read of a file system that hangs may keep it from ending, so that nobody waits for it. */
static void stop(struct page_child *child, const char *name, uint64_t now_ns)
{
	char *clean = clean_text_of(name, strlen(name));

	kill(-child->pid, SIGKILL); /* its group */
	child->is_late = true;
	child->ended_ns = now_ns;
	child->state = PAGE_FAILED;
	close_file(&child->fd);
	dprintf(child->error_fd,
		"%s: this was not done within %" PRIu64 " s, so it was stopped; "
		"%" PRIu64 " s later a reload tries again\n",
		clean ? clean : "", PAGE_CHILD_MOST_NS / NS_PER_S, PAGE_CHILD_MOST_NS / NS_PER_S);
	log_warning("%s: a page was not made within %" PRIu64 " s, so it was stopped",
		    clean ? clean : "", PAGE_CHILD_MOST_NS / NS_PER_S);
	free(clean);
}

void page_child_poll(struct page_child *child, const char *name, uint64_t now_ns)
{
	int status;

	if (child->pid <= 0)
		return;
	if (waitpid(child->pid, &status, WNOHANG) == child->pid) {
		child->pid = 0;
		if (!child->is_late)
			end(child, status, now_ns);
	} else if (!child->is_late && now_ns - child->begun_ns >= PAGE_CHILD_MOST_NS) {
		stop(child, name, now_ns);
	}
}

char *page_child_error(const struct page_child *child)
{
	char *text = calloc(1, ERROR_MAX + 1);

	if (text && (child->error_fd < 0 || pread(child->error_fd, text, ERROR_MAX, 0) <= 0))
		snprintf(text, ERROR_MAX, "%s", "the page could not be made\n");
	return text;
}

void page_child_fini(struct page_child *child)
{
	if (child->pid > 0) {
		kill(-child->pid, SIGKILL);
		if (!child->is_late)
			waitpid(child->pid, NULL, 0);
	}
	close_file(&child->fd);
	close_file(&child->error_fd);
	*child = PAGE_CHILD_NONE;
}
