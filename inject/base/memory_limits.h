/* The limits on memory that this process is under. Reads files; never malloc. */
#ifndef MEMORY_LIMITS_H
#define MEMORY_LIMITS_H

#include <stdint.h>

#define MEMORY_LIMIT_NONE UINT64_MAX

struct memory_limits { /* bytes, or MEMORY_LIMIT_NONE */
	/* the least of the process's cgroup and of those above it, as far as they can be seen */
	uint64_t cgroup;
	uint64_t machine;            /* its memory */
	uint64_t address_space;      /* RLIMIT_AS */
	uint64_t address_space_used; /* by all mappings so far; 0: not known */
	uint64_t file;               /* RLIMIT_FSIZE */
	/* processes of the job on this node, as its launcher says; 1: it does not */
	uint32_t ranks;
};

/* root: "", or a folder with a proc/self and the mount points of a machine that is made up (tests).
 * What cannot be read is no limit. Keeps errno. */
void memory_limits_read(const char *root, struct memory_limits *limits);

#endif
