/* Planes keep other data beside GPU work and out of its totals. Each kind of record or sample belongs to one plane, and
 * no total adds two planes. Only this file assigns kinds to planes. Constant; any thread. */
#ifndef REPORT_PLANE_H
#define REPORT_PLANE_H

#include <stdbool.h>
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
	REPORT_PLANE_STALLS =
		10, /* "stalls": kernels again, by what their instructions waited for */
	REPORT_PLANE_ENERGY = 11, /* "energy": of GPUs, in millijoules */
	REPORT_PLANE_USE =
		12, /* "use": of multiprocessors, tensor cores, memory and links of GPUs */
	REPORT_PLANES,
};

/* A set: 1 << enum report_plane. Memory is left out, because a report of memory has other leaves (report_memory.h), and
 * those of resources, because they are no time. */
#define REPORT_PLANES_RESOURCES (1u << REPORT_PLANE_ENERGY | 1u << REPORT_PLANE_USE)
#define REPORT_PLANES_ALL                                                                          \
	(((1u << REPORT_PLANES) - 1) & ~(1u << REPORT_PLANE_MEMORY | REPORT_PLANES_RESOURCES))

/* Returns the plane of an enum report_kind, which is asserted to be below REPORT_KINDS. Kinds below RECORD_GPU_KINDS
 * are those of records. */
enum report_plane report_plane_of(uint32_t kind);

/* Returns the name in --planes and in file names, and the name of its total for people. Static storage. */
const char *report_plane_name(enum report_plane plane);
const char *report_plane_label(enum report_plane plane);

/* Returns the options of `run` that record the plane; NULL: it needs none. Static storage. */
const char *report_plane_options(enum report_plane plane);

/* Reads a list of names with commas between, or "all". 0; -EINVAL: a name is not known, and *planes is 0. */
int report_planes_parse(const char *text, uint32_t *planes);

/* Reads the value of the option --NAME into a set without memory's plane, or one of resources alone (an option_target's
 * take; context: uint32_t). 0; -EINVAL: the value is not such a list, and *error is one line that says so, owns:
 * free(). */
int report_planes_take(void *context, const char *name, const char *value, char **error);

/* The same of a verb for which planes of resources are not: its error does not offer them. It takes them, so that the
 * verb can refuse them in its own words. */
int report_planes_take_times(void *context, const char *name, const char *value, char **error);

/* Returns how many planes are in a set. */
uint32_t report_planes_count(uint32_t planes);

/* Returns the resources of a set of planes: a set (report/resource/resource.h). */
uint32_t report_planes_resources(uint32_t planes);

#define REPORT_PLANES_NO_BYTES                                                                     \
	"--weight bytes is for --planes gpu and um, and for --memory: the other planes move no "   \
	"bytes"

/* Returns whether a plane of the set, or of GPU work if it is empty, moves bytes. */
bool report_planes_have_bytes(uint32_t planes);

/* Returns whether a set has planes of samples alone, so that their numbers are those of no calls. */
bool report_planes_are_sampled(uint32_t set);

#endif
