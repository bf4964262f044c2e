/* Keeps unwind tables on disk, by user, beside the symbol tables. A file is one table. A file that is damaged, or of
 * another name or user, is treated as missing, and is replaced. Tables of another version have other names: their files
 * stay until they are trimmed. Any thread calls. Several processes may use
 * one directory at once. */
#ifndef TABLE_CACHE_H
#define TABLE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TABLE_CACHE_SIZE_MAX  (256ull << 20) /* bytes of all files */
#define TABLE_CACHE_FILES_MAX 4096u

struct cache_limits;
struct table_arena;

/* Enters the user's tables into the arena, and marks them as saved (below). The last used come first, and take half of
 * the arena at most, so that there is room for new ones. It claims them first, so that no process builds them
 * meanwhile. Damaged files are deleted, and so are those beyond the limits (cache_directory.h). Returns the number of
 * tables; -ENOENT: there is no directory; -EPERM: another user can write to it; other -errno. */
int table_cache_load(const char *directory, uid_t user, const struct table_arena *arena,
		     bool *is_saved, const struct cache_limits *limits);

/* Writes the arena's tables that are not saved yet, and marks them as saved, even if that fails. is_saved: of
 * TABLE_ARENA_ENTRIES. Each becomes a file of mode 0600, whole or not at all. It copies a table first, because a
 * process may change it meanwhile, and stores no copy that makes no sense. Files of tables that a process has found
 * count as used now. Then the files that were not used for the longest are deleted until all are within the limits.
 * Returns the number of files; -EPERM as above; other -errno. */
int table_cache_store(const char *directory, uid_t user, const struct table_arena *arena,
		      bool *is_saved, const struct cache_limits *limits);

#endif
