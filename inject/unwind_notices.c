#include "unwind_notices.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>

#include "inject/base/definition_writer.h"
#include "unwind/unwind_table.h"

#define FILES_MAX 4u

struct stopped {
	uint64_t start, stops;
};

/* Keeps the files with the most stops, in falling order. */
static void rank(struct stopped *files, struct stopped file)
{
	for (uint32_t i = 0; i < FILES_MAX; i++) {
		struct stopped other = files[i];

		if (file.stops <= other.stops)
			continue;
		files[i] = file;
		file = other;
	}
}

void unwind_notices_write(const struct unwind_tables *tables, struct definition_writer *definitions)
{
	struct stopped files[FILES_MAX] = {{0, 0}}, file;
	struct unwind_totals totals;

	unwind_tables_totals(tables, &totals);
	definition_writer_notice(definitions, NOTICE_UNWIND_TABLES, (int32_t)totals.failed,
				 "unwind tables: %u of %u files (%u shared), %" PRIu64
				 " rows, %" PRIu64 " KiB, %" PRIu64 " ms",
				 totals.built, totals.modules, totals.shared, totals.rows,
				 totals.bytes >> 10, totals.build_ns / 1000000);
	for (uint32_t i = 0; unwind_tables_stops(tables, i, &file.start, &file.stops); i++)
		rank(files, file);
	for (uint32_t i = 0; i < FILES_MAX && files[i].stops; i++) {
		Dl_info info;
		bool known = dladdr((const void *)(uintptr_t)files[i].start, &info) != 0;

		definition_writer_notice(definitions, NOTICE_UNWIND_STOPPED, 0,
					 "native stacks end in %s: %" PRIu64 " launches",
					 known && info.dli_fname ? info.dli_fname
								 : "an unloaded file",
					 files[i].stops);
	}
}
