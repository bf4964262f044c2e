/* The BPF programs that make samples, each asked for on its own. One fails without the others. Single-threaded: only
 * the agent loop calls it. */
#ifndef BPF_PROGRAMS_H
#define BPF_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/sample_event.h"

struct bpf_programs;
struct bpf_ring;

/* The ring is borrowed until bpf_programs_destroy() (accepts NULL). NULL: out of memory. */
struct bpf_programs *bpf_programs_create(struct bpf_ring *ring);
void bpf_programs_destroy(struct bpf_programs *programs);

/* Before any is started: whether they read Python frames; they do. One that the kernel takes only without them runs
 * without, and the error of the last that did is then what bpf_programs_python() says; 0: none. */
void bpf_programs_set_python(struct bpf_programs *programs, bool wanted);
int bpf_programs_python(const struct bpf_programs *programs);

/* Loads and starts one. stack_pages: of 4 KiB, to be copied with each event, SAMPLE_STACK_PAGES_MAX at most, of waits
 * SAMPLE_WAIT_PAGES_MAX. 0 or -errno of the kernel; *what is then the step that failed, for bpf_rights_explain(). */
int bpf_programs_start_cpu(struct bpf_programs *programs, uint32_t hz, uint32_t stack_pages,
			   const char **what);
int bpf_programs_start_off_cpu(struct bpf_programs *programs, uint64_t min_ns, uint32_t stack_pages,
			       const char **what);

/* Ends all of them; what they have counted stays. */
void bpf_programs_stop(struct bpf_programs *programs);

/* Once they are stopped: calls back for each thread that still waits, as for one that came back at now_ns, by the
 * kernel's CLOCK_MONOTONIC. 0 or the callback's -errno. */
int bpf_programs_open_waits(struct bpf_programs *programs, uint64_t now_ns,
			    int (*wait)(void *context, const struct sample_event *event),
			    void *context);

#endif
