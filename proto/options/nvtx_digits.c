#include "nvtx_digits.h"

#include <errno.h>
#include <string.h>

static const char *const names[] = {
	[NVTX_DIGITS_AUTO] = "auto",
	[NVTX_DIGITS_KEEP] = "keep",
	[NVTX_DIGITS_MASK] = "mask",
};

const char *nvtx_digits_name(enum nvtx_digits digits)
{
	return names[digits];
}

int nvtx_digits_parse(const char *text, enum nvtx_digits *digits)
{
	*digits = NVTX_DIGITS_AUTO;
	if (!text || *text == '\0')
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], text) != 0)
			continue;
		*digits = (enum nvtx_digits)i;
		return 0;
	}
	return -EINVAL;
}
