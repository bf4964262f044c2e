/* Durations as people type them. Pure. */
#ifndef DURATION_H
#define DURATION_H

#include <stdint.h>

/* "1.5s", "500ms", "20us", "100ns", "2m", "1h", "30d", or a number of seconds; at most a thousand days. *end is the
 * first character behind the duration. end NULL: the text must end there. 0; -EINVAL. */
int duration_parse(const char *text, uint64_t *ns, const char **end);

#endif
