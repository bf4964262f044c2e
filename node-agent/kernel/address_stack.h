/* Stacks of plain addresses, as the kernel walks them, as stacks of the agent: a process's own by its mapped files, the
 * kernel's by name. Single-threaded: only the agent loop calls it. */
#ifndef ADDRESS_STACK_H
#define ADDRESS_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stack_copy.h"

#include "proto/options/stack_options.h"

#define ADDRESS_STACK_DEPTH_MAX 256u /* frames of one stack, the kernel's included */

struct address_stack;
struct kernel_symbols;
struct python_codes;
struct python_process;
struct sample_python;
struct sample_python_frame;
struct ring_outputs;
struct unwind_files;

/* Stacks of one process. The outputs, of which dictionaries and module callback are used, and the kernel's names and
 * the files' rules (NULL: none) are borrowed until address_stack_destroy() (accepts NULL). reads_maps: as in
 * module_table.h. NULL: out of memory. */
struct address_stack *address_stack_create(const struct ring_outputs *outputs,
					   const struct kernel_symbols *kernel,
					   struct unwind_files *files, pid_t pid, bool reads_maps);
void address_stack_destroy(struct address_stack *stacks);

/* The process's interpreter, which is taken, on error too, and how its frames and native ones stand together. publish:
 * the kernel's half should know where its frames are. */
struct address_stack_python {
	struct python_process *process;
	enum stack_mode mode;
	void (*publish)(void *context, struct sample_python *where);
	void *context;
};
void address_stack_set_python(struct address_stack *stacks,
			      const struct address_stack_python *python);

/* The interpreter's codes (python_process_codes()); NULL: there are none. */
struct python_codes *address_stack_codes(const struct address_stack *stacks);

struct address_list {
	const uint64_t *user,
		*kernel; /* leaf first; what interrupted or called, else return addresses */
	uint32_t nr_user, nr_kernel; /* together ADDRESS_STACK_DEPTH_MAX at most */
	/* size 0: none. Else the user's part is walked by rules, where that leads farther */
	struct stack_copy copy;
	const struct sample_python_frame *python; /* leaf first */
	uint32_t nr_python;                       /* SAMPLE_PYTHON_DEPTH at most */
	bool python_cut;                          /* there are more */
	uint32_t code_pages; /* another number than last time: mappings have changed */
	bool in_haste; /* of the user's part, the leaf is enough, by the mappings as they are known */
};

/* Reads the mappings, opens their files and looks for the interpreter now, before the first stack, for which they
 * are read again: the process may be gone by then. */
void address_stack_prepare(struct address_stack *stacks);

/* A new pass of the agent: mappings that have changed are read once in each. */
void address_stack_begin_pass(struct address_stack *stacks);

/* What is wrong with a stack. */
enum address_stack_lack {
	/* the process has an interpreter whose frames, all or some, cannot be read */
	ADDRESS_STACK_NO_PYTHON = 1,
	ADDRESS_STACK_MISMATCH = 2,  /* native and Python frames do not fit together */
	ADDRESS_STACK_TRUNCATED = 4, /* there are more Python frames */
	ADDRESS_STACK_HURRIED = 8,   /* it was found in haste, and there are more frames */
};

/* The node of the stack, the kernel's frames inside the process's; *lacks: enum address_stack_lack. *node_id is
 * STACK_NODE_NONE for the empty one and where there is no room for it. 0 or -ENOMEM. */
int address_stack_find(struct address_stack *stacks, const struct address_list *list,
		       uint32_t *node_id, uint32_t *lacks);

#endif
