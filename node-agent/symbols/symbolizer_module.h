/* Says where a module's file can be found, and by what the file is recognised. */
#ifndef SYMBOLIZER_MODULE_H
#define SYMBOLIZER_MODULE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/batch/message.h"

enum symbolizer_kind {
	SYMBOLIZER_BUILD_ID,   /* an ELF file, known by its build id */
	/* an ELF file without a build id, or with that of another file, known by content_id_of() */
	SYMBOLIZER_CONTENT_ID,
	SYMBOLIZER_PERF_MAP,   /* no file: the code that a process generates, by its perf_map.h */
	SYMBOLIZER_GENERATED, /* a Python file that Inductor generated; its addresses are lines, and the names
				  those of generated/kernel_lines.h */
};

struct symbolizer_module {
	uint32_t module_id;
	enum symbolizer_kind kind;
	uint32_t flags;         /* enum definition_module_flags */
	uid_t owner;            /* the user whose processes map it and are told its names */
	pid_t pid;              /* a process that maps it; 0: none */
	int64_t started_ns;     /* when the process started, real-time clock; 0: not known */
	bool in_other_root;     /* its paths are not ours */
	uint64_t start, end;    /* the addresses where the process maps it */
	const char *path;       /* borrowed for the call; terminated */
	uint32_t build_id_size; /* 0: not known; the file at the path is believed then */
	uint8_t build_id[WIRE_BUILD_ID_MAX]; /* or content id */
};

#endif
