/* The CPython of one watched process: where the kernel's half finds its frames, and what the frames that it passes on
 * are called. Reads the process's memory while it runs; nothing in it is believed. Single-threaded: only the agent loop
 * calls it. */
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

/* What the processes share. */
struct python_scope {
	struct python_files *files; /* borrowed for good */
	void (*notice)(void *context, const char *line);
	void (*missed)(
		void *context); /* code was gone before it could be read; NULL: nobody asks */
	void *context;
};

enum python_process_state {
	PYTHON_PROCESS_NONE, /* no interpreter so far */
	PYTHON_PROCESS_EARLY, /* one that is not what it should be, as one that is being loaded: look again, soon */
	PYTHON_PROCESS_READY,   /* frames can be read */
	PYTHON_PROCESS_REFUSED, /* they cannot, as a notice has said */
};

/* The outputs' dictionaries are used; they and the scope are borrowed until python_process_destroy() (accepts NULL).
 * NULL: out of memory. */
struct python_process *python_process_create(const struct python_scope *scope,
					     const struct ring_outputs *outputs, pid_t pid);
void python_process_destroy(struct python_process *python);

/* Its codes; NULL: none are known. Borrowed until the next call for this process. */
struct python_codes *python_process_codes(const struct python_process *python);

/* The process was forked from that of these codes (python_codes_inherit()); shares them. */
void python_process_inherit(struct python_process *python, struct python_codes *codes);

/* Looks for an interpreter among the files that are mapped, as the table has last read them; and again whether it still
 * is there. true: *where, whose start and exec_id are the caller's, has changed: the kernel's half should know it; all
 * zeros: it should forget. */
bool python_process_find(struct python_process *python, struct module_table *modules,
			 struct sample_python *where);

enum python_process_state python_process_state(const struct python_process *python);

/* The address is code of the evaluation loop. */
bool python_process_is_loop(const struct python_process *python, uint64_t address);

struct python_process_frames {
	struct message_frame frames[SAMPLE_PYTHON_DEPTH];
	bool segment_end[SAMPLE_PYTHON_DEPTH]; /* stack_merge.h */
	uint32_t nr;
	/* Code of some frames could not be read: marks stand for them. Or none of the frames was one, and nr is 0. */
	bool unread;
	/* Code of some frames was told by its address alone, where there may be other code the next time. */
	bool by_address;
};

/* Frames as the kernel's half has them, at most SAMPLE_PYTHON_DEPTH, to frames of the agent: without the interpreter's
 * own, and those that have not begun yet. *refused: the first frames that were seen are none; there will be no more. 0
 * or -ENOMEM. */
int python_process_frames(struct python_process *python, const struct sample_python_frame *raw,
			  uint32_t nr_raw, struct python_process_frames *frames, bool *refused);

#endif
