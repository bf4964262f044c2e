#include "record_options.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t bits;
} names[] = {
	{"sync", RECORD_OPTION_SYNC},     {"overhead", RECORD_OPTION_OVERHEAD},
	{"um", RECORD_OPTION_UNIFIED},    {"modules", RECORD_OPTION_MODULES},
	{"memory", RECORD_OPTION_MEMORY}, {"nvtx", RECORD_OPTION_NVTX},
	{"marks", RECORD_OPTION_MARKS},   {"stalls", RECORD_OPTION_STALLS},
};

#define NR_NAMES (sizeof(names) / sizeof(names[0]))

static uint32_t bits_of(const char *name, size_t size)
{
	uint32_t all = 0;

	for (size_t i = 0; i < NR_NAMES; i++) {
		if (strlen(names[i].name) == size && memcmp(names[i].name, name, size) == 0)
			return names[i].bits;
		all |= names[i].bits;
	}
	all &= ~(uint32_t)(RECORD_OPTION_MARKS | RECORD_OPTION_STALLS);
	return size == strlen("all") && memcmp(name, "all", size) == 0 ? all : 0;
}

int record_options_parse(const char *text, uint32_t *options)
{
	uint32_t wanted = 0;

	*options = 0;
	if (!text || *text == '\0')
		return 0;
	for (;;) {
		size_t size = strcspn(text, ",");
		uint32_t bits = bits_of(text, size);

		if (bits == 0)
			return -EINVAL;
		wanted |= bits;
		if (text[size] == '\0')
			break;
		text += size + 1;
	}
	*options = wanted;
	return 0;
}

void record_options_format(uint32_t options, char text[RECORD_OPTIONS_SIZE])
{
	text[0] = '\0';
	for (size_t i = 0; i < NR_NAMES; i++) {
		if (!(options & names[i].bits))
			continue;
		if (text[0])
			strcat(text, ",");
		strcat(text, names[i].name);
	}
}
