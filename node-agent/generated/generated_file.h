/* Reads a file that Inductor generated, and what Inductor's cache keeps of its graph, for a process that runs it. The
 * cache is a tree beside the file: fxgraph/xy/KEY/ENTRY in the directory of generated_path.h (PyTorch 2.11,
 * torch/_inductor/codecache.py, FxGraphCache). The entry of a file is the one with its key (cached_graph.h). Graphs
 * whose nodes have other lines may give equal files. If entries with the key differ, the newest is taken, and all lines
 * have the mark MODEL_LINES_NEAR. They also have it if not all entries could be looked at, or if a source file is newer
 * than the entry (source_age.h).
 *
 * The files are the user's. They are opened as permitted_file.h says, and believed only if they belong to the process's
 * user. They may be huge, change, or never answer: only foreign calls (foreign_call.h) use this module. */
#ifndef GENERATED_FILE_H
#define GENERATED_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#define GENERATED_FILE_SIZE_MAX    (8u << 20)  /* a larger file is not read */
#define GENERATED_FILE_ENTRY_MAX   (32u << 20) /* read of an entry; the texts are at its begin */
#define GENERATED_FILE_NAMES_MAX   16384u      /* names that are looked at in a cache */
#define GENERATED_FILE_ENTRIES_MAX 8u          /* entries with a file's key that are read */

struct kernel_lines;

struct generated_file_place {
	pid_t pid;          /* a process that runs it; 0: not known */
	uid_t owner;        /* the process's user */
	bool in_other_root; /* its paths are not ours */
	const char *path;   /* terminated; one of generated_path.h */
};

/* Returns the lines, which the caller owns. NULL: there are none, or out of memory. */
struct kernel_lines *generated_file_read(const struct generated_file_place *place);

#endif
