/* Tells which class of work a kernel belongs to, by parts of its name. work_class.c has the list. Pure; any thread. */
#ifndef WORK_CLASS_H
#define WORK_CLASS_H

#include <stdint.h>

enum work_class {
	WORK_CLASS_OTHER = 0, /* a kernel that no part of the list names */
	WORK_CLASS_GEMM,
	WORK_CLASS_ATTENTION,
	WORK_CLASS_CONVOLUTION,
	WORK_CLASS_NORMALIZATION,
	WORK_CLASS_REDUCTION,
	WORK_CLASS_ELEMENTWISE,
	WORK_CLASS_NCCL,
	WORK_CLASS_COPY,
	WORK_CLASS_MEMSET,
	WORK_CLASS_GRAPH, /* a whole graph in place of its nodes */
	WORK_CLASSES,
};

/* kind: an enum report_kind of GPU work. name: the kernel's, in any letters; other kinds do not need it. */
enum work_class work_class_of(uint32_t kind, const char *name);

/* Returns "gemm", "copy", …, in static storage. */
const char *work_class_name(enum work_class work_class);

#endif
