/* Loads and starts the BPF programs that make samples. Each is started separately; one can fail without the others.
 * Single-threaded: only the agent loop calls it. */
#ifndef BPF_PROGRAMS_H
#define BPF_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/sample_event.h"

struct bpf_programs;
struct bpf_ring;

/* Creates the set of programs; none is started. The ring is borrowed until bpf_programs_destroy() (accepts NULL). NULL:
 * out of memory. */
struct bpf_programs *bpf_programs_create(struct bpf_ring *ring);
void bpf_programs_destroy(struct bpf_programs *programs);

/* bpf_programs_set_python() says, before any program is started, whether programs read Python frames; by default they
 * do. A program that the kernel accepts only without them runs without them. bpf_programs_python() then returns the
 * kernel's error for the last such program; 0: none. */
void bpf_programs_set_python(struct bpf_programs *programs, bool wanted);
int bpf_programs_python(const struct bpf_programs *programs);

/* Load and start one program. stack_pages: pages of 4 KiB that are copied with each event, at most
 * SAMPLE_STACK_PAGES_MAX, and SAMPLE_WAIT_PAGES_MAX for waits. 0 or -errno of the kernel; *what is then the step that
 * failed, for bpf_rights_explain(). */
int bpf_programs_start_cpu(struct bpf_programs *programs, uint32_t hz, uint32_t stack_pages,
			   const char **what);
int bpf_programs_start_off_cpu(struct bpf_programs *programs, uint64_t min_ns, uint32_t stack_pages,
			       const char **what);

/* Stops all programs; their counts stay. */
void bpf_programs_stop(struct bpf_programs *programs);

/* Calls back for each thread that still waits, as if it had come back at now_ns of the kernel's CLOCK_MONOTONIC. The
 * programs must be stopped. 0 or the callback's -errno. */
int bpf_programs_open_waits(struct bpf_programs *programs, uint64_t now_ns,
			    int (*wait)(void *context, const struct sample_event *event),
			    void *context);

#endif
