/* A stored profile opened for reading, and written out in any of the formats. Single-threaded. */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/model/report_build.h"
#include "report/model/report_busy.h"
#include "report/model/report_clocks.h"
#include "report/model/report_collectives.h"
#include "report/model/report_ranks.h"
#include "report/model/report_statistics.h"
#include "report/model/report_tree.h"
#include "report/profile/profile.h"
#include "report/straggler/report_straggler.h"
#include "report/writers/folded_writer.h"

enum report_format {
	REPORT_FOLDED,
	REPORT_HTML,
	REPORT_TABLE,
	REPORT_JSON,
	REPORT_CSV,
	REPORT_SAMPLES, /* of host threads, one by one */
	REPORT_API,     /* tables of CUDA's API calls alone */
	REPORT_RANKS_TABLE,
	REPORT_RANKS_JSON,
	REPORT_STRAGGLER_TABLE, /* after report_view_read_straggler(), as the next two */
	REPORT_STRAGGLER_JSON,
	REPORT_STRAGGLER_CSV,
	REPORT_CLOCKS_TABLE,
	REPORT_CLOCKS_JSON,
	REPORT_CLOCKS_CSV,
};

enum report_rows { /* of CSV */
		   REPORT_ROWS_ACTIVITIES,
		   REPORT_ROWS_CALLS,
		   REPORT_ROWS_FAILURES,
		   REPORT_ROWS_CONFIGURATIONS,
		   REPORT_ROWS_RANKS,
		   REPORT_ROWS_COLLECTIVES, /* after report_view_read_collectives() */
};

/* Zeroed: folded stacks, time in microseconds, nothing split, full names. */
struct report_view_options {
	enum report_format format;
	struct folded_options folded; /* weight and by are HTML's too */
	uint32_t top;                 /* rows of the table; 0: its default */
	enum report_rows rows;
	bool clocks;          /* of samples: each with its host, and its time on one clock */
	const char *subtitle; /* HTML's; NULL: none */
};

struct report_view {
	struct profile *profile;
	struct report_tree *tree;
	struct report_busy *busy;
	struct report_ranks *ranks;
	struct report_clocks *clocks;
	struct report_statistics *statistics;
	struct report_collectives *collectives; /* NULL: not read */
	struct report_straggler *straggler;     /* NULL: not read */
	const char *store_path;                 /* borrowed until report_view_close(), as options */
	const struct report_options *options;
};

/* 0 or -errno with one line in *error that names the path, owns: free(). report_view_close() in either case. */
int report_view_open(struct report_view *view, const char *store_path,
		     const struct report_options *options, char **error);
/* Reads calls of collective libraries, too: tables are then of these alone, and JSON has them. 0 or -errno,
 * likewise. */
int report_view_read_collectives(struct report_view *view, const char *store_path,
				 const struct report_options *options, char **error);

/* Reads them to find who is late. 0 or -errno, likewise. */
int report_view_read_straggler(struct report_view *view, const char *store_path, char **error);

/* Holds the clocks of its hosts against them. 0 or -errno, likewise. */
int report_view_refine_clocks(struct report_view *view, const char *store_path, char **error);

/* Makes the tree anew, of the same profile. 0 or -errno; on error the tree is NULL. */
int report_view_rebuild(struct report_view *view, const struct report_options *options);
void report_view_close(struct report_view *view);

/* 0 or -errno of the writer. */
int report_view_write(const struct report_view *view, FILE *out,
		      const struct report_view_options *options);

#endif
