/* Writes a report tree as one HTML page: an interactive flame graph that needs no other file and no
 * network. The page forbids itself everything but its own script and style (Content-Security-Policy
 * with their hashes); the profile travels deflated, and its names reach the screen as text only. Any
 * thread may call; the tree must not change meanwhile. */
#ifndef HTML_WRITER_H
#define HTML_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/model/report_busy.h"
#include "report/model/report_collectives.h"
#include "report/model/report_diff.h"
#include "report/model/report_dimension.h"
#include "report/model/report_statistics.h"
#include "report/model/report_tree.h"
#include "report/writers/folded_writer.h"

struct findings;
struct report_piece;
struct report_straggler;
struct time_strips;

struct html_options {
	/* The meaning of a frame's width, and the dimensions that are frames at the root, when the page opens. The
	 * reader can switch both. */
	enum folded_weight weight;
	uint32_t split; /* a set: 1u << enum report_dimension */
	/* shown beside the title: when, where; borrowed until the call returns; NULL: none */
	const char *subtitle;
	bool user_frames; /* the page opens with each framework's frames as one; the reader can switch it */
	/* the difference that the tree shows, whose frames are coloured by change; borrowed until the call returns;
	 * NULL: none */
	const struct report_diff *diff;
	const char *unit; /* of a difference: "step", for times of one; NULL: not known */
	double units;     /* of the side after */
	const char *step; /* of a difference: a sentence on the time of a step; NULL: not known */
	/* the input of the page's tables of kernels, collectives and devices; borrowed as above; NULL: none */
	const struct report_statistics *statistics;
	const struct report_collectives *collectives;
	const struct report_busy *busy;
	/* borrowed as above; NULL: none */
	const struct findings *findings;
	const struct report_straggler *straggler;
	/* the time axis, and the profile as commands name it, which the page shows; borrowed as above; NULL: none */
	const struct time_strips *strips;
	const struct report_piece *pieces; /* of the strips' boxes; NULL: they are not written */
	const char *path;
};

/* Writes the page and flushes out, which stays the caller's. Bytes that are not UTF-8 become U+FFFD. options NULL:
 * by time, no split, no subtitle. Nothing of the tree or the options is kept. 0; -EINVAL: an index in the tree or
 * options->weight is out of range, and nothing was written; -ENOMEM: nothing was written; -ENOSPC, -EIO …: out did
 * not take everything. */
int html_writer_write(FILE *out, const struct report_tree *tree,
		      const struct html_options *options);

#endif
