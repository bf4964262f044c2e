/* The separate debug file of a stripped file, where packages put it: by build id, or by the name and
 * checksum in .gnu_debuglink. Any thread; files are read. */
#ifndef DEBUG_FILE_H
#define DEBUG_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DEBUG_FILE_DIRECTORY "/usr/lib/debug"

struct elf_file;

struct debug_file_query {
	struct elf_file *file; /* NULL: not at hand; then only its build id counts */
	const char *path;      /* where the file is, in the process's view */
	pid_t pid;             /* whose view: its root is looked in first; 0: ours only */
	uid_t user;            /* whose process: what its user may not read is not read */
	bool in_other_root; /* the path is not ours: by it, only the process's root is looked in */
	const char *directory; /* NULL: DEBUG_FILE_DIRECTORY */
	uint32_t build_id_size;
	const uint8_t *build_id;
};

/* Looks in DIRECTORY/.build-id, then for the debug link beside the file, in .debug beside it, and in
 * DIRECTORY/its directory. What has another build id, or by debug link another checksum, is not
 * believed. The caller owns *debug: elf_file_close(). 0; -ENOENT. On error *debug is NULL. */
int debug_file_open(const struct debug_file_query *query, struct elf_file **debug);

#endif
