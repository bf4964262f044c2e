/* The functions of CUDA's API that are counted and timed: option --api of `flamegrid run`, given to the guest in its
 * environment. A list, separated by commas, of function names (`*` stands for any text), or `runtime`, `driver` or
 * `all` for all functions of an API. Pure; any thread. */
#ifndef API_OPTIONS_H
#define API_OPTIONS_H

#include <stdbool.h>

#define API_OPTIONS_ENV      "FLAMEGRID_API"
#define API_OPTIONS_SIZE_MAX 4096u /* bytes of a list */

enum api_domain { /* CUPTI's numbers */
		  API_DRIVER = 1,
		  API_RUNTIME = 2,
};

/* Checks a list. NULL and "" are empty lists. Returns 0; -EINVAL: a name is empty, or has another character than
 * letters, digits, '_' and '*'; -E2BIG: longer than API_OPTIONS_SIZE_MAX. */
int api_options_check(const char *text);

/* Returns whether a list that passed the check includes this function. */
bool api_options_match(const char *text, enum api_domain domain, const char *name);

#endif
