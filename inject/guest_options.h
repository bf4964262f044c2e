/* What the guest is told to do: by the environment, or by whoever attaches to it (proto/attach.h). On the thread that
 * loads the guest or attaches, once. */
#ifndef GUEST_OPTIONS_H
#define GUEST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/options/graph_mode.h"
#include "proto/options/nvtx_digits.h"
#include "proto/options/stack_options.h"
#include "proto/options/window_options.h"

struct definition_writer;

struct guest_options {
	struct stack_options stacks;
	enum graph_mode graphs;
	uint32_t record; /* a set of enum record_option */
	enum nvtx_digits digits;
	struct window_options window;
	bool collectives;
	const char *api; /* NULL: no calls are counted; borrowed for good */
};

/* Reads a file of lines NAME=VALUE, which from then on are all there is in place of the environment. Without the file,
 * or with one that is too large: no options, so defaults. */
void guest_options_use_file(const char *path);

/* *options is filled in; what is not understood is the default, and said in a notice. */
void guest_options_read(struct guest_options *options, struct definition_writer *notices);

/* Whether the environment leaves it open that collectives are recorded once somebody attaches. */
bool guest_options_may_want_collectives(void);

/* Whether the environment wants the guest to wait until somebody attaches. */
bool guest_options_want_dormant(void);

#endif
