#include "symbol_cache.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbol_table.h"

#include "base/checksum.h"
#include "proto/batch/message.h"

#define MAGIC         0x316d797367666cull /* "lfgsym1" in memory */
#define VERSION       2u
#define SUFFIX        ".symbols"
#define NAME_SIZE     (2 * WIRE_BUILD_ID_MAX + 16 + sizeof(SUFFIX)) /* with the number of a user */
#define FILE_SIZE_MAX (1ull << 30)
#define OFF           "off"

/* A file consists of this header, the symbols and the names. Numbers have the machine's byte order. */
struct header {
	uint64_t magic;
	uint32_t version, build_id_size;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint32_t nr_symbols, names_size;
	uint32_t owner, reserved;
	uint64_t checksum; /* of the whole file, with 0 in place of this member */
};

static_assert(sizeof(struct header) == 72, "format of the symbol cache");

struct symbol_cache {
	uint64_t max_bytes;
	char directory[];
};

char *symbol_cache_directory(const char *option)
{
	const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
	char *path = NULL;
	int r;

	if (option && strcmp(option, OFF) == 0)
		return NULL;
	if (option)
		return strdup(option);
	if (cache && *cache == '/')
		r = asprintf(&path, "%s/flamegrid/symbols", cache);
	else if (home && *home == '/')
		r = asprintf(&path, "%s/.cache/flamegrid/symbols", home);
	else
		return NULL;
	return r < 0 ? NULL : path;
}

struct symbol_cache *symbol_cache_create(const char *directory, uint64_t max_bytes)
{
	size_t size = strlen(directory) + 1;
	struct symbol_cache *cache = malloc(sizeof(*cache) + size);

	if (!cache)
		return NULL;
	cache->max_bytes = max_bytes;
	memcpy(cache->directory, directory, size);
	return cache;
}

void symbol_cache_destroy(struct symbol_cache *cache)
{
	free(cache);
}

static uint64_t checksum_of(const struct header *header, const struct symbol_table_content *content)
{
	struct header zeroed = *header;

	zeroed.checksum = 0;
	uint64_t checksum = checksum_add(0, &zeroed, sizeof(zeroed));
	checksum = checksum_add(checksum, content->symbols,
				content->count * sizeof(*content->symbols));
	return checksum_add(checksum, content->names, content->names_size);
}

static bool file_name(char name[static NAME_SIZE], uid_t owner, const uint8_t *build_id,
		      uint32_t size)
{
	if (size == 0 || size > WIRE_BUILD_ID_MAX)
		return false;
	for (uint32_t i = 0; i < size; i++)
		snprintf(name + (size_t)2 * i, 3, "%02x", build_id[i]);
	snprintf(name + (size_t)2 * size, NAME_SIZE - (size_t)2 * size, "-%u" SUFFIX, owner);
	return true;
}

/* Opens the directory if it is ours and no other user can write to it. */
static int open_directory(const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || status.st_uid != geteuid() || (status.st_mode & 022)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

static int make_directory(const char *path)
{
	char part[PATH_MAX];
	size_t size = strlen(path);

	if (size == 0 || size >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, size + 1);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0700) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(part, 0700) && errno != EEXIST ? -errno : 0;
}

/* ---- loading ----------------------------------------------------------------------------------- */

static int read_file(int fd, size_t size, char **data)
{
	size_t have = 0;

	*data = malloc(size);
	if (!*data)
		return -ENOMEM;
	while (have < size) {
		ssize_t got = read(fd, *data + have, size - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		have += (size_t)got;
	}
	return 0;
}

static bool is_believable(const struct header *header, size_t size, uid_t owner,
			  const uint8_t *build_id, uint32_t build_id_size)
{
	return header->magic == MAGIC && header->version == VERSION && header->owner == owner &&
	       header->build_id_size == build_id_size &&
	       memcmp(header->build_id, build_id, build_id_size) == 0 &&
	       size == sizeof(*header) +
			       (uint64_t)header->nr_symbols * sizeof(struct symbol_table_symbol) +
			       header->names_size;
}

/* Takes data, the whole file. The file was read, not mapped, since a mapping of a file on a network can raise SIGBUS.
 * The checksum touches every byte anyway. */
static int restore(char *data, size_t size, uid_t owner, const uint8_t *build_id,
		   uint32_t build_id_size, struct symbol_table **table)
{
	const struct header *header = (const struct header *)data;

	if (!is_believable(header, size, owner, build_id, build_id_size)) {
		free(data);
		return -EBADMSG;
	}
	size_t symbols_size = header->nr_symbols * sizeof(struct symbol_table_symbol);
	struct symbol_table_content content = {
		.symbols = (const struct symbol_table_symbol *)(data + sizeof(*header)),
		.names = data + sizeof(*header) + symbols_size,
		.count = header->nr_symbols,
		.names_size = header->names_size,
	};
	if (checksum_of(header, &content) != header->checksum) {
		free(data);
		return -EBADMSG;
	}
	return symbol_table_restore(&content, data, table);
}

int symbol_cache_load(struct symbol_cache *cache, uid_t owner, const uint8_t *build_id,
		      uint32_t build_id_size, struct symbol_table **table)
{
	char name[NAME_SIZE], *data = NULL;
	struct stat status;

	*table = NULL;
	if (!file_name(name, owner, build_id, build_id_size))
		return -ENOENT;
	int directory = open_directory(cache->directory);
	if (directory < 0)
		return directory;
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;
	close(directory);
	if (r)
		return r;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) ||
	    status.st_size < (off_t)sizeof(struct header) || status.st_size > (off_t)FILE_SIZE_MAX)
		r = -EBADMSG;
	if (r == 0)
		r = read_file(fd, (size_t)status.st_size, &data);
	if (r == 0) {
		r = restore(data, (size_t)status.st_size, owner, build_id, build_id_size, table);
		data = NULL;
	}
	if (r == 0)
		futimens(fd, NULL); /* marks the file as used: the oldest files are deleted first */
	free(data);
	close(fd);
	return r;
}

