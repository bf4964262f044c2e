#include "stopped_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_test.h"

#define FILE_NODE    2u
#define NAME         "lib.so"
#define REQUEST_SIZE (FUSE_MIN_READ_BUFFER + (64u << 10))

struct stopped_files {
	char directory[64], path[96];
	int fd; /* the server's alone: with its end all that waits gets an error */
	pid_t server;
	uint8_t *contents; /* owns */
	size_t size;
};

static void reply(const struct stopped_files *files, const struct fuse_in_header *request, int error,
		  const void *body, size_t size)
{
	struct fuse_out_header head = {.len = (uint32_t)(sizeof(head) + size),
				       .error = -error,
				       .unique = request->unique};
	const struct iovec parts[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)body, size}};

	if (writev(files->fd, parts, 2) < 0)
		return; /* nobody waits for it any more */
}

static struct fuse_attr attributes_of(const struct stopped_files *files, uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_NODE ? files->size : 0,
		.mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void answer_lookup(const struct stopped_files *files, const struct fuse_in_header *request,
			  const char *name)
{
	const struct fuse_entry_out entry = {.nodeid = FILE_NODE,
					     .attr = attributes_of(files, FILE_NODE)};

	if (strcmp(name, NAME) == 0)
		reply(files, request, 0, &entry, sizeof(entry));
	else
		reply(files, request, ENOENT, NULL, 0);
}

static void answer_read(const struct stopped_files *files, const struct fuse_in_header *request,
			const struct fuse_read_in *wanted)
{
	size_t size = wanted->offset < files->size ? files->size - wanted->offset : 0;

	reply(files, request, 0, files->contents + wanted->offset,
	      size < wanted->size ? size : wanted->size);
}

static void answer(const struct stopped_files *files, const struct fuse_in_header *request)
{
	const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
					   .minor = FUSE_KERNEL_MINOR_VERSION,
					   .max_write = 4096};
	const struct fuse_attr_out attributes = {.attr = attributes_of(files, request->nodeid)};
	const struct fuse_open_out open_out = {.fh = 1};

	switch (request->opcode) {
	case FUSE_INIT:
		reply(files, request, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer_lookup(files, request, (const char *)(request + 1));
		break;
	case FUSE_GETATTR:
		reply(files, request, 0, &attributes, sizeof(attributes));
		break;
	case FUSE_OPEN:
		reply(files, request, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_READ:
		answer_read(files, request, (const struct fuse_read_in *)(request + 1));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(files, request, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(files, request, ENOSYS, NULL, 0);
		break;
	}
}

static void serve(const struct stopped_files *files)
{
	static uint64_t buffer[REQUEST_SIZE / sizeof(uint64_t)];

	/* Ends with ENODEV when it is unmounted. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(files->fd, buffer, sizeof(buffer)) > 0 || errno == EINTR || errno == ENOENT)
		answer(files, (const struct fuse_in_header *)buffer);
	_exit(0);
}

static void read_contents(struct stopped_files *files, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	assert_true(fd >= 0 && fstat(fd, &status) == 0);
	files->size = (size_t)status.st_size;
	files->contents = malloc(files->size);
	assert_non_null(files->contents);
	assert_int_equal(read(fd, files->contents, files->size), status.st_size);
	close(fd);
}

void stopped_files_prepare(void)
{
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
}

struct stopped_files *stopped_files_mount(const char *copied)
{
	struct stopped_files *files = calloc(1, sizeof(*files));
	char options[128];

	assert_non_null(files);
	read_contents(files, copied);
	strcpy(files->directory, "/tmp/stopped-files-XXXXXX");
	assert_non_null(mkdtemp(files->directory));
	snprintf(files->path, sizeof(files->path), "%s/" NAME, files->directory);
	files->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	assert_true(files->fd >= 0);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other",
		 files->fd);
	assert_int_equal(mount("stopped", files->directory, "fuse.stopped", MS_RDONLY, options), 0);
	files->server = fork();
	assert_true(files->server >= 0);
	if (files->server == 0)
		serve(files);
	close(files->fd);
	return files;
}

const char *stopped_files_path(const struct stopped_files *files)
{
	return files->path;
}

void stopped_files_stop(struct stopped_files *files)
{
	int status;

	assert_int_equal(kill(files->server, SIGSTOP), 0);
	assert_int_equal(waitpid(files->server, &status, WUNTRACED), files->server);
	assert_true(WIFSTOPPED(status));
}

void stopped_files_go_on(struct stopped_files *files)
{
	assert_int_equal(kill(files->server, SIGCONT), 0);
}

void stopped_files_unmount(struct stopped_files *files)
{
	umount2(files->directory, MNT_FORCE | MNT_DETACH);
	kill(files->server, SIGKILL);
	waitpid(files->server, NULL, 0);
	rmdir(files->directory);
	free(files->contents);
	free(files);
}
