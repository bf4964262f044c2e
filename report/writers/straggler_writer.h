/* Writes late ranks and the causes as a table, JSON and CSV. Any thread; the arguments must not change meanwhile. */
#ifndef STRAGGLER_WRITER_H
#define STRAGGLER_WRITER_H

#include <stdio.h>

#include "report/model/report_tree.h"
#include "report/straggler/report_straggler.h"

#define STRAGGLER_WRITER_LINE_SIZE 4096u

/* Names at most three late ranks: "late: rank 5 on node2 (last in 93.00 % of 200 collectives; the others waited
 * 1.230 s for it, 8.10 % of the time; waits (poll, loader.py:next) explain 95 %)". Otherwise the line says that no
 * rank is late, or why none can be named. Returns line. */
const char *straggler_writer_line(const struct report_straggler *straggler, char *line,
				  size_t size);

/* Names a cause: "slower GPU kernels (gemm)", "host code (train.py:step)", "waits (poll, loader.py:next)". Returns
 * text. */
const char *straggler_writer_cause(const struct straggler_cause *cause, char *text, size_t size);

/* top is the number of ranks in the table; 0: its default. Each returns 0; -ENOSPC, -EIO …: out did not take
 * everything. */
int straggler_writer_table(FILE *out, const struct report_straggler *straggler,
			   const struct report_tree *tree, uint32_t top);
int straggler_writer_json(FILE *out, const struct report_straggler *straggler,
			  const struct report_tree *tree);
int straggler_writer_csv(FILE *out, const struct report_straggler *straggler,
			 const struct report_tree *tree);

#endif
