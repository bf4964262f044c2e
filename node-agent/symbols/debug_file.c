#include "debug_file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-agent/files/elf_file.h"
#include "node-agent/files/permitted_file.h"
#include "proto/batch/message.h"

#define LINK_SIZE_MAX    4096u
#define CHECKED_SIZE_MAX (4ll << 30) /* a checksum of a larger file takes too long */
#define READ_AT_ONCE     65536u

struct link {
	const char *name; /* borrowed from the file; NULL: none */
	uint32_t checksum;
};

/* The CRC-32 of IEEE 802.3, which the GNU debug link uses (gdb's manual, "Separate Debug Files"). */
static uint32_t add_to_checksum(uint32_t checksum, const uint8_t *data, size_t size)
{
	static const uint32_t nibbles[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};

	for (size_t i = 0; i < size; i++) {
		checksum ^= data[i];
		checksum = checksum >> 4 ^ nibbles[checksum & 15];
		checksum = checksum >> 4 ^ nibbles[checksum & 15];
	}
	return checksum;
}

static bool has_checksum(struct elf_file *file, uint32_t wanted)
{
	uint8_t buffer[READ_AT_ONCE];
	uint32_t checksum = UINT32_MAX;
	struct stat status;
	int fd = elf_file_fd(file);
	off_t at = 0;
	ssize_t got;

	if (fstat(fd, &status) || status.st_size > CHECKED_SIZE_MAX)
		return false;
	while (at < status.st_size && (got = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		checksum = add_to_checksum(checksum, buffer, (size_t)got);
		at += got;
	}
	return ~checksum == wanted;
}

static struct link read_link(struct elf_file *file)
{
	struct link link = {0};
	const void *data;
	size_t size;

	if (!file || !elf_file_section(file, ".gnu_debuglink", LINK_SIZE_MAX, &data, &size))
		return link;
	size_t name_size = strnlen(data, size) + 1;
	size_t checksum_at = (name_size + 3) & ~(size_t)3;
	if (name_size == 1 || checksum_at + sizeof(link.checksum) > size || strchr(data, '/'))
		return link;
	link.name = data;
	memcpy(&link.checksum, (const char *)data + checksum_at, sizeof(link.checksum));
	return link;
}

static bool same_build_id(const struct debug_file_query *query, struct elf_file *debug)
{
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	uint32_t size = elf_file_build_id(debug, build_id, sizeof(build_id));

	return size == query->build_id_size && memcmp(build_id, query->build_id, size) == 0;
}

/* root: the pid of the process in whose root the path is; 0: the path is in our root. */
static int open_checked(const struct debug_file_query *query, pid_t root, const char *path,
			const struct link *link, struct elf_file **debug)
{
	int r = elf_file_open_fd(permitted_file_open_in(root, path, query->user, 0), debug);

	if (r)
		return r;
	bool believed = query->build_id_size == 0 || same_build_id(query, *debug);
	if (believed && link)
		believed = has_checksum(*debug, link->checksum);
	if (believed && (elf_file_has_symtab(*debug) || elf_file_has_dwarf(*debug)))
		return 0;
	elf_file_close(*debug);
	*debug = NULL;
	return -ENOENT;
}

static int open_by_build_id(const struct debug_file_query *query, pid_t root, const char *directory,
			    struct elf_file **debug)
{
	char hex[2 * WIRE_BUILD_ID_MAX + 1], path[2 * PATH_MAX];

	if (query->build_id_size < 2 || query->build_id_size > WIRE_BUILD_ID_MAX)
		return -ENOENT;
	for (uint32_t i = 0; i < query->build_id_size; i++)
		snprintf(hex + (size_t)2 * i, 3, "%02x", query->build_id[i]);
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", directory, hex, hex + 2);
	return open_checked(query, root, path, NULL, debug);
}

static int open_by_link(const struct debug_file_query *query, pid_t root, const char *directory,
			const struct link *link, struct elf_file **debug)
{
	const char *slash = strrchr(query->path, '/');
	int folder = slash ? (int)(slash - query->path) : 0;
	char path[2 * PATH_MAX];

	if (!link->name || !slash)
		return -ENOENT;
	snprintf(path, sizeof(path), "%.*s/%s", folder, query->path, link->name);
	if (open_checked(query, root, path, link, debug) == 0)
		return 0;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", folder, query->path, link->name);
	if (open_checked(query, root, path, link, debug) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s%.*s/%s", directory, folder, query->path, link->name);
	return open_checked(query, root, path, link, debug);
}

int debug_file_open(const struct debug_file_query *query, struct elf_file **debug)
{
	const char *directory = query->directory ? query->directory : DEBUG_FILE_DIRECTORY;
	struct link link = read_link(query->file);
	int r = -ENOENT;

	*debug = NULL;
	if (query->pid > 0) {
		r = open_by_build_id(query, query->pid, directory, debug);
		if (r)
			r = open_by_link(query, query->pid, directory, &link, debug);
	}
	if (r)
		r = open_by_build_id(query, 0, directory, debug);
	if (r && !query->in_other_root)
		r = open_by_link(query, 0, directory, &link, debug);
	return r ? -ENOENT : 0;
}
