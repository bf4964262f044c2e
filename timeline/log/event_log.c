#include "event_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event_format.h"
#include "event_packer.h"
#include "event_reader.h"

#include "base/array.h"
#include "base/log.h"

#define PARTS     16u /* files of a full log */
#define PARTS_NS  8u  /* files of the time that is kept */
#define BYTES_MIN (64u << 10)

struct file {
	uint32_t number;
	uint64_t bytes, events;
	uint64_t began_ns, written_ns; /* 0: by an earlier writer */
};

struct event_log {
	struct event_log_options options;
	struct event_packer *packer; /* owns */
	struct file *files;          /* owns; the oldest first */
	uint32_t nr_files, room_files;
	uint64_t bytes, dropped_files, dropped_events;
	uint64_t lost_before; /* by earlier writers */
	uint32_t last_number;
	int directory, fd; /* owns; fd: of the last file; -1: none is begun */
	bool has_warned;
	char path[PATH_MAX];
};

/* ---- what is there */

static int add_file(struct event_log *log, const struct file *file)
{
	if (array_reserve(&log->files, &log->room_files, log->nr_files + 1ull, sizeof(*file)))
		return -ENOMEM;
	log->files[log->nr_files++] = *file;
	log->bytes += file->bytes;
	if (file->number > log->last_number)
		log->last_number = file->number;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct file *left = a, *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

static int find_file(struct event_log *log, const char *name, uint64_t *newest)
{
	const struct event_asks asks = {.profile = log->options.profile};
	struct event_sums sums = {0};
	bool begins = false;
	int error = event_reader_file(log->directory, name, &asks, &sums, &begins);
	const struct file file = {.number = event_reader_number(name),
				  .bytes = sums.bytes,
				  .events = sums.launches + sums.records};

	if (file.number > log->last_number)
		log->last_number = file.number;
	if (!error && begins && file.number >= *newest) {
		*newest = file.number;
		log->dropped_files = sums.dropped_files;
		log->dropped_events = sums.dropped_events;
	}
	if (sums.lost_events > log->lost_before)
		log->lost_before = sums.lost_events;
	return error || !sums.files ? error : add_file(log, &file);
}

static int find_files(struct event_log *log)
{
	const struct dirent *entry;
	uint64_t newest = 0;
	int error = 0, fd = fcntl(log->directory, F_DUPFD_CLOEXEC, 0);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries)
		return -errno;
	while (!error && (entry = readdir(entries)) != NULL)
		if (event_reader_number(entry->d_name))
			error = find_file(log, entry->d_name, &newest);
	closedir(entries);
	if (log->nr_files)
		qsort(log->files, log->nr_files, sizeof(*log->files), by_number);
	event_packer_lost_before(log->packer, log->lost_before);
	return error;
}

