#include "job_files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "job_dir.h"

#include "aggregator/store/store.h"

#include "base/array.h"

#define NS_PER_S 1000000000u

struct job_files {
	int fd; /* of the directory */
	char path[PATH_MAX];
};

/* A user or a job as the question names it. */
struct asked_name {
	char text[MESSAGE_JOB_NAME_MAX + 1];
};

int job_files_open(const char *directory, struct job_files **files)
{
	struct job_files *new_files = calloc(1, sizeof(*new_files));
	int r = 0;

	*files = NULL;
	if (!new_files)
		return -ENOMEM;
	if (snprintf(new_files->path, PATH_MAX, "%s", directory) >= PATH_MAX)
		r = -ENAMETOOLONG;
	new_files->fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r == 0 && new_files->fd < 0)
		r = -errno;
	if (r) {
		job_files_close(new_files);
		return r;
	}
	*files = new_files;
	return 0;
}

void job_files_close(struct job_files *files)
{
	if (!files)
		return;
	if (files->fd >= 0)
		close(files->fd);
	free(files);
}

void job_answer_fini(struct job_answer *answer)
{
	for (uint32_t i = 0; answer->jobs && i < answer->message.fetch.nr_jobs; i++) {
		free((char *)answer->jobs[i].name.data);
		free((char *)answer->jobs[i].key.data);
	}
	free(answer->jobs);
	free(answer->bytes);
	*answer = (struct job_answer){0};
}

static __attribute__((format(printf, 3, 4))) void
refuse(struct job_answer *answer, enum refuse_code code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(answer->reason, sizeof(answer->reason), format, arguments);
	va_end(arguments);
	answer->message = (struct message){
		.type = MESSAGE_REFUSE,
		.refuse = {.code = code,
			   .reason = {answer->reason, (uint32_t)strlen(answer->reason)}},
	};
}

/* false: no user and no directory has such a name. */
static bool take_name(struct asked_name *name, const struct message_text *text)
{
	if (text->size >= sizeof(name->text) || (text->size && memchr(text->data, 0, text->size)))
		return false;
	if (text->size)
		memcpy(name->text, text->data, text->size);
	name->text[text->size] = '\0';
	return true;
}

static uint64_t time_of(const struct stat *status)
{
	return (uint64_t)status->st_mtim.tv_sec * NS_PER_S + (uint64_t)status->st_mtim.tv_nsec;
}

/* ---- lists */

struct names {
	char **names; /* owns, as their texts */
	uint32_t count, room;
};

static void names_fini(struct names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Finds the directories behind this name that may be of the user's jobs, sorted. 0 or -errno. */
static int find_names(const struct job_files *files, const char *user, const char *after,
		      struct names *names)
{
	int fd = openat(files->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *all = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!all) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(all)) != NULL) {
		if (*entry->d_name == '.' || strcmp(entry->d_name, after) <= 0 ||
		    !job_dir_may_be(entry->d_name, user))
			continue;
		r = array_reserve(&names->names, &names->room, (uint64_t)names->count + 1,
				  sizeof(*names->names));
		char *name = r ? NULL : strdup(entry->d_name);
		if (name)
			names->names[names->count++] = name;
		else
			r = -ENOMEM;
	}
	closedir(all);
	if (names->count)
		qsort(names->names, names->count, sizeof(*names->names), compare_names);
	return r;
}

/* Copies a text. false: out of memory. */
static bool copy_text(struct message_text *to, const char *text)
{
	to->data = strdup(text);
	to->size = to->data ? (uint32_t)strlen(text) : 0;
	return to->data != NULL;
}

/* Reads the mark of a job of the user. 0; -ENOENT: there is no such job; other -errno. */
static int read_mark(const struct job_files *files, const char *name, const char *user,
		     struct job_mark *mark, enum job_dir_state *state)
{
	char path[PATH_MAX], *error = NULL;
	int r = job_dir_file(files->path, name, path);

	if (r == 0)
		r = job_dir_read(path, mark, state, &error);
	free(error);
	return r == 0 && strcmp(mark->user, user) != 0 ? -ENOENT : r;
}

/* Adds the job if it is one of the user's. 0 or -ENOMEM. */
static int add_job(const struct job_files *files, const char *name, const char *user,
		   struct job_answer *answer)
{
	static const uint32_t states[] = {[JOB_DIR_IS_OPEN] = FETCH_RUNNING,
					  [JOB_DIR_IS_CLOSED] = FETCH_REPORTING,
					  [JOB_DIR_IS_COMPLETE] = FETCH_COMPLETE};
	struct message_fetch *fetch = &answer->message.fetch;
	struct message_fetch_job *job = &answer->jobs[fetch->nr_jobs];
	struct stat store, nodes;
	struct job_mark mark;
	enum job_dir_state state;
	char file[PATH_MAX];

