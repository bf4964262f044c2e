/* A fake of what AOTInductor makes of a model, as far as the guest reads it: a thread-local pointer to an object with a
 * kernel's name and tracebacks (inject/launch/kernel_context.h). Any thread. */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H

#include <stddef.h>

/* As libstdc++ lays out a std::string. */
struct fake_string {
	const char *data;
	size_t size;
	char room[16];
};

struct fake_context {
	struct fake_string name, trace, short_trace;
};

/* Calls launch(user) as the model calls a kernel, with this traceback. */
void fake_model_call(const char *trace, size_t size, void (*launch)(void *user), void *user);

/* The same, for a kernel: cuLaunchKernel() itself, and the kernel's function. Returns what it returned. */
int fake_model_launch(const char *trace, size_t size, void *launch_kernel, void *function);

/* The same with an object of the caller's; NULL: with none. */
void fake_model_call_with(struct fake_context *context, void (*launch)(void *user), void *user);

#endif
