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

/* The context is borrowed until the next call; NULL: the thread calls no kernel. */
void fake_model_set(struct fake_context *context);

#endif
