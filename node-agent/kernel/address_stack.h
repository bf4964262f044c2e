/* Turns stacks of plain addresses, which the kernel walked, into stacks of the agent. The process's own frames are
 * found by its mapped files, the kernel's by name. Single-threaded: only the agent loop calls it. */
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

/* Creates the stacks of one process. Of the outputs it uses the dictionaries and the module callback. The outputs, the
 * kernel's names and the files' rules (NULL: none) are borrowed until address_stack_destroy() (accepts NULL).
 * reads_maps: as in module_table.h. NULL: out of memory. */
struct address_stack *address_stack_create(const struct ring_outputs *outputs,
					   const struct kernel_symbols *kernel,
					   struct unwind_files *files, pid_t pid, bool reads_maps);
void address_stack_destroy(struct address_stack *stacks);

/* Sets the process's interpreter. address_stack_set_python() takes process, also on error. mode: how Python and native
 * frames are combined. publish: passes on where the kernel's half finds the Python frames. */
struct address_stack_python {
	struct python_process *process;
	enum stack_mode mode;
	void (*publish)(void *context, struct sample_python *where);
	void *context;
};
void address_stack_set_python(struct address_stack *stacks,
			      const struct address_stack_python *python);

/* Returns the interpreter's codes (python_process_codes()); NULL: no codes are known. */
struct python_codes *address_stack_codes(const struct address_stack *stacks);

struct address_list {
	/* Leaf first. The leaf is the interrupted or calling instruction; the others are return addresses. */
	const uint64_t *user, *kernel;
	uint32_t nr_user, nr_kernel; /* together ADDRESS_STACK_DEPTH_MAX at most */
	/* A copy of the stack's top; size 0: none. The user's part is then walked by rules, if that leads farther. */
	struct stack_copy copy;
	const struct sample_python_frame *python; /* leaf first */
	uint32_t nr_python;                       /* SAMPLE_PYTHON_DEPTH at most */
	bool python_cut;                          /* more Python frames exist */
	uint32_t code_pages; /* differs from the last call's if mappings have changed */
	bool in_haste;       /* the user's leaf is enough, by the mappings already known */
};

/* Reads the mappings, opens their files and looks for the interpreter now, because the process may be gone by its first
 * stack. For that stack the mappings are read again. */
void address_stack_prepare(struct address_stack *stacks);

/* Begins a new pass of the agent. Changed mappings are read once in each pass. */
void address_stack_begin_pass(struct address_stack *stacks);

/* What a stack lacks. */
enum address_stack_lack {
	/* the process has an interpreter, and some or all of its frames cannot be read */
	ADDRESS_STACK_NO_PYTHON = 1,
	ADDRESS_STACK_MISMATCH = 2,  /* native and Python frames do not fit together */
	ADDRESS_STACK_TRUNCATED = 4, /* more Python frames exist */
	ADDRESS_STACK_HURRIED = 8,   /* it was found in haste, and has more frames */
};

/* Finds the node of the stack, with the kernel's frames inside the process's. *lacks: enum address_stack_lack. *node_id
 * is STACK_NODE_NONE for the empty stack, and for a stack that finds no room. 0 or -ENOMEM. */
int address_stack_find(struct address_stack *stacks, const struct address_list *list,
		       uint32_t *node_id, uint32_t *lacks);

#endif
