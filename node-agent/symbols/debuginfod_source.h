/* Debug files from the network, by build id: only when the user has set DEBUGINFOD_URLS, and through
 * elfutils' own client library, if that is installed; without the variable nothing is loaded and
 * nothing is asked. Any thread; several may fetch at once. */
#ifndef DEBUGINFOD_SOURCE_H
#define DEBUGINFOD_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct debuginfod_source;
struct elf_file;

/* The thread that fetches asks go_on(context) several times a second; false gives the fetch up. A fetch that takes
 * limit_ms is given up, and after two of those nothing is asked any more. NULL: the variable is not set, there is no
 * such library, or no memory. debuginfod_source_destroy() accepts NULL. */
struct debuginfod_source *debuginfod_source_create(uint32_t limit_ms, bool (*go_on)(void *context),
						   void *context);
void debuginfod_source_destroy(struct debuginfod_source *source);

/* The caller owns *debug: elf_file_close(). 0; -ENOENT: no server has it; -ETIMEDOUT: given up, now
 * or before; other -errno. On error *debug is NULL. */
int debuginfod_source_open(struct debuginfod_source *source, const uint8_t *build_id,
			   uint32_t build_id_size, struct elf_file **debug);

#endif
