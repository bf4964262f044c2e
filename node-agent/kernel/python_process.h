/* Follows the CPython of one watched process: it tells the kernel's half where to find Python frames, and names the
 * frames that come back. It reads the process's memory while it runs, and believes nothing in it. Single-threaded: only
 * the agent loop calls it. */
#ifndef PYTHON_PROCESS_H
#define PYTHON_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/sample_event.h"
#include "proto/batch/message.h"

struct module_table;
struct python_codes;
struct python_files;
struct python_process;
struct ring_outputs;

/* State that all processes share. */
struct python_scope {
	struct python_files *files; /* borrowed until the agent ends */
	void (*notice)(void *context, const char *line);
	/* code was gone before it could be read; NULL: such code is not reported */
	void (*missed)(void *context);
	void *context;
};

enum python_process_state {
	PYTHON_PROCESS_NONE, /* no interpreter so far */
	/* an interpreter that does not look as it should, perhaps because it is being loaded: look again soon */
	PYTHON_PROCESS_EARLY,
	PYTHON_PROCESS_READY,   /* frames can be read */
	PYTHON_PROCESS_REFUSED, /* frames cannot be read, as a notice has said */
};

/* Creates the follower of a process. It uses the outputs' dictionaries. The outputs and the scope are borrowed until
 * python_process_destroy() (accepts NULL). NULL: out of memory. */
struct python_process *python_process_create(const struct python_scope *scope,
					     const struct ring_outputs *outputs, pid_t pid);
void python_process_destroy(struct python_process *python);

/* Returns the process's codes; NULL: none are known. Borrowed until the next call for this process. */
struct python_codes *python_process_codes(const struct python_process *python);

/* Says that the process was forked from the process of these codes (python_codes_inherit()); shares them. */
void python_process_inherit(struct python_process *python, struct python_codes *codes);

/* Looks for an interpreter among the mapped files, as the table has last read them, and checks that a known one is
 * still there. true: *where has changed, and the kernel's half should get it. Its members start and exec_id are the
 * caller's; all zeros: the kernel's half should forget the interpreter. */
bool python_process_find(struct python_process *python, struct module_table *modules,
			 struct sample_python *where);

enum python_process_state python_process_state(const struct python_process *python);

/* Returns whether the address is code of the evaluation loop. */
bool python_process_is_loop(const struct python_process *python, uint64_t address);

struct python_process_frames {
	struct message_frame frames[SAMPLE_PYTHON_DEPTH];
	bool segment_end[SAMPLE_PYTHON_DEPTH]; /* stack_merge.h */
	uint32_t nr;
	/* The code of some frames could not be read, and marks stand for them. Or no frame had code, and nr is 0. */
	bool unread;
	/* The code of some frames was identified by its address alone, which may have other code next time. */
	bool by_address;
};

/* Turns frames of the kernel's half, at most SAMPLE_PYTHON_DEPTH, into frames of the agent. It leaves out the
 * interpreter's own frames and those that have not begun yet. *refused: the first frames that were seen are no frames,
 * and none will follow. 0 or -ENOMEM. */
int python_process_frames(struct python_process *python, const struct sample_python_frame *raw,
			  uint32_t nr_raw, struct python_process_frames *frames, bool *refused);

#endif
