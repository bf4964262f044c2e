/* Knows which lines of a model compiled code works for. Code that PyTorch's Inductor generates in C++ (AOTInductor,
 * cpp_wrapper) can say so, if it was compiled with cpp.enable_kernel_profile. Around each call of a kernel a
 * thread-local variable of the code's library then points to an object with the tracebacks of the operations that the
 * kernel was made of. The object is on the caller's stack. The guest reads it while it captures a launch.
 * Source: torch/csrc/inductor/aoti_runtime/kernel_context_tls.h of PyTorch 2.11; libstdc++'s std::string.
 *
 * The program may unload such a library at any time. So the guest reads a library's variable only if the launch's stack
 * has code of the library, which is loaded then. The guest's helper thread looks for such libraries now and then.
 * Launches before its look have no lines, and neither have stacks without native frames. */
#ifndef KERNEL_CONTEXT_H
#define KERNEL_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_CONTEXT_LIBRARIES_MAX 64u   /* that are loaded at a time; others are not read */
#define KERNEL_CONTEXT_TEXTS_MAX     4096u /* different tracebacks, at least */
#define KERNEL_CONTEXT_LINES_MAX     1024u /* bytes of the lines of one kernel */

struct kernel_contexts;
struct record_ring;

/* A launch's stack. */
struct kernel_context_stack {
	const uint64_t *frames; /* return addresses, leaf first, among other words (stack_word.h) */
	uint32_t nr_frames;
	uint64_t low, high; /* memory of the calling thread's stack that may be read */
};

/* Creates it with mmap. The ring is borrowed until destroy, which accepts NULL. NULL: out of memory. */
struct kernel_contexts *kernel_contexts_create(struct record_ring *ring);
void kernel_contexts_destroy(struct kernel_contexts *contexts);

/* Looks for libraries that came or went since the last look. Takes the lock of dl_iterate_phdr(): never call it on the
 * launch path. One thread at a time. */
void kernel_contexts_find(struct kernel_contexts *contexts);

/* What kernel_contexts_find() and kernel_contexts_word() met, for people; "" if nothing. Static storage. Any thread. */
const char *kernel_contexts_text(const struct kernel_contexts *contexts);

/* Any thread; takes no lock. Returns whether there is such a library. */
bool kernel_contexts_any(const struct kernel_contexts *contexts);

/* Returns the word of the lines (stack_word_lines) that the calling thread's launch works for; 0: it is in no such
 * call, or the call has no lines. Takes no lock and allocates nothing, but for the C library's own memory for the
 * library's thread-local variables. It takes about a microsecond, most of which finds out whether the object's text is
 * there. Lines without room are counted (LEDGER_CODE_TABLE_FULL). */
uint64_t kernel_contexts_word(struct kernel_contexts *contexts,
			      const struct kernel_context_stack *stack);

#endif
