/* Which functions of CUDA's API are counted and timed: asked for with `flamegrid run --api`, handed to the guest in its
 * environment. A list with commas between: names of functions, `*` in them for any text; `runtime`, `driver` and `all`
 * for all of an API. Pure; any thread. */
#ifndef API_OPTIONS_H
#define API_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define API_OPTIONS_ENV      "FLAMEGRID_API"
#define API_OPTIONS_SIZE_MAX 4096u /* bytes of a list */

enum api_domain { /* CUPTI's numbers */
		  API_DRIVER = 1,
		  API_RUNTIME = 2,
};

/* Whether text is such a list. NULL or "" is one: of nothing. Returns 0; -EINVAL: an empty name, or one with anything
 * but letters, digits, '_' and '*'; -E2BIG: longer than API_OPTIONS_SIZE_MAX. */
int api_options_check(const char *text);

/* Whether a list that passed the check names this function. */
bool api_options_match(const char *text, enum api_domain domain, const char *name);

#endif
