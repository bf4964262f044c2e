/* Symbol tables on disk by build id and owner, for those that cost something to make: unpacked, fetched over the
 * network, or large. A file that is damaged, of another version, build id or owner is as good as none, and replaced.
 * Any thread; several threads and processes may use one directory at once. */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include <stdint.h>
#include <sys/types.h>

#define SYMBOL_CACHE_SIZE_MAX (512ull << 20) /* bytes of all files */

struct symbol_cache;
struct symbol_table;

/* A table of one user's files is for that user; of files that only root can write, for all. */
#define SYMBOL_CACHE_ROOT 0u

/* Where it is: the option's DIR; $XDG_CACHE_HOME/flamegrid/symbols, else
 * ~/.cache/flamegrid/symbols, where the option is NULL. The caller owns the text: free(). NULL: the
 * option says "off", there is no home, or no memory. */
char *symbol_cache_directory(const char *option);

/* The directory is made (0700) when something is first stored. max_bytes bounds what is in it
 * afterwards, at least one file: those not used for longest go. NULL: out of memory.
 * symbol_cache_destroy() accepts NULL. */
struct symbol_cache *symbol_cache_create(const char *directory, uint64_t max_bytes);
void symbol_cache_destroy(struct symbol_cache *cache);

/* The caller owns *table: symbol_table_destroy(). 0; -ENOENT: not there; -EBADMSG: not to be
 * believed; other -errno. On error *table is NULL. */
int symbol_cache_load(struct symbol_cache *cache, uid_t owner, const uint8_t *build_id,
		      uint32_t build_id_size, struct symbol_table **table);

/* Writes a file of mode 0600, whole or not at all. 0 or -errno; -EPERM: the directory is not ours
 * alone to write to. */
int symbol_cache_store(struct symbol_cache *cache, uid_t owner, const uint8_t *build_id,
		       uint32_t build_id_size, const struct symbol_table *table);

#endif
