/* Processes of an agent, the stacks that their guests write, and what the resolver makes of them. Fails the running
 * test on any error. For one thread. */
#ifndef RESOLVER_FIXTURE_H
#define RESOLVER_FIXTURE_H

#include <stdint.h>
#include <sys/types.h>

#include "node-agent/guests/ring_source.h"
#include "node-agent/guests/stack_resolver.h"

#define LAUNCH_KERNEL    307u /* cuLaunchKernel */
#define LAUNCH_KERNEL_EX 653u /* cuLaunchKernelEx_ptsz */

/* Where the modules lie, a page each. */
#define APP       0x1000u
#define LIBC      0x2000u
#define LIBCUDA   0x3000u
#define LIBCUDART 0x4000u
#define GUEST     0x5000u

/* A process of an agent. */
struct resolver_process {
	struct record_ring *guest, *ring;
	int fd;
	struct module_table *modules;
	struct process_ledger *ledger;
	struct ring_outputs outputs;
	struct stack_resolver *resolver;
	uint64_t text_room;
};

/* Of the agent: shared by its processes, from resolver_fixture_create() to resolver_fixture_destroy(). */
extern struct string_dictionary *resolver_fixture_strings;
extern struct stack_dictionary *resolver_fixture_stacks;

void resolver_fixture_create(void);
void resolver_fixture_destroy(void);

/* A process of this user, with a module at each of the places above. */
void resolver_fixture_open(struct resolver_process *process, uid_t user);
void resolver_fixture_close(struct resolver_process *process);
void resolver_fixture_add_module(struct resolver_process *process, uint64_t start, uint32_t flags,
				 const char *path);

/* The guest's side: the new stack's id, and the new code's. */
uint32_t resolver_fixture_add(struct resolver_process *process, const uint64_t *words,
			      uint32_t depth);
uint32_t resolver_fixture_add_code(struct resolver_process *process, const char *file,
				   const char *name);

/* What the resolver answers. */
uint32_t resolver_fixture_node(struct resolver_process *process, uint32_t stack_id, uint32_t cbid);
uint32_t resolver_fixture_capture(struct resolver_process *process, uint32_t stack_id);

/* What the process's ledger has under this reason. */
uint64_t resolver_fixture_counted(struct resolver_process *process, enum ledger_reason reason);

/* @expected: "leaf < ... < root" */
void resolver_fixture_assert_node(uint32_t node, const char *expected);

#define CAPTURE(process, ...)                                                                      \
	resolver_fixture_capture(process, resolver_fixture_add(process, (uint64_t[]){__VA_ARGS__}, \
							       sizeof((uint64_t[]){__VA_ARGS__}) / \
								       sizeof(uint64_t)))
#define RESOLVE(process, cbid, ...)                                                                \
	resolver_fixture_node(                                                                     \
		process,                                                                           \
		resolver_fixture_add(process, (uint64_t[]){__VA_ARGS__},                           \
				     sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)),        \
		cbid)
#define MARK(mark) stack_word_mark(mark)

#endif