	if (read_mark(files, name, user, &mark, &state))
		return 0;
	snprintf(file, sizeof(file), "%s/" JOB_DIR_STORE, name);
	if (fstatat(files->fd, file, &store, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(store.st_mode))
		return 0;
	snprintf(file, sizeof(file), "%s/" JOB_DIR_NODES, name);
	if (fstatat(files->fd, file, &nodes, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(nodes.st_mode))
		nodes.st_size = 0;
	*job = (struct message_fetch_job){
		.state = states[state],
		.size_bytes = (uint64_t)store.st_size + (uint64_t)nodes.st_size,
		.written_ns = time_of(&store),
	};
	fetch->nr_jobs++;
	return copy_text(&job->name, name) && copy_text(&job->key, mark.key) ? 0 : -ENOMEM;
}

static void list(const struct job_files *files, const char *user, const char *after,
		 struct job_answer *answer)
{
	struct message_fetch *fetch = &answer->message.fetch;
	struct names names = {0};
	int r = find_names(files, user, after, &names);

	answer->jobs = calloc(WIRE_FETCH_JOBS_MAX, sizeof(*answer->jobs));
	fetch->kind = FETCH_JOBS;
	fetch->jobs = answer->jobs;
	if (!answer->jobs)
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < names.count && fetch->nr_jobs < WIRE_FETCH_JOBS_MAX; i++)
		r = add_job(files, names.names[i], user, answer);
	names_fini(&names);
	if (r)
		job_answer_fini(answer);
	if (r && r != -ENOMEM)
		refuse(answer, REFUSE_STORE, "the jobs' directory cannot be read: %s",
		       strerror(-r));
}

/* ---- blocks */

static int open_file(const struct job_files *files, const char *name, const char *file)
{
	int directory = openat(files->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (directory < 0)
		return -errno;
	int fd = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(directory);
	return fd;
}

/* What a log beside the store holds is not in the store's file yet. */
static int absorb_log(const struct job_files *files, const char *name)
{
	char directory[PATH_MAX], store[PATH_MAX];
	int r = job_dir_file(files->path, name, directory);

	if (r == 0)
		r = job_dir_file(directory, JOB_DIR_STORE, store);
	return r == 0 ? store_absorb_log(store) : r;
}

static void refuse_absent(const char *user, struct job_answer *answer)
{
	refuse(answer, REFUSE_UNDEFINED, "user %s has no such job there", user);
}

/* Older versions left no mark. Only the user who may own the job learns that it exists. The store is not opened: if
 * the job is new and open, closing another descriptor would take SQLite's locks away. */
static void refuse_unmarked(const struct job_files *files, const char *name, const char *user,
			    struct job_answer *answer)
{
	char file[PATH_MAX];
	struct stat store;

	snprintf(file, sizeof(file), "%s/" JOB_DIR_STORE, name);
	if (job_dir_may_be(name, user) &&
	    fstatat(files->fd, file, &store, AT_SYMLINK_NOFOLLOW) == 0)
		refuse(answer, REFUSE_UNDEFINED,
		       "an older version kept this profile, and no word on whose it is: only the "
		       "site's administrator can copy it");
	else
		refuse_absent(user, answer);
}

static void refuse_running(const struct job_files *files, const char *name,
			   struct job_answer *answer)
{
	char file[PATH_MAX], since[32] = "";
	struct stat mark;
	struct tm utc;

	snprintf(file, sizeof(file), "%s/" JOB_DIR_MARK, name);
	if (fstatat(files->fd, file, &mark, AT_SYMLINK_NOFOLLOW) == 0 &&
	    gmtime_r(&mark.st_mtim.tv_sec, &utc))
		strftime(since, sizeof(since), ", since %F %H:%M UTC", &utc);
	refuse(answer, REFUSE_UNDEFINED, "the job is still running%s", since);
}

/* Returns whether the job is complete and the user's; else it is refused. */
static bool may_read(const struct job_files *files, const char *name, const char *user,
		     struct job_answer *answer)
{
	struct job_mark mark;
	enum job_dir_state state;

	if (!*name || *name == '.' || strchr(name, '/')) {
		refuse_absent(user, answer);
		return false;
	}
	int r = read_mark(files, name, user, &mark, &state);
	if (r == 0 && state == JOB_DIR_IS_COMPLETE)
		return true;
	if (r == 0 && state == JOB_DIR_IS_CLOSED)
		refuse(answer, REFUSE_UNDEFINED, "the job's reports are still being made");
	else if (r == 0)
		refuse_running(files, name, answer);
	else if (r == -ENOENT && *mark.key) /* it is another user's */
		refuse_absent(user, answer);
	else if (r == -ENOENT || r == -ENOTDIR)
		refuse_unmarked(files, name, user, answer);
	else
		refuse(answer, REFUSE_STORE, "the job cannot be read: %s", strerror(-r));
	return false;
}

static void identify(const struct stat *status, uint8_t identity[WIRE_FETCH_IDENTITY_SIZE])
{
	const uint64_t words[2] = {(uint64_t)status->st_ino, time_of(status)};

	static_assert(sizeof(words) == WIRE_FETCH_IDENTITY_SIZE, "all of the identity");
	memcpy(identity, words, sizeof(words));
}

/* Returns the number of bytes, fewer than size at the file's end, or -errno. */
static ssize_t read_all(int fd, uint8_t *bytes, size_t size, uint64_t offset)
{
	size_t done = 0;
	ssize_t more = 1;

	while (done < size && more > 0) {
		more = pread(fd, bytes + done, size - done, (off_t)(offset + done));
		if (more < 0 && errno == EINTR)
			more = 1;
		else if (more > 0)
			done += (size_t)more;
	}
	return more < 0 ? -errno : (ssize_t)done;
}

/* Reads the block, and the file's identity before and after, which have to be the same. 0 or -errno. */
static int read_block(int fd, struct job_answer *answer)
{
	struct message_fetch *fetch = &answer->message.fetch;
	uint8_t again[WIRE_FETCH_IDENTITY_SIZE];
	struct stat before, after;

	if (fstat(fd, &before) < 0)
		return -errno;
	if (!S_ISREG(before.st_mode))
		return -ENOENT;
	fetch->total_bytes = (uint64_t)before.st_size;
	uint64_t left = fetch->offset < fetch->total_bytes ? fetch->total_bytes - fetch->offset : 0;
	size_t size = left < WIRE_FETCH_BYTES_MAX ? (size_t)left : WIRE_FETCH_BYTES_MAX;
	answer->bytes = malloc(size ? size : 1);
	if (!answer->bytes)
		return -ENOMEM;
	ssize_t done = read_all(fd, answer->bytes, size, fetch->offset);
	if (done < 0)
		return (int)done;
	if (fstat(fd, &after) < 0)
		return -errno;
	identify(&before, fetch->identity);
	identify(&after, again);
	if ((size_t)done != size || memcmp(again, fetch->identity, sizeof(again)) != 0)
		return -ESTALE;
	fetch->bytes = answer->bytes;
	fetch->nr_bytes = (uint32_t)size;
	return 0;
}

static void read_file(const struct job_files *files, const char *user, const char *name,
		      struct job_answer *answer)
{
	const bool is_store = answer->message.fetch.file == FETCH_STORE;

	answer->message.fetch.kind = FETCH_BYTES;
	if (!may_read(files, name, user, answer))
		return;
	int r = is_store ? absorb_log(files, name) : 0;
	int fd = r ? r : open_file(files, name, is_store ? JOB_DIR_STORE : JOB_DIR_NODES);
	r = fd < 0 ? fd : read_block(fd, answer);
	if (fd >= 0)
		close(fd);
	/* Mostly there are no nodes' profiles. Of a job that is being deleted, its mark goes before them. */
	if (r == 0 || (r == -ENOENT && !is_store && may_read(files, name, user, answer)))
		return;
	if (r == -ENOENT && !is_store)
		return;
	job_answer_fini(answer);
	if (r == -ENOENT)
		refuse(answer, REFUSE_UNDEFINED, "the job's profile is gone");
	else if (r == -EBUSY)
		refuse(answer, REFUSE_STORE,
		       "somebody reads the profile there, so that it is not whole yet: fetch it "
		       "again later");
	else if (r == -ESTALE)
		refuse(answer, REFUSE_STORE, "the profile changed while it was read");
	else if (r != -ENOMEM)
		refuse(answer, REFUSE_STORE, "the profile cannot be read: %s", strerror(-r));
}

void job_files_answer(struct job_files *files, const struct message_fetch *question,
		      struct job_answer *answer)
{
	struct asked_name user, name;

	assert(question->kind == FETCH_LIST || question->kind == FETCH_READ);
	*answer = (struct job_answer){
		.message = {.type = MESSAGE_FETCH,
			    .fetch = {.token = question->token,
				      .user = question->user,
				      .name = question->name,
				      .file = question->file,
				      .offset = question->offset}},
	};
	if (!take_name(&user, &question->user) || !take_name(&name, &question->name))
		refuse(answer, REFUSE_MALFORMED, "FETCH has an impossible name");
	else if (question->kind == FETCH_LIST)
		list(files, user.text, name.text, answer);
	else
		read_file(files, user.text, name.text, answer);
}
