/* Tells which class of work a kernel belongs to, by its name. work_class.c has the list. The page of HTML has the same
 * classes. Any thread. */
#ifndef WORK_CLASS_H
#define WORK_CLASS_H

#include <stdint.h>

enum work_class {
	WORK_CLASS_NCCL,
	WORK_CLASS_ATTENTION,
	WORK_CLASS_GEMM,      /* convolutions, too */
	WORK_CLASS_REDUCTION, /* norms, too */
	WORK_CLASS_ELEMENTWISE,
	WORK_CLASS_KERNEL, /* other kernels */
	WORK_CLASS_COPY,
	WORK_CLASS_MEMSET,
	WORK_CLASS_GRAPH, /* a whole graph in place of its nodes */
	WORK_CLASSES,
};

/* kind: an enum report_kind of GPU work. name: the kernel's; other kinds do not need it. */
enum work_class work_class_of(uint32_t kind, const char *name);

/* Returns "gemm", "copy", …, in static storage. */
const char *work_class_name(enum work_class work_class);

#endif
