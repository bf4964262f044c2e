/* What a capture takes in, as the command line says it, and how the guest is told: through its environment.
 * A variable that is set already holds where no option is given. */
#ifndef CAPTURE_OPTIONS_H
#define CAPTURE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/options/graph_mode.h"
#include "proto/options/nvtx_digits.h"
#include "proto/options/stack_options.h"
#include "proto/options/window_options.h"

struct job_environment;

struct capture_options {
	struct stack_options stacks;
	enum graph_mode graphs;
	uint32_t record; /* a set of enum record_option */
	enum nvtx_digits nvtx_digits;
	struct window_options window;   /* from_ns and until_ns of the environment alone */
	uint64_t delay_ns, duration_ns; /* from the job's start; 0: none */
	bool collectives;
	/* a list of api_options.h; borrowed from the command line or the environment; NULL: none */
	const char *api;
};

/* The defaults, and what the environment says. 0; -EINVAL: a variable is not understood; *error is one line about it,
 * owns: free(), NULL: out of memory. */
int capture_options_init(struct capture_options *options, char **error);

/* Takes the value of --name, NULL where it has none ("stacks", "graphs", "record", "api", "collectives", "delay",
 * "duration", "duty", "capture-range", "step-range", "every-steps"). 0; -ENOENT: another option; -EINVAL with *error as
 * above. */
int capture_options_take(struct capture_options *options, const char *name, const char *value,
			 char **error);

/* Sets the guest's variables. now_ns: CLOCK_REALTIME at the job's start. 0 or -ENOMEM. */
int capture_options_export(const struct capture_options *options, uint64_t now_ns,
			   struct job_environment *environment);

/* Whether an option of this name was taken from the environment. */
bool capture_options_is_in_environment(const char *name);

/* Whether less than the whole run may be captured. */
bool capture_options_has_windows(const struct capture_options *options);

#endif
