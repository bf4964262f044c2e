/* Fetches debug files from the network, by build id, through elfutils' client library. It does so only if
 * DEBUGINFOD_URLS is set and the library is installed; else nothing is loaded and nothing is asked. Any thread calls,
 * and several may fetch at once. */
#ifndef DEBUGINFOD_SOURCE_H
#define DEBUGINFOD_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct debuginfod_source;
struct elf_file;

/* The thread that fetches asks go_on(context) several times a second; false gives the fetch up. A fetch that takes
 * limit_ms is given up, too; after two such fetches nothing is asked any more. Returns NULL if the variable is not set,
 * the library is missing, or memory is out. debuginfod_source_destroy() accepts NULL. */
struct debuginfod_source *debuginfod_source_create(uint32_t limit_ms, bool (*go_on)(void *context),
						   void *context);
void debuginfod_source_destroy(struct debuginfod_source *source);

/* The caller owns *debug: elf_file_close(). Returns 0; -ENOENT: no server has the file; -ETIMEDOUT: this fetch was
 * given up, or nothing is asked any more; other -errno. On error *debug is NULL. */
int debuginfod_source_open(struct debuginfod_source *source, const uint8_t *build_id,
			   uint32_t build_id_size, struct elf_file **debug);

#endif