static int open_folder(struct event_log *log, const char *store_path)
{
	if (snprintf(log->path, sizeof(log->path), "%s" EVENT_FORMAT_FOLDER, store_path) >=
	    (int)sizeof(log->path))
		return -ENAMETOOLONG;
	if (mkdir(log->path, 0700) && errno != EEXIST)
		return -errno;
	log->directory = open(log->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return log->directory < 0 ? -errno : find_files(log);
}

int event_log_open(const char *store_path, const struct event_log_options *options,
		   struct event_log **log)
{
	struct event_log *self = calloc(1, sizeof(*self));
	int error = -ENOMEM;

	*log = NULL;
	if (!self)
		return error;
	self->options = *options;
	if (!self->options.bytes_max)
		self->options.bytes_max = EVENT_LOG_BYTES_MAX;
	self->directory = self->fd = -1;
	self->packer = event_packer_create();
	if (self->packer)
		error = open_folder(self, store_path);
	if (error) {
		event_log_close(self);
		return error;
	}
	*log = self;
	return 0;
}

void event_log_close(struct event_log *log)
{
	if (!log)
		return;
	if (log->fd >= 0)
		close(log->fd);
	if (log->directory >= 0)
		close(log->directory);
	event_packer_destroy(log->packer);
	free(log->files);
	free(log);
}

struct event_packer *event_log_packer(struct event_log *log)
{
	return log->packer;
}

/* The next file's head says it. */
void event_log_dropped_before(struct event_log *log, uint64_t files, uint64_t events)
{
	log->dropped_files += files;
	log->dropped_events += events;
	if (log->fd >= 0 && (files || events)) {
		close(log->fd);
		log->fd = -1;
	}
}

/* ---- files */

static uint64_t bytes_of_file(const struct event_log *log)
{
	uint64_t bytes = log->options.bytes_max / PARTS;

	return bytes > BYTES_MIN ? bytes : BYTES_MIN;
}

static void drop_oldest(struct event_log *log)
{
	char name[EVENT_READER_NAME];

	event_reader_name(log->files[0].number, name);
	unlinkat(log->directory, name, 0);
	log->dropped_files++;
	log->dropped_events += log->files[0].events;
	log->bytes -= log->files[0].bytes;
	memmove(log->files, log->files + 1, --log->nr_files * sizeof(*log->files));
}

static bool is_too_old(const struct event_log *log, uint64_t now_ns)
{
	return log->options.keep_ns && log->files[0].written_ns + log->options.keep_ns < now_ns;
}

/* A file's head has the sums of what was dropped before, so they last. 0 or -errno. */
static int begin_file(struct event_log *log, uint64_t now_ns)
{
	struct file file = {.number = log->last_number + 1,
			    .bytes = sizeof(struct event_file_head),
			    .began_ns = now_ns,
			    .written_ns = now_ns};
	char name[EVENT_READER_NAME];

	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
	for (uint32_t i = 0; i < log->nr_files; i++)
		if (!log->files[i].written_ns) /* an earlier writer's, whose clock is not known */
			log->files[i].written_ns = now_ns;
	while (log->nr_files && (log->bytes + bytes_of_file(log) > log->options.bytes_max ||
				 is_too_old(log, now_ns)))
		drop_oldest(log);
	struct event_file_head head = {.magic = EVENT_FORMAT_MAGIC,
				       .version = EVENT_FORMAT_VERSION,
				       .number = file.number,
				       .dropped_files = log->dropped_files,
				       .dropped_events = log->dropped_events};
	memcpy(head.profile, log->options.profile, sizeof(head.profile));
	head.checksum = EVENT_FORMAT_CHECKSUM(&head);
	event_reader_name(file.number, name);
	log->fd = openat(log->directory, name,
			 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND, 0600);
	if (log->fd < 0) {
		if (errno == EEXIST) /* none of ours; the next block finds another name */
			log->last_number = file.number;
		return -errno;
	}
	ssize_t written = write(log->fd, &head, sizeof(head));
	int error = written < 0 ? -errno : written == (ssize_t)sizeof(head) ? 0 : -ENOSPC;
	if (!error)
		error = add_file(log, &file);
	if (error) {
		unlinkat(log->directory, name, 0);
		close(log->fd);
		log->fd = -1;
	}
	return error;
}

static bool needs_file(const struct event_log *log, uint64_t now_ns)
{
	const struct file *last = log->nr_files ? &log->files[log->nr_files - 1] : NULL;

	return log->fd < 0 || !last || last->bytes >= bytes_of_file(log) ||
	       (log->options.keep_ns && now_ns - last->began_ns >= log->options.keep_ns / PARTS_NS);
}

/* 0 or -errno: the file is as it was, so that the next block is found. */
static int write_block(struct event_log *log, const uint8_t *bytes, size_t size, uint64_t events,
		       uint64_t now_ns)
{
	int error = needs_file(log, now_ns) ? begin_file(log, now_ns) : 0;

	if (error)
		return error;
	struct file *last = &log->files[log->nr_files - 1];
	ssize_t written = write(log->fd, bytes, size);
	if (written != (ssize_t)size) {
		error = written < 0 ? -errno : -ENOSPC;
		if (written > 0 && ftruncate(log->fd, (off_t)last->bytes)) {
			close(log->fd); /* the next block goes to another file */
			log->fd = -1;
		}
		return error;
	}
	last->bytes += size;
	last->events += events;
	last->written_ns = now_ns;
	log->bytes += size;
	return 0;
}

int event_log_write(struct event_log *log, uint64_t now_ns)
{
	struct event_block_head head;
	size_t left;
	int status = 0;
	const uint8_t *bytes = event_packer_blocks(log->packer, &left);

	while (left) {
		memcpy(&head, bytes, sizeof(head));
		const size_t size = sizeof(head) + head.nr_spans * sizeof(struct event_span) +
				    head.stored_bytes;
		const uint64_t events = (uint64_t)head.nr_launches + head.nr_records;
		int error = write_block(log, bytes, size, events, now_ns);

		if (error) {
			event_packer_lose(log->packer, events);
			status = error;
		}
		if (error && !log->has_warned)
			log_warning("%s: events of the timeline cannot be written: %s", log->path,
				    strerror(-error));
		log->has_warned |= error != 0;
		bytes += size;
		left -= size;
	}
	event_packer_clear(log->packer);
	return status;
}