/* ---- storing ----------------------------------------------------------------------------------- */

static int write_all(int fd, const void *data, size_t size)
{
	const char *bytes = data;

	while (size > 0) {
		ssize_t put = write(fd, bytes, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		bytes += put;
		size -= (size_t)put;
	}
	return 0;
}

static bool is_ours(const char *name)
{
	size_t size = strlen(name);

	return size > strlen(SUFFIX) && strcmp(name + size - strlen(SUFFIX), SUFFIX) == 0;
}

struct survey {
	uint64_t bytes;
	uint32_t nr_files;
	char oldest[NAME_MAX + 1];
};

static int survey(int directory, struct survey *result)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct timespec oldest = {0};
	const struct dirent *entry;

	memset(result, 0, sizeof(*result));
	if (!stream) {
		int r = -errno;

		if (fd >= 0)
			close(fd);
		return r;
	}
	while ((entry = readdir(stream))) {
		struct stat status;

		if (!is_ours(entry->d_name) ||
		    fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode))
			continue;
		result->bytes += (uint64_t)status.st_size;
		if (result->nr_files++ == 0 || status.st_mtim.tv_sec < oldest.tv_sec ||
		    (status.st_mtim.tv_sec == oldest.tv_sec &&
		     status.st_mtim.tv_nsec < oldest.tv_nsec)) {
			oldest = status.st_mtim;
			snprintf(result->oldest, sizeof(result->oldest), "%s", entry->d_name);
		}
	}
	closedir(stream);
	return 0;
}

/* Each stored file costs one survey. Files are few, since each holds thousands of symbols. */
static void drop_oldest(const struct symbol_cache *cache, int directory)
{
	struct survey found;

	while (survey(directory, &found) == 0 && found.bytes > cache->max_bytes &&
	       found.nr_files > 1)
		if (unlinkat(directory, found.oldest, 0))
			return;
}

static int write_file(int directory, const char *name, const struct header *header,
		      const struct symbol_table_content *content)
{
	char temporary[NAME_SIZE + 32];

	/* A file without the suffix is neither loaded nor counted. The thread's number makes the name unique. */
	snprintf(temporary, sizeof(temporary), "%s.%ld", name, syscall(SYS_gettid));
	unlinkat(directory, temporary, 0);
	int fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int r = write_all(fd, header, sizeof(*header));
	if (r == 0)
		r = write_all(fd, content->symbols, content->count * sizeof(*content->symbols));
	if (r == 0)
		r = write_all(fd, content->names, content->names_size);
	if (close(fd) && r == 0)
		r = -errno;
	if (r == 0 && renameat(directory, temporary, directory, name))
		r = -errno;
	if (r)
		unlinkat(directory, temporary, 0);
	return r;
}

int symbol_cache_store(struct symbol_cache *cache, uid_t owner, const uint8_t *build_id,
		       uint32_t build_id_size, const struct symbol_table *table)
{
	struct header header = {
		.magic = MAGIC, .version = VERSION, .build_id_size = build_id_size, .owner = owner};
	struct symbol_table_content content;
	char name[NAME_SIZE];

	if (!file_name(name, owner, build_id, build_id_size))
		return -EINVAL;
	symbol_table_content(table, &content);
	if (sizeof(header) + content.count * sizeof(*content.symbols) + content.names_size >
	    FILE_SIZE_MAX)
		return -EFBIG;
	memcpy(header.build_id, build_id, build_id_size);
	header.nr_symbols = content.count;
	header.names_size = content.names_size;
	header.checksum = checksum_of(&header, &content);
	int r = make_directory(cache->directory);
	if (r)
		return r;
	int directory = open_directory(cache->directory);
	if (directory < 0)
		return directory;
	r = write_file(directory, name, &header, &content);
	if (r == 0)
		drop_oldest(cache, directory);
	close(directory);
	return r;
}
