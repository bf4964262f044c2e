#include "file_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/definition.h"

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	return hash;
}

/* Not stat(): as a function it is younger than the C libraries that the guest may run with. */
static uint64_t hash_status(uint64_t hash, const char *path)
{
	const int saved_errno = errno;
	struct stat status;

	if (syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0) {
		const uint64_t words[] = {
			status.st_dev,
			status.st_ino,
			(uint64_t)status.st_size,
			(uint64_t)status.st_mtim.tv_sec,
			(uint64_t)status.st_mtim.tv_nsec,
			(uint64_t)status.st_ctim.tv_sec,
			(uint64_t)status.st_ctim.tv_nsec,
		};

		hash = hash_bytes(hash, words, sizeof(words));
	}
	errno = saved_errno;
	return hash;
}

uint64_t file_identity_of(const char *path, const struct definition_module *module,
			  uint64_t content)
{
	uint64_t hash = 0xcbf29ce484222325u;

	hash = hash_bytes(hash, path, strlen(path) + 1);
	hash = hash_bytes(hash, module->build_id, module->build_id_size);
	hash = hash_bytes(hash, &content, sizeof(content));
	hash = hash_status(hash, path);
	return hash ? hash : 1;
}
