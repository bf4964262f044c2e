/* Knows which lines of a model compiled code works for. Code that PyTorch's Inductor generates in C++ (AOTInductor,
 * cpp_wrapper) can say so, if it was compiled with cpp.enable_kernel_profile. Around each call of a kernel a
 * thread-local variable of the code's library then points to an object with the tracebacks of the operations that the
 * kernel was made of. The guest reads the variable while it captures a launch.
 * Source: torch/csrc/inductor/aoti_runtime/kernel_context_tls.h of PyTorch 2.11; libstdc++'s std::string.
 *
 * A library with that variable stays loaded, since the launch path reads it. */
#ifndef KERNEL_CONTEXT_H
#define KERNEL_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_CONTEXT_LIBRARIES_MAX 32u   /* others are not read */
#define KERNEL_CONTEXT_TEXTS_MAX     4096u /* tracebacks that are told apart; others have no lines */
#define KERNEL_CONTEXT_LINES_MAX     1024u /* bytes of the lines of one kernel */

struct kernel_contexts;
struct record_ring;

/* Creates it with mmap. The ring is borrowed until destroy, which accepts NULL. NULL: out of memory. */
struct kernel_contexts *kernel_contexts_create(struct record_ring *ring);
void kernel_contexts_destroy(struct kernel_contexts *contexts);

/* Looks for libraries that were loaded since the last look. It takes the loader's lock: never call it on the launch
 * path. One thread at a time. */
void kernel_contexts_find(struct kernel_contexts *contexts);

/* Any thread; takes no lock. Returns whether there is such a library. */
bool kernel_contexts_any(const struct kernel_contexts *contexts);

/* Returns the word of the lines (stack_word_lines) that the calling thread's launch works for; 0: it is in no such
 * call, or the call has no lines. Takes no lock and allocates nothing, but for the C library's own memory for a
 * library's thread-local variables. Objects that are not as they should be switch it off for the process. */
uint64_t kernel_contexts_word(struct kernel_contexts *contexts);

#endif
