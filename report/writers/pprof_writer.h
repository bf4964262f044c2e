/* Writes a profile for pprof and all that read its files (Pyroscope, Parca, Grafana, speedscope): google/pprof's
 * profile.proto, compressed as gzip does. Any thread; the view must not change meanwhile.
 *   - A sample is a path with its work. Its values are exact: "gpu_time" in nanoseconds, "launches", and "bytes" if
 *     anything was copied. Each further plane has values of its own ("cpu_time", "cpu_count"), so that none are added.
 *   - Its labels are host, rank, GPU and stream, and the job if it is known; or the dimensions of --by. A label that is
 *     not known is left out. "[GPU0_Kernel]gemm" is "[Kernel]gemm", because the GPU is a label.
 *   - Functions have their file. Locations have the line, the module, and its build id. Only frames without a symbol
 *     have an address, the virtual one in their file.
 *   - Comments are the closing lines of every report: what is missing is said.
 * The fields come in the order in which they are known, which the encoding allows. */
#ifndef PPROF_WRITER_H
#define PPROF_WRITER_H

#include <stdio.h>

#include "report/model/report_build.h"
#include "report/model/report_busy.h"
#include "report/model/report_dimension.h"
#include "report/model/report_tree.h"
#include "report/profile/profile.h"

struct pprof_input {
	const struct profile *profile;
	const struct report_options *options; /* of the tree; NULL: everything is 0 */
	const struct report_tree *tree;
	const struct report_busy *busy;
	const struct report_by *by; /* the labels; none: those that are usual */
	/* nonzero: only samples are wanted, at this time since the epoch: no labels, duration or comments; busy and
	 * by may be NULL */
	uint64_t time_ns;
};

/* 0; -ENOMEM: out has a part; -ENOSPC, -EIO …: out did not take everything. */
int pprof_writer_write(FILE *out, const struct pprof_input *input);

#endif
