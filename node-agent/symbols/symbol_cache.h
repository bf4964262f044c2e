/* Keeps symbol tables on disk by build id and owner, if they cost something to make: they were unpacked, fetched over
 * the network, or are large. A file that is damaged, or of another version, build id or owner, is treated as missing,
 * and is replaced. Any thread calls. Several threads and processes may use one directory at once. */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include <stdint.h>
#include <sys/types.h>

#define SYMBOL_CACHE_SIZE_MAX  (512ull << 20) /* bytes of all files */
#define SYMBOL_CACHE_FILES_MAX 4096u

struct symbol_cache;
struct symbol_table;

/* The owner of tables of files that only root can write: they are for all users. A table of a user's own files is for
 * that user alone. */
#define SYMBOL_CACHE_ROOT 0u

/* Returns the cache's directory. It is the option's DIR; if the option is NULL, $XDG_CACHE_HOME/flamegrid/symbols, else
 * ~/.cache/flamegrid/symbols. The caller owns the text: free(). NULL: the option says "off", there is no home, or no
 * memory. */
char *symbol_cache_directory(const char *option);

/* The directory is made (0700) when a table is first stored. If its files exceed max_bytes or
 * SYMBOL_CACHE_FILES_MAX after that, the files that were not used for the longest are deleted until they fit; one file
 * always stays. Returns NULL if out of memory.
 * symbol_cache_destroy() accepts NULL. */
struct symbol_cache *symbol_cache_create(const char *directory, uint64_t max_bytes);
void symbol_cache_destroy(struct symbol_cache *cache);

/* The caller owns *table: symbol_table_destroy(). Returns 0; -ENOENT: there is no file; -EBADMSG: the file is not
 * believed; other -errno. On error *table is NULL. */
int symbol_cache_load(struct symbol_cache *cache, uid_t owner, const uint8_t *build_id,
		      uint32_t build_id_size, struct symbol_table **table);

/* Writes a file of mode 0600, whole or not at all. Returns 0 or -errno; -EPERM: another user can write to the
 * directory. */
int symbol_cache_store(struct symbol_cache *cache, uid_t owner, const uint8_t *build_id,
		       uint32_t build_id_size, const struct symbol_table *table);

#endif
