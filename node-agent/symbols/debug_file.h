/* Finds the separate debug file of a stripped file where packages put it: by build id, or by the name and checksum in
 * .gnu_debuglink. Any thread calls. The functions read files. */
#ifndef DEBUG_FILE_H
#define DEBUG_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DEBUG_FILE_DIRECTORY "/usr/lib/debug"

struct elf_file;

struct debug_file_query {
	struct elf_file *file; /* NULL: not at hand; only its build id is used then */
	const char *path;      /* of the file, as the process sees it */
	pid_t pid;             /* the process; its root is searched first; 0: only ours is */
	uid_t user;            /* of the process; a file that this user may not read is not read */
	bool in_other_root;    /* the path is searched in the process's root only */
	const char *directory; /* NULL: DEBUG_FILE_DIRECTORY */
	uint32_t build_id_size;
	const uint8_t *build_id;
};

/* Looks in DIRECTORY/.build-id first. Then it looks for the debug link's name beside the file, in .debug beside it, and
 * in DIRECTORY followed by the file's directory. A file with another build id is not believed, nor one that the debug
 * link names if its checksum differs. The caller owns *debug: elf_file_close(). Returns 0 or -ENOENT. On error *debug
 * is NULL. */
int debug_file_open(const struct debug_file_query *query, struct elf_file **debug);

#endif
