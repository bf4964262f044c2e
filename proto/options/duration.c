#include "duration.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS_MAX (1000.0 * 86400 * 1e9)

static const struct {
	const char *name;
	double ns;
} units[] = {
	/* "m" last, because others begin with it */
	{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"h", 3600e9}, {"d", 86400e9}, {"m", 60e9},
};

int duration_parse(const char *text, uint64_t *ns, const char **end)
{
	char *after;
	double value, unit = 1e9;

	*ns = 0;
	/* strtod() accepts forms that people do not mean: signs, spaces, hexadecimal, infinity. */
	if (strspn(text, "0123456789.") == 0 ||
	    strspn(text, "0123456789.xX") != strspn(text, "0123456789."))
		return -EINVAL;
	value = strtod(text, &after);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t size = strlen(units[i].name);

		if (strncmp(after, units[i].name, size) == 0) {
			unit = units[i].ns;
			after += size;
			break;
		}
	}
	if (after == text || (!end && *after != '\0') || !(value * unit <= NS_MAX))
		return -EINVAL;
	*ns = (uint64_t)llround(value * unit);
	if (end)
		*end = after;
	return 0;
}
