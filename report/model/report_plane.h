/* Planes: what a profile holds besides GPU work lies beside it, never in it. Each kind of record or sample belongs to
 * one plane, and no total adds two of them. This is the one place that says which. Constant; any thread. */
#ifndef REPORT_PLANE_H
#define REPORT_PLANE_H

#include <stdint.h>

enum report_plane {
	REPORT_PLANE_GPU = 0,      /* "gpu": kernels, copies, memsets, graphs */
	REPORT_PLANE_SYNC = 1,     /* "sync": the host waits */
	REPORT_PLANE_OVERHEAD = 2, /* "overhead" */
	REPORT_PLANE_UNIFIED = 3,  /* "um" */
	REPORT_PLANE_MODULES = 4,  /* "modules" */
	REPORT_PLANE_MEMORY = 5,   /* "memory" */
	REPORT_PLANE_CPU = 6,      /* "cpu": host threads ran */
	REPORT_PLANE_OFF_CPU = 7,  /* "offcpu": host threads waited */
	REPORT_PLANE_CALLS = 8,    /* "calls": host threads were in CUDA calls */
	REPORT_PLANE_IDLE = 9,     /* "idle": GPUs did nothing */
	REPORT_PLANES,
};

/* A set: 1 << enum report_plane. Without memory: what of it is shown is another choice (report_memory.h). */
#define REPORT_PLANES_ALL (((1u << REPORT_PLANES) - 1) & ~(1u << REPORT_PLANE_MEMORY))

/* Of an enum report_kind below REPORT_KINDS, asserted: those below RECORD_GPU_KINDS are records' kinds. */
enum report_plane report_plane_of(uint32_t kind);

/* As in --planes and in file names; as people call its total. Static storage. */
const char *report_plane_name(enum report_plane plane);
const char *report_plane_label(enum report_plane plane);

/* A list of names with commas between, or "all". 0; -EINVAL: a name that there is not, and *planes is 0. */
int report_planes_parse(const char *text, uint32_t *planes);

/* How many planes are in a set. */
uint32_t report_planes_count(uint32_t planes);

#endif
